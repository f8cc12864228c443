// HttpServer: a simulated cluster behind Nomad's HTTP API, as `berth serve` has it, inside your program.
//
//   auto server = berth::HttpServer::from_file("cluster.json", {.listen = "127.0.0.1:0"});
//   if (!server) std::puts(server.error().line().c_str());
//   else std::printf("export NOMAD_ADDR=http://%s\n", server->address().c_str());
//
// Its threads answer until the object is destroyed. Addresses of real machines in the cluster are replaced before they
// are served.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth {

struct HttpConfig {
  std::string listen = "127.0.0.1:4646";  ///< address and port; port 0: any free one
  std::string speed = "1";                ///< virtual time against real time: a number, "max", or "step"
  /// Required of every request, 16 to 128 letters, digits or `_-.`; needed where `listen` is no loopback address.
  std::string token;
  bool acl = false;  ///< access control as Nomad's, in place of `token`; both are an error
  std::uint64_t seed = 1;
  std::int64_t start_ns = 1'700'000'000'000'000'000;  ///< initial clock, unix ns; not before the cluster's times
  std::uint32_t workers = 1;  ///< threads that decide evaluations; same decisions for any number
};

class HttpServer {
 public:
  /// Like Cluster::from_file. Clients start on the ready nodes. Errors: those of the file; `listen` is taken, or would
  /// be open to other machines without a token; `speed` is not a valid speed; `token` and `acl` contradict each other.
  [[nodiscard]] static Result<HttpServer> from_file(const std::string& path, const HttpConfig& config = {});
  [[nodiscard]] static Result<HttpServer> from_json(std::string_view text, const HttpConfig& config = {});

  HttpServer(HttpServer&&) noexcept;
  HttpServer& operator=(HttpServer&&) noexcept;
  /// Ends all connections and threads.
  ~HttpServer();

  /// What was skipped or corrected in the cluster, one line each.
  [[nodiscard]] const std::vector<std::string>& load_warnings() const;
  /// As bound, for example "127.0.0.1:41234".
  [[nodiscard]] std::string address() const;

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth
