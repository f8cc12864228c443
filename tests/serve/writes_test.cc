// Writes over real sockets: texts and statuses of refusals, answers of accepted writes, and berth's own endpoints.
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/base64.h"
#include "base/sha256.h"
#include "io/export_import.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "serve/client.h"
#include "serve/started.h"

namespace berth::http {
namespace {

std::string job_text(const std::string& id, int count, int cpu, const std::string& more = "") {
  return R"({"ID": ")" + id + R"(", "Name": ")" + id + R"(", "Type": "service", "Datacenters": ["*"], )" + more +
         R"("TaskGroups": [{"Name": "app", "Count": )" + std::to_string(count) +
         R"(, "Tasks": [{"Name": "main", "Driver": "mock_driver", "Config": {"run_for": "1h"}, "Resources": {"CPU": )" +
         std::to_string(cpu) + R"(, "MemoryMB": 128}}]}]})";
}

class WritesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("berth-writes-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
    serve::ServiceOptions options;
    options.start.nodes = 3;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("1000");
    options.simulation.snapshots = folder_.string();
    service_ = start_service(options);
    client_ = std::make_unique<Client>(service_->address());
  }
  void TearDown() override {
    client_.reset();
    service_.reset();
    std::filesystem::remove_all(folder_);
  }
  Answer ask(const std::string& method, const std::string& target, const std::string& body = "") {
    client_->ask(method, target, body);
    return client_->receive();
  }
  json::Value done(const std::string& method, const std::string& target, const std::string& body = "") {
    const Answer answer = ask(method, target, body);
    EXPECT_EQ(answer.status, 200) << method << " " << target << ": " << answer.body;
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }
  json::Value get(const std::string& target) { return done("GET", target); }
  json::Value run(const std::string& job) { return done("PUT", "/v1/jobs", R"({"Job": )" + job + "}"); }
  /// Waits until `count` allocations of the job run; returns their stubs.
  json::Array running(const std::string& job, std::size_t count) {
    for (int i = 0; i < 500; ++i) {
      json::Array found;
      const json::Value all = get("/v1/job/" + job + "/allocations");
      for (const json::Value& alloc : all.items())
        if (alloc["ClientStatus"].as_string() == "running") found.push_back(alloc);
      if (found.size() >= count) return found;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << job << " does not run";
    return {};
  }

  std::filesystem::path folder_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

TEST_F(WritesTest, RefusalsReadAsNomads) {  // R-API-15, 211, 223, 260 to 268, 312, 404, 431 to 433, 501
  run(job_text("web", 1, 100));
  const std::string id = "11111111-2222-4333-8444-555555555555";
  struct Refused {
    const char* method;
    std::string target, body;
    int status;
    std::string text;
  };
  const std::vector<Refused> cases{
      {"PUT", "/v1/jobs", "null", 400, "Job must be specified"},
      {"PUT", "/v1/jobs", "[]", 400, "json: cannot unmarshal array into Go value of type api.JobRegisterRequest"},
      {"PUT", "/v1/jobs", R"({"Job": {}})", 400, "Job ID hasn't been provided"},
      {"PUT", "/v1/jobs", R"({"job": {"id": "x"}})", 500, ""},
      {"PUT", "/v1/job/other", R"({"Job": )" + job_text("web", 1, 100) + "}", 400, "Job ID does not match name"},
      {"PUT", "/v1/jobs", R"({"EvalPriority": 101, "Job": )" + job_text("web", 1, 100) + "}", 400,
       "Eval priority must be between 1 and 100 inclusively"},
      {"PUT", "/v1/jobs", R"({"EnforceIndex": true, "JobModifyIndex": 7, "Job": )" + job_text("new", 1, 1) + "}", 500,
       "Enforcing job modify index 7: job does not exist"},
      {"PUT", "/v1/job/x/plan", R"({"Job": )" + job_text("web", 1, 100) + "}", 400, "Job ID does not match"},
      {"PUT", "/v1/jobs/parse", R"({"JobHCL": ""})", 400, "Job spec is empty"},
      {"PUT", "/v1/jobs/parse", R"({"JobHCL": "job \"a\" {\n foo = 1\n}"})", 400,
       "Failed to parse job: input.hcl:2,2-5: Unsupported argument; An argument named \"foo\" is not expected here."},
      {"PUT", "/v1/jobs/parse", R"({"JobHCL": "{\"Job\": {}}"})", 400,
       "Failed to parse job: input.hcl:1,2-7: Extraneous JSON object property; No argument or block type is named "
       "\"Job\". Did you mean \"job\"?"},
      {"PUT", "/v1/jobs/parse", R"({"JobHCL": "job \"a\" {\n region = file(\"/etc/passwd\")\n}"})", 400, ""},
      {"PUT", "/v1/job/none/evaluate", "", 500, "job not found"},
      {"PUT", "/v1/job/web/evaluate", R"({"JobID": "x"})", 400, "JobID not same as job name"},
      {"PUT", "/v1/job/none/scale", R"({"Count": 1, "Target": {"Group": "app"}})", 404, "job \"none\" not found"},
      {"PUT", "/v1/job/web/scale", R"({"Count": 1, "Target": {"Group": "zzz"}})", 400,
       "task group \"zzz\" specified for scaling does not exist in job"},
      {"PUT", "/v1/job/web/revert", R"({"JobID": "web", "JobVersion": 0})", 500, "can't revert to current version"},
      {"PUT", "/v1/job/web/revert", R"({"JobID": "web", "JobVersion": 9})", 500,
       "job \"web\" in namespace \"default\" at version 9 not found"},
      {"PUT", "/v1/job/web/stable", R"({"JobID": "web", "JobVersion": "x"})", 400,
       "json: cannot unmarshal string into Go struct field JobStabilityRequest.JobVersion of type uint64"},
      {"DELETE", "/v1/job/web/versions/gold/tag", "", 500, "tag \"gold\" not found on job \"web\""},
      {"PUT", "/v1/job/web/dispatch", "{}", 500, "Specified job \"web\" is not a parameterized job"},
      {"PUT", "/v1/job/web/dispatch", R"({"Payload": "%%%"})", 400, "illegal base64 data at input byte 0"},
      {"PUT", "/v1/job/web/periodic/force", "", 500, "can't force launch non-periodic job"},
      {"DELETE", "/v1/job/web?eval_priority=200", "", 400, "Eval priority must be between 1 and 100 inclusively"},
      {"DELETE", "/v1/job/web?purge=abc", "", 500,
       "Failed to parse value of \"purge\" (abc) as a bool: strconv.ParseBool: parsing \"abc\": invalid syntax"},
      {"GET", "/v1/job/web/versions?diffs=true&diff_version=99", "", 500, "version 99 not found"},
      {"GET", "/v1/job/none/versions", "", 404, "job versions not found"},
      {"GET", "/v1/job/web/submission", "", 400, "Unable to parse job submission version parameter"},
      {"GET", "/v1/job/web/submission?version=0", "", 404, "job source not found"},
      {"PUT", "/v1/node/" + id + "/drain", "{}", 500, "node not found"},
      {"PUT", "/v1/node/" + id + "/drain", "", 400, "Request body is empty"},
      {"PUT", "/v1/node/abc/purge", "", 500, "node lookup failed: index error: UUID must be 36 characters"},
      {"PUT", "/v1/node/" + id + "/eligibility", R"({"Eligibility": "maybe"})", 500,
       "invalid scheduling eligibility \"maybe\""},
      {"PUT", "/v1/allocation/" + id + "/stop", "", 404, "allocation not found"},
      {"PUT", "/v1/client/allocation/" + id + "/restart", "{}", 404, "Unknown allocation \"" + id + "\""},
      {"GET", "/v1/client/stats", "", 400, "No local Node and node_id not provided"},
      {"GET", "/v1/client/stats?node_id=" + id, "", 404, "Unknown node " + id},
      {"GET", "/v1/client/allocation/" + id + "/stats", "", 404, "Unknown allocation \"" + id + "\""},
      {"GET", "/v1/client/fs/logs/" + id, "", 400, "must provide task name"},
      {"GET", "/v1/client/fs/ls/" + id, "", 404, "Unknown allocation \"" + id + "\""},
      {"GET", "/v1/job/none/actions", "", 500, "Unknown job \"none\""},
      {"GET", "/v1/allocation/" + id + "/services", "", 404, "allocation not found"},
      {"PUT", "/v1/deployment/fail/" + id, "", 500, "deployment not found"},
      {"PUT", "/v1/deployment/promote/" + id, R"({"DeploymentID": "x"})", 400, "Deployment ID does not match"},
      {"PUT", "/v1/deployment/pause/nope", R"({"DeploymentID": "nope", "Pause": true})", 500,
       "deployment lookup failed: index error: UUID must be 36 characters"},
      {"DELETE", "/v1/evaluations", R"({"EvalIDs": []})", 400, "evals must be deleted by either ID or filter"},
      {"DELETE", "/v1/evaluations", R"({"EvalIDs": ["x"]})", 500,
       "eval broker is enabled; eval broker must be paused to delete evals"},
      {"PUT", "/v1/operator/scheduler/configuration", R"({"SchedulerAlgorithm": "nope"})", 400,
       "invalid scheduler algorithm: nope"},
      {"PUT", "/v1/operator/scheduler/configuration?cas=abc", "{}", 400,
       "Error parsing cas value: strconv.ParseUint: parsing \"abc\": invalid syntax"},
      {"POST", "/v1/system/gc", "", 405, "Invalid method"},
      {"PUT", "/v1/berth/snapshot", R"({"Name": "../x"})", 400,
       "Name must be 1 to 64 letters, digits, _ or -, for example {\"Name\": \"before-the-drain\"}"},
      {"PUT", "/v1/berth/counterfactual", R"({"JobID": "web"})", 400, "Algorithm or Strategy must be specified"},
      {"PUT", "/v1/berth/explain", R"({"JobID": "none"})", 404, "job not found"},
  };
  for (const Refused& one : cases) {
    const Answer answer = ask(one.method, one.target, one.body);
    EXPECT_EQ(answer.status, one.status) << one.method << " " << one.target << " " << one.body;
    if (!one.text.empty()) {
      EXPECT_EQ(answer.body, one.text) << one.method << " " << one.target << " " << one.body;
    }
  }
}

