// A server whose cluster comes from a file with members that no request could have written.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

class ImportedTest : public ::testing::Test {
 protected:
  void TearDown() override {
    client_.reset();
    service_.reset();
    std::filesystem::remove(path_);
  }
  void serve(const std::string& cluster) {
    std::ofstream(path_) << cluster;
    serve::ServiceOptions options;
    options.start.source = path_;
    options.start.nodes = 1;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
  }
  json::Value get(const std::string& target) {
    const Answer answer = client_->get(target);
    EXPECT_EQ(answer.status, 200) << target << ": " << answer.body;
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }

  const std::string path_ =
      (std::filesystem::temp_directory_path() / ("berth-imported-" + std::to_string(::getpid()) + ".json")).string();
  std::unique_ptr<http::Service> service_;
  std::unique_ptr<Client> client_;
};

std::string job_text(const std::string& more) {
  return R"({"ID": "a", "Name": "a", "Namespace": "default", "Type": "batch", "Datacenters": ["*"], "Status": "running",
             "CreateIndex": 5, "ModifyIndex": 5, "JobModifyIndex": 5, )" +
         more + R"("TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": "exec"}]}]})";
}

TEST_F(ImportedTest, AnAllocationMayNameANodeThatIsNotThere) {
  const std::string node = "99999999-0000-4000-8000-00000000000a";
  serve(R"({"Jobs": [)" + job_text("") + R"(], "Allocs": [{"ID": "00000000-0000-4000-8000-00000000000a",
      "Namespace": "default", "JobID": "a", "Name": "a.g[0]", "TaskGroup": "g", "NodeID": ")" +
        node + R"(", "DesiredStatus": "run", "ClientStatus": "running", "CreateIndex": 6, "ModifyIndex": 6,
      "AllocatedResources": {"Tasks": {"t": {"Cpu": {"CpuShares": 100}, "Memory": {"MemoryMB": 100}}},
                             "Shared": {"DiskMB": 300}}, "Job": )" +
        job_text("") + R"(}]})");
  const json::Value jobs = get("/v1/jobs/statuses");
  ASSERT_EQ(jobs.size(), 1U);
  ASSERT_EQ(jobs[0]["Allocs"].size(), 1U);
  EXPECT_EQ(jobs[0]["Allocs"][0]["NodeID"].as_string(), node);
}

TEST_F(ImportedTest, APayloadMayStateAnyLength) {
  serve(R"({"Jobs": [)" + job_text(R"("Payload": "/////wM=", )") + "]}");  // 2^30 - 1 bytes, none of which follow
  EXPECT_EQ(get("/v1/job/a")["Payload"].as_string(), "/////wM=");
}

TEST_F(ImportedTest, ATimeThatDoesNotFitIsNotInThePast) {
  serve(R"({"Nodes": [{"ID": "99999999-0000-4000-8000-00000000000a", "Name": "n", "Datacenter": "dc1",
      "Status": "down", "SchedulingEligibility": "eligible", "StatusUpdatedAt": 9223372036854775807,
      "NodeResources": {"Cpu": {"CpuShares": 1000}, "Memory": {"MemoryMB": 1000}, "Disk": {"DiskMB": 1000}}}]})");
  EXPECT_EQ(client_->put("/v1/berth/advance", R"({"Seconds": 400000})").status, 200);  // collected after a day
  EXPECT_EQ(get("/v1/nodes").size(), 2U) << "one is made up";
}

TEST_F(ImportedTest, ChildrenAreListedWithTheirParent) {
  std::string child = job_text(R"("ParentID": "a", )");
  child.replace(child.find(R"("ID": "a")"), 9, R"("ID": "a/periodic-1")");
  serve(R"({"Jobs": [)" + job_text(R"("Periodic": {"Enabled": true, "SpecType": "cron", "Spec": "0 0 1 1 *"}, )") +
        ", " + child + "]}");
  const json::Value jobs = get("/v1/jobs/statuses");
  ASSERT_EQ(jobs.size(), 1U);
  EXPECT_EQ(jobs[0]["ChildStatuses"].size(), 1U);
}

}  // namespace
}  // namespace berth::http
