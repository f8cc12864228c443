#include "sim/generated_cluster.h"

#include <fmt/format.h>

#include "base/assert.h"

namespace berth::sim {
std::string GeneratedCluster::node_name(std::size_t node) const {
  return names.empty() ? name_prefix + std::to_string(node) : names[node];
}

model::Node GeneratedCluster::node(std::size_t node) const {
  const NodeRecord& record = nodes[node];
  model::Node out = shapes[record.shape];
  out.id = base::to_text(record.id);
  out.name = node_name(node);
  if (!datacenters.empty()) out.datacenter = datacenters[record.datacenter];
  if (record.rack != NodeRecord::kNoRack) out.meta["rack"] = racks[record.rack];
  // The address of Nomad's recorded grid, kept for every generator: unique.* attributes never enter a class.
  if (names.empty()) out.attributes["unique.advertise.address"] = fmt::format("192.168.{}.{}", node % 10, node % 120);
  return out;
}

model::Allocation GeneratedCluster::load_alloc(std::size_t index) const {
  const LoadRecord& record = load[index];
  const auto& job = load_jobs[record.job];
  const model::TaskGroup& group = job->task_groups.front();
  const model::Task& task = group.tasks.front();
  BERTH_ASSERT(task.resources.has_value());
  model::Allocation out;
  out.id = base::to_text(generated_id(kLoadAllocKind, static_cast<std::uint32_t>(index)));
  out.namespace_ = job->namespace_;
  out.name = fmt::format("{}.{}[{}]", job->id, group.name, record.name_index);
  out.node_id = base::to_text(nodes[record.node].id);
  out.node_name = node_name(record.node);
  out.job_id = job->id;
  out.job = job;
  out.task_group = group.name;
  model::AllocatedResources resources;
  model::AllocatedTask& held = resources.tasks[task.name];
  held.cpu.cpu_shares = task.resources->cpu;
  held.memory.memory_mb = task.resources->memory_mb;
  held.memory.memory_max_mb = task.resources->memory_max_mb;
  resources.shared.disk_mb = group.ephemeral_disk ? group.ephemeral_disk->size_mb : 0;
  out.allocated_resources = std::move(resources);
  out.desired_status = "run";
  out.client_status = "running";
  return out;
}

}  // namespace berth::sim