TEST_F(WritesTest, ValidationListsErrorsOneByOne) {  // R-API-13, 222
  std::string weird = job_text("t1", 1, 10);
  weird.replace(weird.find("\"service\""), 9, "\"weird\"");
  weird.replace(weird.find("\"Count\""), 0, "\"Update\": {\"MaxParallel\": 1}, ");
  const json::Value told = done("PUT", "/v1/validate/job", R"({"Job": )" + weird + "}");
  ASSERT_EQ(told["ValidationErrors"].size(), 2U) << json::to_text(told);
  EXPECT_EQ(told["ValidationErrors"][0].as_string(), "Invalid job type: \"weird\"");
  EXPECT_EQ(told["ValidationErrors"][1].as_string(),
            "Task group app validation failed: 1 error occurred:\n\t* Job type \"weird\" does not allow update "
            "block\n\n");
  const json::Value fine = done("PUT", "/v1/validate/job", R"({"Job": )" + job_text("web", 1, 10) + "}");
  EXPECT_TRUE(fine["ValidationErrors"].is_null());
  EXPECT_EQ(fine["Error"].as_string(), "");
}

TEST_F(WritesTest, VersionsSourcesAndTags) {  // R-API-218, 242, 243, 264, 266
  const auto submit = [&](int cpu, const char* source) {
    return done("PUT", "/v1/jobs",
                R"({"Submission": {"Source": ")" + std::string(source) + R"(", "Format": "hcl2"}, "Job": )" +
                    job_text("web", 2, cpu) + "}");
  };
  submit(100, "first"), submit(200, "second");
  const json::Value versions = get("/v1/job/web/versions?diffs=true");
  EXPECT_EQ(versions["Versions"].size(), 2U);
  ASSERT_EQ(versions["Diffs"].size(), 1U);
  EXPECT_EQ(versions["Diffs"][0]["Type"].as_string(), "Edited");
  EXPECT_EQ(get("/v1/job/web/submission?version=0")["Source"].as_string(), "first");
  EXPECT_EQ(done("PUT", "/v1/job/web/versions/gold/tag", R"({"Version": 0, "Description": "d"})")["Name"].as_string(),
            "gold");
  EXPECT_EQ(get("/v1/job/web/versions?diffs=true&diff_tag=gold")["Diffs"].size(), 2U);
  done("PUT", "/v1/job/web/revert", R"({"JobID": "web", "JobVersion": 0})");
  EXPECT_EQ(get("/v1/job/web")["Version"].as_int(), 2);
  EXPECT_TRUE(get("/v1/job/web")["VersionTag"].is_null());
  EXPECT_EQ(get("/v1/job/web/submission?version=2")["Source"].as_string(), "first");
  done("DELETE", "/v1/job/web");
  EXPECT_EQ(get("/v1/job/web/submission?version=3")["Source"].as_string(), "first") << "a stopped job keeps its source";
  EXPECT_EQ(done("DELETE", "/v1/job/nope")["Index"].as_int(), 0);
}

