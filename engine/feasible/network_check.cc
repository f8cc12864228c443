#include "feasible/network_check.h"

#include <algorithm>

#include "base/text.h"
#include "match/version.h"
#include "model/job.h"

namespace berth::feasible {
namespace {

std::string_view or_host(const std::string& mode) { return mode.empty() ? std::string_view("host") : mode; }

bool has_mode(const model::Node& node, std::string_view mode) {
  if (!node.node_resources) return false;
  const auto& networks = node.node_resources->networks;
  return std::any_of(networks.begin(), networks.end(),
                     [&](const model::NetworkResource& network) { return or_host(network.mode) == mode; });
}

/// Clients before 0.12 did not report bridge networks (R-FEAS-1005).
bool is_older_than_bridge_fingerprint(const model::Node& node) {
  static const auto kBefore012 = match::VersionConstraints::parse("< 0.12", match::VersionConstraints::Rules::version);
  const auto it = node.attributes.find("nomad.version");
  if (it == node.attributes.end()) return false;
  const auto version = match::parse_version(it->second, match::VersionGrammar::strict);
  return version && kBefore012->satisfied_by(*version);
}

bool has_host_network(const model::Node& node, std::string_view alias) {
  if (!node.node_resources->node_networks) return false;  // has_mode() has found its resources
  for (const model::NodeNetworkResource& network : *node.node_resources->node_networks)
    for (const model::NodeNetworkAddress& address : network.addresses)
      if (address.alias == alias) return true;
  return false;
}

}  // namespace

std::optional<NetworkAsk> compile_network(const model::TaskGroup& group) {
  if (group.networks.empty()) return std::nullopt;
  const model::NetworkResource& network = group.networks.front();
  NetworkAsk ask;
  ask.mode = or_host(network.mode);
  for (const auto* ports : {&network.dynamic_ports, &network.reserved_ports})
    for (const model::Port& port : *ports)
      if (!port.host_network.empty())
        ask.ports.push_back({port.label, port.host_network, match::parse_target(port.host_network)});
  return ask;
}

std::optional<std::string> network_failure(const NetworkAsk& ask, const model::Node& node) {
  if (ask.mode == "none") return std::nullopt;
  if (!has_mode(node, ask.mode)) {
    if (ask.mode == "bridge" && is_older_than_bridge_fingerprint(node)) return std::nullopt;
    return "missing network";
  }
  for (const NetworkAsk::HostNetworkPort& port : ask.ports) {
    const match::Side network = match::resolve(port.target, node);
    if (!network.found)
      return "invalid host network " + base::go_quote(port.host_network) + " template for port " +
             base::go_quote(port.label);
    if (!has_host_network(node, network.text))
      return "missing host network " + base::go_quote(network.text) + " for port " + base::go_quote(port.label);
  }
  return std::nullopt;
}

}  // namespace berth::feasible
