#include "sched/node/resources/group_network.h"

#include "model/job.h"
#include "sched/node/resources/ports.h"

namespace berth::sched {

bool enter_group_network(Building& b) {
  if (!b.group().has_network) return true;
  FitParts& parts = b.parts;
  const network::NodePorts& ports = b.spec().ports;
  network::NetworkIndex& index = parts.scratch.work.network_index;
  model::AllocatedShared& shared = b.option.resources->shared;
  shared.networks.resize(1);
  model::NetworkResource& network = shared.networks.front();
  network = b.group().spec->networks.front();
  for (auto* list : {&network.dynamic_ports, &network.reserved_ports})
    for (model::Port& port : *list) {
      if (!port.host_network.starts_with("${")) continue;  // a literal needs no resolving
      const match::Target target = match::parse_target(port.host_network);
      const match::Side side = match::resolve(target, b.spec().node);
      if (!side.found) return false;  // dropped without a metric (R-RANK-612)
      port.host_network = std::string(side.text);
    }
  std::vector<model::AllocatedPort>& offered_ports = parts.offered_ports;
  auto offered = index.assign_ports(network, offered_ports);
  if (!offered && b.evict && parts.victims.for_network(network, ports, *b.option.resources))
    offered = index.assign_ports(network, offered_ports);
  if (!offered) return b.fail(parts.ports.reason_of(offered.error()));
  if (parts.scratch.options.spare_leaving_ports && !network.dynamic_ports.empty()) {
    std::vector<std::uint16_t> leaving;
    list_leaving_ports(parts, b.row, leaving);
    if (!leaving.empty()) index.spare_ports(network, leaving, offered_ports);
  }
  if (auto done = network::fill_group_network(ports, offered_ports, network); !done) {
    parts.attempt.error = done.error().text;
    return false;
  }
  // The record is the request as written, with host networks resolved and dynamic ports filled in.
  if (b.group().has_task_network) index.add_ports(offered_ports);
  shared.ports.swap(offered_ports);
  return true;
}

}  // namespace berth::sched