TEST_F(WritesTest, NewVersionsAndChildrenHaveNoTag) {  // R-REG-440
  const auto batch = [](std::string text) { return text.replace(text.find("service"), 7, "batch"); };
  done("PUT", "/v1/jobs", R"({"Job": )" + batch(job_text("web", 2, 100)) + "}");
  done("PUT", "/v1/job/web/versions/gold/tag", R"({"Version": 0})");
  EXPECT_FALSE(get("/v1/job/web")["VersionTag"].is_null());
  done("PUT", "/v1/job/web/scale", R"({"Count": 3, "Target": {"Group": "app"}})");
  EXPECT_TRUE(get("/v1/job/web")["VersionTag"].is_null()) << "scaled";
  done("PUT", "/v1/job/web/versions/silver/tag", R"({"Version": 1})");
  done("DELETE", "/v1/job/web");
  EXPECT_EQ(get("/v1/job/web")["Version"].as_int(), 2);
  EXPECT_TRUE(get("/v1/job/web")["VersionTag"].is_null()) << "stopped";
  done("PUT", "/v1/jobs", R"({"Job": )" + batch(job_text("p", 1, 100, R"("ParameterizedJob": {}, )")) + "}");
  done("PUT", "/v1/job/p/versions/gold/tag", R"({"Version": 0})");
  const std::string child = done("PUT", "/v1/job/p/dispatch", "{}")["DispatchedJobID"].as_string();
  EXPECT_TRUE(get("/v1/job/p%2F" + child.substr(2))["VersionTag"].is_null()) << child;
}

