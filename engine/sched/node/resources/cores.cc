#include "sched/node/resources/cores.h"

#include "base/wrap.h"
#include "model/registration/node_canonical.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CoreTable;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr Needs kFreeCores = kDynamicPorts | Needs{Need::cores};

PlainFit fit_with_cores(const tables::NodeCapacity& capacity, const tables::NodeUse& use, NodeOverlay with,
                        const CompiledGroup& group, const CoreTable::Gift& offer) {
  if (offer.too_few) return PlainFit{{}, kDimensionCores};
  base::wrap_add_to(
      with.cpu_mhz,
      base::wrap_sub(base::wrap_add(group.cpu_without_cores_mhz, static_cast<std::int64_t>(offer.mhz)), group.cpu_mhz));
  PlainFit fit = plain_fit(capacity, use, with, group);
  // R-RANK-535: checked after cpu and before memory.
  if (offer.exceeds && fit.dimension != kDimensionMaxAllocs && fit.dimension != kDimensionCpu)
    fit.dimension = kDimensionCores;
  return fit;
}

std::optional<CoreTable::Gift> offered_cores(FitParts& parts, NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *parts.attempt.snapshot;
  const NodeOverlay* const overlay = parts.scratch.overlay(row);
  if (!overlay || overlay->complex_allocs == 0) return free_cores(state, row, group.cores);
  parts.cores.clear();  // the plan's placements hold cores as well
  const auto& placed = parts.attempt.plan->allocs;
  for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = placed[i].next_on_node)
    model::merge_cores(parts.cores, placed[i].held->cores);
  return free_cores(state, row, group.cores, parts.cores);
}

}  // namespace

std::optional<CoreTable::Gift> free_cores(const tables::Snapshot& state, NodeRow row, std::uint64_t count,
                                          std::span<const std::uint16_t> more) {
  const CoreTable& table = state.nodes.spec(row).core_table;
  const tables::HeldCores* const held = state.nodes.held_cores(row);
  if ((state.nodes.use[row].irregular & tables::kCoresIrregular) != 0 || !held || !table.is_exact) return std::nullopt;
  if (more.empty()) return table.give(held->word, count);
  CoreTable::Words taken = held->word;
  for (const std::uint16_t core : more) taken[core / 64] |= std::uint64_t{1} << core % 64;
  return table.give(taken, count);
}

bool cores_decide(const FitParts& parts, const CompiledGroup& group) {
  return group.has_cores && tables::serves(kFreeCores, parts.needs_of(group)) && parts.attempt.by_amounts() &&
         !parts.scratch.strategy_fit;
}

std::optional<PlainFit> fit_by_cores(FitParts& parts, NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *parts.attempt.snapshot;
  const tables::NodeUse& use = state.nodes.use[row];
  const tables::NodeCapacity& capacity = state.nodes.capacity(row);
  const NodeOverlay* const overlay = parts.scratch.overlay(row);
  if (overlay) {  // stopped and updated allocations release cores, and evicting may have left a node that does not fit
    if (overlay->first_stop != kNoRow || overlay->first_update != kNoRow || overlay->relisted != 0) return std::nullopt;
    if (group.has_network && overlay->complex_allocs != 0) return std::nullopt;
    const auto& placed = parts.attempt.plan->allocs;
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = placed[i].next_on_node)
      if (placed[i].held->ports) return std::nullopt;
  }
  const bool no_ports = use.port_allocs == 0 && !group.has_network && capacity.network_invalid == 0;
  if (!no_ports && !parts.ports.free_for_certain(row, group)) return std::nullopt;
  const std::optional<CoreTable::Gift> offer = offered_cores(parts, row, group);
  if (!offer) return std::nullopt;
  return fit_with_cores(capacity, use, overlay ? *overlay : kUntouched, group, *offer);
}

std::optional<PlainFit> fit_untouched_by_cores(FitParts& parts, NodeRow row, const tables::NodeCapacity& capacity,
                                               const CompiledGroup& group) {
  const tables::Snapshot& state = *parts.attempt.snapshot;
  const std::optional<CoreTable::Gift> offer = free_cores(state, row, group.cores);
  if (!offer) return std::nullopt;
  return fit_with_cores(capacity, state.nodes.use[row], kUntouched, group, *offer);
}

bool decide_by_free_cores(FitParts& parts, NodeRow row, const GroupView& v, Cell& cell) {
  if (!cores_decide(parts, *v.group)) return false;
  const std::optional<PlainFit> fit = fit_by_cores(parts, row, *v.group);
  if (fit) parts.decide_by(*fit, row, *v.group, nullptr, cell);
  return fit.has_value();
}

bool assign_free_cores(Building& b, TaskGets& gets) {
  std::vector<std::uint16_t>& taken = b.parts.cores;
  if (!b.parts.victims.victims.empty()) {  // the cores of the victims so far are free
    taken.clear();
    b.parts.proposed.merge_cores(b.row, taken);
    for (const auto& [name, earlier] : b.option.resources->tasks) model::merge_cores(taken, earlier.cpu.reserved_cores);
  }
  const model::Topology* topology = model::topology_of(b.spec().node);
  model::AllocatedCpu& cpu = gets.out.cpu;
  if (!topology || !rank::assign_cores(*topology, taken, gets.ask.cores, cpu.reserved_cores, cpu.cpu_shares))
    return b.fail(kDimensionCores);
  model::merge_cores(taken, cpu.reserved_cores);
  return true;
}

}  // namespace berth::sched
