#include "model/codec/codec.h"

#include <gtest/gtest.h>

#include "io/json_parse.h"

namespace berth::model {
namespace {

TEST(Codec, NamesThePlaceOfAMistypedValue) {
  const auto value = io::parse_json(R"({"TaskGroups":[{"Name":"a"},{"Name":"b","Count":"three"}]})");
  ASSERT_TRUE(value);
  Job job;
  ReadOptions options;
  options.path = "job.json";
  const auto done = from_json(*value, job, options);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().line(), "job.json:/TaskGroups/1/Count: expected an integer, got a string; correct the value");
}

TEST(Codec, RefusesAWeightOutsideItsRange) {  // R-MODEL-256
  const auto value = io::parse_json(R"({"LTarget":"a","Weight":128})");
  Affinity affinity;
  EXPECT_FALSE(from_json(*value, affinity));
}

TEST(Codec, RoundTripKeepsUnknownMembers) {
  const auto value = io::parse_json(R"({"Name":"t","Driver":"exec","FutureBlock":{"x":1}})");
  Task task;
  ASSERT_TRUE(from_json(*value, task));
  EXPECT_EQ(to_json(task, WriteMode::sparse)["FutureBlock"]["x"].as_int(), 1);
}

TEST(Codec, DeepNestingIsAnErrorNotACrash) {
  const std::string text = std::string(1'000'000, '[');
  EXPECT_FALSE(io::parse_json(text));
}

}  // namespace
}  // namespace berth::model