TEST_F(WritesTest, AJobScalesPlansAndRestarts) {  // R-API-224, 248, 263, 360, 705
  run(job_text("web", 2, 100));
  running("web", 2);
  const json::Value planned =
      done("PUT", "/v1/job/web/plan", R"({"Diff": true, "Job": )" + job_text("web", 3, 100) + "}");
  EXPECT_EQ(planned["Diff"]["Type"].as_string(), "Edited");
  EXPECT_EQ(planned["Annotations"]["DesiredTGUpdates"]["app"]["Place"].as_int(), 1);
  EXPECT_EQ(planned["JobModifyIndex"], get("/v1/job/web")["JobModifyIndex"]);
  EXPECT_EQ(get("/v1/job/web")["Version"].as_int(), 0) << "a plan changes nothing";
  for (int i = 0; i < 500 && get("/v1/job/web/deployment")["Status"].as_string() == "running"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const json::Value scaled = done("PUT", "/v1/job/web/scale",
                                  R"({"Count": 3, "Target": {"Group": "app"}, "Message": "more", "Meta": {"a": "b"}})");
  EXPECT_GT(scaled["Index"].as_int(), scaled["EvalCreateIndex"].as_int());
  const json::Array allocs = running("web", 3);
  const json::Value status = get("/v1/job/web/scale")["TaskGroups"]["app"];
  EXPECT_EQ(status["Desired"].as_int(), 3);
  EXPECT_EQ(status["Events"][0]["Message"].as_string(), "more");
  EXPECT_EQ(status["Events"][0]["PreviousCount"].as_int(), 2);
  const std::string alloc = allocs.at(0)["ID"].as_string();
  done("PUT", "/v1/client/allocation/" + alloc + "/restart", R"({"TaskName": "main"})");
  json::Value events;
  for (int i = 0; i < 500 && events.size() < 7; ++i) {
    events = get("/v1/allocation/" + alloc)["TaskStates"]["main"]["Events"];
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  ASSERT_EQ(events.size(), 7U) << json::to_text(events);
  EXPECT_EQ(events[3]["DisplayMessage"].as_string(), "User requested task to restart");
  EXPECT_EQ(events[5]["DisplayMessage"].as_string(), "Task restarting in 0s");
  done("PUT", "/v1/client/allocation/" + alloc + "/signal", R"({"Signal": "NONSENSE"})");  // to the mock driver
  done("PUT", "/v1/client/allocation/" + alloc + "/signal", R"({"Signal": "SIGUSR1", "Task": "main"})");
  EXPECT_EQ(done("PUT", "/v1/allocation/" + alloc + "/stop")["EvalID"].as_string().size(), 36U);
}

TEST_F(WritesTest, ValidSignalsAreThoseOfTheNode) {
  std::string docker = job_text("prog", 1, 10);
  docker.replace(docker.find("mock_driver"), 11, "docker");
  done("PUT", "/v1/jobs", R"({"Job": )" + docker + "}");
  const std::string alloc = running("prog", 1).at(0)["ID"].as_string();
  const std::string target = "/v1/client/allocation/" + alloc + "/signal";
  const Answer answer = ask("PUT", target, R"({"Signal": "NONSENSE"})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "invalid signal \"NONSENSE\"");
  done("PUT", target, R"({"Signal": "SIGUSR1", "Task": "main"})");
  done("PUT", "/v1/allocation/" + alloc + "/stop");
  for (int i = 0; i < 500 && get("/v1/allocation/" + alloc)["ClientStatus"].as_string() != "complete"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(ask("PUT", target, R"({"Signal": "NONSENSE"})").body,
            "1 error occurred:\n\t* Failed to signal task: main, err: Task not running\n\n");
}

TEST_F(WritesTest, RunningAllocationsRegisterTheirServices) {  // R-API-249
  const std::string group = R"({"Name": "app", "Count": 2, "Networks": [{"DynamicPorts": [{"Label": "http"}]}],
    "Services": [{"Name": "shop", "Provider": "nomad", "PortLabel": "http", "Tags": ["b", "a"]}],
    "Tasks": [{"Name": "main", "Driver": "mock_driver", "Config": {"run_for": "1h"},
               "Services": [{"Name": "plain", "Provider": "nomad"}]}]})";
  run(R"({"ID": "web", "Type": "service", "Datacenters": ["*"], "TaskGroups": [)" + group + "]}");
  EXPECT_EQ(running("web", 2).size(), 2u);
  const json::Value stubs = get("/v1/services");
  ASSERT_EQ(stubs.size(), 1u);
  EXPECT_EQ(stubs.items()[0]["Namespace"].as_string(), "default");
  const json::Array services = stubs.items()[0]["Services"].items();
  ASSERT_EQ(services.size(), 2u);
  EXPECT_EQ(services[0]["ServiceName"].as_string(), "plain");
  EXPECT_EQ(services[1]["ServiceName"].as_string(), "shop");
  EXPECT_EQ(json::to_text(services[1]["Tags"]), R"(["a","b"])");
  const json::Value shop = get("/v1/service/shop");
  ASSERT_EQ(shop.size(), 2u);
  const json::Value& one = shop.items()[0];
  const std::string id = one["AllocID"].as_string();
  EXPECT_EQ(one["ID"].as_string(), "_nomad-task-" + id + "-group-app-shop-http");
  const json::Value alloc = get("/v1/allocation/" + id);
  const json::Value& port = alloc["AllocatedResources"]["Shared"]["Ports"].items()[0];
  EXPECT_EQ(one["Port"].as_int(), port["Value"].as_int());
  EXPECT_EQ(one["Address"].as_string(), port["HostIP"].as_string());
  EXPECT_EQ(one["NodeID"].as_string(), alloc["NodeID"].as_string());
  EXPECT_EQ(get("/v1/job/web/services").size(), 4u);
  EXPECT_EQ(get("/v1/allocation/" + id + "/services").size(), 2u);
  EXPECT_EQ(get("/v1/service/other").size(), 0u);
  EXPECT_EQ(get("/v1/services?namespace=elsewhere").size(), 0u);
}

TEST_F(WritesTest, ListsShowTheCurrentNodes) {  // whatever an earlier list kept of them
  const json::Value before = get("/v1/nodes");
  const std::string at = "/v1/node/" + before[1]["ID"].as_string();
  EXPECT_TRUE(json::equal_ignoring_member_order(get("/v1/nodes"), before));
  done("PUT", at + "/eligibility", R"({"Eligibility": "ineligible"})");
  const json::Value after = get("/v1/nodes");
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1]["SchedulingEligibility"].as_string(), "ineligible");
  EXPECT_GT(after[1]["ModifyIndex"].as_int(), before[1]["ModifyIndex"].as_int());
  EXPECT_TRUE(get("/v1/nodes?resources=true")[1].has("NodeResources"));
  EXPECT_FALSE(get("/v1/nodes")[1].has("NodeResources"));
}

