// Seeded mutations of a small export and of a CLUSTER.json. The importer returns either a state that can be written,
// read again and loaded into tables, or an error of one line.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <random>

#include "io/export_import.h"
#include "io/json_parse.h"
#include "io/small_export.h"
#include "support/sanitized.h"
#include "tables/check.h"

namespace berth::io {
namespace {

constexpr int kRoundsPerDocument = static_cast<int>(testing::rounds(4000));

std::vector<json::Value*> values_of(json::Value& value) {
  std::vector<json::Value*> out{&value};
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i]->is_array())
      for (json::Value& item : out[i]->items()) out.push_back(&item);
    else if (out[i]->is_object())
      for (json::Member& member : out[i]->members()) out.push_back(&member.value);
  }
  return out;
}

json::Value odd_value(std::mt19937_64& random) {
  switch (random() % 12) {
    case 0:
      return {};
    case 1:
      return json::Value(true);
    case 2:
      return json::Value(std::int64_t{-1});
    case 3:
      return json::Value(INT64_MAX);
    case 4:
      return json::Value(INT64_MIN);
    case 5:
      return json::Value(UINT64_MAX);
    case 6:
      return json::Value(1e300);
    case 7:
      return json::Value("");
    case 8:
      return json::Value(std::string(5000, 'y'));
    case 9:
      return json::Value::array();
    case 10:
      return json::Value::object();
    default:
      return json::Value("0001-01-01T00:00:00Z");
  }
}

/// Values of all keys that hold the ID of an object or a reference to one.
std::vector<json::Value*> ids_of(json::Value& document) {
  std::vector<json::Value*> out;
  for (json::Value* value : values_of(document))
    if (value->is_object())
      for (json::Member& member : value->members())
        if (member.value.is_string() && (member.key.ends_with("ID") || member.key.ends_with("Allocation")))
          out.push_back(&member.value);
  return out;
}

std::string odd_id(std::string id, std::mt19937_64& random) {
  switch (random() % 6) {
    case 0:
      return "";
    case 1:
      return "no UUID";
    case 2:
      return "00000000-0000-0000-0000-000000000000";
    case 3:
      return id + "0";
    case 4:
      if (!id.empty()) id[random() % id.size()] = "0aAgG-\n"[random() % 7];
      return id;
    default:
      for (char& c : id)
        if (c >= 'a' && c <= 'z' && random() % 2) c = static_cast<char>(c - 'a' + 'A');
      return id;
  }
}

/// Makes one ID or reference malformed, or replaces it by another one of the document.
void mutate_id(json::Value& document, std::mt19937_64& random) {
  const auto ids = ids_of(document);
  if (ids.empty()) return;
  json::Value& target = *ids[random() % ids.size()];
  if (random() % 3 == 0)
    target = json::Value(*ids[random() % ids.size()]);
  else
    target = json::Value(odd_id(target.as_string(), random));
}

void mutate(json::Value& document, std::mt19937_64& random) {
  const auto values = values_of(document);
  json::Value& target = *values[random() % values.size()];
  switch (random() % 4) {
    case 0:
      target = odd_value(random);
      break;
    case 1:  // another value of the document
      target = json::Value(*values[random() % values.size()]);
      break;
    case 2:  // remove something
      if (target.is_object() && target.size() > 0)
        target.members().erase(target.members().begin() + static_cast<std::ptrdiff_t>(random() % target.size()));
      else if (target.is_array() && target.size() > 0)
        target.items().erase(target.items().begin() + static_cast<std::ptrdiff_t>(random() % target.size()));
      break;
    default:  // duplicate something
      if (target.is_array() && target.size() > 0)
        target.push(json::Value(target.items()[random() % target.size()]));
      else if (target.is_object() && target.size() > 0)
        target.members().push_back({target.members()[random() % target.size()].key, odd_value(random)});
  }
}

void check(const json::Value& document, std::uint64_t seed, int& accepted) {
  const auto done = import_cluster_json(document, "fuzz", {});
  if (!done) {
    ASSERT_EQ(done.error().line().find('\n'), std::string::npos) << "seed " << seed;
    ASSERT_FALSE(done.error().problem.empty()) << "seed " << seed;
    return;
  }
  ++accepted;
  tables::StateStore store;
  store.load(done->state);
  const std::vector<std::string> problems = tables::check_tables(store.current());
  ASSERT_TRUE(problems.empty()) << "seed " << seed << ": " << problems[0];
  ASSERT_EQ(store.current().nodes.size(), done->state.nodes.size()) << "seed " << seed;
  ASSERT_EQ(store.current().allocs.size(), done->state.allocs.size()) << "seed " << seed;
  ASSERT_EQ(store.current().evals.size(), done->state.evals.size()) << "seed " << seed;
  ASSERT_EQ(store.current().deployments.size(), done->state.deployments.size()) << "seed " << seed;
  const json::Value written = cluster_to_json(done->state);
  const auto again = import_cluster_json(written, "again", {});
  ASSERT_TRUE(again) << "seed " << seed << ": " << again.error().line();
  ASSERT_EQ(json::to_text(cluster_to_json(again->state)), json::to_text(written)) << "seed " << seed;
}

