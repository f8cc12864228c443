// Baselines and histories: written, read again, and refused if they are malformed.
#include <gtest/gtest.h>

#include <fstream>
#include <functional>

#include "gate/baseline.h"
#include "gate/history.h"
#include "gate/simulated.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "run/programs.h"

namespace berth::gate {
namespace {

const Names kNames{"BASE", "HEAD"};

Baseline recorded(Simulation& simulation, Side side = Side::base, std::size_t repetitions = 6) {
  auto samples =
      record_side({{"quickstart", "smoke", -1}, {"storm", "smoke", 3}}, side, repetitions, {}, simulation.world());
  EXPECT_TRUE(samples);
  return {"2026-11-22T12:00:00Z", "build/release/berth \"x\"", std::move(*samples)};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Baseline, RoundTrips) {
  Simulation simulation(1);
  const Baseline wrote = recorded(simulation);
  const run::TemporaryFile file;
  put(file.path(), baseline_text(wrote));
  const auto read = read_baseline(file.path());
  ASSERT_TRUE(read) << read.error().error.line();
  EXPECT_EQ(read->command, wrote.command);
  ASSERT_EQ(read->cases.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read->cases[i].first, wrote.cases[i].first);
    EXPECT_EQ(read->cases[i].second.values, wrote.cases[i].second.values);
    EXPECT_EQ(read->cases[i].second.fingerprint, wrote.cases[i].second.fingerprint);
    EXPECT_EQ(read->cases[i].second.digests, wrote.cases[i].second.digests);
  }
  EXPECT_EQ(baseline_text(*read), baseline_text(wrote));
  EXPECT_NE(baseline_table(*read).find("schedule_ns.mean"), std::string::npos);
}

TEST(Baseline, BadFilesAreRefused) {
  Simulation simulation(1);
  const std::string good = baseline_text(recorded(simulation));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string text = good;
    return text.replace(text.find(from), from.size(), to);
  };
  const run::TemporaryFile file;
  for (const auto& [text, words] :
       {std::pair(good.substr(0, good.size() / 2), ""), std::pair(std::string(), ""),
        std::pair(std::string("[]"), "is no baseline"),
        std::pair(changed("\"version\": 1", "\"version\": 9"),
                  "has version 9 of the baseline format, this berth reads 1"),
        std::pair(changed("berth-baseline", "berth-else"), "is no baseline"),
        std::pair(changed("\"label\": \"smoke\"", "\"label\": \"\""), "names no workload and label"),
        std::pair(changed("\"placements\": [1000", "\"placements\": [\"x\""),
                  "cases[0].samples.placements[0]: is a string, not a number"),
        std::pair(std::string(R"({"format": "berth-run", "version": 7})"), "has version 7 of the format")}) {
    put(file.path(), text);
    const auto read = read_baseline(file.path());
    ASSERT_FALSE(read) << words;
    EXPECT_EQ(read.error().exit_code, kUsage);
    EXPECT_NE(read.error().error.line().find(words), std::string::npos) << read.error().error.line();
    EXPECT_EQ(read.error().error.path, file.path());
  }
  EXPECT_FALSE(read_baseline("/no/such/file"));
}

TEST(Baseline, FingerprintsMustAgree) {
  Simulation simulation(1);
  const Baseline base = recorded(simulation, Side::base);
  const auto fine = pairs_of(base, recorded(simulation, Side::head), Pairing::both, {}, kNames);
  ASSERT_TRUE(fine) << fine.error().error.line();  // commit and dirty flag differ, as they should
  EXPECT_EQ(fine->size(), 2U);
  simulation.head.isa_path = "AVX2";
  const Baseline other = recorded(simulation, Side::head);
  const auto refused = pairs_of(base, other, Pairing::both, {}, kNames);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, kInconclusive);
  EXPECT_NE(refused.error().error.line().find("isa_path: 'AVX3' against 'AVX2'"), std::string::npos);
  EXPECT_TRUE(pairs_of(base, other, Pairing::both, {"isa_path"}, kNames));
  Baseline none = other;
  for (auto& [what, samples] : none.cases) what.workload = "else";
  EXPECT_EQ(pairs_of(base, none, Pairing::both, {}, kNames).error().exit_code, kUsage);
}

TEST(Baseline, CasesWithoutTheirCounterpartAreRefused) {
  Simulation simulation(1);
  const Baseline base = recorded(simulation);
  Baseline head = recorded(simulation, Side::head);
  head.cases.pop_back();
  const auto lacks = pairs_of(base, head, Pairing::both, {}, kNames);
  ASSERT_FALSE(lacks);
  EXPECT_EQ(lacks.error().exit_code, kUsage);
  EXPECT_EQ(lacks.error().error.path, "HEAD");
  EXPECT_NE(lacks.error().error.problem.find("lacks the case storm/smoke/seed 3"), std::string::npos);
  EXPECT_TRUE(pairs_of(base, head, Pairing::head, {}, kNames)) << "only one of the base's cases was asked for";
  EXPECT_FALSE(pairs_of(head, base, Pairing::head, {}, kNames));
}