TEST_F(WritesTest, APausedBrokerStaysPausedAndReleasesEvaluations) {  // R-API-404, 501
  const std::string config = "/v1/operator/scheduler/configuration";
  done("PUT", config, R"({"SchedulerAlgorithm": "binpack", "PauseEvalBroker": true})");
  done("PUT", "/v1/berth/snapshot", R"({"Name": "paused"})");
  done("PUT", "/v1/berth/restore", R"({"Name": "paused"})");
  const std::string first = run(job_text("a", 1, 100))["EvalID"].as_string();
  const std::string second = run(job_text("b", 1, 100))["EvalID"].as_string();
  EXPECT_EQ(get("/v1/evaluation/" + first)["Status"].as_string(), "pending");
  EXPECT_EQ(done("DELETE", "/v1/evaluations", R"({"EvalIDs": [")" + first + R"("]})")["Count"].as_int(), 1);
  EXPECT_EQ(ask("GET", "/v1/evaluation/" + first).status, 404);
  done("PUT", config, R"({"SchedulerAlgorithm": "binpack"})");
  EXPECT_EQ(running("b", 1).size(), 1U);
  EXPECT_EQ(get("/v1/evaluation/" + second)["Status"].as_string(), "complete");
  EXPECT_EQ(get("/v1/job/a/allocations").size(), 0U);
  EXPECT_EQ(ask("DELETE", "/v1/evaluations", R"({"EvalIDs": [")" + second + R"("]})").status, 500) << "not paused";
}

