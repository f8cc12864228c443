// Nodes, jobs and allocations for tests. A test names only what differs from the defaults, and sets rarer members on
// the result: `make_job({.id = "web", .count = 3})`.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/alloc.h"
#include "model/job.h"
#include "model/node.h"

namespace berth::testing {

struct NodeSpec {
  std::string id = "00000000-0000-4000-8000-000000000001";
  std::string name = "n1";
  std::string datacenter = "dc1";
  std::string node_class = {};
  std::map<std::string, std::string> attributes = {};
  std::int64_t mhz = 4000;  ///< 0: not known
  std::int64_t memory_mb = 8'000, disk_mb = 100'000;
  bool host_network = false;
};

/// A ready, eligible node of the default pool.
inline model::Node make_node(const NodeSpec& spec = {}) {
  model::Node node;
  node.id = spec.id, node.name = spec.name, node.datacenter = spec.datacenter, node.node_pool = "default";
  node.node_class = spec.node_class, node.attributes = spec.attributes;
  node.status = "ready", node.scheduling_eligibility = "eligible";
  model::NodeResources& resources = node.node_resources.emplace();
  if (spec.mhz > 0)
    resources.processors.emplace().topology.emplace().override_total_compute = static_cast<std::uint64_t>(spec.mhz);
  resources.memory.memory_mb = spec.memory_mb, resources.disk.disk_mb = spec.disk_mb;
  if (spec.host_network) {
    model::NetworkResource& network = resources.networks.emplace_back();
    network.mode = "host", network.device = "eth0";
  }
  return node;
}

/// Adds a device group of healthy instances `gpu-0`, `gpu-1`, ...
inline void add_gpus(model::Node& node, std::size_t count) {
  model::NodeDevice& gpus = node.node_resources->devices.emplace_back();
  gpus.vendor = "nvidia", gpus.type = "gpu", gpus.name = "t4";
  for (std::size_t i = 0; i < count; ++i) {
    gpus.instances.emplace_back().id = "gpu-" + std::to_string(i);
    gpus.instances.back().healthy = true;
  }
}

struct GroupSpec {
  std::string name = "g";
  std::int64_t count = 1;
  std::string task = "t";
  std::int64_t mhz = 100, memory_mb = 64;
  std::int64_t disk_mb = 0;  ///< 0: no ephemeral disk
};

/// A group with one task of the driver `exec`.
inline model::TaskGroup make_group(const GroupSpec& spec = {}) {
  model::TaskGroup group;
  group.name = spec.name, group.count = spec.count;
  if (spec.disk_mb > 0) group.ephemeral_disk.emplace().size_mb = spec.disk_mb;
  model::Task& task = group.tasks.emplace_back();
  task.name = spec.task, task.driver = "exec";
  model::Resources& request = task.resources.emplace();
  request.cpu = spec.mhz, request.memory_mb = spec.memory_mb;
  return group;
}

struct JobSpec {
  std::string id = "j";
  std::string type = "service";
  std::int64_t priority = 50;
  std::string datacenter = "dc1";
  std::uint64_t version = 0;
  std::vector<GroupSpec> groups = {GroupSpec()};
};

/// A job of the default namespace and the default pool.
inline std::shared_ptr<model::Job> make_job(const JobSpec& spec = {}) {
  auto job = std::make_shared<model::Job>();
  job->id = job->name = spec.id, job->namespace_ = "default", job->type = spec.type, job->priority = spec.priority;
  job->datacenters = {spec.datacenter}, job->node_pool = "default", job->version = spec.version;
  for (const GroupSpec& group : spec.groups) job->task_groups.push_back(make_group(group));
  return job;
}

struct AllocSpec {
  std::string id = "00000000-0000-4000-8000-0000000000a1";
  std::shared_ptr<const model::Job> job = nullptr;
  std::string node_id = {};
  std::uint64_t index = 0;  ///< in its name
  std::string client = "running";
  std::string group = {};  ///< "": the first of the job
};

/// An allocation that is to run, and holds what its group requests. Without a job or such a group it holds nothing.
inline model::Allocation make_alloc(const AllocSpec& spec) {
  model::Allocation alloc;
  alloc.id = spec.id, alloc.namespace_ = "default", alloc.node_id = spec.node_id;
  alloc.desired_status = "run", alloc.client_status = spec.client;
  model::AllocatedResources& held = alloc.allocated_resources.emplace();
  if (!spec.job) return alloc;
  alloc.job = spec.job, alloc.job_id = spec.job->id;
  alloc.task_group = spec.group.empty() ? spec.job->task_groups[0].name : spec.group;
  alloc.name = alloc.job_id + "." + alloc.task_group + "[" + std::to_string(spec.index) + "]";
  const model::TaskGroup* group = spec.job->group(alloc.task_group);
  if (!group) return alloc;
  if (group->ephemeral_disk) held.shared.disk_mb = group->ephemeral_disk->size_mb;
  for (const model::Task& task : group->tasks) {
    if (!task.resources) continue;
    held.tasks[task.name].cpu.cpu_shares = task.resources->cpu;
    held.tasks[task.name].memory.memory_mb = task.resources->memory_mb;
  }
  return alloc;
}

}  // namespace berth::testing
