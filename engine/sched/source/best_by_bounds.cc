#include "sched/source/best_by_bounds.h"

#include <limits>

#include "base/wrap.h"
#include "rank/fit_bound.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void BestByBounds::bound_options(const GroupView& v) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const ReadyNodes& ready = *candidates_.nodes;
  const feasible::ClassCache& classes = checks_.ledger().classes;
  class_passes_.assign(nodes.column(tables::kComputedClassColumn).values.size() + 1, 0);
  for (const ReadyNodes::Candidate& c : ready.of_class)
    class_passes_[c.computed_class] =
        classes.job_status(c.computed_class) != feasible::ClassStatus::ineligible &&
        classes.group_status(v.number, c.computed_class) != feasible::ClassStatus::ineligible;
  if (place_epoch_ != ready.epoch() || place_base_set_ != candidates_.base_set_number) {
    place_epoch_ = ready.epoch();
    place_base_set_ = candidates_.base_set_number;
    place_.resize(nodes.size());
    for (std::uint32_t i = 0; i < ready.size(); ++i) place_[ready.candidates[i].row] = i;
  }
  inverses_.clear();
  for (const tables::NodeCapacity& capacity : ready.capacities)
    inverses_.emplace_back(1.0 / capacity.cpu_score, 1.0 / capacity.memory_score);
  const bool has_levels = !nodes.eviction.empty();
  of_candidate_.resize(candidates_.size);
  // In the order of the rows, not of the candidates (by ID), so that the large tables are read sequentially.
  for (std::size_t chunk = 0; chunk < nodes.use.chunk_count(); ++chunk) {
    const std::span<const tables::NodeUse> uses = nodes.use.chunk_at(chunk);
    const tables::EvictionLevels* const levels = has_levels ? nodes.eviction.chunk_at(chunk).data() : nullptr;
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto row = static_cast<NodeRow>(chunk * decltype(nodes.use)::kChunkRows + i);
      if (!ready.has(row)) continue;
      const std::uint32_t place = place_[row];
      of_candidate_[place] = bound_option(row, ready.candidates[place], uses[i], levels ? levels + i : nullptr, v);
    }
  }
}

double BestByBounds::bound_option(NodeRow row, const ReadyNodes::Candidate& candidate, const tables::NodeUse& use,
                                  const tables::EvictionLevels* levels, const GroupView& v) {
  static const rank::FitBound kFit;
  const CompiledGroup& group = *v.group;
  // The conditions of is_special() that FullCheck has not already ruled out.
  if (scratch_.overlay(row) || use.core_allocs > 0 || (use.port_allocs > 0 && !fit_.ports.no_conflicts()))
    return kInfinity;
  if (class_passes_[candidate.computed_class] == 0) {
    counts_.filter(candidate.node_class, kReasonClassIneligible);
    return -kInfinity;
  }
  const tables::NodeCapacity& capacity = candidates_.nodes->capacities[candidate.capacity];
  const tables::Amounts free = free_of(capacity, use), ask{group.cpu_mhz, group.memory_mb, group.disk_mb};
  const std::int64_t highest = fit_.victims.highest_evicted();
  const tables::EvictionBound room =
      levels ? bound_eviction(*levels, free, ask, highest, use.least_priority, use.most_priority)
             : bound_eviction(attempt_.snapshot->nodes.eviction_levels(row), free, ask, highest, use.least_priority,
                              use.most_priority);
  if (room.room == tables::Room::none) {
    counts_.exhaust(candidate.node_class, plain_fit(capacity, use, kUntouched, group).dimension);
    return -kInfinity;
  }
  if (room.room != tables::Room::sure || use.least_priority < 1) return kInfinity;
  const auto& [cpu_inverse, memory_inverse] = inverses_[candidate.capacity];
  // With a limit of allocations the use may not count (R-RANK-647), so the bound is the highest score.
  const double binpack =
      capacity.max_allocs != 0
          ? 1.0
          : kFit.component(attempt_.config.algorithm, base::wrap_add(use.cpu_mhz, group.cpu_mhz), cpu_inverse,
                           base::wrap_add(use.memory_mb, group.memory_mb), memory_inverse);
  return (binpack + parts_.evicting.best_preemption(room, use.least_priority)) * 0.5;  // as / 2, to the bit
}

std::optional<Found> BestByBounds::select(GroupView& v) {
  BERTH_ASSERT(tables::serves(kServes, parts_.needs) && is_ready());
  checks_.begin_general();
  bound_options(v);
  counts_.evaluated = static_cast<std::int32_t>(candidates_.size);
  Best best(true);
  for (std::uint32_t seen = 0; seen < candidates_.size; ++seen) {
    if (candidates_.offset == candidates_.size) candidates_.offset = 0;
    const std::uint32_t index = candidates_.offset++;
    if (!(of_candidate_[candidates_.order.at(index)] > top_.floor())) continue;
    if (index >= candidates_.frontier) candidates_.take(attempt_, index);
    double value;
    if (!checks_.passes(candidates_.positions[index], v, v.cells[index]) || !walk_.rank(index, v, value)) {
      if (!attempt_.error.empty()) return std::nullopt;
      continue;
    }
    top_.push(index, value);
    best.take(index, value);
  }
  if (best.id == kNoRow) return std::nullopt;
  return walk_.found(best.id, best.score);
}

}  // namespace berth::sched
