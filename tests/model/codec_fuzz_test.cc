// Random JSON through the reader of every model type. The result is a value or an error with a position; a value that
// is written and read again is unchanged.
#include <gtest/gtest.h>

#include <random>

#include "io/files.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "support/shared_data.h"

namespace berth::model {
namespace {

using Generator = std::mt19937_64;

std::size_t below(Generator& random, std::size_t bound) { return random() % bound; }

json::Value random_value(Generator& random, int depth) {
  static const char* const kTexts[] = {
      "",      "a", "\"\\\n", "\xff\xfe",         "é", "2026-01-02T03:04:05Z",      "9999-12-31T23:59:59.999999999Z",
      "1h30s", "0", "null",   "${attr.cpu.arch}", "~", "1677-01-01T00:00:00+14:00", "/"};
  switch (below(random, depth > 0 ? 13 : 11)) {
    case 0:
      return nullptr;
    case 1:
      return below(random, 2) == 0;
    case 2:
      return 0;
    case 3:
      return static_cast<std::int64_t>(below(random, 200)) - 100;
    case 4:
      return std::numeric_limits<std::int64_t>::min();
    case 5:
      return std::numeric_limits<std::int64_t>::max();
    case 6:
      return std::numeric_limits<std::uint64_t>::max();
    case 7:
      return static_cast<std::int64_t>(random());
    case 8:
      return static_cast<double>(static_cast<std::int64_t>(random())) / 3.0;
    case 9:
    case 10:
      return kTexts[below(random, std::size(kTexts))];
    case 11: {
      json::Value list = json::Value::array();
      for (std::size_t i = below(random, 4); i > 0; --i) list.push(random_value(random, depth - 1));
      return list;
    }
    default: {
      json::Value object = json::Value::object();
      for (std::size_t i = below(random, 4); i > 0; --i)
        object.set(kTexts[below(random, std::size(kTexts))], random_value(random, depth - 1));
      return object;
    }
  }
}

/// Walks down at random and replaces, removes, repeats or adds something on the way.
void mutate(json::Value& value, Generator& random) {
  if (value.is_object() && value.size() > 0 && below(random, 4) != 0)
    return mutate(value.members()[below(random, value.size())].value, random);
  if (value.is_array() && value.size() > 0 && below(random, 4) != 0)
    return mutate(value.items()[below(random, value.size())], random);
  if (value.is_object() && below(random, 2) == 0) {
    json::Object& members = value.members();
    if (!members.empty() && below(random, 2) == 0)
      members.push_back(members[below(random, members.size())]);  // a repeated key: the last one wins (R-MODEL-608)
    else
      members.push_back({"Unknown", random_value(random, 2)});
    return;
  }
  value = random_value(random, 3);
}

/// True when `value` was readable as a T.
template <class T>
bool check(const json::Value& value, const char* type, std::uint64_t seed) {
  T read{};
  ReadOptions options;
  options.path = "fuzz";
  if (const auto done = from_json(value, read, options); !done) {
    EXPECT_EQ(done.error().path, "fuzz");
    EXPECT_FALSE(done.error().problem.empty()) << type << " seed " << seed;
    return false;
  }
  const json::Value once = to_json(read);
  for (const WriteMode mode : {WriteMode::api, WriteMode::sparse}) {
    T again{};
    const auto done = from_json(to_json(read, mode), again);
    if (!done) {
      ADD_FAILURE() << type << " seed " << seed << ": " << done.error().line() << "\n" << json::to_text(value);
      continue;
    }
    EXPECT_EQ(json::to_text(to_json(again)), json::to_text(once))
        << type << " seed " << seed << (mode == WriteMode::sparse ? " sparse\n" : " api\n") << json::to_text(value);
  }
  return true;
}

template <class T>
void fuzz(const char* type, std::uint64_t seed, const std::vector<json::Value>& recorded) {
  Generator random(seed);
  std::size_t readable = 0;
  for (int round = 0; round < 60 && !::testing::Test::HasFailure(); ++round) {
    // Every second round starts from a recorded object (of whatever type), the others from an empty one's fields.
    json::Value value = round % 2 == 0 && !recorded.empty() ? recorded[below(random, recorded.size())] : to_json(T{});
    for (std::size_t i = below(random, 6); i > 0; --i) mutate(value, random);
    readable += check<T>(value, type, seed) ? 1 : 0;
  }
  EXPECT_GT(readable, 0u) << type << ": every input was refused, nothing was tested";
}

std::vector<json::Value> recorded_objects() {
  std::vector<json::Value> out;
  const auto done =
      io::read_lines((testing::golden_dir() / "evals/life/life-09.jsonl.gz").string(), [&](auto line, std::size_t) {
        const auto vector = io::parse_json(line);
        if (!vector) return false;
        for (const char* key : {"jobs", "eval"}) {
          const json::Value& value = (*vector)[key];
          if (value.is_object()) out.push_back(value);
          for (const json::Value& item : value.items()) out.push_back(item);
        }
        for (const json::Member& member : (*vector)["state"].members())
          for (std::size_t i = 0; i < std::min<std::size_t>(member.value.size(), 3); ++i)
            out.push_back(member.value[i]);
        return out.size() < 200;
      });
  EXPECT_TRUE(done);
  return out;
}

TEST(CodecFuzz, EveryTypeIsReadOrRefusedAndKeepsWhatItRead) {  // R-MODEL-600 to 608
  const auto recorded = recorded_objects();
  ASSERT_GT(recorded.size(), 20u);
  std::uint64_t seed = 1;
#define BERTH_X(T) fuzz<T>(#T, seed++, recorded);
  BERTH_MODEL_TYPES(BERTH_X)
#undef BERTH_X
}

}  // namespace
}  // namespace berth::model
