// The complete server of berth serve: a simulation, its routes, and the transport.
#pragma once

#include <memory>
#include <string>

#include "serve/dispatcher.h"
#include "serve/guard.h"
#include "serve/start.h"

namespace berth::serve {

struct ServiceOptions {
  StartOptions start;
  Simulation::Options simulation;
  std::string listen = "127.0.0.1:4646";
  AccessOptions access;
  http::Limits limits;
};

class Service {
 public:
  /// Listens, but serves nothing before start().
  [[nodiscard]] static Result<std::unique_ptr<Service>> make(const ServiceOptions& options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void start();
  void stop();
  [[nodiscard]] std::string address() const { return server_->address(); }
  [[nodiscard]] Simulation& simulation() { return *simulation_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Service() = default;
  std::vector<std::string> warnings_;
  std::unique_ptr<http::Server> server_;  // destroyed last: requests in the simulation own its exchanges
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::optional<Guard> guard_;
};

}  // namespace berth::serve
