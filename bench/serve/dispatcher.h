// Dispatcher: answers a request. Finds the route, reads the common parameters, lets long polls wait, calls the handler
// on the simulation's thread, and sends its reply: at once, in pieces, later, or as a pushed stream.
//
//   transport's thread    path, parameters, route
//   simulation's thread   index and handler
//   readers               pieces of streams that depend only on their own data
#pragma once

#include <memory>

#include "serve/http/server.h"
#include "serve/serve.h"
#include "serve/simulation.h"

namespace berth::serve {

class Dispatcher {
 public:
  Dispatcher(Simulation& simulation, Router router) : simulation_(simulation), router_(std::move(router)) {}

  /// Called on the transport's thread.
  void serve(std::shared_ptr<http::Exchange> exchange);

 private:
  struct Call;
  void run(const std::shared_ptr<Call>& call);
  [[nodiscard]] bool admit(Call& call, Reply& reply);
  void handle(const std::shared_ptr<Call>& call);
  void send(const std::shared_ptr<Call>& call, Reply reply);
  void send_pieces(const std::shared_ptr<Call>& call, Reply reply, http::Head head);
  void send_pushed(const std::shared_ptr<Call>& call, const Reply& reply, http::Head head);
  void heartbeat(std::weak_ptr<Channel> channel, const std::string& text, std::int64_t every_ns);
  void note(const Call& call, int status);

  Simulation& simulation_;
  const Router router_;
};

}  // namespace berth::serve
