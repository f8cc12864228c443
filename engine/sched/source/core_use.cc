#include "sched/source/core_use.h"

#include <algorithm>
#include <limits>

#include "model/registration/node_canonical.h"
#include "rank/fit.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

CoreOffer CoreUse::offer(const Snapshot& snapshot, NodeRow row, std::uint64_t cores,
                         const std::vector<std::uint16_t>& more) {
  if ((snapshot.nodes.use[row].irregular & tables::kCoresIrregular) != 0) return {.unknown = true};
  const tables::NodeSpec& spec = snapshot.nodes.spec(row);
  const tables::HeldCores* const held = snapshot.nodes.held_cores(row);
  const tables::CoreTable& table = spec.core_table;
  if (!held || !table.tells) {
    collect(snapshot, row);
    model::merge_cores(taken_, more);
    return first_free(spec, cores);
  }
  const auto as_offer = [](const tables::CoreTable::Gift& gift) {
    return CoreOffer{static_cast<std::uint32_t>(gift.mhz), gift.too_few, gift.exceeds};
  };
  if (more.empty()) return as_offer(table.give(held->word, cores));
  tables::CoreTable::Words taken = held->word;
  for (const std::uint16_t core : more) taken[core / 64] |= std::uint64_t{1} << core % 64;
  return as_offer(table.give(taken, cores));
}

/// Lists the cores that the node's allocations hold in `taken_`, ascending.
void CoreUse::collect(const Snapshot& snapshot, NodeRow row) {
  const tables::NodeUse& use = snapshot.nodes.use[row];
  taken_.clear();
  if (const tables::HeldCores* const held = snapshot.nodes.held_cores(row)) {
    held->each([&](std::uint16_t core) { taken_.push_back(core); });
    return;
  }
  std::uint32_t left = use.core_allocs;
  for (tables::AllocRow a = use.alloc_head; a != kNoRow && left > 0; a = snapshot.allocs.next_on_node[a]) {
    const std::vector<std::uint16_t>& cores = snapshot.allocs.shape_of(a).cores;
    left -= !cores.empty();
    taken_.insert(taken_.end(), cores.begin(), cores.end());
  }
  std::sort(taken_.begin(), taken_.end());
}

/// The cores that a request for `cores` of them gets while `taken_` are held.
CoreOffer CoreUse::first_free(const tables::NodeSpec& spec, std::uint64_t cores) {
  constexpr std::int64_t kMhzMost = std::numeric_limits<std::int32_t>::max();
  const model::Topology* const topology = model::topology_of(spec.node);
  std::int64_t mhz = 0;
  if (!topology || !rank::assign_cores(*topology, taken_, static_cast<std::int64_t>(cores), given_, mhz))
    return {.too_few = true};
  if (mhz < 0 || mhz > kMhzMost) return {.unknown = true};
  const bool refused =
      !spec.cores.empty() && !std::includes(spec.cores.begin(), spec.cores.end(), given_.begin(), given_.end());
  return {.mhz = static_cast<std::uint32_t>(mhz), .refused = refused};
}

}  // namespace berth::sched
