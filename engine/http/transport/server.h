// The transport: HTTP/1.1 on Boost.Beast, asynchronous, all connections on one thread. Keep-alive, chunked bodies in
// both directions, gzip, and limits on everything that a client can make large or slow.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "berth/result.h"
#include "http/transport/exchange.h"

namespace berth::http::transport {

struct Limits {
  std::size_t connections = 8192;
  std::size_t header_bytes = 64 << 10;
  std::size_t body_bytes = 64 << 20;
  int request_seconds = 20;    ///< from the first byte of a request to its last
  int idle_seconds = 120;      ///< between requests
  int write_seconds = 60;      ///< for a client to receive one piece of an answer
  std::size_t held_bytes = 0;  ///< memory limit of all requests (budget.h); 0: a quarter of the machine's memory
};

class Server {
 public:
  /// `serve` is called on the transport's thread for every request and must not take long.
  using Serve = std::function<void(std::shared_ptr<Exchange>)>;
  /// Called like Serve, before the body of a request is read; nullopt: the request is admitted.
  using Admit = std::function<std::optional<Refusal>(const RequestHead&)>;

  /// Listens on `address`, "127.0.0.1:4646" or "[::1]:0"; port 0: any free one. Serves only after start().
  [[nodiscard]] static Result<std::unique_ptr<Server>> listen(const std::string& address, const Limits& limits);
  virtual ~Server() = default;

  virtual void start(Serve serve, Admit admit) = 0;
  /// Ends all connections and the thread.
  virtual void stop() = 0;
  [[nodiscard]] virtual std::string address() const = 0;  ///< as bound
  [[nodiscard]] virtual std::size_t connections() const = 0;
};

}  // namespace berth::http::transport
