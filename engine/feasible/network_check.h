// Network mode and host networks a task group needs on a node (R-FEAS-1001 to 1010).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "match/target.h"
#include "model/job.h"

namespace berth::feasible {

/// What is asked, compiled from the group's first network. The default is the checker's initial state: mode `host`
/// and no ports. A group without networks leaves the ask of the group before it in force (R-FEAS-309).
struct NetworkAsk {
  struct HostNetworkPort {
    std::string label;
    std::string host_network;  ///< as written
    match::Target target;
    friend bool operator==(const HostNetworkPort&, const HostNetworkPort&) = default;
  };
  std::string mode = "host";
  std::vector<HostNetworkPort> ports;  ///< those that name a host network: dynamic ports, then reserved (R-FEAS-1006)
  [[nodiscard]] bool is_default() const { return ports.empty() && mode == "host"; }  ///< of a group without networks
  friend bool operator==(const NetworkAsk&, const NetworkAsk&) = default;
};

/// Nothing when the group has no network.
[[nodiscard]] std::optional<NetworkAsk> compile_network(const model::TaskGroup& group);

/// The reason the node is filtered with, or nothing when it passes.
[[nodiscard]] std::optional<std::string> network_failure(const NetworkAsk& ask, const model::Node& node);

}  // namespace berth::feasible
