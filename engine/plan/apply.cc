#include "plan/apply.h"

#include <algorithm>

namespace berth::plan {
namespace {

using tables::kNoRow;
using tables::NodeRow;

/// Whether the node still takes what the plan adds to it: cpu, memory, disk and the allocation limit by the columns.
bool still_fits(const tables::Snapshot& state, const PlanRows& plan, std::uint32_t first) {
  const NodeRow row = plan.allocs[first].node;
  if (!state.nodes.exists(row)) return false;
  const tables::NodeUse& use = state.nodes.use[row];
  const tables::NodeCapacity& capacity = state.nodes.capacity(row);
  std::int64_t cpu = use.cpu_mhz, memory = use.memory_mb, disk = use.disk_mb;
  std::int64_t allocs = use.alloc_count;
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node) {
    const tables::ResourceShape& shape = *plan.allocs[i].shape;
    cpu += shape.cpu_mhz;
    memory += shape.memory_mb;
    disk += shape.disk_mb;
    ++allocs;
  }
  return cpu <= capacity.cpu_mhz && memory <= capacity.memory_mb && disk <= capacity.disk_mb &&
         (capacity.max_allocs == 0 || allocs <= static_cast<std::int64_t>(capacity.max_allocs));
}

}  // namespace

void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once,
           ApplyResult& result) {
  result.index = 0;
  result.committed = result.refused = 0;
  result.rejected_nodes.clear();
  const tables::Snapshot& state = store.current();
  // Only the first planned allocation of a node has no predecessor in its chain; it stands for the node.
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i) {
    if (!plan.allocs[i].first_on_node) continue;
    if (!still_fits(state, plan, i)) result.rejected_nodes.push_back(plan.allocs[i].node);
  }
  if (!result.rejected_nodes.empty() && all_at_once) {
    result.refused = static_cast<std::uint32_t>(plan.allocs.size());
    return;
  }
  for (const PlannedAlloc& planned : plan.allocs) {
    if (!result.rejected_nodes.empty() && std::find(result.rejected_nodes.begin(), result.rejected_nodes.end(),
                                                    planned.node) != result.rejected_nodes.end()) {
      ++result.refused;
      continue;
    }
    tables::PlainAlloc alloc;
    alloc.id = planned.id;
    alloc.node = planned.node;
    alloc.job = plan.job;
    alloc.group = planned.group;
    alloc.name_index = planned.name_index;
    alloc.shape = planned.shape;
    store.insert_plain(alloc, index);
    ++result.committed;
  }
  if (result.committed > 0) {
    store.set_index(index);
    result.index = index;
  }
}

}  // namespace berth::plan
