#include "model/codec/codec.h"

#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/job.h"

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

/// With every member set, and with each member of the stub left out in turn.
TEST(Codec, AStubAgreesWithTheWholeAllocation) {  // R-SCHED-191
  static constexpr const char* kKeys[] = {"ID",
                                          "EvalID",
                                          "Name",
                                          "Namespace",
                                          "NodeID",
                                          "NodeName",
                                          "JobID",
                                          "TaskGroup",
                                          "DesiredStatus",
                                          "DesiredDescription",
                                          "DesiredTransition",
                                          "ClientStatus",
                                          "ClientDescription",
                                          "TaskStates",
                                          "DeploymentStatus",
                                          "FollowupEvalID",
                                          "NextAllocation",
                                          "RescheduleTracker",
                                          "PreemptedAllocations",
                                          "PreemptedByAllocation",
                                          "CreateIndex",
                                          "ModifyIndex",
                                          "CreateTime",
                                          "ModifyTime"};
  const auto full =
      io::parse_json(R"({"ID":"a","EvalID":"e","Name":"n","Namespace":"default","NodeID":"d","NodeName":"dn",
    "JobID":"j","TaskGroup":"g","AllocatedResources":{"Shared":{"DiskMB":1}},"Metrics":{"NodesEvaluated":3},
    "DesiredStatus":"stop","DesiredDescription":"x","DesiredTransition":{"Migrate":true},"ClientStatus":"lost",
    "ClientDescription":"y","TaskStates":{"t":{"State":"dead","Failed":true}},"DeploymentID":"dep",
    "DeploymentStatus":{"Healthy":true,"ModifyIndex":4},"FollowupEvalID":"f","NextAllocation":"o",
    "RescheduleTracker":{"Events":[{"RescheduleTime":1,"PrevAllocID":"p"}]},"PreemptedAllocations":["q"],
    "PreemptedByAllocation":"r","CreateIndex":1,"ModifyIndex":2,"AllocModifyIndex":3,"CreateTime":4,"ModifyTime":5})");
  ASSERT_TRUE(full);
  for (std::size_t left_out = 0; left_out <= std::size(kKeys); ++left_out) {
    json::Value value = json::Value::object();
    for (const json::Member& member : full->members())
      if (left_out == std::size(kKeys) || member.key != kKeys[left_out]) value.set(member.key, member.value);
    Allocation alloc;
    ASSERT_TRUE(from_json(value, alloc));
    const json::Value whole = to_json(alloc);
    json::Value expected = json::Value::object();
    for (const char* key : kKeys)
      if (const json::Value* found = whole.find(key)) expected.set(key, *found);
    EXPECT_EQ(json::to_text(alloc_stub(alloc)), json::to_text(expected)) << left_out;
  }
}

}  // namespace
}  // namespace berth::model
