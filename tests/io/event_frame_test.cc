// Frames of the event stream (R-API-582 to 587).
#include "io/event_frame.h"

#include <gtest/gtest.h>

#include "io/json_parse.h"

namespace berth::io {
namespace {

constexpr const char* kId = "11111111-1111-4111-8111-111111111111";

json::Value event(const std::string& topic, const std::string& payload, const std::string& type = "") {
  auto value = parse_json(R"({"Topic": ")" + topic + R"(", "Type": ")" + type + R"(", "Key": "key", "Namespace": "prod",
    "Index": 5, "Payload": )" +
                          payload + "}");
  EXPECT_TRUE(value.has_value());
  return value.value_or(json::Value());
}

EventFrame read(json::Array events, std::vector<InputError>& faults) {
  json::Value frame = json::Value::object();
  frame.set("Index", 5), frame.set("Events", json::Value(std::move(events)));
  auto out = read_event_frame(frame, "stream", "1:", faults);
  EXPECT_TRUE(out.has_value());
  return out.value_or(EventFrame());
}

TEST(EventFrame, HoldsObjectsWithoutSecrets) {
  std::vector<InputError> faults;
  const EventFrame frame =
      read({event("Node",
                  R"({"Node": {"ID": ")" + std::string(kId) +
                      R"(", "Name": "a", "NodeResources": {}, "SecretID": "hidden"}})",
                  "NodeRegistration"),
            event("Job", R"({"Job": {"ID": "web", "VaultToken": "hidden", "TaskGroups": []}})"),
            event("Evaluation", R"({"Evaluation": {"ID": ")" + std::string(kId) + R"(", "LeaderACL": "hidden"}})"),
            event("Variable", R"({"Variable": {"Path": "hidden"}})")},
           faults);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(frame.index, 5u);
  EXPECT_EQ(frame.type, "NodeRegistration");
  ASSERT_EQ(frame.objects.nodes.size(), 1u);
  EXPECT_EQ(frame.objects.jobs.size() + frame.objects.evals.size(), 2u);
  EXPECT_EQ(json::to_text(to_json(frame)).find("hidden"), std::string::npos);
}

TEST(EventFrame, NamesDeletedObjects) {  // R-API-587
  std::vector<InputError> faults;
  const EventFrame frame = read({event("Job", R"({"Job": {"ID": "web"}, "Deleted": true})", "JobDeregistered"),
                                 event("Job", R"({"Job": {"ID": "api", "TaskGroups": []}})", "JobDeregistered")},
                                faults);
  ASSERT_EQ(frame.gone.size(), 1u);
  EXPECT_EQ(frame.gone[0].topic + " " + frame.gone[0].name_space + " " + frame.gone[0].key, "Job prod key");
  EXPECT_EQ(frame.objects.jobs.size(), 1u);
  const EventFrame node = read({event("Node", R"({"Node": {"ID": "x"}})", "NodeDeregistration")}, faults);
  EXPECT_EQ(node.gone.size(), 1u);
  EXPECT_TRUE(faults.empty());
}

TEST(EventFrame, LeavesOutWhatCannotBeRead) {
  std::vector<InputError> faults;
  const EventFrame frame =
      read({event("Node", R"({"Node": {"ID": "x"}})"), event("Allocation", "null"),
            event("Deployment", R"({"Deployment": {"ID": ")" + std::string(kId) + R"(", "JobID": "web"}})")},
           faults);
  ASSERT_EQ(faults.size(), 2u);
  EXPECT_EQ(faults[0].place, "1:/Events/0/Payload/Node");
  EXPECT_EQ(faults[1].place, "1:/Events/1/Payload/Allocation");
  EXPECT_EQ(frame.objects.deployments.size(), 1u);
}

TEST(EventFrame, ReadsWhatItWrites) {
  std::vector<InputError> faults;
  const EventFrame frame = read(
      {event("Node",
             R"({"Node": {"ID": ")" + std::string(kId) + R"(", "Name": "a", "NodeResources": {}, "Status": "ready"}})"),
       event("Job",
             R"({"Job": {"ID": "web", "Namespace": "prod", "Version": 3, "TaskGroups": [{"Name": "g", "Count": 2}]}})"),
       event("Job", R"({"Job": {"ID": "old"}, "Deleted": true})"),
       event("Allocation",
             R"({"Allocation": {"ID": ")" + std::string(kId) + R"(", "JobID": "web", "Name": "web.g[0]"}})"),
       event("HostVolume", R"({"Volume": {"ID": "vol", "Name": "data"}})")},
      faults);
  const json::Value written = to_json(frame);
  auto again = read_event_frame(written, "stream", "1:", faults);
  ASSERT_TRUE(again.has_value());
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(to_json(*again), written);
  EXPECT_EQ(again->objects.jobs.at(0)->version, 3u);
  EXPECT_EQ(again->objects.host_volumes.size() + again->gone.size(), 2u);
}

TEST(EventFrame, RefusesTextsThatAreNotFrames) {
  std::vector<InputError> faults;
  for (const char* text : {"7", "[]", "{}", R"({"Index": "5", "Events": []})", R"({"Index": 5})"})
    EXPECT_FALSE(read_event_frame(*parse_json(text), "stream", "1:", faults).has_value()) << text;
}

}  // namespace
}  // namespace berth::io
