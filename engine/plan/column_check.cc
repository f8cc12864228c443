#include "plan/column_check.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/wrap.h"
#include "model/flatten.h"
#include "tables/port_holders.h"

namespace berth::plan {

const tables::CompiledGroup& planned_group(const tables::Snapshot& state, const PlanRows& plan,
                                           const PlannedAlloc& alloc) {
  return state.jobs.versions[alloc.job == tables::kNoRow ? plan.job : alloc.job]->groups[alloc.group];
}

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::ResourceShape;
using tables::Snapshot;

namespace {

/// The last eight bytes, where the device IDs of a node differ most.
std::uint64_t mark_of(std::string_view id) {
  std::uint64_t mark = 0;
  const std::string_view end = id.substr(id.size() - std::min(id.size(), sizeof(mark)));
  std::memcpy(&mark, end.data(), end.size());
  return mark;
}

/// The allocation exists, is on the node and has not ended: an update of it leaves it there.
bool lives_on(const Snapshot& state, AllocRow row, NodeRow node) {
  const tables::AllocTable& allocs = state.allocs;
  return row < allocs.size() && allocs.exists(row) && allocs.node[row] == node && !allocs.terminal(row);
}

}  // namespace

bool ColumnCheck::accepts(const Snapshot& state, const PlanRows& plan, NodeRow node,
                          std::span<const UpdateOnNode> updates) {
  if (node >= state.nodes.size() || !state.nodes.exists(node) || state.nodes.status(node) != tables::NodeStatus::ready)
    return false;
  return std::all_of(updates.begin(), updates.end(), [&](const UpdateOnNode& at) {
    const PlannedUpdate& update = plan.updates[at.second];
    return update.given == kNoRow && lives_on(state, update.alloc, node);
  });
}

bool ColumnCheck::add_updates(const Snapshot& state, const PlanRows& plan, NodeRow node,
                              std::span<const UpdateOnNode> updates, Change& sum) {
  updated_.clear();
  for (const UpdateOnNode& at : updates) {
    const PlannedUpdate& update = plan.updates[at.second];
    BERTH_ASSERT(at.first == node && !update.dropped);
    if (update.kind != PlannedUpdate::Kind::in_place || !lives_on(state, update.alloc, node)) return false;
    updated_.push_back(update.alloc);
    if (!update.held) continue;
    const ResourceShape& before = state.allocs.shape_of(update.alloc);
    if (update.held != &before && (update.held->special() || before.special())) return false;
    base::wrap_add_to(sum.cpu_mhz, base::wrap_sub(update.held->cpu_mhz, before.cpu_mhz));
    base::wrap_add_to(sum.memory_mb, base::wrap_sub(update.held->memory_mb, before.memory_mb));
    base::wrap_add_to(sum.disk_mb, base::wrap_sub(update.held->disk_mb, before.disk_mb));
  }
  std::sort(updated_.begin(), updated_.end());  // the rules count an allocation as often as the plan lists it
  return std::adjacent_find(updated_.begin(), updated_.end()) == updated_.end();
}

bool ColumnCheck::fits(const Snapshot& state, const PlanRows& plan, std::uint32_t first,
                       std::span<const UpdateOnNode> updates) {
  BERTH_ASSERT(plan.allocs[first].first_on_node);
  const NodeRow row = plan.allocs[first].node;
  if (row >= state.nodes.size() || !state.nodes.exists(row)) return false;
  if (state.nodes.status(row) != tables::NodeStatus::ready || !(state.nodes.state[row] & tables::kEligible))
    return false;
  const tables::NodeUse& use = state.nodes.use[row];
  const tables::NodeCapacity& capacity = state.nodes.capacity(row);
  Change change;
  if (!updates.empty() && !add_updates(state, plan, row, updates, change)) return false;
  std::int64_t cpu = base::wrap_add(use.cpu_mhz, change.cpu_mhz);  // R-MODEL-3
  std::int64_t memory = base::wrap_add(use.memory_mb, change.memory_mb);
  std::int64_t disk = base::wrap_add(use.disk_mb, change.disk_mb), allocs = use.alloc_count;
  bool claims = use.sole_claims != 0;
  bool ports = use.port_allocs != 0, instances = (use.device_allocs | use.core_allocs) != 0;
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node) {
    BERTH_ASSERT(plan.allocs[i].node == row && plan.allocs[i].held);  // the chain stays on its node
    const ResourceShape& shape = *plan.allocs[i].held;
    base::wrap_add_to(cpu, shape.cpu_mhz);
    base::wrap_add_to(memory, shape.memory_mb);
    base::wrap_add_to(disk, shape.disk_mb);
    ++allocs;
    if (plan.allocs[i].job != kNoRow) claims |= planned_group(state, plan, plan.allocs[i]).claims_alone;
    instances |= shape.devices | !shape.cores.empty();
    ports |= shape.ports;
  }
  const bool room = cpu <= capacity.cpu_mhz && memory <= capacity.memory_mb && disk <= capacity.disk_mb &&
                    (capacity.max_allocs == 0 || allocs <= capacity.max_allocs);
  return room && !capacity.network_invalid && !claims && !(ports && may_collide(state, plan, row, first)) &&
         !(instances && may_share(state, plan, row, first));
}

