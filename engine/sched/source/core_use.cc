#include "sched/source/core_use.h"

#include <algorithm>

#include "model/registration/node_canonical.h"
#include "rank/fit.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

bool CoreUse::held_well(const Snapshot& snapshot, NodeRow row) {
  if (snapshot.nodes.use[row].core_allocs == 0) return true;
  return collect(snapshot, row);
}

CoreOffer CoreUse::offer(const Snapshot& snapshot, NodeRow row, std::uint64_t cores) {
  if (snapshot.nodes.use[row].core_allocs != 0) {
    if (!collect(snapshot, row)) return {.unknown = true};
    return as_offer(first_free(snapshot.nodes.spec(row), cores));
  }
  std::uint32_t& gets = of_empty(snapshot, cores)[row];
  if (gets == kNotKnown) {
    taken_.clear();
    gets = first_free(snapshot.nodes.spec(row), cores);
  }
  return as_offer(gets);
}

std::vector<std::uint32_t>& CoreUse::of_empty(const Snapshot& snapshot, std::uint64_t cores) {
  const std::size_t size = snapshot.nodes.size();
  if (static_epoch_ != snapshot.nodes.static_epoch) {
    static_epoch_ = snapshot.nodes.static_epoch;
    asks_.clear();
  }
  for (Ask& known : asks_)
    if (known.cores == cores) return known.of_empty;
  if (asks_.size() == kAsksMost) asks_.erase(asks_.begin());
  return asks_.emplace_back(Ask{cores, std::vector<std::uint32_t>(size, kNotKnown)}).of_empty;
}

CoreOffer CoreUse::offer_beside(const Snapshot& snapshot, NodeRow row, std::uint64_t cores,
                                const std::vector<std::uint16_t>& more) {
  if (!collect(snapshot, row)) return {.unknown = true};
  model::merge_cores(taken_, more);
  return as_offer(first_free(snapshot.nodes.spec(row), cores));
}

CoreOffer CoreUse::as_offer(std::uint32_t gets) {
  if (gets == kNotKnown) return {.unknown = true};
  if (gets == kTooFew) return {.too_few = true};
  return {.mhz = gets & ~kRefused, .refused = (gets & kRefused) != 0};
}

/// What the node's allocations hold, into `taken_`; whether the fit has nothing against it (R-RANK-524, 535).
bool CoreUse::collect(const Snapshot& snapshot, NodeRow row) {
  const tables::NodeUse& use = snapshot.nodes.use[row];
  taken_.clear();
  bool twice = false;
  if (const tables::HeldCores* const held = snapshot.nodes.held_cores(row)) {
    held->each([&](std::uint16_t core) { taken_.push_back(core); });
  } else {
    std::uint32_t left = use.core_allocs;
    for (tables::AllocRow a = use.alloc_head; a != kNoRow && left > 0; a = snapshot.allocs.next_on_node[a]) {
      const std::vector<std::uint16_t>& cores = snapshot.allocs.shape_of(a).cores;
      if (cores.empty()) continue;
      taken_.insert(taken_.end(), cores.begin(), cores.end());
      --left;
    }
    std::sort(taken_.begin(), taken_.end());
    const auto last = std::unique(taken_.begin(), taken_.end());
    twice = last != taken_.end();
    taken_.erase(last, taken_.end());
  }
  const std::vector<std::uint16_t>& usable = snapshot.nodes.spec(row).cores;
  return !twice && (usable.empty() || std::includes(usable.begin(), usable.end(), taken_.begin(), taken_.end()));
}

/// What somebody gets on the node who asks for so many cores while `taken_` are held.
std::uint32_t CoreUse::first_free(const tables::NodeSpec& spec, std::uint64_t cores) {
  const model::Topology* const topology = model::topology_of(spec.node);
  std::int64_t mhz = 0;
  if (!topology || !rank::assign_cores(*topology, taken_, static_cast<std::int64_t>(cores), given_, mhz))
    return kTooFew;
  if (mhz < 0 || mhz >= (kTooFew & ~kRefused)) return kNotKnown;
  const bool refused =
      !spec.cores.empty() && !std::includes(spec.cores.begin(), spec.cores.end(), given_.begin(), given_.end());
  return static_cast<std::uint32_t>(mhz) | (refused ? kRefused : 0);
}

}  // namespace berth::sched
