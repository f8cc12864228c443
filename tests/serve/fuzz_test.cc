// `berth serve` answers any input with HTTP or closes the connection, and continues to serve. Requests begin as valid
// ones and are mutated: as bytes, as JSON, as paths and parameters.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "base/random.h"
#include "serve/start.h"

namespace berth::http {
namespace {

/// Sends on a new connection. Returns the answer up to the server's close or a short silence.
std::string converse(int port, const std::string& request) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience{2, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  sockaddr_in to{};
  to.sin_family = AF_INET, to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::string answer;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0) {
    for (std::size_t sent = 0; sent < request.size();) {
      const auto n = ::send(fd, request.data() + sent, request.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;
      sent += static_cast<std::size_t>(n);
    }
    ::shutdown(fd, SHUT_WR);
    char buffer[16384];
    for (ssize_t n = 0; (n = ::recv(fd, buffer, sizeof buffer, 0)) > 0 && answer.size() < (4U << 20);)
      answer.append(buffer, static_cast<std::size_t>(n));
  }
  ::close(fd);
  return answer;
}

std::string http(const std::string& method, const std::string& path, const std::string& body) {
  return method + " " + path +
         " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

const char* const kJob =
    R"({"Job":{"ID":"web","Name":"web","Type":"service","Datacenters":["*"],"TaskGroups":[{"Name":"app","Count":2,)"
    R"("Tasks":[{"Name":"main","Driver":"mock_driver","Config":{"run_for":"1h"},"Resources":{"CPU":100,"MemoryMB":64}}],)"
    R"("Update":{"MaxParallel":1,"Canary":1},"Networks":[{"DynamicPorts":[{"Label":"http"}]}]}]}})";

const std::vector<std::string>& paths() {
  static const std::vector<std::string> all{"/v1/jobs",
                                            "/v1/job/web",
                                            "/v1/job/web/allocations",
                                            "/v1/job/web/evaluations",
                                            "/v1/job/web/versions",
                                            "/v1/job/web/plan",
                                            "/v1/job/web/scale",
                                            "/v1/job/web/dispatch",
                                            "/v1/job/web/evaluate",
                                            "/v1/job/web/revert",
                                            "/v1/job/web/stable",
                                            "/v1/job/web/periodic/force",
                                            "/v1/job/web/summary",
                                            "/v1/job/web/deployment",
                                            "/v1/job/web/submission",
                                            "/v1/nodes",
                                            "/v1/node/pools",
                                            "/v1/allocations",
                                            "/v1/evaluations",
                                            "/v1/deployments",
                                            "/v1/evaluations/count",
                                            "/v1/namespaces",
                                            "/v1/namespace/default",
                                            "/v1/search",
                                            "/v1/search/fuzzy",
                                            "/v1/validate/job",
                                            "/v1/jobs/parse",
                                            "/v1/jobs/statuses",
                                            "/v1/operator/scheduler/configuration",
                                            "/v1/system/gc",
                                            "/v1/agent/self",
                                            "/v1/metrics",
                                            "/v1/status/leader",
                                            "/v1/scaling/policies",
                                            "/v1/node/ffffffff-1111-4222-8333-444444444444/drain",
                                            "/v1/allocation/ffffffff-1111-4222-8333-444444444444/stop",
                                            "/v1/deployment/promote/ffffffff-1111-4222-8333-444444444444",
                                            "/v1/berth/fault",
                                            "/v1/berth/speed"};
  return all;
}

class ServeFuzz : public ::testing::Test {
 protected:
  void SetUp() override {
    serve::ServiceOptions options;
    options.start.nodes = 5;
    options.start.now_ns = 1'700'000'000 * base::kSecond;
    options.simulation.speed = *Speed::parse("step");
    options.listen = "127.0.0.1:0";
    auto made = serve::make_service(options);
    ASSERT_TRUE(made) << made.error().problem;
    service_ = std::move(*made);
    service_->start();
    port_ = std::stoi(service_->address().substr(service_->address().rfind(':') + 1));
    ASSERT_TRUE(converse(port_, http("PUT", "/v1/jobs", kJob)).starts_with("HTTP/1.1 200"));
  }
  void TearDown() override {
    if (service_) service_->stop();
  }

  /// Sends a request. The answer must be empty or HTTP.
  void send(const std::string& request) {
    const std::string answer = converse(port_, request);
    ASSERT_TRUE(answer.empty() || answer.starts_with("HTTP/1.")) << answer.substr(0, 200) << "\nasked: " << request;
    if (++sent_ % 50 == 0) alive();
  }
  void alive() {
    const std::string answer = converse(port_, http("GET", "/v1/status/leader", ""));
    ASSERT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer.substr(0, 200);
  }

  template <class T>
  const T& any(const std::vector<T>& of) {
    return of[draw_.below(of.size())];
  }
  std::string mutated(std::string text, std::uint64_t times) {
    static const std::vector<std::string> kPieces{"null",
                                                  "-1",
                                                  "1e400",
                                                  "\"\"",
                                                  "[]",
                                                  "{}",
                                                  "18446744073709551616",
                                                  "true",
                                                  "\\ud800",
                                                  "\xff\xfe",
                                                  "\"",
                                                  "{",
                                                  "[",
                                                  std::string(1, '\0'),
                                                  "\r\n",
                                                  "%00",
                                                  "%",
                                                  "..",
                                                  "/",
                                                  "?",
                                                  "&",
                                                  "=",
                                                  "9223372036854775807",
                                                  "0.1",
                                                  "\xc3\x28"};
    for (std::uint64_t i = 0; i < times && !text.empty(); ++i) {
      const std::size_t at = draw_.below(text.size());
      switch (draw_.below(4)) {
        case 0:
          text[at] = static_cast<char>(draw_.below(256));
          break;
        case 1:
          text.erase(at, 1 + draw_.below(8));
          break;
        case 2:
          text.insert(at, any(kPieces));
          break;
        default:
          text.insert(at, text.substr(draw_.below(text.size()), draw_.below(30)));
      }
    }
    return text;
  }

  std::unique_ptr<Service> service_;
  base::Random draw_{20, "fuzz"};
  int port_ = 0, sent_ = 0;
};

TEST_F(ServeFuzz, SurvivesMutatedBytes) {
  for (int i = 0; i < 2000; ++i)
    send(mutated(http(any<std::string>({"GET", "PUT", "POST", "DELETE"}), any(paths()), i % 2 == 0 ? kJob : ""),
                 1 + draw_.below(6)));
  alive();
}

TEST_F(ServeFuzz, SurvivesMutatedJson) {
  const std::vector<std::string> bodies{
      kJob,
      R"({"DrainSpec":{"Deadline":1000000000,"IgnoreSystemJobs":true},"MarkEligible":true})",
      R"({"SchedulerAlgorithm":"spread","PreemptionConfig":{"ServiceSchedulerEnabled":true}})",
      R"({"Count":3,"Target":{"Group":"app"},"Message":"x","Meta":{"a":1}})",
      R"({"Prefix":"w","Context":"jobs"})",
      R"({"JobID":"web","JobVersion":0,"Payload":"aGk=","Meta":{"a":"b"}})",
      R"({"Kind":"slow","NodeID":"ffffffff-1111-4222-8333-444444444444","LagSeconds":1})"};
  for (int i = 0; i < 2000; ++i)
    send(http(draw_.below(2) == 0 ? "PUT" : "POST", any(paths()), mutated(any(bodies), draw_.below(5))));
  alive();
}

TEST_F(ServeFuzz, SurvivesMutatedParameters) {
  const std::vector<std::string> parameters{"prefix=web",
                                            "per_page=2",
                                            "next_token=10.ffffffff-1111-4222-8333-444444444444",
                                            "filter=Status%20==%20%22running%22",
                                            "namespace=*",
                                            "reverse=true",
                                            "index=1&wait=1ms",
                                            "wait=1ms",
                                            "resources=true",
                                            "pretty",
                                            "all=true",
                                            "purge=true",
                                            "stale",
                                            "region=global",
                                            "diffs=true",
                                            "filter=ID%20matches%20%22(((%22",
                                            "per_page=-1",
                                            "index=18446744073709551615&wait=1ms"};
  for (int i = 0; i < 2000; ++i)
    send(http("GET",
              mutated(any(paths()), draw_.below(2)) + "?" + mutated(any(parameters), draw_.below(4)) + "&wait=1ms",
              ""));
  alive();
}

TEST_F(ServeFuzz, SurvivesDeepAndLongBodies) {
  const std::string deep = R"({"Job":{"ID":)" + std::string(100'000, '[') + std::string(100'000, ']') + "}}";
  send(http("PUT", "/v1/jobs", deep));
  send(http("GET", "/v1/jobs?filter=" + std::string(5000, '('), ""));
  send(http("GET", "/v1/jobs?filter=" + std::string(20'000, 'x'), ""));
  send("GET /" + std::string(200'000, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
  send("GET / HTTP/1.1\r\nHost: localhost\r\nX: " + std::string(200'000, 'b') + "\r\n\r\n");
  send("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999\r\n\r\n{}");
  send("PUT /v1/jobs HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n{}\r\n");
  send(std::string(100, '\n'));
  alive();
}

}  // namespace
}  // namespace berth::http
