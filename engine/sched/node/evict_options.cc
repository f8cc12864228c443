#include "sched/node/evict_options.h"

#include <algorithm>

#include "base/wrap.h"
#include "rank/components.h"
#include "tables/state.h"

namespace berth::sched {

using rank::Component;
using tables::CompiledGroup;
using tables::NodeRow;

tables::EvictionBound EvictOptions::room(NodeRow row, const CompiledGroup& group) const {
  const tables::Snapshot& state = *attempt_.snapshot;
  // With an overlay, some allocations belong to the job or are already leaving. A system job's own allocations have no
  // overlay, so the job must have none.
  if (!bounds_hold() || !attempt_.by_amounts() || group.needs.has(Need::wide_amounts) || scratch_.overlay(row) ||
      fit_.is_special(row, group) ||
      (attempt_.system && state.jobs.keys[attempt_.job->key].alloc_head != tables::kNoRow))
    return {};
  const tables::NodeUse& use = state.nodes.use[row];
  return bound_eviction(state.nodes.eviction_levels(row), free_of(state.nodes.capacity(row), use),
                        {group.cpu_mhz, group.memory_mb, group.disk_mb}, fit_.victims.highest_evicted(),
                        use.least_priority, use.most_priority);
}

/// Returns an upper bound of the preemption score, for victims as bounded by `room` (priority of the highest, number)
/// and none with a priority below `least`. The net priority (R-PREEMPT-701) of one victim of priority q, the highest,
/// and k - 1 of priority p is q + (q + (k - 1) p) / q. It grows with k, and with q as long as (k - 1) p is below q^2.
/// The bound limits (k - 1) p to q^2 / 2, so that a step of q by 1 outweighs any rounding.
double EvictOptions::best_preemption(const tables::EvictionBound& room, std::int32_t least) {
  BERTH_DEBUG_ASSERT(room.room == tables::Room::sure && least >= 1);
  const std::int64_t highest = room.priority;
  const std::int64_t others = room.victims == 1 ? 0 : std::min(room.victims - 1, highest * highest / 2 / least);
  const std::int64_t sum = highest + others * least;
  const auto key = static_cast<std::uint64_t>(highest) * 0x9e3779b97f4a7c15ULL ^
                   static_cast<std::uint64_t>(sum) * 0xbf58476d1ce4e5b9ULL;
  static_assert(std::tuple_size_v<decltype(preemption_memo_)> == 256);
  PreemptionMemo& memo = preemption_memo_[key >> 56];
  if (memo.highest != highest || memo.sum != sum)
    memo = {
        highest, sum,
        rank::preemption_score(static_cast<double>(highest) + static_cast<double>(sum) / static_cast<double>(highest))};
  return memo.score;
}

bool EvictOptions::is_outdone(NodeRow row, const GroupView& v, const Cell& cell, const tables::EvictionBound& room,
                              const rank::TopScores& top, double& bound) {
  BERTH_DEBUG_ASSERT(cell.fit == kFail);
  const CompiledGroup& group = *v.group;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  if (room.room != tables::Room::sure || top.size() < rank::TopScores::kCapacity || use.least_priority < 1)
    return false;
  FitUse full;
  if (cell.dimension != kDimensionMaxAllocs)
    full = {base::wrap_add(use.cpu_mhz, group.cpu_mhz), base::wrap_add(use.memory_mb, group.memory_mb),
            base::wrap_add(use.disk_mb, group.disk_mb)};
  rank::ScoreRow score;
  fit_.scorer.score(row, group, full, nullptr, score);
  const bool sure_above_zero =
      score.value[0] > 0 && score.count() == 1 && !fit_.scorer.spread_group() && !fit_.scorer.is_penalised(row);
  if (!attempt_.config.exhaustive && !sure_above_zero) return false;
  score.append(Component::preemption, best_preemption(room, use.least_priority));
  bound = fit_.scorer.final_score(row, score);
  return !top.would_keep(bound);
}

EvictOption& EvictOptions::decide(std::uint32_t position, NodeRow row, const GroupView& v, const Cell& cell,
                                  const tables::EvictionBound& room) {
  EvictOption& option = options_.emplace_back();
  option.position = position;
  option.cell = cell;
  if (cell.fit != kFail || room.room == tables::Room::none || !attempt_.error.empty() ||
      !fit_.victims.has_preemptible(row))
    return option;
  fit_.decide_evicting(row, v, option.cell);
  const std::vector<tables::AllocRow>& victims = fit_.victims.victims;
  if (option.cell.fit == kFail || victims.empty()) return option;
  option.victims = scratch_.arena.copy(std::span<const tables::AllocRow>(victims));
  if (!attempt_.system)                                                     // R-RANK-202
    option.cell.score.append(Component::preemption, fit_.victims.score());  // R-PREEMPT-703
  return option;
}

const EvictOption& EvictOptions::at(std::uint32_t position) const {
  const auto found = std::find_if(options_.begin(), options_.end(),
                                  [&](const EvictOption& option) { return option.position == position; });
  BERTH_ASSERT(found != options_.end());
  return *found;
}

}  // namespace berth::sched
