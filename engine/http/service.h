// A cluster behind Nomad's HTTP API: simulation, routes and transport as one object, for `berth serve` and for programs
// that embed it:
//
//   auto service = http::Service::listen({.listen = "127.0.0.1:0"});   // error: the address is taken, or not allowed
//   (*service)->open({.config = http::served({}), .state = cluster});
//   (*service)->start();                                               // answers at (*service)->address()
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "http/dispatcher.h"
#include "http/guard.h"
#include "http/simulation.h"
#include "living/living.h"
#include "model/cluster.h"

namespace berth::http {

/// A cluster to serve.
struct Start {
  living::Config config;  ///< see served()
  model::ClusterState state;
  std::vector<std::string> warnings, notes;  ///< of an import
  std::shared_ptr<Script> script;            ///< events of a workload; may be null
  std::string local_node;                    ///< ID of the node whose client the agent is; "": none
  std::string agent_name;                    ///< "": that of Simulation::Options
};

/// Adds what every server has: the node pools `all` and `default`, a scheduler configuration, an index above 0.
void complete(model::ClusterState& state);

/// The configuration with the settings that the API's answers need: complete metrics, journal, pending evaluations.
[[nodiscard]] living::Config served(living::Config config);

struct ServiceOptions {
  Simulation::Options simulation;
  std::string listen = "127.0.0.1:4646";
  AccessOptions access;
  transport::Limits limits;
};

class Service {
 public:
  /// Listens; connections wait until start(). Errors: an address that is taken or needs a token, a wrong host.
  [[nodiscard]] static Result<std::unique_ptr<Service>> listen(const ServiceOptions& options);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  /// Takes the cluster, once, before start(). It is completed, and addresses of real machines in it are replaced
  /// (addresses.h).
  void open(Start start);
  void start();
  void stop();
  [[nodiscard]] std::string address() const { return server_->address(); }
  [[nodiscard]] Simulation& simulation() { return *simulation_; }
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  Service() = default;
  Simulation::Options options_;
  std::vector<std::string> warnings_;
  std::unique_ptr<transport::Server> server_;  // destroyed last: requests in the simulation own its exchanges
  std::unique_ptr<Simulation> simulation_;
  std::unique_ptr<Dispatcher> dispatcher_;
  std::optional<Guard> guard_;
};

}  // namespace berth::http
