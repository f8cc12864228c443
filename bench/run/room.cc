#include "run/room.h"

#include <algorithm>
#include <utility>

#include "model/job.h"

namespace berth::run {

void Room::watch(const tables::NodeTable& nodes, const tables::CompiledJob& job) {
  groups_.clear();
  for (const tables::CompiledGroup& group : job.groups)
    if (group.count > 0) groups_.push_back({&group, std::vector<std::int64_t>(nodes.size())});
  free_.assign(nodes.size(), {});
  for (tables::NodeRow node = 0; node < nodes.size(); ++node) update(nodes, node);
}

void Room::update(const tables::NodeTable& nodes, tables::NodeRow node) {
  if (node >= free_.size()) return;
  Free& free = free_[node];
  free = {};
  if (nodes.ready(node)) {
    const tables::NodeCapacity& capacity = nodes.capacity(node);
    const tables::NodeUse& use = nodes.use[node];
    free = {capacity.cpu_mhz - use.cpu_mhz, capacity.memory_mb - use.memory_mb, capacity.disk_mb - use.disk_mb};
  }
  for (Group& group : groups_) count(group, node);
}

void Room::take(std::span<const Use> uses, std::int64_t sign) {
  for (const Use& use : uses) {
    Free& free = free_[use.node];
    free.cpu_mhz -= sign * use.cpu_mhz, free.memory_mb -= sign * use.memory_mb, free.disk_mb -= sign * use.disk_mb;
    for (Group& group : groups_) count(group, use.node);
  }
}

/// Reserved cores, whose cpu depends on the node, need no cpu here.
void Room::count(Group& group, tables::NodeRow node) {
  const tables::CompiledGroup& spec = *group.spec;
  const Free& free = free_[node];
  std::int64_t out = spec.distinct_hosts ? 1 : spec.count;
  const auto limit = [&](std::int64_t amount, std::int64_t request) {
    if (request > 0) out = std::min(out, std::max<std::int64_t>(amount, 0) / request);
  };
  limit(free.cpu_mhz, spec.has_cores ? 0 : spec.cpu_mhz);
  limit(free.memory_mb, spec.memory_mb);
  limit(free.disk_mb, spec.disk_mb);
  group.sum += out - std::exchange(group.on_node[node], out);
}

bool Room::suffices() const {
  return std::all_of(groups_.begin(), groups_.end(), [](const Group& group) { return group.sum >= group.spec->count; });
}

}  // namespace berth::run