/// True if two of the node's allocations and the planned ones may hold one port; false is certain (R-MODEL-480).
/// Allocations that leave count as staying.
bool ColumnCheck::may_collide(const Snapshot& state, const PlanRows& plan, NodeRow node, std::uint32_t first) {
  BERTH_ASSERT(plan.allocs[first].first_on_node);
  shapes_.clear();
  const tables::HeldPorts* const held = state.nodes.held_ports(node);
  if (!held)
    tables::each_port_holder(state, node, [&](AllocRow, const ResourceShape& shape) { shapes_.push_back(&shape); });
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node)
    if (plan.allocs[i].held->ports) shapes_.push_back(plan.allocs[i].held);
  ports_.start(state.nodes.spec(node).ports);
  if (held && ports_.add_ports(held->address(), held->ports())) return true;
  return std::any_of(shapes_.begin(), shapes_.end(), [&](const ResourceShape* shape) {
    return shape->shares_ports || ports_.add(*shape->resources, "");
  });
}

/// True if two of them may hold one device instance or one core, or one holds a core that the node lacks; false is
/// certain (R-MODEL-384, 404, 407). Allocations that leave count as staying.
bool ColumnCheck::may_share(const Snapshot& state, const PlanRows& plan, NodeRow node, std::uint32_t first) {
  const tables::NodeSpec& spec = state.nodes.spec(node);
  const tables::HeldCores* const held_cores = state.nodes.held_cores(node);
  const tables::HeldDevices* const held_devices = state.nodes.held_devices(node);
  if (held_cores && held_devices && spec.core_table.is_exact &&
      spec.devices.ids.size() <= 64 * held_devices->word.size()) {
    tables::HeldCores cores = *held_cores;
    tables::HeldDevices devices = *held_devices;
    for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node) {
      const ResourceShape& shape = *plan.allocs[i].held;
      cores.add(shape);
      if (shape.devices) devices.add(shape, spec.devices);
    }
    return cores.unlisted || devices.unlisted || spec.core_table.exceeded_by(cores.word);
  }
  const tables::NodeUse& use = state.nodes.use[node];
  instances_.clear();
  marks_.clear();
  cores_.clear();
  std::uint32_t devices = use.device_allocs, cores = use.core_allocs;
  for (AllocRow row = use.alloc_head; row != kNoRow && (devices | cores) != 0; row = state.allocs.next_on_node[row]) {
    const ResourceShape& shape = state.allocs.shape_of(row);
    devices -= shape.devices;
    cores -= !shape.cores.empty();
    if (!take_instances(shape)) return true;
  }
  BERTH_ASSERT((devices | cores) == 0);  // the node's counts are those of its list
  for (std::uint32_t i = first; i != kNoRow; i = plan.allocs[i].next_on_node)
    if (!take_instances(*plan.allocs[i].held)) return true;
  const std::vector<std::uint16_t>& available = spec.cores;
  return !available.empty() && !std::includes(available.begin(), available.end(), cores_.begin(), cores_.end());
}

/// Adds the cores and device instances of `shape` to those taken on the node. False: one was taken before.
bool ColumnCheck::take_instances(const ResourceShape& shape) {
  BERTH_ASSERT(marks_.size() == instances_.size());
  BERTH_ASSERT(!shape.devices || shape.resources);
  if (!shape.cores.empty() && model::cores_overlap(cores_, shape.cores)) return false;
  model::merge_cores(cores_, shape.cores);
  if (!shape.devices) return true;
  for (const auto& [name, task] : shape.resources->tasks)
    for (const model::AllocatedDevice& device : task.devices)
      for (const std::string& id : device.device_ids) {
        const std::uint64_t mark = mark_of(id);
        for (std::size_t i = 0; i < marks_.size(); ++i) {
          if (marks_[i] != mark) continue;
          const auto& [other, other_id] = instances_[i];
          if (*other_id == id && other->name == device.name && other->type == device.type &&
              other->vendor == device.vendor)
            return false;
        }
        marks_.push_back(mark);
        instances_.emplace_back(&device, &id);
      }
  return true;
}

}  // namespace berth::plan
