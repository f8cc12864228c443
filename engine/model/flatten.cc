#include "model/flatten.h"

#include <algorithm>

#include "base/wrap.h"

namespace berth::model {
namespace {

using base::wrap_add;
using base::wrap_sub;

/// The lifecycle sums in which a task takes part (R-MODEL-380 step 2).
struct Phases {
  bool main = false, pre = false, post = false;
};

Phases phases_of(const AllocatedResources& resources, const std::string& task) {
  const auto entry = resources.task_lifecycles.find(task);
  if (entry == resources.task_lifecycles.end() || !entry->second) return {.main = true};
  const Lifecycle& lifecycle = *entry->second;
  if (lifecycle.hook == "prestart") return {.main = lifecycle.sidecar, .pre = true};
  if (lifecycle.hook == "poststart") return {.main = true};
  if (lifecycle.hook == "poststop") return {.post = true};
  return {};
}

struct Sum {
  std::int64_t cpu_mhz = 0, memory_mb = 0, memory_max_mb = 0;
  void add(std::int64_t cpu, std::int64_t memory, std::int64_t memory_max) {
    cpu_mhz = wrap_add(cpu_mhz, cpu);
    memory_mb = wrap_add(memory_mb, memory);
    memory_max_mb = wrap_add(memory_max_mb, memory_max != 0 ? memory_max : memory);
  }
  void raise_to(const Sum& other) {
    cpu_mhz = std::max(cpu_mhz, other.cpu_mhz);
    memory_mb = std::max(memory_mb, other.memory_mb);
    memory_max_mb = std::max(memory_max_mb, other.memory_max_mb);
  }
};

void sort_unique(std::vector<std::uint16_t>& cores) {
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
}

void merge_network(std::vector<NetworkResource>& into, const NetworkResource& network) {
  for (NetworkResource& present : into) {
    if (present.device != network.device) continue;
    present.mbits = wrap_add(present.mbits, network.mbits);
    present.reserved_ports.insert(present.reserved_ports.end(), network.reserved_ports.begin(),
                                  network.reserved_ports.end());
    present.dynamic_ports.insert(present.dynamic_ports.end(), network.dynamic_ports.begin(),
                                 network.dynamic_ports.end());
    return;
  }
  into.push_back(network);
}

/// Calls `visit` for each task in main, then each in pre, then each in post: the order of R-RANK-514.
template <class Visit>
void each_by_phase(const AllocatedResources& resources, Visit visit) {
  for (const auto phase : {&Phases::main, &Phases::pre, &Phases::post})
    for (const auto& [name, task] : resources.tasks)
      if (phases_of(resources, name).*phase) visit(task);
}

}  // namespace

bool cores_overlap(const std::vector<std::uint16_t>& a, const std::vector<std::uint16_t>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    if (*i == *j) return true;
    *i < *j ? ++i : ++j;
  }
  return false;
}

void merge_cores(std::vector<std::uint16_t>& into, const std::vector<std::uint16_t>& other) {
  // One by one: there are few, and an in-place merge would allocate memory.
  for (const std::uint16_t core : other)
    if (const auto at = std::lower_bound(into.begin(), into.end(), core); at == into.end() || *at != core)
      into.insert(at, core);
}

void remove_cores(std::vector<std::uint16_t>& from, const std::vector<std::uint16_t>& other) {
  if (from.empty() || other.empty()) return;
  std::erase_if(from, [&](std::uint16_t core) { return std::binary_search(other.begin(), other.end(), core); });
}

void FlatResources::add(const FlatResources& other) {
  cpu_mhz = wrap_add(cpu_mhz, other.cpu_mhz);
  memory_mb = wrap_add(memory_mb, other.memory_mb);
  memory_max_mb = wrap_add(memory_max_mb, other.memory_max_mb != 0 ? other.memory_max_mb : other.memory_mb);
  disk_mb = wrap_add(disk_mb, other.disk_mb);
  merge_cores(cores, other.cores);
}

void FlatResources::subtract(const FlatResources& other) {
  cpu_mhz = wrap_sub(cpu_mhz, other.cpu_mhz);
  memory_mb = wrap_sub(memory_mb, other.memory_mb);
  memory_max_mb = wrap_sub(memory_max_mb, other.memory_max_mb != 0 ? other.memory_max_mb : other.memory_mb);
  disk_mb = wrap_sub(disk_mb, other.disk_mb);
  remove_cores(cores, other.cores);
}

void FlatResources::clear() {
  cpu_mhz = memory_mb = memory_max_mb = disk_mb = 0;
  cores.clear();
}

void flatten(const AllocatedResources& resources, FlatResources& out) {
  out.clear();
  Sum main, pre, post;
  for (const auto& [name, task] : resources.tasks) {
    std::int64_t cpu = task.cpu.cpu_shares;
    if (!task.cpu.reserved_cores.empty()) {  // pinned: always additive, whatever the phase
      out.cpu_mhz = wrap_add(out.cpu_mhz, cpu);
      out.cores.insert(out.cores.end(), task.cpu.reserved_cores.begin(), task.cpu.reserved_cores.end());
      cpu = 0;
    }
    const Phases phases = resources.task_lifecycles.empty() ? Phases{.main = true} : phases_of(resources, name);
    if (phases.main) main.add(cpu, task.memory.memory_mb, task.memory.memory_max_mb);
    if (phases.pre) pre.add(cpu, task.memory.memory_mb, task.memory.memory_max_mb);
    if (phases.post) post.add(cpu, task.memory.memory_mb, task.memory.memory_max_mb);
  }
  if (!out.cores.empty()) sort_unique(out.cores);
  main.raise_to(pre);
  main.raise_to(post);
  out.cpu_mhz = wrap_add(out.cpu_mhz, main.cpu_mhz);
  out.memory_mb = main.memory_mb;
  out.memory_max_mb = main.memory_max_mb != 0 ? main.memory_max_mb : main.memory_mb;
  out.disk_mb = resources.shared.disk_mb;
}

FlatResources flatten(const AllocatedResources& resources) {
  FlatResources out;
  flatten(resources, out);
  return out;
}

std::vector<NetworkResource> flatten_networks(const AllocatedResources& resources) {
  std::vector<NetworkResource> out;
  each_by_phase(resources, [&](const AllocatedTask& task) {
    for (const NetworkResource& network : task.networks) merge_network(out, network);
  });
  for (const NetworkResource& network : resources.shared.networks) merge_network(out, network);
  return out;
}

}  // namespace berth::model
