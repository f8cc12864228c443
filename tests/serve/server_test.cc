// A whole server over real sockets.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/service.h"

namespace berth::serve {
namespace {

constexpr const char* kJob = R"({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"],
  "TaskGroups": [{"Name": "app", "Count": 3, "Tasks": [{"Name": "main", "Driver": "mock_driver",
    "Config": {"run_for": "1h"}, "Resources": {"CPU": 200, "MemoryMB": 128}}]}]}})";

class ServerTest : public testing::Test {
 protected:
  void SetUp() override { begin({}); }
  void begin(const http::Limits& limits, const Speed& speed = {}) {
    ServiceOptions options;
    options.start.nodes = 20;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = speed;
    options.listen = "127.0.0.1:0";
    options.limits = limits;
    service_.reset();
    auto service = Service::make(options);
    ASSERT_TRUE(service) << service.error().line();
    service_ = std::move(*service);
    service_->start();
  }
  static json::Value parsed(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }

  std::unique_ptr<Service> service_;
};

TEST_F(ServerTest, AnswersAndHeaders) {
  Client client(service_->address());
  Answer answer = client.get("/v1/status/leader");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "\"127.0.0.1:4647\"");
  EXPECT_EQ(answer.headers["content-type"], "application/json");
  EXPECT_FALSE(answer.headers.contains("x-nomad-index"));  // R-API-28
  answer = client.get("/v1/jobs");
  EXPECT_EQ(answer.body, "[]");
  EXPECT_EQ(answer.headers["x-nomad-index"], "0");  // R-API-53
  EXPECT_EQ(answer.headers["x-nomad-knownleader"], "true");
  answer = client.get("/v1/nope");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "");
  EXPECT_FALSE(answer.headers.contains("content-type"));  // R-API-2
  answer = client.get("//v1/jobs?pretty");
  EXPECT_EQ(answer.status, 307);
  EXPECT_EQ(answer.headers["location"], "/v1/jobs?pretty");
  EXPECT_EQ(client.get("/v1/job/%2F").body, "job not found");  // no second slash, but a job of that name
  client.ask("DELETE", "/v1/jobs");
  answer = client.receive();
  EXPECT_EQ(answer.status, 405);
  EXPECT_EQ(answer.body, "Invalid method");  // R-API-4
  client.send("HEAD /v1/jobs HTTP/1.1\r\nHost: test\r\n\r\n");
  EXPECT_EQ(client.head().status, 405);
  EXPECT_EQ(client.get("/v1/jobs?region=elsewhere").body, "No path to region");
  EXPECT_EQ(client.get("/v1/status/leader?region=elsewhere").body, "No path to region");
  client.ask("POST", "/v1/job/nope/summary");  // R-API-6
  EXPECT_EQ(client.receive().body, "job not found");
  EXPECT_EQ(client.get("/v1/job/nope/action").status, 501);
  EXPECT_EQ(client.get("/v1/job/nope/tag").body, "invalid job tag endpoint");
  EXPECT_EQ(client.get("/v1/job/nope/allocations?filter=((").body, "[]");  // R-API-48
  EXPECT_EQ(client.get("/v1/jobs?index=x").body, "Invalid index");
  EXPECT_EQ(client.get("/v1/jobs?wait=x").body, "Invalid wait time");
  EXPECT_EQ(client.get("/v1/node/abc").body, "node lookup failed: index error: UUID must be 36 characters");
  answer = client.get("/v1/node/00000000-0000-0000-0000-000000000000");
  EXPECT_EQ(answer.status, 404);
  EXPECT_EQ(answer.body, "node not found");
  EXPECT_TRUE(answer.headers.contains("x-nomad-index"));  // R-API-27
}

TEST_F(ServerTest, RegistersPlacesAndRuns) {
  Client client(service_->address());
  EXPECT_EQ(parsed(client.get("/v1/nodes")).size(), 20U);
  const Answer registered = client.put("/v1/jobs", kJob);
  ASSERT_EQ(registered.status, 200) << registered.body;
  const json::Value answer = parsed(registered);
  const std::string eval = answer["EvalID"].as_string();
  EXPECT_EQ(eval.size(), 36U);
  EXPECT_EQ(parsed(client.get("/v1/evaluation/" + eval))["Status"].as_string(), "complete");
  EXPECT_EQ(parsed(client.get("/v1/evaluation/" + eval + "/allocations")).size(), 3U);
  // Blocks until the clients have reported that the tasks run.
  std::string index = client.get("/v1/job/web/summary").headers["x-nomad-index"];
  std::int64_t running = 0;
  for (int round = 0; round < 20 && running < 3; ++round) {
    Answer summary = client.get("/v1/job/web/summary?wait=5s&index=" + index);
    index = summary.headers["x-nomad-index"];
    running = parsed(summary)["Summary"]["app"]["Running"].as_int();
  }
  EXPECT_EQ(running, 3);
  const json::Value allocs = parsed(client.get("/v1/job/web/allocations"));
  ASSERT_EQ(allocs.size(), 3U);
  EXPECT_EQ(allocs[0]["ClientStatus"].as_string(), "running");
  const json::Value alloc = parsed(client.get("/v1/allocation/" + allocs[0]["ID"].as_string()));
  EXPECT_EQ(alloc["Resources"]["CPU"].as_int(), 200);  // R-API-353
  EXPECT_EQ(alloc["TaskResources"]["main"]["MemoryMB"].as_int(), 128);
  EXPECT_EQ(parsed(client.get("/v1/node/" + allocs[0]["NodeID"].as_string() + "/allocations")).size(), 1U);
}

