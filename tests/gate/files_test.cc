// Baselines and histories: written, read again, refused when they are not what they should be.
#include <gtest/gtest.h>

#include <fstream>

#include "gate/baseline.h"
#include "gate/history.h"
#include "gate/process.h"
#include "gate/simulated.h"

namespace berth::gate {
namespace {

Baseline recorded(Simulation& simulation, Side side = Side::base, std::size_t repetitions = 6) {
  auto samples =
      record_side({{"quickstart", "smoke", -1}, {"storm", "smoke", 3}}, side, repetitions, {}, simulation.world());
  EXPECT_TRUE(samples);
  return {"2026-11-22T12:00:00Z", "build/release/berth \"x\"", std::move(*samples)};
}

void put(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST(Baseline, IsReadAsItWasWritten) {
  Simulation simulation(1);
  const Baseline wrote = recorded(simulation);
  const TemporaryFile file;
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
  const TemporaryFile file;
  for (const auto& [text, words] :
       {std::pair(good.substr(0, good.size() / 2), ""), std::pair(std::string(), ""),
        std::pair(std::string("[]"), "is no baseline"),
        std::pair(changed("\"version\": 1", "\"version\": 9"),
                  "has version 9 of the baseline format, this berth reads 1"),
        std::pair(changed("berth-baseline", "berth-else"), "is no baseline"),
        std::pair(changed("\"label\": \"smoke\"", "\"label\": \"\""), "names no workload and label"),
        std::pair(changed("\"placements\": [1000", "\"placements\": [\"x\""),
                  "a value of placements is a string, not a number"),
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
  const auto fine = pairs_of(base, recorded(simulation, Side::head), {}, false);
  ASSERT_TRUE(fine) << fine.error().error.line();  // commit and dirty flag differ, as they should
  EXPECT_EQ(fine->size(), 2U);
  simulation.head.isa_path = "AVX2";
  const Baseline other = recorded(simulation, Side::head);
  const auto refused = pairs_of(base, other, {}, false);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code, kInconclusive);
  EXPECT_NE(refused.error().error.line().find("isa_path: 'AVX3' against 'AVX2'"), std::string::npos);
  EXPECT_TRUE(pairs_of(base, other, {"isa_path"}, false));
  Baseline none = other;
  for (auto& [what, samples] : none.cases) what.workload = "else";
  EXPECT_EQ(pairs_of(base, none, {}, false).error().exit_code, kUsage);
}

TEST(History, DriftFindsTheCommitThatSlowedIt) {
  const TemporaryFile file;
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
  EXPECT_NE(text->find("in 24 lines of"), std::string::npos) << *text;
}

TEST(History, BadLinesAreNamed) {
  const TemporaryFile file;
  Simulation simulation(2);
  auto samples = record_side(kOneCase, Side::base, 3, {}, simulation.world());
  ASSERT_TRUE(append_history(file.path(), *samples));
  std::ofstream(file.path(), std::ios::app) << "{\"format\": \"berth-hist\n";
  const auto text = drift_text(file.path(), {});
  ASSERT_FALSE(text);
  EXPECT_EQ(text.error().exit_code, kUsage);
  EXPECT_EQ(text.error().error.place, "2:12");
  EXPECT_FALSE(append_history("/no/such/folder/history", *samples));
}

}  // namespace
}  // namespace berth::gate
