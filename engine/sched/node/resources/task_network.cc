#include "sched/node/resources/task_network.h"

#include "model/job.h"
#include "sched/node/resources/ports.h"

namespace berth::sched {

bool assign_asked_network(Building& b, TaskGets& gets) {
  FitParts& parts = b.parts;
  const model::NetworkResource& ask = gets.task.resources->networks.front();
  network::NetworkIndex& index = parts.scratch.work.network_index;
  model::NetworkResource offer;
  auto offered = index.assign_task_network(ask, offer);
  if (!offered && b.evict && parts.victims.for_network(ask, b.spec().ports, *b.option.resources))
    offered = index.assign_task_network(ask, offer);
  if (!offered) return b.fail(parts.ports.reason_of(offered.error()));
  if (parts.scratch.options.spare_leaving_ports && !offer.dynamic_ports.empty()) {
    std::vector<std::uint16_t> leaving;
    list_leaving_ports(parts, b.row, leaving);
    if (!leaving.empty()) index.spare_ports(leaving, offer);
  }
  index.add_network(offer);
  gets.out.networks.push_back(std::move(offer));
  return true;
}

}  // namespace berth::sched