TEST_F(ServerTest, BlocksUntilTheIndexOrTheTimePasses) {  // R-API-50, 51
  Client client(service_->address()), writer(service_->address());
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(client.get("/v1/jobs?index=1000000&wait=300ms").status, 200);
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(300));
  const std::string index = std::to_string(std::max(1, std::stoi(client.get("/v1/jobs").headers["x-nomad-index"])));
  client.ask("GET", "/v1/jobs?wait=60s&index=" + index);
  EXPECT_EQ(writer.put("/v1/jobs", kJob).status, 200);
  Answer woken = client.receive();
  EXPECT_EQ(parsed(woken).size(), 1U);
  EXPECT_GT(std::stoi(woken.headers["x-nomad-index"]), std::stoi(index));
}

TEST_F(ServerTest, SendsGzipOnlyWhereAsked) {  // R-API-24
  Client client(service_->address());
  Answer plain = client.get("/v1/nodes");
  EXPECT_FALSE(plain.headers.contains("content-encoding"));
  Answer packed = client.get("/v1/nodes", "Accept-Encoding: gzip\r\n");
  EXPECT_EQ(packed.headers["content-encoding"], "gzip");
  EXPECT_LT(packed.body.size(), plain.body.size() / 4);
}

TEST_F(ServerTest, RefusesWhatIsNoHttpInOneLine) {
  for (const std::string text : {"nonsense\r\n\r\n", "GET /v1/jobs HTTP/9.9\r\n\r\n", "GET /v1/jobs\r\n\r\n",
                                 "PUT /v1/jobs HTTP/1.1\r\nContent-Length: x\r\n\r\n",
                                 "PUT /v1/jobs HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    Client client(service_->address());
    client.send(text);
    const Answer answer = client.receive();
    EXPECT_EQ(answer.status, 400) << text;
    EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 0) << answer.body;
    EXPECT_TRUE(client.ended());
  }
  Client client(service_->address());
  EXPECT_EQ(client.put("/v1/jobs", "{\"Job\":").status, 400);
  EXPECT_EQ(client.put("/v1/jobs", "{}").body, "Job must be specified");
  EXPECT_EQ(client.get("/v1/job/%zz").status, 400);
  EXPECT_EQ(client.get("/v1/status/leader").status, 200);  // the connection is still good
}

TEST_F(ServerTest, KeepsItsLimits) {
  http::Limits limits;
  limits.connections = 4, limits.header_bytes = 1024, limits.body_bytes = 4096, limits.request_seconds = 1;
  begin(limits);
  {
    Client client(service_->address());
    client.ask("GET", "/v1/jobs", "", "X-Long: " + std::string(2000, 'x') + "\r\n");
    EXPECT_EQ(client.receive().status, 400);
  }
  {
    Client client(service_->address());
    EXPECT_EQ(client.put("/v1/jobs", std::string(5000, ' ')).status, 413);
  }
  {  // a request that never ends has a second
    Client client(service_->address());
    client.send("GET /v1/jobs HTTP/1.1\r\nHost:");
    EXPECT_TRUE(client.ended());
  }
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 4; ++i) {
    clients.push_back(std::make_unique<Client>(service_->address()));
    EXPECT_EQ(clients.back()->get("/v1/status/leader").status, 200);
  }
  Client fifth(service_->address());
  EXPECT_EQ(fifth.receive().status, 503);
}

TEST_F(ServerTest, ForgetsLongPollsWhoseClientIsGone) {  // R-API-55
  {
    Client client(service_->address());
    client.ask("GET", "/v1/jobs?index=1000000&wait=60s");
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  std::size_t waiting = 1;
  for (int round = 0; round < 100 && waiting != 0; ++round) {
    std::atomic<bool> done{false};
    service_->simulation().post([&](Simulation& simulation) { waiting = simulation.waiting(), done = true; });
    while (!done) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_EQ(waiting, 0U);
}

}  // namespace
}  // namespace berth::serve
