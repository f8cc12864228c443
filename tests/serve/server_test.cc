// A whole server over real sockets.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <thread>

#include "http/transport/server.h"
#include "io/json_parse.h"
#include "serve/client.h"
#include "serve/started.h"
#include "server/lane.h"
#include "server/shadow.h"

namespace berth::http {
namespace {

constexpr const char* kJob = R"({"Job": {"ID": "web", "Name": "web", "Type": "service", "Datacenters": ["*"],
  "TaskGroups": [{"Name": "app", "Count": 3, "Tasks": [{"Name": "main", "Driver": "mock_driver",
    "Config": {"run_for": "1h"}, "Resources": {"CPU": 200, "MemoryMB": 128}}]}]}})";

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override { begin({}); }
  void begin(const transport::Limits& limits, const Speed& speed = {}, std::uint32_t workers = 1,
             bool free_order = false) {
    serve::ServiceOptions options;
    options.start.workers = workers, options.start.free_order = free_order;
    options.start.nodes = 20;
    options.start.now_ns = 1'800'000'000 * base::kSecond;
    options.simulation.speed = speed;
    options.limits = limits;
    options.access = access_;
    service_.reset();
    service_ = start_service(options);
  }
  static json::Value parsed(const Answer& answer) {
    auto value = io::parse_json(answer.body);
    EXPECT_TRUE(value) << answer.body;
    return value ? *value : json::Value();
  }

  /// Time of a small request on a new connection.
  std::chrono::milliseconds time_of_leader() {
    const auto began = std::chrono::steady_clock::now();
    Client client(service_->address());
    EXPECT_EQ(client.get("/v1/status/leader").status, 200);
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - began);
  }

  AccessOptions access_;
  std::unique_ptr<Service> service_;
};

constexpr std::chrono::milliseconds kSoon{1000};  // takes 100 ms on an idle machine

std::string job_text(const std::string& id, std::size_t bytes) {
  return R"({"Job": {"ID": ")" + id +
         R"(", "Name": "j", "Type": "service", "Datacenters": ["*"], "Meta": {"large": ")" + std::string(bytes, 'm') +
         R"("}, "TaskGroups": [{"Name": "app", "Count": 1, "Tasks": [{"Name": "main",
    "Driver": "mock_driver", "Config": {"run_for": "1h"}, "Resources": {"CPU": 20, "MemoryMB": 10}}]}]}})";
}

