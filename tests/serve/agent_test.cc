// The agent of `berth serve`: workers, log, metrics, local node, files of allocations, sessions, and events of a
// workload (R-STORE-300 to 515); texts are those of the rules.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>

#include "base/base64.h"
#include "http/addresses.h"
#include "http/go_json.h"
#include "http/task_files.h"
#include "http/telemetry.h"
#include "io/json_parse.h"
#include "model/codec/codec.h"
#include "serve/client.h"
#include "serve/start.h"
#include "support/scratch_folder.h"

namespace berth::http {
namespace {

using namespace std::chrono_literals;

class AgentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.start.nodes = 3;
    options_.start.now_ns = 1'800'000'000 * base::kSecond;
    options_.simulation.speed = *Speed::parse("step");
    options_.simulation.processors = 4;
    options_.listen = "127.0.0.1:0";
  }
  void begin() {
    auto service = serve::make_service(options_);
    ASSERT_TRUE(service) << service.error().line();
    service_ = std::move(*service);
    service_->start();
    client_ = std::make_unique<Client>(service_->address());
  }
  static json::Value parse(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }
  json::Value get(const std::string& target) { return parse(client_->get(target)); }
  Answer post(const std::string& target, const std::string& body) {
    client_->ask("POST", target, body);
    return client_->receive();
  }
  void advance(double seconds) {
    EXPECT_EQ(post("/v1/berth/advance", R"({"Seconds": )" + std::to_string(seconds) + "}").status, 200);
  }
  Answer register_job(const std::string& id, const std::string& driver = "mock_driver",
                      const std::string& config = R"({"run_for": "1h"})") {
    return client_->put("/v1/jobs", R"({"Job": {"ID": ")" + id + R"(", "Type": "service", "Datacenters": ["*"],
      "TaskGroups": [{"Name": "g", "Count": 1, "Tasks": [{"Name": "t", "Driver": ")" +
                                        driver + R"(", "Config": )" + config +
                                        R"(, "Resources": {"CPU": 100, "MemoryMB": 64}}]}]}})");
  }
  std::string alloc_of(const std::string& job) { return get("/v1/job/" + job + "/allocations")[0]["ID"].as_string(); }
  /// Status and body.
  static std::string told(const Answer& answer) { return std::to_string(answer.status) + " " + answer.body; }

  serve::ServiceOptions options_;
  std::unique_ptr<Service> service_;
  std::unique_ptr<Client> client_;
};

TEST_F(AgentTest, SetsTheNumberOfWorkers) {  // R-STORE-320 to 322
  begin();
  EXPECT_EQ(json::to_text(get("/v1/agent/schedulers/config")["enabled_schedulers"]),
            R"(["service","batch","system","sysbatch","_core"])");
  const json::Value workers = get("/v1/agent/schedulers")["schedulers"];
  ASSERT_EQ(workers.size(), 4U);
  EXPECT_EQ(workers[2]["status"].as_string(), "Paused");  // the first three of four
  EXPECT_EQ(workers[3]["status"].as_string(), "Started");
  for (const char* wrong : {R"({})", R"({"num_schedulers": 5, "enabled_schedulers": ["_core"]})",
                            R"({"num_schedulers": -1, "enabled_schedulers": ["_core"]})",
                            R"({"num_schedulers": 1, "enabled_schedulers": ["service"]})",
                            R"({"num_schedulers": 1, "enabled_schedulers": ["_core", "nope"]})"})
    EXPECT_EQ(told(client_->put("/v1/agent/schedulers/config", wrong)), "400 Invalid request") << wrong;
  EXPECT_EQ(told(client_->put("/v1/agent/schedulers/config", "")), "400 Invalid request: Request body is empty");
  // Without workers nothing is decided. Evaluations of a type without a worker wait.
  EXPECT_EQ(
      client_->put("/v1/agent/schedulers/config", R"({"num_schedulers": 0, "enabled_schedulers": ["_core"]})").status,
      200);
  EXPECT_EQ(register_job("waits").status, 200);
  advance(30);
  EXPECT_EQ(get("/v1/job/waits/evaluations")[0]["Status"].as_string(), "pending");
  EXPECT_EQ(get("/v1/agent/schedulers")["schedulers"].size(), 0U);
  client_->put("/v1/agent/schedulers/config", R"({"num_schedulers": 2, "enabled_schedulers": ["batch", "_core"]})");
  advance(30);
  EXPECT_EQ(get("/v1/job/waits/evaluations")[0]["Status"].as_string(), "pending");
  const json::Value set = parse(client_->put("/v1/agent/schedulers/config",
                                             R"({"num_schedulers": 1, "enabled_schedulers": ["_core", "service"]})"));
  EXPECT_EQ(json::to_text(set["enabled_schedulers"]), R"(["_core","service"])");
  advance(30);
  EXPECT_EQ(get("/v1/job/waits/evaluations")[0]["Status"].as_string(), "complete");
}

TEST_F(AgentTest, SendsItsLog) {  // R-STORE-323, 324
  begin();
  EXPECT_EQ(told(client_->get("/v1/agent/monitor?log_level=loud")), "400 Unknown log level: loud");
  EXPECT_EQ(told(client_->get("/v1/agent/monitor?node_id=a&server_id=b")),
            "400 Cannot target node and server simultaneously");
  EXPECT_EQ(told(client_->get("/v1/agent/monitor?server_id=b")), "400 unknown Nomad server b");
  EXPECT_EQ(told(client_->get("/v1/agent/monitor?node_id=b")), "500 RPC Error:: 404,Unknown node \"b\"");
  EXPECT_EQ(told(client_->get("/v1/agent/monitor/export")), "400 Either -service-name or -on-disk must be set");
  Client frames(service_->address()), plain(service_->address()), quiet(service_->address());
  frames.ask("GET", "/v1/agent/monitor?log_level=debug");
  plain.ask("GET", "/v1/agent/monitor?log_level=INFO&plain=true");
  quiet.ask("GET", "/v1/agent/monitor?log_level=error&plain=true");
  EXPECT_EQ(frames.head().headers["content-type"], "application/json");
  EXPECT_EQ(plain.head().headers["content-type"], "text/plain");
  EXPECT_EQ(quiet.head().status, 200);
  std::string first;
  frames.chunk(first);
  EXPECT_EQ(first, "{}");
  EXPECT_EQ(register_job("web").status, 200);
  advance(30);
  std::string all;
  while (all.find("request complete: method=PUT path=/v1/jobs") == std::string::npos) {
    std::string chunk;
    ASSERT_TRUE(frames.chunk(chunk));
    if (chunk == "{}") continue;
    const json::Value frame = io::parse_json(chunk).value();
    EXPECT_EQ(frame["FileEvent"].as_string(), "log");
    all += base::from_base64(frame["Data"].as_string()).value();
  }
  EXPECT_NE(all.find("Z [DEBUG] http: "), std::string::npos) << all;
  std::string lines;
  while (lines.find("client_status=running") == std::string::npos) ASSERT_TRUE(plain.chunk(lines));
  EXPECT_EQ(lines.find("[DEBUG]"), std::string::npos);
  EXPECT_NE(lines.find("[INFO]  client.alloc_runner: allocation placed: alloc_id=" + alloc_of("web")),
            std::string::npos);
  EXPECT_NE(lines.find("[INFO]  worker: evaluation processed: eval_id="), std::string::npos) << lines;
}

TEST_F(AgentTest, PrintsItsLog) {
  begin();
  std::mutex mutex;
  std::vector<json::Value> lines;
  service_->simulation().monitor_log().print(http::LogLevel::info, true, [&](std::string_view line) {
    const std::lock_guard lock(mutex);
    lines.push_back(io::parse_json(line).value());
  });
  EXPECT_EQ(register_job("web").status, 200);
  advance(30);
  const std::lock_guard lock(mutex);
  const auto with = [&](const char* message) {
    return std::find_if(lines.begin(), lines.end(),
                        [&](const json::Value& line) { return line["@message"].as_string() == message; });
  };
  const auto decided = with("evaluation processed"), placed = with("allocation placed");
  ASSERT_TRUE(decided != lines.end() && placed != lines.end());
  EXPECT_EQ((*decided)["job_id"].as_string(), "web");
  EXPECT_EQ((*decided)["triggered_by"].as_string(), "job-register");
  EXPECT_EQ((*decided)["status"].as_string(), "complete");
  EXPECT_EQ((*decided)["attempts"].as_string(), "1");
  EXPECT_NE((*decided)["placed"].as_string(), "0");
  EXPECT_EQ((*decided)["failed"].as_string(), "0");
  EXPECT_NE((*decided)["sources"].as_string(), "none");
  EXPECT_EQ((*placed)["alloc_id"].as_string(), alloc_of("web"));
  EXPECT_TRUE(with("request complete") == lines.end());  // debug
}

TEST_F(AgentTest, PublishesCountersSamplesAndGauges) {  // R-STORE-400 to 404
  begin();
  json::Value all = get("/v1/metrics");
  for (const char* list : {"Counters", "Gauges", "Samples"}) EXPECT_GT(all[list].size(), 0U) << list;
  EXPECT_EQ(json::to_text(all["Points"]), "[]");
  EXPECT_EQ(register_job("web").status, 200);
  advance(30);
  all = get("/v1/metrics");
  std::map<std::string, const json::Value*> rows;
  for (const char* list : {"Counters", "Gauges", "Samples"}) {
    std::string before;
    for (const json::Value& row : all[list].items()) {
      EXPECT_LE(before, row["Name"].as_string());
      before = row["Name"].as_string();
      EXPECT_FALSE(row["Labels"]["host"].as_string().empty()) << before;
      rows[before] = &row;
    }
  }
  for (const char* name : {"nomad.nomad.rpc.request", "nomad.nomad.rpc.job.write", "nomad.raft.apply"})
    EXPECT_GE(rows.at(name)->find("Count")->as_int(), 1) << name;
  for (const char* name : {"nomad.nomad.job.register", "nomad.nomad.worker.invoke_scheduler.service",
                           "nomad.nomad.plan.apply", "nomad.nomad.broker.wait_time"})
    EXPECT_GE((*rows.at(name))["Max"].as_double(), (*rows.at(name))["Min"].as_double()) << name;
  EXPECT_EQ((*rows.at("nomad.nomad.broker.process_time"))["Labels"]["triggered_by"].as_string(), "job-register");
  for (const char* name : {"nomad.client.allocated.max_memory", "nomad.client.allocations.running",
                           "nomad.client.tasks.running", "nomad.client.uptime", "nomad.nomad.autopilot.healthy",
                           "nomad.nomad.job_summary.running", "nomad.runtime.alloc_bytes", "nomad.state.snapshotIndex"})
    EXPECT_TRUE(rows.contains(name)) << name;
  const Answer page = client_->get("/v1/metrics?format=prometheus");
  EXPECT_EQ(page.headers.at("content-type"), "text/plain; version=0.0.4; charset=utf-8; escaping=underscores");
  for (const char* line :
       {"# HELP nomad_nomad_broker_total_ready nomad_nomad_broker_total_ready\n# TYPE nomad_nomad_broker_total_ready "
        "gauge\n"
        "nomad_nomad_broker_total_ready{host=\"",
        "# TYPE nomad_nomad_rpc_request counter\n", "# TYPE nomad_nomad_job_register summary\n",
        "nomad_nomad_job_register_count{", "quantile=\"0.99\"", "# TYPE process_resident_memory_bytes gauge\n"})
    EXPECT_NE(page.body.find(line), std::string::npos) << line;
  EXPECT_EQ(client_->put("/v1/metrics", "{}").status, 405);
}

TEST(Telemetry, KeepsIntervalsAndTotals) {  // R-STORE-401, 403, 404
  const Telemetry::Clock::time_point begin{};
  Telemetry telemetry(begin);
  for (const double value : {1.0, 2.0, 6.0}) telemetry.sample_at(begin + 1s, "s", {{"k", "v"}}, value);
  telemetry.count_at(begin + 1s, "c", {}, 2);
  EXPECT_EQ(telemetry.report(begin + 2s).samples.at(0).interval.count, 3U);  // no interval has ended yet
  telemetry.count_at(begin + 12s, "c", {}, 1);
  Telemetry::Report report = telemetry.report(begin + 13s);
  EXPECT_EQ(report.age_seconds, 3);
  const Telemetry::Row sample = report.samples.at(0);
  EXPECT_EQ(sample.interval.sum, 9);
  EXPECT_EQ(sample.interval.min, 1);
  EXPECT_EQ(sample.interval.max, 6);
  EXPECT_DOUBLE_EQ(sample.interval.deviation(), std::sqrt(7.0));  // of 1, 2, 6 about 3: (4 + 1 + 9) / 2
  EXPECT_EQ(sample.quantiles, (std::vector<double>{2, 6, 6}));
  EXPECT_EQ(report.counters.at(0).interval.sum, 2);
  EXPECT_EQ(report.counters.at(0).total, 3);
  report = telemetry.report(begin + 45s);  // nothing was counted in the previous interval
  EXPECT_EQ(report.counters.at(0).interval.count, 0U);
  EXPECT_TRUE(report.samples.at(0).quantiles.empty());
  EXPECT_EQ(telemetry.report(begin + 90s).counters.size(), 0U);  // a minute without an event
  for (std::size_t i = 0; i < Telemetry::kSeries + 5; ++i)
    telemetry.count_at(begin + 91s, "many", {{"i", std::to_string(i)}}, 1);
  EXPECT_EQ(telemetry.report(begin + 92s).counters.size(), Telemetry::kSeries);
  EXPECT_EQ(telemetry.left_out(), 5U);
}

TEST_F(AgentTest, HasALocalNode) {  // R-STORE-300, 301, 310, 315, 325
  begin();
  EXPECT_EQ(told(client_->get("/v1/client/stats")), "400 No local Node and node_id not provided");
  EXPECT_EQ(told(client_->get("/v1/client/metadata")), "400 no local Node and node_id not provided");
  EXPECT_EQ(told(client_->get("/v1/agent/servers")), "501 Invalid method");
  EXPECT_EQ(get("/v1/agent/self")["stats"].find("client"), nullptr);
  const std::string unknown = "ffffffff-1111-4222-8333-444444444444";
  EXPECT_EQ(told(client_->get("/v1/client/stats?node_id=" + unknown)), "404 Unknown node " + unknown);
  EXPECT_EQ(told(client_->get("/v1/client/gc?node_id=" + unknown)), "500 Unknown node " + unknown);
  options_.start.self_node = "pynomad1";
  service_.reset();
  begin();
  const json::Value self = get("/v1/agent/self");
  const std::string id = self["stats"]["client"]["node_id"].as_string();
  EXPECT_EQ(get("/v1/node/" + id)["Name"].as_string(), "pynomad1");
  EXPECT_EQ(self["config"]["NodeName"].as_string(), "pynomad1");
  EXPECT_TRUE(self["config"]["Client"]["Enabled"].as_bool());
  EXPECT_EQ(get("/v1/operator/raft/configuration")["Servers"][0]["ID"].as_string(),
            self["member"]["Tags"]["id"].as_string());  // R-STORE-342
  EXPECT_EQ(client_->get("/v1/agent/servers").body, R"(["127.0.0.1:4647"])");
  EXPECT_GT(get("/v1/client/stats")["Memory"]["Total"].as_int(), 0);
  EXPECT_EQ(client_->get("/v1/agent/health").body,
            R"({"server":{"ok":true,"message":"ok"},"client":{"ok":true,"message":"ok"}})");
  EXPECT_EQ(get("/v1/client/identity")["Claims"]["nomad_node_id"].as_string(), id);
  const json::Value before = get("/v1/client/identity")["Claims"];
  advance(5);
  EXPECT_EQ(client_->put("/v1/client/identity/renew", "").body, "{}");
  const json::Value after = get("/v1/client/identity")["Claims"];
  EXPECT_NE(before["jti"].as_string(), after["jti"].as_string());
  EXPECT_EQ(after["exp"].as_int() - after["iat"].as_int(), 24 * 3600);
  options_.start.self_node = "nowhere", options_.start.nodes = 0;
  options_.start.source = "preemption-cascade";
  const auto refused = serve::make_service(options_);
  ASSERT_FALSE(refused);
}

TEST_F(AgentTest, ChangesMetadataOfANode) {  // R-STORE-374, 375
  options_.start.nodes = 1;                  // the only node is the agent's own
  begin();
  EXPECT_EQ(get("/v1/client/metadata")["Static"]["connect.log_level"].as_string(), "info");
  EXPECT_EQ(told(post("/v1/client/metadata", "{}")), "400 missing required Meta object");
  EXPECT_EQ(told(post("/v1/client/metadata", R"({"Meta": {"": "x"}})")), "400 metadata keys must not be empty");
  EXPECT_EQ(told(post("/v1/client/metadata", R"({"Meta": {"a b": "x"}})")),
            "400 \"a b\" is invalid; metadata keys must be valid dotted hcl identifiers");
  const std::string body = R"({"Meta": {"connect.log_level": null, "nope": null, "own.key": "1"}})";
  json::Value answer = parse(post("/v1/client/metadata", body));
  EXPECT_EQ(json::to_text(answer["Dynamic"]), R"({"connect.log_level":null,"own.key":"1"})");
  EXPECT_FALSE(answer["Meta"].has("connect.log_level"));
  EXPECT_EQ(answer["Meta"]["own.key"].as_string(), "1");
  EXPECT_EQ(answer["Static"]["connect.log_level"].as_string(), "info");
  advance(20);
  const std::string id = get("/v1/nodes")[0]["ID"].as_string();
  EXPECT_FALSE(get("/v1/node/" + id)["Meta"].has("connect.log_level"));
  EXPECT_EQ(get("/v1/node/" + id)["Meta"]["own.key"].as_string(), "1");
  answer = parse(post("/v1/client/metadata", R"({"Meta": {"connect.log_level": "debug", "own.key": null}})"));
  EXPECT_EQ(json::to_text(answer["Dynamic"]), R"({"connect.log_level":"debug"})");
  EXPECT_EQ(get("/v1/client/metadata")["Meta"]["connect.log_level"].as_string(), "debug");
}

TEST_F(AgentTest, KeepsAutopilotSettings) {  // R-STORE-330, 331, 334
  begin();
  const std::string path = "/v1/operator/autopilot/configuration";
  json::Value before = get(path);
  EXPECT_EQ(before["LastContactThreshold"].as_string(), "200ms");
  EXPECT_EQ(
      client_->put(path, R"({"CleanupDeadServers": true, "LastContactThreshold": "1m30s", "MaxTrailingLogs": 7})").body,
      "true");
  const json::Value after = get(path);
  EXPECT_EQ(after["LastContactThreshold"].as_string(), "1m30s");
  EXPECT_EQ(after["ServerStabilizationTime"].as_string(), "0s");
  EXPECT_EQ(after["MaxTrailingLogs"].as_int(), 7);
  EXPECT_EQ(after["CreateIndex"].as_int(), before["CreateIndex"].as_int());
  EXPECT_GT(after["ModifyIndex"].as_int(), before["ModifyIndex"].as_int());
  EXPECT_EQ(client_->put(path + "?cas=1", "{}").body, "false");
  EXPECT_EQ(client_->put(path + "?cas=" + std::to_string(after["ModifyIndex"].as_int()), "{}").body, "true");
  EXPECT_FALSE(get(path)["CleanupDeadServers"].as_bool());
  EXPECT_EQ(told(client_->put(path + "?cas=x", "{}")),
            "400 Error parsing cas value: strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(told(client_->put(path, R"({"LastContactThreshold": "x"})")),
            "400 Error parsing autopilot config: time: invalid duration \"x\"");
  EXPECT_EQ(told(post(path, "{}")), "404 Invalid method");
  const auto remove = [&](const std::string& query) {
    client_->ask("DELETE", "/v1/operator/raft/peer" + query);
    return told(client_->receive());
  };
  EXPECT_EQ(remove(""), "400 Must specify the peer's ID to remove");
  EXPECT_EQ(remove("?address=a"),
            "400 Removing a peer by address is not supported in the current raft protocol version");
  EXPECT_EQ(remove("?id=x"), "500 id \"x\" was not found in the Raft configuration");
  EXPECT_EQ(told(client_->put("/v1/operator/raft/transfer-leadership?id=x", "")),
            "400 id must be a uuid: uuid string is wrong length");
  EXPECT_EQ(told(client_->put("/v1/agent/join", "")), "400 missing address to join");
  EXPECT_EQ(get("/v1/operator/upgrade-check/vault-workload-identity")["KnownLeader"].as_bool(), true);
}

TEST_F(AgentTest, ShowsFilesAndLogs) {  // R-STORE-350 to 358
  begin();
  register_job("web", "mock_driver",
               R"({"run_for": "1h", "stdout_string": "line\n", "stdout_repeat": 3, "stdout_repeat_duration": "10s"})");
  register_job("other", "docker", R"({"image": "x"})");
  advance(15);
  const std::string web = alloc_of("web"), fs = "/v1/client/fs/";
  const json::Value root = get(fs + "ls/" + web);
  ASSERT_EQ(root.size(), 2U);
  EXPECT_EQ(root[0]["Name"].as_string(), "alloc");
  EXPECT_EQ(root[1]["FileMode"].as_string(), "drwxrwxrwx");
  EXPECT_EQ(get(fs + "ls/" + web + "?path=/alloc//logs/")[1]["Name"].as_string(), "t.stdout.0");
  EXPECT_EQ(client_->get(fs + "ls/" + web + "?path=nope").status, 404);
  EXPECT_EQ(told(client_->get(fs + "ls/" + web + "?path=a/../../b")), "500 Path escapes the alloc directory");
  EXPECT_EQ(told(client_->get(fs + "stat/" + web)), "400 must provide a file name");
  EXPECT_EQ(get(fs + "stat/" + web + "?path=alloc/logs/t.stdout.0")["Size"].as_int(),
            10);  // at the start and 10 s later
  EXPECT_EQ(client_->get(fs + "cat/" + web + "?path=alloc/logs/t.stdout.0").body, "line\nline\n");
  EXPECT_EQ(told(client_->get(fs + "cat/" + web + "?path=alloc")), "200 file \"alloc\" is a directory");
  EXPECT_EQ(client_->get(fs + "readat/" + web + "?path=alloc/logs/t.stdout.0&offset=3&limit=4").body, "e\nli");
  EXPECT_EQ(told(client_->get(fs + "nope/" + web)), "404 Invalid method");
  const std::string logs = fs + "logs/" + web + "?";
  EXPECT_EQ(told(client_->get(logs)), "400 must provide task name");
  EXPECT_EQ(told(client_->get(logs + "task=t")), "400 must provide log type (stdout/stderr)");
  EXPECT_EQ(told(client_->get(logs + "task=t&type=stdout&follow=x")),
            "400 failed to parse follow field to boolean: strconv.ParseBool: parsing \"x\": invalid syntax");
  EXPECT_EQ(told(client_->get(logs + "task=t&type=stdout&origin=x")), "400 origin must be start or end");
  EXPECT_EQ(told(client_->get(logs + "task=no&type=stdout")), "400 unknown task name \"no\"");
  EXPECT_EQ(client_->get(logs + "task=t&type=stderr").body, "");
  const json::Value frame = parse(client_->get(logs + "task=t&type=stdout&offset=5"));
  EXPECT_EQ(base::from_base64(frame["Data"].as_string()).value(), "line\n");
  EXPECT_EQ(frame["File"].as_string(), "alloc/logs/t.stdout.0");
  EXPECT_EQ(frame["Offset"].as_int(), 10);
  EXPECT_EQ(client_->get(logs + "task=t&type=stdout&plain=true&origin=end&offset=2").body, "e\n");
  Client follower(service_->address());
  follower.ask("GET", logs + "task=t&type=stdout&follow=true&plain=true");
  EXPECT_EQ(follower.head().status, 200);
  advance(60);  // all four lines are written
  std::string read;
  while (read.size() < 20) ASSERT_TRUE(follower.chunk(read));
  EXPECT_EQ(read, "line\nline\nline\nline\n");
  client_->ask("DELETE", "/v1/job/web");
  client_->receive();
  advance(30);
  while (follower.chunk(read)) {
  }
  EXPECT_EQ(read.size(), 20U);  // the stream ended with the allocation
  const std::string told_by = client_->get(fs + "logs/" + alloc_of("other") + "?task=t&type=stdout&plain=true").body;
  EXPECT_NE(told_by.find("Started: Task started by client\n"), std::string::npos) << told_by;
}

TEST(TaskFiles, ReadsTextsThatAreLongerThanMemory) {
  LongText text;
  text.add("abc", 1'000'000'000'000, 100);
  text.add("xy", 5, 100);
  EXPECT_EQ(text.size(), 100);  // the limit cuts the repetitions
  EXPECT_EQ(text.read(98, 10), "ca");
  EXPECT_EQ(text.read(4, 5), "bcabc");
  EXPECT_EQ(TaskFiles::clean("/a/./b//c/.."), "a/b");
  EXPECT_EQ(TaskFiles::clean("a/../../b"), std::nullopt);
}

TEST_F(AgentTest, RefusesSessionsInTheirWebsocket) {  // R-STORE-370, 372
  begin();
  register_job("web");
  advance(10);
  const std::string path = "/v1/client/allocation/", exec = "/exec?task=t&tty=true&command=%5B%22sh%22%5D";
  EXPECT_EQ(told(client_->get(path + alloc_of("web") + exec)), "500 websocket connection not found in context");
  const auto session = [&](const std::string& target) {
    Client client(service_->address());
    client.ask("GET", target, "",
               "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
               "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n");
    const Answer head = client.head();
    EXPECT_EQ(head.status, 101);
    EXPECT_EQ(head.headers.at("sec-websocket-accept"), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");  // RFC 6455, section 1.3
    std::string frame;
    while (frame.size() < 2 || frame.size() < 2U + static_cast<unsigned char>(frame[1])) EXPECT_TRUE(client.any(frame));
    EXPECT_EQ(static_cast<unsigned char>(frame[0]), 0x88);
    const int code = static_cast<unsigned char>(frame[2]) << 8 | static_cast<unsigned char>(frame[3]);
    return std::to_string(code) + " " + frame.substr(4);
  };
  const std::string unknown = "ffffffff-1111-4222-8333-444444444444";
  EXPECT_EQ(session(path + unknown + exec), "1008 Unknown allocation \"" + unknown + "\"");
  EXPECT_EQ(session(path + alloc_of("web") + exec), "1008 not available: allocations of this cluster are simulated");
  EXPECT_EQ(session(path + alloc_of("web") + "/exec?task=no&command=%5B%22sh%22%5D"), "1011 task not found");
  EXPECT_EQ(session(path + alloc_of("web") + "/exec?task=t&command=%5B%5D"), "1008 command is not present");
  EXPECT_EQ(client_->get("/v1/jobs").status, 200);
}

TEST_F(AgentTest, EditsNamespacesAndPools) {  // R-STORE-500 to 512
  begin();
  EXPECT_EQ(get("/v1/namespace/default")["Hash"].as_string(), "C7UbjDwBK0dK8wQq7Izg7SJIzaV+lIo2X7wRtzY3pSw=");
  EXPECT_EQ(client_->put("/v1/namespace/default", R"({"Name": "default", "Meta": {"a": "b"}})").status, 200);
  const json::Value written = get("/v1/namespace/default");
  EXPECT_EQ(written["Description"].as_string(), "");
  EXPECT_EQ(written["Meta"]["a"].as_string(), "b");
  EXPECT_EQ(written["CreateIndex"].as_int(), 1);
  EXPECT_GT(written["ModifyIndex"].as_int(), 1);
  EXPECT_EQ(told(client_->put("/v1/namespace", R"({"Name": "a b", "VaultConfiguration": {}})")),
            "500 Invalid namespace \"a b\": 2 errors occurred:\n\t* invalid name \"a b\". Must match regex "
            "^[a-zA-Z0-9-]{1,128}$\n\t* invalid vault configuration: Multi-Cluster Vault is unlicensed.\n\n");
  EXPECT_EQ(told(client_->put("/v1/namespace", R"({"Name": "q", "Quota": "x"})")),
            "500 namespace \"q\" using non-existent quota \"x\"");
  EXPECT_EQ(told(client_->put("/v1/namespace", R"({"Name": "q", "Meta": {"a": 1}})")),
            "400 json: cannot unmarshal number into Go struct field Namespace.Meta of type string");
  EXPECT_EQ(told(client_->put("/v1/node/pools", R"({"Name": "p", "Meta": {"a": true}})")),
            "400 json: cannot unmarshal bool into Go struct field NodePool.Meta of type string");
  const auto remove = [&](const std::string& path) {
    client_->ask("DELETE", path);
    return told(client_->receive());
  };
  EXPECT_EQ(remove("/v1/node/pool/all"), "500 deleting node pool \"all\" is not allowed");
  EXPECT_EQ(remove("/v1/node/pool/default"),
            "500 1 error occurred:\n\t* node pool \"default\" has nodes in regions: [global]\n\n");
  EXPECT_EQ(remove("/v1/node/pool/nope"), "500 node pool nope not found");
  EXPECT_EQ(told(client_->put("/v1/node/pools", R"({"Name": "p", "NodeIdentityTTL": "x"})")),
            "400 time: invalid duration \"x\"");
  EXPECT_EQ(told(client_->put("/v1/node/pools", R"({"Name": "all", "SchedulerConfiguration": {}})")),
            "500 Feature \"Node Pools Governance\" is unlicensed");
  EXPECT_EQ(told(client_->put("/v1/node/pools", R"({"Name": "all"})")),
            "400 modifying node pool \"all\" is not allowed");
  EXPECT_EQ(client_->put("/v1/node/pools", R"({"Name": "p", "NodeIdentityTTL": "2h"})").status, 200);
  EXPECT_EQ(get("/v1/node/pool/p")["NodeIdentityTTL"].as_int(), 7'200'000'000'000);
}

struct JsonCase {
  const char *text, *problem;  ///< "": none
};

TEST(GoJson, AgreesWithGo) {
  for (const JsonCase& each : std::initializer_list<JsonCase>{
           {"", "EOF"},
           {"  \n", "EOF"},
           {"{", "unexpected EOF"},
           {"[1,", "unexpected EOF"},
           {"{\"a\"", "unexpected EOF"},
           {"\"abc", "unexpected EOF"},
           {"not json", "invalid character 'o' in literal null (expecting 'u')"},
           {"{bad", "invalid character 'b' looking for beginning of object key string"},
           {"{\"a\" 1}", "invalid character '1' after object key"},
           {"{\"a\":1 \"b\"", "invalid character '\"' after object key:value pair"},
           {"[1 2]", "invalid character '2' after array element"},
           {"[1,]", "invalid character ']' looking for beginning of value"},
           {"{\"a\":1,}", "invalid character '}' looking for beginning of object key string"},
           {"{'a':1}", "invalid character '\\'' looking for beginning of object key string"},
           {"[-x]", "invalid character 'x' in numeric literal"},
           {"[1.x]", "invalid character 'x' after decimal point in numeric literal"},
           {"[1e+]", "invalid character ']' in exponent of numeric literal"},
           {"[01]", "invalid character '1' after array element"},
           {"[\"\\x\"]", "invalid character 'x' in string escape code"},
           {"[\"\\u12g4\"]", "invalid character 'g' in \\u hexadecimal character escape"},
           {"[\"a\nb\"]", "invalid character '\\n' in string literal"},
           {"[{\"a\":[1,{}]},true,false,null] rest", ""}})
    EXPECT_EQ(go_json_problem(each.text).value_or(""), each.problem) << each.text;
  EXPECT_EQ(go_json_problem(std::string(20'000, '[')), "exceeded max depth");
}

TEST_F(AgentTest, MakesNodesLikeATemplate) {
  const berth::testing::ScratchFolder scratch;
  const std::string file = scratch.file("node_template.json");
  model::Node machine = serve::made_up_node(7, 7);
  machine.node_class = "gpu", machine.node_pool = "big", machine.attributes["gpu.model"] = "x1";
  std::ofstream(file) << json::to_text(model::to_json(machine));
  options_.start.node_template = file;
  begin();
  const json::Value nodes = get("/v1/nodes");
  ASSERT_EQ(nodes.size(), 3U);
  std::set<std::string> names;
  for (const json::Value& one : nodes.items()) {
    EXPECT_EQ(one["NodeClass"].as_string(), "gpu");
    EXPECT_EQ(one["NodePool"].as_string(), "big");
    const json::Value node = get("/v1/node/" + one["ID"].as_string());
    EXPECT_EQ(node["Attributes"]["gpu.model"].as_string(), "x1");
    EXPECT_EQ(node["Attributes"]["unique.hostname"].as_string(), node["Name"].as_string());
    names.insert(node["Name"].as_string() + node["Attributes"]["unique.network.ip-address"].as_string());
  }
  EXPECT_EQ(names.size(), 3U);
  options_.start.node_template = "/nowhere";
  EXPECT_FALSE(serve::make_service(options_));
}

TEST(NodeAddresses, DifferingInTheFirstBitsAreDistinguished) {
  model::ClusterState state;
  for (std::uint64_t i = 0; i < 2; ++i) state.nodes.push_back(serve::made_up_node(i, 1));
  auto& first = state.nodes[0].node_resources->networks;
  first[0].ip = "10.0.0.7", first[0].cidr = "10.0.0.7/32";
  first.push_back(first[0]);
  first.back().ip = "26.0.0.7", first.back().cidr = "26.0.0.7/32";
  state.nodes[1].node_resources->networks[0].ip = "250.0.0.7";  // replaced before
  replace_addresses(state, false);
  EXPECT_EQ(state.nodes[1].node_resources->networks[0].ip, "250.0.0.7");
  const std::set<std::string> all{first[0].ip, first.back().ip, "250.0.0.7"};
  EXPECT_EQ(all.size(), 3U);
  for (const std::string& ip : all) EXPECT_GE(std::stoi(ip), 240) << ip;
  EXPECT_EQ(first[0].cidr, first[0].ip + "/32");
}

TEST_F(AgentTest, NodesReportRequestedAmounts) {
  begin();
  const std::string job =
      R"({"Job": {"ID": "mesh", "Type": "service", "Datacenters": ["*"], "TaskGroups": [{"Name": "g",
    "Count": 1, "Networks": [{"Mode": "bridge", "DynamicPorts": [{"Label": "http", "To": 80}]}],
    "Services": [{"Name": "mesh", "PortLabel": "http", "Connect": {"SidecarService": {}}}],
    "Tasks": [{"Name": "t", "Driver": "docker", "Config": {"image": "x"}, "KillSignal": "SIGINT"}]}]}})";
  EXPECT_EQ(client_->put("/v1/jobs", job).status, 200);
  advance(30);
  EXPECT_EQ(get("/v1/job/mesh/allocations").size(), 1U) << json::to_text(get("/v1/job/mesh/evaluations"));
}

TEST_F(AgentTest, ReportsTheNextLaunchInTheTimeZoneOfTheJob) {  // R-API-225
  begin();
  const auto plan = [&](const std::string& zone) {
    return parse(client_->put("/v1/job/p/plan", R"({"Job": {"ID": "p", "Type": "batch", "Datacenters": ["*"],
      "Periodic": {"Enabled": true, "Spec": "0 9 * * *", "SpecType": "cron", "TimeZone": ")" +
                                                    zone + R"("}, "TaskGroups": [{"Name": "g",
      "Count": 1, "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}]}})"))["NextPeriodicLaunch"]
        .as_string();
  };
  EXPECT_EQ(plan("UTC"), "2027-01-15T09:00:00Z");  // it is 08:00
  EXPECT_EQ(plan("America/New_York"), "2027-01-15T09:00:00-05:00");
  EXPECT_EQ(plan("Asia/Kolkata"), "2027-01-16T09:00:00+05:30");
}

TEST_F(AgentTest, CountsParsedBodiesAgainstTheBudget) {
  options_.limits.held_bytes = 16 << 20;
  begin();
  std::string body = R"({"Job": {"ID": "j", "Meta": [)";
  while (body.size() < 1'500'000) body += "1,";
  body += "1]}}";  // one value per two bytes
  EXPECT_TRUE(told(client_->put("/v1/jobs", body)).starts_with("413 an answer may take 2"));
  // A plan holds the difference and its own cluster: per group of the body, much more than a registration.
  body = R"({"Job": {"ID": "j", "Datacenters": ["*"], "TaskGroups": [)";
  for (int i = 0; i < 600; ++i)
    body += (i > 0 ? R"(,{"Name": "g)" : R"({"Name": "g)") + std::to_string(i) +
            R"(", "Count": 0, "Tasks": [{"Name": "t", "Driver": "mock_driver"}]})";
  body += "]}}";
  EXPECT_EQ(client_->put("/v1/validate/job", body).status, 200);
  EXPECT_EQ(client_->put("/v1/job/j/plan", body).status, 413);
  EXPECT_EQ(register_job("small").status, 200);
}

TEST_F(AgentTest, RunsAWorkload) {
  options_.start.source = "preemption-cascade", options_.start.nodes = 0;
  begin();
  const std::size_t at_first = get("/v1/jobs").size();  // the number at the start
  advance(600);
  EXPECT_GT(get("/v1/jobs").size(), at_first);
  EXPECT_GT(get("/v1/allocations").size(), 0U);
  options_.start.paused = true;
  service_.reset();
  begin();
  advance(600);
  EXPECT_EQ(get("/v1/jobs").size(), 0U);
}

}  // namespace
}  // namespace berth::http