// ---------------------------------------------------------------- damaged files

/// Values that break a member; "deleted" and "nan" edit the text instead.
const std::pair<const char*, json::Value> kBreakages[] = {{"null", json::Value()}, {"a text", "x"},
                                                          {"an empty text", ""},   {"a list", json::Value::array()},
                                                          {"negative", -1},        {"an object", json::Value::object()},
                                                          {"true", true}};

/// Calls `visit` with every member of objects and every item of lists of a value.
void for_each_member(json::Value& value, const std::string& path,
                     const std::function<void(json::Value& member, const std::string& path)>& visit) {
  if (value.is_object())
    for (std::size_t i = 0; i < value.members().size(); ++i) {
      const std::string at = path + "/" + value.members()[i].key;
      visit(value.members()[i].value, at);
      for_each_member(value.members()[i].value, at, visit);
    }
  if (value.is_array())
    for (std::size_t i = 0; i < value.items().size(); ++i) {
      const std::string at = path + "/" + std::to_string(i);
      visit(value.items()[i], at);
      for_each_member(value.items()[i], at, visit);
    }
}

/// Breaks every member of a document in every way, and deletes it. Such a document, as base or head of a comparison
/// with the undamaged one, must be refused or at least not pass. Exception: paths that end with one of `not_compared`,
/// which only document the origin of a file.
void expect_never_a_pass(const std::string& whole, const std::vector<std::string>& not_compared) {
  const run::TemporaryFile good_file, bad_file;
  put(good_file.path(), whole);
  const auto good = read_baseline(good_file.path());
  ASSERT_TRUE(good) << good.error().error.line();
  Rules counters;  // times of so few repetitions would be inconclusive in any case
  counters.counters_only = true;
  ASSERT_EQ(judge(*pairs_of(*good, *good, Pairing::both, {}, kNames), counters).exit_code(), kPass);
  std::size_t refused = 0;
  const auto hold = [&](const std::string& text, const std::string& path, const std::string& how) {
    put(bad_file.path(), text);
    const auto bad = read_baseline(bad_file.path());
    if (!bad) {
      EXPECT_EQ(bad.error().exit_code, kUsage) << path << " " << how;
      EXPECT_EQ(bad.error().error.path, bad_file.path());
      ++refused;
      return;
    }
    // A damaged file that can be read is another run: not comparable, or changed only in members that document its
    // origin.
    for (const bool as_base : {true, false}) {
      const auto pairs =
          as_base ? pairs_of(*bad, *good, Pairing::both, {}, kNames) : pairs_of(*good, *bad, Pairing::both, {}, kNames);
      const bool passes =
          pairs && check_sides(*pairs, counters, "BASE", "HEAD") && judge(*pairs, counters).exit_code() == kPass;
      const bool told = std::any_of(not_compared.begin(), not_compared.end(),
                                    [&](const std::string& end) { return path.ends_with(end); });
      EXPECT_TRUE(!passes || told) << path << " " << how << ": read and compared as if it were whole";
    }
  };
  const auto parsed = io::parse_json(whole, "whole");
  ASSERT_TRUE(parsed);
  json::Value value = *parsed;
  std::vector<std::string> paths;
  for_each_member(value, "", [&](json::Value& member, const std::string& path) {
    paths.push_back(path);
    const json::Value before = member;
    for (const auto& [how, broken] : kBreakages) {
      if (broken == before) continue;
      member = broken;
      hold(json::to_text(value), path, how);
    }
    member = "NOT-A-NUMBER";
    std::string text = json::to_text(value);
    text.replace(text.find("\"NOT-A-NUMBER\""), 14, "NaN");
    hold(text, path, "NaN");
    member = before;
  });
  for (const std::string& path : paths) {
    json::Value without = *parsed;
    json::Value* parent = &without;
    std::string name = path.substr(1);
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/')) {
      const std::string key = name.substr(0, slash);
      parent = parent->is_array() ? &parent->items()[std::stoul(key)] : parent->find(key);
      name = name.substr(slash + 1);
    }
    if (parent->is_array())
      parent->items().erase(parent->items().begin() + std::stol(name));
    else
      parent->erase(name);
    hold(json::to_text(without), path, "deleted");
  }
  EXPECT_GT(refused, 6 * paths.size()) << "most of what was broken is not even read";
}

TEST(BrokenGateFiles, AShareOfMoreThanOneIsRefused) {
  std::size_t shares = 0;
  for (const Metric& metric : metrics()) {
    if (!metric.is_share()) continue;
    const json::Value whole = 1.0, more = 1.001;
    EXPECT_EQ(value_problem(&whole, metric), "") << metric.name;
    EXPECT_EQ(value_problem(&more, metric), "is a share of more than 1: 1.001") << metric.name;
    ++shares;
  }
  EXPECT_GE(shares, 5U);
}