TEST_F(ServerTest, SendsAnswersAndHeaders) {
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
  client.send("HEAD /v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.head().status, 405);
  EXPECT_EQ(client.get("/v1/jobs?region=elsewhere").body, "No path to region");
  EXPECT_EQ(client.get("/v1/status/leader?region=elsewhere").body, "No path to region");
  client.ask("POST", "/v1/job/nope/summary");  // R-API-6
  EXPECT_EQ(client.receive().body, "job not found");
  EXPECT_EQ(client.get("/v1/job/nope/action").status, 500);  // no websocket (R-STORE-370)
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

TEST_F(ServerTest, RefusesInvalidHttpInOneLine) {
  for (const std::string text : {"nonsense\r\n\r\n", "GET /v1/jobs HTTP/9.9\r\nHost: localhost\r\n\r\n",
                                 "GET /v1/jobs\r\nHost: localhost\r\n\r\n",
                                 "PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: x\r\n\r\n",
                                 "PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                                 "GET http://localhost/v1/jobs HTTP/1.1\r\nHost: localhost\r\n\r\n"}) {
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

// Bytes that two programs might parse as different requests get one answer, and the connection is closed.
TEST_F(ServerTest, GivesOneAnswerToRequestsOfUnclearLength) {
  const std::string rest = "0\r\n\r\nGET /v1/regions HTTP/1.1\r\nHost: localhost\r\n\r\n";
  for (const std::string fields : {"Transfer-Encoding: chunked, identity",
                                   "Transfer-Encoding: identity, chunked",
                                   "Transfer-Encoding: identity",
                                   "Transfer-Encoding: xchunked",
                                   "Transfer-Encoding: chunked;q=1",
                                   "Transfer-Encoding: chunked,",
                                   "Transfer-Encoding: gzip, chunked",
                                   "Transfer-Encoding: chunked, chunked",
                                   "Transfer-Encoding: \"chunked\"",
                                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
                                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
                                   "Transfer-Encoding: identity\r\nTransfer-Encoding: chunked",
                                   "Transfer-Encoding: chunked\r\nContent-Length: 5",
                                   "Content-Length: 5\r\nTransfer-Encoding: chunked",
                                   "Transfer-Encoding : chunked",
                                   "Transfer-Encoding\t: chunked",
                                   "Transfer-Encoding: chunked\r\n , identity",
                                   "Transfer-Encoding:\r\n chunked",
                                   " Transfer-Encoding: chunked",
                                   "X: y\nTransfer-Encoding: chunked",
                                   "X: y\rTransfer-Encoding: chunked",
                                   "Transfer-Encoding: \x0b"
                                   "chunked",
                                   "Transfer-Encoding:",
                                   "Transfer_Encoding chunked",
                                   "Content-Length: 5\r\nContent-Length: 6",
                                   "Content-Length: 5\r\nContent-Length: 5",
                                   "Content-Length: 5, 5",
                                   "Content-Length: +5",
                                   "Content-Length: -5",
                                   "Content-Length: 0x5",
                                   "Content-Length: 5 5",
                                   "Content-Length:",
                                   "Content-Length: 99999999999999999999",
                                   "Host: localhost"}) {
    Client client(service_->address());
    client.send("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n\r\n" + rest);
    std::string all;
    while (client.any(all)) {
    }
    EXPECT_TRUE(all.starts_with("HTTP/1.1 400 ")) << fields << "\n" << all;
    EXPECT_EQ(all.find("HTTP/1.1", 1), std::string::npos) << fields << "\n" << all;
  }
  for (const std::string head : {"PUT /v1/jobs HTTP/1.0\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
                                 "GET /v1/regions HTTP/1.1\r\n\r\n"}) {
    Client client(service_->address());
    client.send(head + rest);
    EXPECT_EQ(client.receive().status, 400) << head;
    EXPECT_TRUE(client.ended());
  }
  for (const std::string field : {"Transfer-Encoding: chunked", "transfer-encoding:\tCHUNKED\t"}) {  // these are valid
    Client client(service_->address());
    client.send("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\n" + field + "\r\n\r\n2\r\n{}\r\n" + rest);
    EXPECT_EQ(client.receive().body, "Job must be specified");
    EXPECT_EQ(client.receive().body, "[\"global\"]");
  }
}

TEST_F(ServerTest, ServesItsOwnHostAndOrigin) {
  access_.hosts = {"nomad.example"};
  begin({});
  const std::string own = service_->address();
  const auto status = [&](const std::string& host, const std::string& fields, const std::string& method = "GET") {
    Client client(own);
    client.send(method + " /v1/status/leader HTTP/1.1\r\nHost: " + host + "\r\n" + fields + "\r\n");
    const Answer answer = client.receive();
    EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 0) << answer.body;
    return answer.status;
  };
  for (const std::string host : {"localhost", "LOCALHOST:4646", "localhost.:1", "127.0.0.1", "127.9.9.9:80",
                                 "[::1]:4646", "nomad.example", "Nomad.Example:443"})
    EXPECT_EQ(status(host, ""), 200) << host;
  for (const std::string host :
       {"evil.example", "localhost.evil.example", "evil.example:4646", "127.0.0.1.evil.example", "10.0.0.1", "",
        "[2001:db8::1]", "0.0.0.0", "xlocalhost", "2130706433", "127.1", "[::1].evil.example", "[::1]x:80", "[::1",
        "localhost:evil", "127.0.0.1:80.evil.example"})
    EXPECT_EQ(status(host, ""), 403) << host;
  EXPECT_EQ(status(own, "Origin: http://" + own + "\r\n"), 200);
  EXPECT_EQ(status(own, "Origin: https://nomad.example\r\n"), 200);
  for (const std::string origin :
       {"http://evil.example", "null", "http://localhost:1", "https://127.0.0.1", "file://", "x"})
    EXPECT_EQ(status(own, "Origin: " + origin + "\r\n"), 403) << origin;
  EXPECT_EQ(status(own, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403);
  EXPECT_EQ(status(own, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 200);
  EXPECT_EQ(status(own, "Sec-Fetch-Site: same-origin\r\n"), 200);
  // A form on another site cannot register a job.
  Client client(own);
  client.ask("POST", "/v1/jobs", kJob, "Origin: http://evil.example\r\nContent-Type: text/plain\r\n");
  EXPECT_EQ(client.receive().status, 403);
  EXPECT_TRUE(client.ended());
  Client reader(own);
  EXPECT_EQ(reader.get("/v1/jobs").body, "[]");
}

TEST_F(ServerTest, RequiresItsToken) {
  access_.token = "0123456789abcdef-token";
  begin({});
  const auto get = [&](const std::string& target, const std::string& fields) {
    Client client(service_->address());
    return client.get(target, fields);
  };
  EXPECT_EQ(get("/v1/jobs", "").status, 403);
  EXPECT_EQ(get("/ui/", "").status, 403);
  EXPECT_EQ(get("/v1/jobs", "X-Nomad-Token: 0123456789abcdef-tokem\r\n").status, 403);
  EXPECT_EQ(get("/v1/jobs", "X-Nomad-Token: 0123456789abcdef-toke\r\n").status, 403);
  EXPECT_EQ(get("/v1/jobs", "X-Nomad-Token: 0123456789abcdef-token\r\n").status, 200);
  EXPECT_EQ(get("/v1/jobs", "Authorization: Bearer 0123456789abcdef-token\r\n").status, 200);
  EXPECT_EQ(get("/ui/?token=wrong", "").status, 403);
  Answer opened = get("/ui/?token=0123456789abcdef-token", "");
  EXPECT_EQ(opened.status, 303);
  const std::string cookie = opened.headers["set-cookie"];
  EXPECT_NE(cookie.find("SameSite=Strict"), std::string::npos);
  EXPECT_NE(get("/ui/?token=", "").headers["set-cookie"].find("berth_token=; "), std::string::npos);
  EXPECT_NE(get("/ui/?token=", "").headers["set-cookie"].find("Max-Age=0"), std::string::npos);
  EXPECT_EQ(get("/ui/", "Cookie: other=1; " + cookie.substr(0, cookie.find(';')) + "\r\n").status, 200);
}

TEST_F(ServerTest, IsNotOpenToOtherMachinesWithoutAToken) {
  serve::ServiceOptions options;
  options.start.nodes = 1;
  for (const std::string listen : {"0.0.0.0:0", "[::]:0"}) {
    options.listen = listen;
    options.access.token = "";
    const auto refused = serve::make_service(options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().line().find("--token"), std::string::npos);
  }
  options.listen = "0.0.0.0:0";
  options.access.token = "short";
  EXPECT_FALSE(serve::make_service(options));
  options.access.token = "0123456789abcdef";
  EXPECT_TRUE(serve::make_service(options));
}

TEST_F(ServerTest, HoldsBodiesWithinItsBudget) {
  transport::Limits limits;
  limits.held_bytes = 32 << 20;
  begin(limits);
  std::vector<std::unique_ptr<Client>> clients;
  const std::string most(3 << 20, ' ');
  for (int i = 0; i < 40; ++i) {  // 120 MiB of incomplete requests
    clients.push_back(std::make_unique<Client>(service_->address()));
    clients.back()->send("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4000000\r\n\r\n" + most);
  }
  EXPECT_LT(time_of_leader(), kSoon);
  Client client(service_->address());
  EXPECT_EQ(client.put("/v1/jobs", kJob).status, 200);
  EXPECT_EQ(client.put("/v1/jobs", std::string(5 << 20, ' ')).status, 413);  // more than the share of one connection
  std::size_t ended = 0;
  for (int tries = 0; tries < 10 && ended < 30; ++tries) {  // a busy machine reads the last bodies later
    ended = static_cast<std::size_t>(
        std::count_if(clients.begin(), clients.end(), [](auto& one) { return one->is_over(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  EXPECT_GE(ended, 29);  // of 40 bodies, ten or eleven fit
  EXPECT_LT(ended, 40);
}

TEST_F(ServerTest, DropsReadersOfEventsThatStall) {
  transport::Limits limits;
  limits.held_bytes = 64 << 20;
  begin(limits);
  std::vector<std::unique_ptr<Client>> stalled;
  for (int i = 0; i < 200; ++i) {
    stalled.push_back(std::make_unique<Client>(service_->address()));
    stalled.back()->ask("GET", "/v1/event/stream?topic=Job:large&topic=Job:x" + std::to_string(i));
    EXPECT_EQ(stalled.back()->head().status, 200);
  }
  Client writer(service_->address());
  for (int i = 0; i < 12; ++i) {
    EXPECT_EQ(writer.put("/v1/jobs", job_text("large", 3'000'000 + static_cast<std::size_t>(i))).status, 200);
    EXPECT_LT(time_of_leader(), kSoon);
  }
  Client reader(service_->address());  // readers may receive texts of any size
  reader.ask("GET", "/v1/event/stream?topic=Job&index=1");
  EXPECT_EQ(reader.head().status, 200);
  std::string text;
  while (text.find("\n", 3) == std::string::npos && reader.chunk(text)) {
  }
  EXPECT_GT(text.size(), 3'000'000U);
  int ended = 0;
  for (const auto& one : stalled) ended += one->is_over();
  EXPECT_EQ(ended, 200);
}

TEST_F(ServerTest, CompletesStreamsWhenItEnds) {
  Client client(service_->address());
  client.ask("GET", "/v1/event/stream?topic=Job");
  EXPECT_EQ(client.head().status, 200);
  std::string text;
  EXPECT_TRUE(client.chunk(text));
  EXPECT_EQ(text, "{}\n");
  service_->stop();
  while (client.any(text)) {
  }
  EXPECT_EQ(text, "{}\n0\r\n\r\n");
}

TEST_F(ServerTest, SendsNothingAfterTheEndOfAStream) {
  auto server = transport::Server::listen("127.0.0.1:0", {});
  ASSERT_TRUE(server);
  std::promise<std::shared_ptr<transport::Exchange>> asked;
  (*server)->start([&](std::shared_ptr<transport::Exchange> exchange) { asked.set_value(std::move(exchange)); },
                   nullptr);
  Client client((*server)->address());
  client.ask("GET", "/");
  const auto exchange = asked.get_future().get();
  exchange->begin({200, "text/plain", {}, false});
  constexpr std::size_t kSize = 8 << 20;  // more than sockets hold, so that the stream is not yet sent when it ends
  exchange->write(std::string(kSize, 'a'));
  EXPECT_EQ(client.head().status, 200);
  std::thread stops([&] { (*server)->stop(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  exchange->write("late");
  exchange->finish();
  std::string text;
  while (client.any(text)) {
  }
  stops.join();
  EXPECT_EQ(text.find("late"), std::string::npos);
  if (text.size() < kSize) return;  // a server that stops waits 200 ms for its clients, and this one was slower
  EXPECT_LT(text.find("\r\n0\r\n\r\n"), text.size());
  EXPECT_EQ(text.find("\r\n0\r\n\r\n") + 7, text.size());
}

TEST_F(ServerTest, AnswersDuringALongEvaluation) {
  struct Slow final : living::Listener {
    void only_reads(bool on) override {
      if (on && sleeps.exchange(false)) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    std::atomic<bool> sleeps{true};
  } slow;
  service_->simulation().listen(&slow);
  Client writer(service_->address()), reader(service_->address());
  EXPECT_EQ(writer.put("/v1/jobs", kJob).status, 200);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_FALSE(slow.sleeps);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(parsed(reader.get("/v1/jobs")).size(), 1U);
  EXPECT_EQ(parsed(reader.get("/v1/nodes")).size(), 20U);
  EXPECT_EQ(parsed(reader.get("/v1/job/web"))["ID"].as_string(), "web");
  EXPECT_LT(time_of_leader(), kSoon);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::milliseconds(1000));
  EXPECT_EQ(writer.put("/v1/job/web/evaluate", "{\"JobID\": \"web\"}").status, 200);  // writes wait
  EXPECT_EQ(parsed(reader.get("/v1/job/web/allocations")).size(), 3U);
  service_.reset();
}

/// Free workers also serve while requests write: an evaluation is decided on a state of its own.
TEST_F(ServerTest, RegistersWhileFreeWorkersDecide) {
  struct Slow final : living::Listener {
    void attempt(server::Lane&) override {
      if (sleeps.exchange(false)) std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    }
    std::atomic<bool> sleeps{true};
  } slow;
  begin({}, {}, 2, true);
  service_->simulation().listen(&slow);
  Client writer(service_->address());
  EXPECT_EQ(writer.put("/v1/jobs", kJob).status, 200);
  for (int i = 0; i < 100 && slow.sleeps; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(slow.sleeps);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(writer.put("/v1/jobs", job_text("other", 10)).status, 200);
  EXPECT_EQ(parsed(writer.get("/v1/jobs")).size(), 2U);
  EXPECT_EQ(parsed(writer.get("/v1/job/web/allocations")).size(), 0U) << "it is still being decided";
  EXPECT_LT(std::chrono::steady_clock::now() - began, kSoon);
  for (const auto& [job, count] : {std::pair("web", 3U), std::pair("other", 1U)}) {
    const std::string target = std::string("/v1/job/") + job + "/allocations";
    for (int i = 0; i < 200 && parsed(writer.get(target)).size() < count; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_EQ(parsed(writer.get(target)).size(), count) << job;
  }
  service_.reset();
}

/// The jobs wait while the broker is paused, so that the run depends only on them.
TEST_F(ServerTest, DecidesTheSameWithAnyNumberOfWorkers) {
  std::string digest;
  for (const std::uint32_t workers : {1U, 2U, 5U}) {
    begin({}, *Speed::parse("step"), workers);
    Client client(service_->address());
    const char* const config = "/v1/operator/scheduler/configuration";
    EXPECT_EQ(client.put(config, R"({"SchedulerAlgorithm": "binpack", "PauseEvalBroker": true})").status, 200);
    for (int i = 0; i < 40; ++i)
      EXPECT_EQ(client.put("/v1/jobs", job_text("job-" + std::to_string(i), 10)).status, 200);
    EXPECT_EQ(client.put(config, R"({"SchedulerAlgorithm": "binpack", "PauseEvalBroker": false})").status, 200);
    EXPECT_EQ(client.put("/v1/berth/advance", R"({"Seconds": 60})").status, 200);
    const json::Value run = parsed(client.get("/v1/berth/run"));
    EXPECT_GE(run["Evaluations"]["Served"].as_int(), 40);  // and those of deployments
    EXPECT_EQ(run["Workers"]["Number"].as_int(), workers);
    const json::Value& ahead = run["Workers"]["Ahead"];
    EXPECT_EQ(ahead["Used"].as_int() + ahead["Redone"].as_int() + ahead["InTurn"].as_int() > 0, workers > 1);
    if (workers == 1) digest = run["Digest"].as_string();
    EXPECT_EQ(run["Digest"].as_string(), digest) << workers;
  }
  service_.reset();
}

TEST_F(ServerTest, RefusesNodesThatCannotJoin) {
  Client client(service_->address());
  const auto join = [&](const std::string& id, const std::string& more) {
    return client.put("/v1/berth/fault", R"({"Kind": "join", "Node": {"ID": ")" + id +
                                             R"(", "Name": "n", "NodeResources":
      {"Cpu": {"CpuShares": 1000}, "Memory": {"MemoryMB": 512}, "Disk": {"DiskMB": 1024}})" +
                                             more + "}}");
  };
  for (const char* id : {"zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz", "00000000-0000-0000-0000-000000000000", "", "x",
                         "11111111-1111-1111-1111-11111111111g", "11111111111111111111111111111111-1-1",
                         "------------------------------------"}) {
    const Answer answer = join(id, "");
    EXPECT_EQ(answer.status, 400) << id;
    EXPECT_EQ(std::count(answer.body.begin(), answer.body.end(), '\n'), 0) << answer.body;
  }
  EXPECT_EQ(join("11111111-1111-4111-8111-111111111111", R"(, "Status": "elsewhere")").status, 400);
  EXPECT_EQ(join("11111111-1111-4111-8111-11111111111A", "").status, 200);
  EXPECT_EQ(client.get("/v1/node/11111111-1111-4111-8111-11111111111a").status, 200);
  // Invalid IDs of the right length, for all other routes.
  const std::string none = "zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz";
  for (const std::string& path : {"/v1/node/" + none, "/v1/allocation/" + none, "/v1/evaluation/" + none,
                                  "/v1/deployment/" + none, "/v1/client/stats?node_id=" + none})
    EXPECT_EQ(client.get(path).status, 404) << path;
  for (const std::string& path :
       {"/v1/node/" + none + "/drain", "/v1/node/" + none + "/eligibility", "/v1/node/" + none + "/evaluate",
        "/v1/node/" + none + "/purge", "/v1/allocation/" + none + "/stop", "/v1/deployment/promote/" + none,
        "/v1/deployment/fail/" + none, "/v1/client/allocation/" + none + "/restart", std::string("/v1/berth/explain"),
        std::string("/v1/berth/counterfactual")}) {
    const Answer answer = client.put(path, R"({"NodeID": ")" + none + R"(", "EvalID": ")" + none + R"(", "All": true,
      "Eligibility": "eligible", "DeploymentID": ")" +
                                               none + R"("})");
    EXPECT_GE(answer.status, 400) << path << answer.body;
  }
  EXPECT_LT(time_of_leader(), kSoon);
}

TEST_F(ServerTest, TakesManyKeysOfMetadata) {
  Client client(service_->address());
  const std::string node = parsed(client.get("/v1/nodes"))[0]["ID"].as_string();
  std::string body = R"({"Meta": {)";
  for (int i = 0; i < 50'000; ++i) body += (i > 0 ? ", \"key" : "\"key") + std::to_string(i) + "\": \"v\"";
  client.ask("POST", "/v1/client/metadata?node_id=" + node, body + "}}");
  EXPECT_EQ(parsed(client.receive())["Dynamic"].size(), 50'000U);
  EXPECT_LT(time_of_leader(), kSoon);
}

TEST_F(ServerTest, KeepsItsLimits) {
  transport::Limits limits;
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
  {  // an incomplete request may take a second
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

TEST_F(ServerTest, DropsLongPollsOfClosedConnections) {  // R-API-55
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

#ifdef NDEBUG  // debug builds abort when an evaluation leaves a stale cache
/// A server as with `berth serve --shadow 1`, with a stale verdict in its worker's cache.
struct PlantingShadow final : living::Listener {
  server::Shadow& shadow;
  explicit PlantingShadow(server::Shadow& to) : shadow(to) {}
  void decided(server::Lane& lane) override {
    shadow.decided(lane);
    for (std::uint32_t checks = 0; checks < 12; ++checks)
      for (std::uint32_t kind = 0; kind < 64; ++kind)
        lane.scratch.by_content.kind_verdicts.of(checks, kind) = lane.scratch.by_content.kind_verdicts.of_class(
            lane.result.state->nodes, checks, kind) = sched::kReasonDrivers;
  }
};

TEST(ShadowOfAServer, FindsAStaleFactThatIsPlanted) {
  serve::ServiceOptions options;
  options.start.nodes = 20;
  options.start.now_ns = 1'800'000'000 * base::kSecond;
  options.listen = "127.0.0.1:0";
  auto service = serve::make_service(options);
  ASSERT_TRUE(service) << service.error().line();
  std::vector<std::string> problems;
  server::Shadow shadow((*service)->simulation().config().server, 1,
                        [&](std::string text) { problems.push_back(std::move(text)); });
  PlantingShadow listener(shadow);
  (*service)->simulation().listen(&listener);
  (*service)->start();
  Client client((*service)->address());
  for (int count = 3; count <= 5; count += 2) {
    std::string job = kJob;
    job.replace(job.find("\"Count\": 3"), 10, "\"Count\": " + std::to_string(count));
    if (count == 5) job.replace(job.find("\"web\""), 5, "\"two\"");
    client.ask("PUT", "/v1/jobs", job);
    EXPECT_EQ(client.receive().status, 200);
    // Other evaluations than that of the second job version are checked as well.
    const auto is_done = [&] { return count == 3 ? shadow.checked() > 0 : shadow.different() > 0; };
    for (int tries = 0; tries < 500 && !is_done(); ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  (*service)->stop();
  EXPECT_GE(shadow.checked(), 2U);
  EXPECT_GT(shadow.different(), 0U);
}
#endif

}  // namespace
}  // namespace berth::http
