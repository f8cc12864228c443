// Dispatcher: answers a request. Finds the route, reads the common parameters, lets long polls wait, calls the handler
// on the simulation's thread, and sends its reply: at once, in pieces, later, or as a pushed stream.
//
//   transport's thread    path, parameters, route
//   simulation's thread   index and handler
//   readers               pieces of streams that depend only on their own data
#pragma once

#include <memory>

#include "http/endpoint.h"
#include "http/simulation.h"
#include "http/transport/server.h"

namespace berth::http {

class Dispatcher {
 public:
  Dispatcher(Simulation& simulation, Router router) : simulation_(simulation), router_(std::move(router)) {}

  /// Called on the transport's thread.
  void serve(std::shared_ptr<transport::Exchange> exchange);

 private:
  struct Call;
  void run(const std::shared_ptr<Call>& call);
  [[nodiscard]] bool admit(Call& call, Reply& reply);
  void handle(const std::shared_ptr<Call>& call);
  void send(const std::shared_ptr<Call>& call, Reply reply);
  void send_pieces(const std::shared_ptr<Call>& call, Reply reply, transport::Head head);
  void send_pushed(const std::shared_ptr<Call>& call, const Reply& reply, transport::Head head);
  void heartbeat(std::weak_ptr<Channel> channel, const std::string& text, std::int64_t every_ns);
  void note(const Call& call, int status);

  Simulation& simulation_;
  const Router router_;
};

}  // namespace berth::http
