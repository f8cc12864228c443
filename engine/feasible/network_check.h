// Checks the network mode and host networks that a task group needs on a node (R-FEAS-1001 to 1010).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "match/target.h"
#include "model/resources.h"

namespace berth::feasible {

/// The requirements, compiled from the group's first network. The default is the checker's initial state: mode `host`
/// and no ports. A group without networks leaves the requirements of the previous group in force (R-FEAS-309).
struct NetworkAsk {
  struct HostNetworkPort {
    std::string label;
    std::string host_network;  ///< as written
    match::Target target;
    friend bool operator==(const HostNetworkPort&, const HostNetworkPort&) = default;
  };
  std::string mode = "host";
  std::vector<HostNetworkPort> ports;  ///< those that name a host network: dynamic ports, then reserved (R-FEAS-1006)
  /// True for a group without networks.
  [[nodiscard]] bool is_default() const { return ports.empty() && mode == "host"; }
  friend bool operator==(const NetworkAsk&, const NetworkAsk&) = default;
};

/// Returns nullopt if the group has no network.
[[nodiscard]] std::optional<NetworkAsk> compile_network(const model::TaskGroup& group);

/// The reason why the node is filtered, or nullopt if it passes.
[[nodiscard]] std::optional<std::string> network_failure(const NetworkAsk& ask, const model::Node& node);

}  // namespace berth::feasible
