// Fit of a group that asks for reserved cores, without the option: what it needs to know of them is how fast the first
// free ones are (source/core_use.h). Which cores it gets is settled for the chosen node
// alone (node_option.cc). Same verdicts and dimensions as the option's.
#include "base/wrap_sums.h"
#include "sched/node/node_fit.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

PlainFit fit_with_cores(const tables::NodeCapacity& capacity, const tables::NodeUse& use, NodeOverlay with,
                        const CompiledGroup& group, const CoreOffer& offer) {
  if (offer.too_few) return PlainFit{{}, kDimensionCores};
  base::wrap_add_to(with.cpu_mhz, base::wrap_sub(base::wrap_add(group.cpu_beside_cores_mhz, offer.mhz), group.cpu_mhz));
  PlainFit fit = plain_fit(capacity, use, with, group);
  // R-RANK-535: behind cpu, ahead of memory.
  if (offer.refused && fit.dimension != kDimensionMaxAllocs && fit.dimension != kDimensionCpu)
    fit.dimension = kDimensionCores;
  return fit;
}

}  // namespace

std::optional<CoreOffer> NodeFit::offered_cores(NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  CoreUse& use = scratch_.core_use;
  CoreOffer offer;
  const NodeOverlay* const overlay = scratch_.overlay(row);
  if (!overlay || overlay->complex_allocs == 0) {
    offer = use.offer(state, row, group.cores);
  } else {  // what the plan places there holds cores besides
    cores_.clear();
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node)
      model::merge_cores(cores_, attempt_.plan->allocs[i].held->cores);
    offer = use.offer(state, row, group.cores, cores_);
  }
  if (offer.unknown) return std::nullopt;
  return offer;
}

std::optional<PlainFit> NodeFit::fit_by_cores(NodeRow row, const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const tables::NodeUse& use = state.nodes.use[row];
  const tables::NodeCapacity& capacity = state.nodes.capacity(row);
  const NodeOverlay* const overlay = scratch_.overlay(row);
  if (overlay) {  // who leaves or changes gives cores back, and evicting may have left a node that does not fit
    if (overlay->first_stop != kNoRow || overlay->first_update != kNoRow || overlay->relisted != 0) return std::nullopt;
    if (group.has_network && overlay->complex_allocs != 0) return std::nullopt;
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node)
      if (attempt_.plan->allocs[i].held->ports) return std::nullopt;
  }
  const bool no_ports = use.port_allocs == 0 && !group.has_network && capacity.network_invalid == 0;
  if (!no_ports && !ports_do(row, group)) return std::nullopt;
  const std::optional<CoreOffer> offer = offered_cores(row, group);
  if (!offer) return std::nullopt;
  return fit_with_cores(capacity, use, overlay ? *overlay : kUntouched, group, *offer);
}

std::optional<PlainFit> NodeFit::fit_untouched_by_cores(NodeRow row, const tables::NodeCapacity& capacity,
                                                        const CompiledGroup& group) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const CoreOffer offer = scratch_.core_use.offer(state, row, group.cores);
  if (offer.unknown) return std::nullopt;
  return fit_with_cores(capacity, state.nodes.use[row], kUntouched, group, offer);
}

}  // namespace berth::sched
