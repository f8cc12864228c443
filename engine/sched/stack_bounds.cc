// An exhaustive Select that evicts, where most nodes are passed over.
//
// After a first pass that no candidate has room (full()), each candidate's figures (NodeUse, EvictionLevels) say
// whether eviction can make room there, and which score the outcome does not exceed. That is one pass in the order of
// the rows. The visit in visiting order then looks closer only at nodes whose bound is above the five best so far: it
// finds the same best node and leaves the same metrics as a visit of all (R-RANK-1006 to 1008 keep no other).
//
//   bound   8 B per candidate, in the order of ReadyNodes
//           +inf   to be visited whatever the others score: the plan touched the node, or its figures do not tell
//           -inf   no option there; counted as filtered or exhausted by the pass
#include <limits>

#include "rank/fit_bound.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

/// Whether bounds are known of all that goes into the score of a node that the plan did not touch.
bool GenericStack::bounds_serve(const GroupView& v) const {
  const CompiledGroup& group = *v.group;
  return config_.exhaustive && !group.has_network && !group.has_task_network && !group.has_cores && !spread_group_ &&
         group.affinities.empty() && !scratch_.strategy_fit && !fixed_;
}

void GenericStack::bound_options(GroupView& v) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const CompiledGroup& group = *v.group;
  const tables::NodeTable& nodes = snapshot_->nodes;
  static const rank::FitBound kFit;
  Bounds& b = bounds_;
  b.class_passes.assign(nodes.column(tables::kComputedClassColumn).values.size() + 1, 0);
  for (const ReadyNodes::Candidate& c : nodes_->of_class)
    b.class_passes[c.computed_class] =
        classes_.job_status(c.computed_class) != feasible::ClassStatus::ineligible &&
        classes_.group_status(v.number, c.computed_class) != feasible::ClassStatus::ineligible;
  b.inverses.clear();
  for (const tables::NodeCapacity& capacity : nodes_->capacities)
    b.inverses.emplace_back(1.0 / capacity.cpu_score, 1.0 / capacity.memory_score);

  const tables::Amounts ask{group.cpu_mhz, group.memory_mb, group.disk_mb};
  const std::int64_t highest = highest_evicted();
  const bool has_levels = !nodes.eviction.empty();
  b.of_candidate.resize(size_);
  // In the order of the rows, not of the candidates (by ID): all that is large is read from one end to the other.
  for (std::size_t chunk = 0; chunk < nodes.use.chunk_count(); ++chunk) {
    const std::span<const tables::NodeUse> uses = nodes.use.chunk_at(chunk);
    const std::span<const tables::EvictionLevels> levels =
        has_levels ? nodes.eviction.chunk_at(chunk) : std::span<const tables::EvictionLevels>();
    for (std::size_t i = 0; i < uses.size(); ++i) {
      const auto row = static_cast<NodeRow>(chunk * decltype(nodes.use)::kChunkRows + i);
      if ((nodes_->members[row / 64] >> row % 64 & 1) == 0) continue;
      const std::uint32_t place = nodes_->place[row];
      const ReadyNodes::Candidate& candidate = nodes_->candidates[place];
      const tables::NodeUse& use = uses[i];
      double& bound = b.of_candidate[place];
      bound = kInfinity;
      // As is_special(), which full() has found out most of.
      if (scratch_.overlay(row) || use.core_allocs > 0 || (use.port_allocs > 0 && !no_port_conflicts_)) continue;
      const Position position{row, candidate.computed_class, candidate.node_class, kUnknown};
      if (b.class_passes[candidate.computed_class] == 0) {
        filter(position, kReasonClassIneligible);
        bound = -kInfinity;
        continue;
      }
      const tables::NodeCapacity& capacity = nodes_->capacities[candidate.capacity];
      const tables::Amounts free = free_of(capacity, use);
      const tables::EvictionBound room =
          has_levels
              ? bound_eviction(levels[i], free, ask, highest, use.least_priority, use.most_priority)
              : bound_eviction(nodes.eviction_levels(row), free, ask, highest, use.least_priority, use.most_priority);
      if (room.room == tables::Room::none) {
        exhaust(position, plain_fit(capacity, use, kUntouched, group).dimension);
        bound = -kInfinity;
      } else if (room.room == tables::Room::sure && use.least_priority >= 1) {
        const auto& [cpu_inverse, memory_inverse] = b.inverses[candidate.capacity];
        // Where there are too many allocations, the use does not count (R-RANK-647).
        const double binpack = capacity.max_allocs != 0
                                   ? 1.0
                                   : kFit.component(config_.algorithm, use.cpu_mhz + group.cpu_mhz, cpu_inverse,
                                                    use.memory_mb + group.memory_mb, memory_inverse);
        bound = (binpack + best_preemption(room, use.least_priority)) * 0.5;  // as / 2, to the bit
      }
    }
  }
}

std::optional<Selected> GenericStack::select_by_bounds(GroupView& v) {
  current_ = &v;
  bound_options(v);
  evaluated_ = static_cast<std::int32_t>(size_);
  std::uint32_t best = kNoRow;
  double best_score = 0;
  for (std::uint32_t seen = 0; seen < size_; ++seen) {
    if (offset_ == size_) offset_ = 0;
    const std::uint32_t position = offset_++;
    if (!(bounds_.of_candidate[order_.at(position)] > top_.floor())) continue;
    if (position >= frontier_) take_position(position);
    double value;
    if (!feasible(position, v) || !rank(position, v, value)) {
      if (!error_.empty()) return std::nullopt;
      continue;
    }
    top_.push(position, value);
    if (best == kNoRow || value > best_score) best = position, best_score = value;  // R-RANK-421
  }
  if (best == kNoRow) return std::nullopt;
  return chosen(positions_[best].row, best_score, v, positions_[best], evict_option(best).victims);
}

}  // namespace berth::sched