TEST(BrokenGateFiles, NoMemberOfABaselineReadsAsSuccess) {
  Simulation simulation(1);
  Baseline one = recorded(simulation, Side::base, 3);
  expect_never_a_pass(baseline_text(one), {"/recorded", "/command", "/seed", "/commit", "/dirty"});
  for (auto& [what, samples] : one.cases) keep_counters(samples);
  expect_never_a_pass(baseline_text(one), {"/recorded", "/command", "/seed", "/commit", "/dirty"});
}

TEST(BrokenGateFiles, NoMemberOfAReportReadsAsSuccess) {
  for (const bool grid : {false, true})
    expect_never_a_pass(json::to_text(whole_report(kOneCase.front(), grid)), {"/ended", "/commit"});
}

TEST(BrokenGateFiles, EveryRepetitionNeedsItsSamples) {
  Simulation simulation(1);
  const std::string good = baseline_text(recorded(simulation, Side::base, 3));
  const auto parsed = io::parse_json(good, "good");
  const run::TemporaryFile file;
  for (const Metric& metric : metrics()) {
    json::Value value = *parsed;
    json::Value& samples = *value.find("cases")->items()[0].find("samples");
    if (!samples.has(metric.name)) continue;
    samples.find(metric.name)->items().pop_back();
    put(file.path(), json::to_text(value));
    const auto read = read_baseline(file.path());
    ASSERT_FALSE(read) << metric.name;
    EXPECT_NE(
        read.error().error.line().find("samples." + std::string(metric.name) + ": has 2 values for 3 repetitions"),
        std::string::npos)
        << read.error().error.line();
  }
  json::Value value = *parsed;
  value.find("cases")->items()[0].set("samples", json::Value::object());
  put(file.path(), json::to_text(value));
  EXPECT_EQ(read_baseline(file.path()).error().error.line(),
            file.path() +
                ":cases[0].samples.placements: is missing; a gate judges whole samples: record it again with "
                "`berth gate record`");
}

TEST(GateHistory, DriftFindsTheCommitThatSlowedIt) {
  const run::TemporaryFile file;
  Simulation simulation(2);
  for (int night = 0; night < 24; ++night) {
    simulation.base.schedule_factor = night < 12 ? 1 : 1.15;
    auto samples = record_side(kOneCase, Side::base, 5, {}, simulation.world());
    ASSERT_TRUE(samples);
    for (auto& [field, value] : (*samples)[0].second.fingerprint.fields)
      if (field == "commit") value = "c0ffee" + std::to_string(100 + night);
    ASSERT_TRUE(append_history(file.path(), *samples));
  }
  const auto text = drift_text(file.path(), {});
  ASSERT_TRUE(text) << text.error().error.line();
  EXPECT_NE(text->find("quickstart/smoke schedule_ns.mean: "), std::string::npos) << *text;
  EXPECT_NE(text->find("worse) from commit c0ffee112 on"), std::string::npos) << *text;
  EXPECT_EQ(text->find("commit_ns.mean"), std::string::npos) << *text;
  EXPECT_NE(text->find("in 24 runs of"), std::string::npos) << *text;
}

TEST(GateHistory, WrongFilesAndOlderHistoriesAreNamedInTheError) {
  const run::TemporaryFile file;
  Simulation simulation(2);
  const auto samples = record_side(kOneCase, Side::base, 3, {}, simulation.world());
  for (const char* text : {"{\"format\": \"berth-history\", \"version\": 1}\n", "what somebody wants to keep"}) {
    put(file.path(), text);
    for (const auto& checked : {check_history(file.path()), append_history(file.path(), *samples)}) {
      ASSERT_FALSE(checked);
      EXPECT_EQ(checked.error().error.path, file.path());
    }
    const auto drift = drift_text(file.path(), {});
    ASSERT_FALSE(drift);
    EXPECT_EQ(drift.error().exit_code, kUsage);
    EXPECT_EQ(io::read_file(file.path()).value_or(""), text) << "and left alone";
  }
  EXPECT_FALSE(append_history("/no/such/folder/history", *samples));
}

TEST(GateHistory, ValuesThatNoMetricHasAreNamed) {
  for (const Metric& metric : metrics()) {
    const run::TemporaryFile file;
    Simulation simulation(2);
    auto samples = record_side(kOneCase, Side::base, 3, {}, simulation.world());
    const auto found = (*samples)[0].second.values.find(metric.name);
    if (found == (*samples)[0].second.values.end()) continue;
    found->second.assign(3, -1);
    ASSERT_TRUE(append_history(file.path(), *samples));
    const auto drift = drift_text(file.path(), {});
    ASSERT_FALSE(drift) << metric.name;
    EXPECT_EQ(drift.error().exit_code, kUsage);
    EXPECT_NE(drift.error().error.place.find(metric.name), std::string::npos) << drift.error().error.line();
  }
}

}  // namespace
}  // namespace berth::gate