TEST_F(WritesTest, NodesDrainAndTheConfigurationChanges) {  // R-API-310 to 313, 500, 501
  const std::string node = get("/v1/nodes")[0]["ID"].as_string();
  const std::string at = "/v1/node/" + node;
  const json::Value drained =
      done("PUT", at + "/drain", R"({"DrainSpec": {"Deadline": -1000000000}, "MarkEligible": true})");
  EXPECT_TRUE(drained["EvalIDs"].is_null());
  EXPECT_EQ(drained["Index"], drained["NodeModifyIndex"]);
  done("PUT", at + "/drain", R"({"DrainSpec": null, "MarkEligible": true})");
  EXPECT_EQ(done("PUT", at + "/eligibility", R"({"Eligibility": "eligible"})")["Index"].as_int(), 0) << "no change";
  EXPECT_GT(done("PUT", at + "/eligibility", R"({"Eligibility": "ineligible"})")["Index"].as_int(), 0);
  EXPECT_TRUE(done("PUT", at + "/evaluate")["EvalIDs"].is_null());
  EXPECT_GT(get("/v1/client/stats?node_id=" + node)["Memory"]["Total"].as_int(), 0);
  const json::Value meta = done("POST", "/v1/client/metadata", R"({"NodeID": ")" + node + R"(", "Meta": {"a": "b"}})");
  EXPECT_EQ(meta["Dynamic"]["a"].as_string(), "b");
  EXPECT_EQ(meta["Meta"]["a"].as_string(), "b");
  EXPECT_FALSE(meta["Static"].has("a"));
  for (int i = 0; i < 500 && !get(at)["Meta"].has("a"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(get(at)["Meta"]["a"].as_string(), "b") << "its client registers anew";
  const std::string config = "/v1/operator/scheduler/configuration";
  const std::string index = json::to_text(get(config)["Index"]);
  EXPECT_TRUE(done("PUT", config + "?cas=" + index, R"({"SchedulerAlgorithm": "spread"})")["Updated"].as_bool());
  EXPECT_FALSE(done("PUT", config + "?cas=" + index, R"({"SchedulerAlgorithm": "binpack"})")["Updated"].as_bool());
  EXPECT_EQ(get(config)["SchedulerConfig"]["SchedulerAlgorithm"].as_string(), "spread");
  EXPECT_FALSE(get(config)["SchedulerConfig"]["PreemptionConfig"]["SystemSchedulerEnabled"].as_bool())
      << "replaced as a whole";
}

TEST_F(WritesTest, ARunningDeploymentIsNotUnblocked) {  // R-API-433
  run(job_text("slow", 1, 100,
               R"("Update": {"MaxParallel": 1, "MinHealthyTime": 360000000000000, "HealthyDeadline": 720000000000000,
                  "ProgressDeadline": 900000000000000}, )"));
  running("slow", 1);
  const json::Value deployment = get("/v1/job/slow/deployment");
  ASSERT_EQ(deployment["Status"].as_string(), "running");
  const std::string id = deployment["ID"].as_string();
  const Answer answer = ask("PUT", "/v1/deployment/unblock/" + id, R"({"DeploymentID": ")" + id + R"("})");
  EXPECT_EQ(answer.status, 500);
  EXPECT_EQ(answer.body, "can't unblock running deployment");
}

TEST_F(WritesTest, AMachineJoinsThePoolThatItNames) {  // R-CTRL-907
  EXPECT_EQ(ask("PUT", "/v1/node/pools", R"({"Name": "gpu"})").status, 200);
  json::Value node = get("/v1/node/" + get("/v1/nodes")[0]["ID"].as_string());
  for (const char* pool : {"gpu", "missing"}) {
    const std::string id = std::string("00000000-1111-4222-8333-44444444444") + (pool[0] == 'g' ? "1" : "2");
    node.set("ID", id), node.set("Name", pool), node.set("NodePool", pool);
    done("PUT", "/v1/berth/fault", R"({"Kind": "join", "Node": )" + json::to_text(node) + "}");
    EXPECT_EQ(get("/v1/node/" + id)["NodePool"].as_string(), pool);
    EXPECT_EQ(get("/v1/node/pool/" + std::string(pool) + "/nodes").size(), 1U);
  }
}

TEST_F(WritesTest, DispatchedAndPeriodicJobsHaveChildren) {  // R-API-267 to 270
  const std::string batch = R"("Type": "batch", )";
  const auto with = [&](const std::string& id, const std::string& more) {
    std::string text = job_text(id, 1, 10, more);
    text.replace(text.find("\"service\""), 9, "\"batch\"");
    return text;
  };
  run(with("report", R"("ParameterizedJob": {"Payload": "optional", "MetaRequired": ["who"]}, )"));
  EXPECT_EQ(ask("PUT", "/v1/job/report/dispatch", "{}").body, "Dispatch did not provide required meta keys: [who]");
  const std::string asked = R"({"Payload": "eA==", "Meta": {"who": "me"}})";
  const json::Value child = done("PUT", "/v1/job/report/dispatch?idempotency_token=t", asked);
  EXPECT_TRUE(child["DispatchedJobID"].as_string().starts_with("report/dispatch-"));
  const json::Value again = done("PUT", "/v1/job/report/dispatch?idempotency_token=t", asked);
  EXPECT_EQ(again["DispatchedJobID"], child["DispatchedJobID"]);
  EXPECT_EQ(again["EvalID"].as_string(), "");
  EXPECT_EQ(ask("PUT", "/v1/job/report/dispatch/payload", std::string(16'385, 'x')).body,
            "Payload exceeds maximum size; 16385 > 16384");
  run(with("nightly", R"("Periodic": {"Enabled": true, "Spec": "0 0 1 1 *", "SpecType": "cron"}, )"));
  EXPECT_EQ(done("PUT", "/v1/job/nightly/periodic/force")["EvalID"].as_string().size(), 36U);
}

TEST_F(WritesTest, ExplainsWhatDoesNotFit) {
  run(job_text("big", 1, 15'000));
  running("big", 1);
  const json::Value told =
      done("PUT", "/v1/berth/explain", R"({"Node": "node-1", "Job": )" + job_text("huge", 1, 50'000) + "}");
  EXPECT_FALSE(told["Fits"].as_bool()) << json::to_text(told);
  ASSERT_EQ(told["Advice"].size(), 1U);
  EXPECT_NE(told["Node"].as_string().find("node-1"), std::string::npos);
  EXPECT_TRUE(done("PUT", "/v1/berth/explain", R"({"JobID": "big"})")["Fits"].as_bool());
  EXPECT_FALSE(done("PUT", "/v1/berth/explain", R"({"JobID": "big", "Node": "zzz"})")["Error"].as_string().empty());
}

TEST_F(WritesTest, ReportsWhatAnotherAlgorithmWouldDo) {
  run(job_text("web", 3, 1000));
  running("web", 3);
  const json::Value told = done("PUT", "/v1/berth/counterfactual", R"({"JobID": "web", "Algorithm": "spread"})");
  EXPECT_EQ(told["AsItIs"]["Placed"].size(), 3U) << json::to_text(told);
  EXPECT_EQ(told["Instead"]["Placed"].size(), 3U);
  EXPECT_EQ(told["Instead"]["Algorithm"].as_string(), "spread");
  const std::string eval = get("/v1/job/web/evaluations")[0]["ID"].as_string();
  const json::Value fit =
      done("PUT", "/v1/berth/counterfactual", R"({"EvalID": ")" + eval + R"(", "Strategy": "worst-fit-no-such"})");
  EXPECT_FALSE(fit["Error"].as_string().empty());
  const json::Value metrics = get("/v1/berth/run");
  EXPECT_GT(metrics["Evaluations"]["Served"].as_int(), 0);
  EXPECT_EQ(metrics["Clients"]["Running"].as_int(), 3);
}

TEST_F(WritesTest, ASnapshotRestoresTheState) {
  run(job_text("web", 2, 100));
  running("web", 2);
  for (int i = 0; i < 500 && get("/v1/job/web/deployment")["Status"].as_string() == "running"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));  // the end of an allocation changes the job
  done("PUT", "/v1/job/web/versions/gold/tag", R"({"Latest": true})");
  done("PUT", "/v1/berth/snapshot", R"({"Name": "before"})");
  const json::Value job = get("/v1/job/web"), summary = get("/v1/job/web/summary");
  done("DELETE", "/v1/job/web?purge=true");
  run(job_text("other", 1, 100));
  // If the writer is killed, the old file remains: a half-written file has another name.
  std::ofstream(folder_ / "before.json.tmp") << "{\"half";
  done("PUT", "/v1/berth/restore", R"({"Name": "before"})");
  EXPECT_TRUE(json::equal_ignoring_member_order(get("/v1/job/web"), job));
  EXPECT_EQ(get("/v1/job/web/summary")["Summary"]["app"]["Running"], summary["Summary"]["app"]["Running"]);
  EXPECT_EQ(ask("GET", "/v1/job/other").status, 404);
  EXPECT_EQ(running("web", 2).size(), 2U);
  std::ofstream(folder_ / "broken.json") << "{\"Format\": \"x\"}";
  const Answer broken = ask("PUT", "/v1/berth/restore", R"({"Name": "broken"})");
  EXPECT_EQ(broken.status, 400);
  EXPECT_NE(broken.body.find("broken.json"), std::string::npos);
  EXPECT_EQ(get("/v1/job/web")["ID"].as_string(), "web") << "a file that is refused changes nothing";
  EXPECT_EQ(ask("PUT", "/v1/berth/restore", R"({"Name": "missing"})").status, 400);
}

TEST_F(WritesTest, ACommandSavesTheClusterLikeNomad) {  // R-STORE-335
  run(job_text("web", 2, 100));
  running("web", 2);
  done("PUT", "/v1/var/secret", R"({"Items": {"password": "hidden-away"}})");  // takes an index, and is not in the file
  done("POST", "/v1/berth/speed", R"({"Speed": "step"})");
  const Answer answer = ask("GET", "/v1/operator/snapshot?stale");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(answer.headers.at("content-type"), "application/x-gzip");
  base::Sha256 sum;
  sum.add(answer.body);
  EXPECT_EQ(answer.headers.at("digest"), "sha-256=" + base::to_base64(sum.bytes()));
  const std::string path = (folder_ / "saved.snap").string();
  std::ofstream(path, std::ios::binary) << answer.body;
  const auto saved = io::import_cluster(path);
  ASSERT_TRUE(saved) << saved.error().line();
  EXPECT_TRUE(saved->warnings.empty()) << saved->warnings.front();
  EXPECT_TRUE(saved->notes.empty()) << saved->notes.front();
  EXPECT_EQ(saved->state.nodes.size(), 3U);
  EXPECT_EQ(saved->state.jobs.size(), 1U);
  EXPECT_EQ(saved->state.evals.size(), get("/v1/evaluations").size());
  EXPECT_GT(saved->state.index, get("/v1/job/web")["JobModifyIndex"].as_uint());
  ASSERT_EQ(saved->state.allocs.size(), 2U);
  for (const model::Allocation& alloc : saved->state.allocs) {
    json::Value stored = get("/v1/allocation/" + alloc.id);
    EXPECT_EQ(alloc.name, stored["Name"].as_string());
    EXPECT_EQ(alloc.modify_index, stored["ModifyIndex"].as_uint());
    EXPECT_EQ(alloc.task_states.begin()->second->state, "running");
  }
  EXPECT_EQ(ask("PUT", "/v1/operator/snapshot").status, 501);
  EXPECT_EQ(ask("DELETE", "/v1/operator/snapshot").status, 405);
}

}  // namespace
}  // namespace berth::http
