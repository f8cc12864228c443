// Nodes, jobs and IDs of clusters for timing whole evaluations.
#pragma once

#include <memory>
#include <string>

#include "model/job.h"
#include "tables/state.h"

namespace berth::micro {

inline base::Uuid spread_uuid(std::uint64_t kind, std::uint64_t number) {
  return {number * 0x9e3779b97f4a7c15ULL | 1, kind};  // unordered, like those of real nodes
}

inline std::shared_ptr<const tables::NodeSpec> node_spec(std::uint64_t cpu_mhz, std::int64_t memory_mb) {
  model::Node shape;
  shape.status = "ready";
  shape.scheduling_eligibility = "eligible";
  shape.datacenter = "dc1";
  shape.node_pool = "default";
  shape.node_class = "compute";
  shape.attributes["kernel.name"] = "linux";
  shape.attributes["driver.exec"] = "1";
  model::NodeResources& r = shape.node_resources.emplace();
  r.memory.memory_mb = memory_mb;
  r.disk.disk_mb = 100'000;
  r.processors.emplace().topology.emplace().override_total_compute = cpu_mhz;
  model::NetworkResource network;
  network.mode = "host";
  network.device = "eth0";
  network.ip = "10.0.0.1";
  r.networks.push_back(network);
  return tables::StateStore::make_spec(shape, true);
}

/// Node `number` of its rack.
inline void add_node(tables::StateStore& store, const std::shared_ptr<const tables::NodeSpec>& spec,
                     std::uint64_t number, const std::string& rack) {
  store.add_variant(spec, {.id = spread_uuid(1, number),
                           .name = "node",
                           .datacenter = {},
                           .attributes = {},
                           .meta = {{"rack", rack}},
                           .computed_class = {}});
}

/// One group `g` of one task.
inline std::shared_ptr<model::Job> small_job(const std::string& id, const char* type, std::int64_t cpu_mhz,
                                             std::int64_t memory_mb, std::int64_t priority = 50) {
  auto out = std::make_shared<model::Job>();
  out->id = id;
  out->name = id;
  out->namespace_ = "default";
  out->type = type;
  out->priority = priority;
  out->datacenters = {"*"};
  out->node_pool = "default";
  model::TaskGroup& group = out->task_groups.emplace_back();
  group.name.assign(1, 'g');
  group.count = 1;
  group.ephemeral_disk = model::EphemeralDisk{false, false, 300};
  model::Task& task = group.tasks.emplace_back();
  task.name.assign(1, 't');
  task.driver = "exec";
  model::Resources& ask = task.resources.emplace();
  ask.cpu = cpu_mhz;
  ask.memory_mb = memory_mb;
  return out;
}

}  // namespace berth::micro