void fuzz(const json::Value& original, std::uint64_t seed_begin,
          void (*change)(json::Value&, std::mt19937_64&) = mutate) {
  int accepted = 0;
  for (int round = 0; round < kRoundsPerDocument; ++round) {
    const std::uint64_t seed = seed_begin + static_cast<std::uint64_t>(round);
    std::mt19937_64 random(seed);
    json::Value document = original;
    const std::uint64_t count = 1 + random() % 3;
    for (std::uint64_t i = 0; i < count; ++i) change(document, random);
    check(document, seed, accepted);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(accepted, kRoundsPerDocument / 10);  // otherwise mutations would only ever break the outermost layer
  EXPECT_LT(accepted, kRoundsPerDocument);
}

TEST(ImportFuzz, SurvivesMutatedExports) { fuzz(parse_json(berth::testing::kSmallExport).value(), 1); }

/// State and warnings, or the problem, as one text.
std::string outcome_of(const Result<ClusterImport>& done) {
  if (!done) return done.error().problem + "; " + done.error().remedy;
  std::string out = cluster_text(done->state);
  for (const std::string& warning : done->warnings) out += "\n" + warning;
  return out;
}

// A file is read entry by entry, and equal jobs of allocations once; a whole document is not. Half of the mutations are
// within allocations, so that jobs with the same ID and version differ.
TEST(ImportFuzz, AnExportReadEntryByEntryIsTheSame) {
  const std::string path = std::string(BERTH_BINARY_DIR) + "/entry_by_entry.json";
  json::Value original = parse_json(berth::testing::kSmallExport).value();
  for (json::Member& member : original.members())  // every allocation twice more, under other IDs
    if (member.key.ends_with("/allocations") && member.key.starts_with("/v1/node/"))
      for (std::size_t i = 0, n = member.value.size(); i < 2 * n; ++i) {
        json::Value copy = member.value.items()[i % n];
        std::string id = copy["ID"].as_string();
        id[0] = i < n ? 'b' : 'c';
        copy.set("ID", id);
        member.value.push(std::move(copy));
      }
  int accepted = 0;
  const int rounds = kRoundsPerDocument / 4;
  for (int round = 0; round < rounds; ++round) {
    std::mt19937_64 random(static_cast<std::uint64_t>(5'000'000 + round));
    json::Value document = original;
    if (round > 0 && round % 2 == 0) {
      mutate(document, random);
    } else if (round > 0) {
      for (json::Member& member : document.members())
        if (member.key.ends_with("/allocations")) mutate(member.value, random);
    }
    const std::string text = json::to_text(document);
    std::ofstream(path, std::ios::binary) << text;
    const auto streamed = import_cluster(path);
    accepted += streamed.has_value();
    ASSERT_EQ(outcome_of(streamed), outcome_of(import_cluster_json(parse_json(text).value(), path)))
        << "round " << round;
  }
  EXPECT_GT(accepted, rounds / 10);
  EXPECT_LT(accepted, rounds);
  std::remove(path.c_str());
}

TEST(ImportFuzz, SurvivesMutatedClusterFiles) {
  const auto done = import_cluster_json(parse_json(berth::testing::kSmallExport).value(), "small", {});
  ASSERT_TRUE(done);
  fuzz(cluster_to_json(done->state), 1'000'000);
}

TEST(ImportFuzz, SurvivesMutatedIds) {
  const json::Value answers = parse_json(berth::testing::kSmallExport).value();
  fuzz(answers, 2'000'000, mutate_id);
  const auto done = import_cluster_json(answers, "small", {});
  ASSERT_TRUE(done);
  fuzz(cluster_to_json(done->state), 3'000'000, mutate_id);
}

TEST(ImportFuzz, SurvivesMutatedText) {
  const std::string original = berth::testing::kSmallExport;
  int parsed = 0, accepted = 0;
  for (std::uint64_t seed = 1; seed <= kRoundsPerDocument; ++seed) {
    std::mt19937_64 random(seed);
    std::string text = original;
    for (std::uint64_t i = 0; i < 1 + seed % 4; ++i) text[random() % text.size()] = static_cast<char>(random() % 256);
    if (seed % 7 == 0) text.resize(random() % text.size());
    const auto document = parse_json(text);
    if (!document) {
      ASSERT_EQ(document.error().line().find('\n'), std::string::npos) << "seed " << seed;
      continue;
    }
    ++parsed;
    check(*document, seed, accepted);
    if (::testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(parsed, kRoundsPerDocument / 40);
  EXPECT_GT(accepted, kRoundsPerDocument / 80);
}

}  // namespace
}  // namespace berth::io
