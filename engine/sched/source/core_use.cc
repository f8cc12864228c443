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
  follow(snapshot);
  if (held_[row] == kUnknown) held_[row] = collect(snapshot, row) ? kWell : kUnfit;
  return held_[row] == kWell;
}

CoreOffer CoreUse::offer(const Snapshot& snapshot, NodeRow row, std::uint64_t cores) {
  const bool empty = snapshot.nodes.use[row].core_allocs == 0;
  if (!empty) follow(snapshot);
  Ask& known = ask(snapshot, cores);
  std::uint32_t& gets = empty ? known.of_empty[row] : known.gets[row];
  if (gets == kNotKnown) {
    static_cast<void>(collect(snapshot, row));
    gets = first_free(snapshot.nodes.spec(row), cores);
  }
  return as_offer(gets);
}

CoreUse::Ask& CoreUse::ask(const Snapshot& snapshot, std::uint64_t cores) {
  const std::size_t size = snapshot.nodes.size();
  if (static_epoch_ != snapshot.nodes.static_epoch) {
    static_epoch_ = snapshot.nodes.static_epoch;
    asks_.clear();
  }
  for (Ask& known : asks_)
    if (known.cores == cores) return known;
  if (asks_.size() == kAsksMost) asks_.erase(asks_.begin());
  return asks_.emplace_back(
      Ask{cores, std::vector<std::uint32_t>(size, kNotKnown), std::vector<std::uint32_t>(size, kNotKnown)});
}

CoreOffer CoreUse::offer_beside(const Snapshot& snapshot, NodeRow row, std::uint64_t cores,
                                const std::vector<std::uint16_t>& more) {
  static_cast<void>(collect(snapshot, row));
  model::merge_cores(taken_, more);
  return as_offer(first_free(snapshot.nodes.spec(row), cores));
}

CoreOffer CoreUse::as_offer(std::uint32_t gets) {
  if (gets == kNotKnown) return {.unknown = true};
  if (gets == kTooFew) return {.too_few = true};
  return {.mhz = gets & ~kRefused, .refused = (gets & kRefused) != 0};
}

void CoreUse::follow(const Snapshot& snapshot) {
  if (follower_.is_at(snapshot)) return;
  const std::vector<NodeRow>* changed = follower_.advance(snapshot);
  const std::size_t size = snapshot.nodes.size();
  if (!changed) {
    held_.assign(size, kUnknown);
    asks_.clear();
    return;
  }
  held_.resize(size, kUnknown);
  for (const NodeRow row : *changed) held_[row] = kUnknown;
  for (Ask& ask : asks_)
    for (const NodeRow row : *changed)
      if (row < ask.gets.size()) ask.gets[row] = kNotKnown;  // else it is of an older set of nodes
}

/// What the node's allocations hold, into `taken_`; whether the fit has nothing against it (R-RANK-524, 535).
bool CoreUse::collect(const Snapshot& snapshot, NodeRow row) {
  const tables::NodeUse& use = snapshot.nodes.use[row];
  taken_.clear();
  std::uint32_t left = use.core_allocs;
  for (tables::AllocRow a = use.alloc_head; a != kNoRow && left > 0; a = snapshot.allocs.next_on_node[a]) {
    const std::vector<std::uint16_t>& cores = snapshot.allocs.shape_of(a).cores;
    if (cores.empty()) continue;
    taken_.insert(taken_.end(), cores.begin(), cores.end());
    --left;
  }
  std::sort(taken_.begin(), taken_.end());
  const auto last = std::unique(taken_.begin(), taken_.end());
  const bool twice = last != taken_.end();
  taken_.erase(last, taken_.end());
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
