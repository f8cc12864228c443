// Serves a cluster of one node behind Nomad's HTTP API with the installed headers, and reads it as a client would.
#include <berth/http_server.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace {

constexpr const char* kCluster = R"({"/v1/node/11111111-0000-4000-8000-000000000001": {
  "ID": "11111111-0000-4000-8000-000000000001", "Name": "left", "Datacenter": "dc1", "NodePool": "default",
  "Status": "ready", "SchedulingEligibility": "eligible", "Attributes": {"kernel.name": "linux"},
  "NodeResources": {"Memory": {"MemoryMB": 4096}, "Disk": {"DiskMB": 20000},
    "Processors": {"Topology": {"Cores": [{"ID": 0, "BaseSpeed": 2000}]}}}}})";

/// The answer to a GET, with its head; "" if the server is not there.
std::string get(const std::string& address, const std::string& path) {
  const std::size_t colon = address.rfind(':');
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1))));
  inet_pton(AF_INET, address.substr(0, colon).c_str(), &to.sin_addr);
  const int line = socket(AF_INET, SOCK_STREAM, 0);
  std::string out;
  if (connect(line, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) {
    const std::string request = "GET " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n";
    char piece[4096];
    if (write(line, request.data(), request.size()) == static_cast<ssize_t>(request.size()))
      for (ssize_t n = 0; (n = read(line, piece, sizeof piece)) > 0;) out.append(piece, static_cast<std::size_t>(n));
  }
  close(line);
  return out;
}

}  // namespace

int main() {
  if (berth::HttpServer::from_json(kCluster, {.listen = "127.0.0.1:0", .speed = "fast"})) {
    std::fputs("http: a speed that is none passed\n", stderr);
    return 1;
  }
  auto server = berth::HttpServer::from_json(kCluster, {.listen = "127.0.0.1:0"});
  if (!server) {
    std::fprintf(stderr, "http: %s\n", server.error().line().c_str());
    return 1;
  }
  const std::string nodes = get(server->address(), "/v1/nodes");
  const bool right = nodes.starts_with("HTTP/1.1 200") && nodes.find("\"Name\":\"left\"") != std::string::npos;
  std::printf("http: %s\n", right ? "one node" : nodes.c_str());
  return right ? 0 : 1;
}
