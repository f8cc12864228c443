// The parts of a stack, each built on the previous ones, and the current Select.
//
//   attempt      state, plan and job version
//   effects      changes of the plan so far to nodes
//   counts       nodes counted by the Select
//   candidates   positions in visiting order, cursor, limits, cells
//   checks       feasibility of a node, and the failing check
//   fit          fit of the group on a node; fit.proposed, fit.scorer (components), fit.victims (allocations to evict)
//   evicting     results of evict mode on the nodes visited
//   options, needs, view, top, detail   of the Select: its options, what it requires of a source, its group,
//                its five best nodes, the clock of its stages (null: not measured)
#pragma once

#include "base/stages.h"
#include "rank/top_scores.h"
#include "sched/node/evict_options.h"
#include "sched/node/node_checks.h"

namespace berth::sched {

struct SelectParts {
  explicit SelectParts(Scratch& scratch)
      : attempt(scratch),
        effects(attempt),
        checks(attempt, effects, counts, candidates),
        fit(attempt, effects),
        evicting(attempt, fit) {}

  Attempt attempt;
  PlanEffects effects;
  SelectCounts counts;
  Candidates candidates;
  NodeChecks checks;
  NodeFit fit;
  EvictOptions evicting;

  SelectOptions options;
  Needs needs;
  GroupView* view = nullptr;
  rank::TopScores top;
  base::StageClock* detail = nullptr;

  void start(const tables::Snapshot& snapshot, PlanRows& plan, bool system);
  /// True if the version differs from the current one (R-FEAS-310, R-RANK-215).
  [[nodiscard]] bool is_new_version(const tables::CompiledJob& job) const {
    return !attempt.job || attempt.job->version != job.version;
  }
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// Begins a Select with empty counts.
  GroupView& begin_select(std::uint32_t group, const SelectOptions& asked);
  /// Begins another Select for the same group.
  void begin_again(const SelectOptions& asked) {
    options = asked;
    evicting.clear();
    counts.clear();
    top.clear();
  }
  /// Sets `needs`: what the current Select requires of a source. Call it after all else has begun.
  void find_needs();
  /// Adds the victims of a Select to the plan, for the allocation that is appended next (R-PREEMPT-801).
  void preempt(const Selected& selected);
};

/// Base of the sources of candidates. A source visits nodes in its own way, but returns the same node, score, counts
/// and best nodes as the Walk, the general source.
class Source {
 protected:
  explicit Source(SelectParts& parts)
      : parts_(parts),
        attempt_(parts.attempt),
        scratch_(parts.attempt.scratch),
        counts_(parts.counts),
        candidates_(parts.candidates),
        checks_(parts.checks),
        fit_(parts.fit),
        top_(parts.top) {}

  SelectParts& parts_;
  Attempt& attempt_;
  Scratch& scratch_;
  SelectCounts& counts_;
  Candidates& candidates_;
  NodeChecks& checks_;
  NodeFit& fit_;
  rank::TopScores& top_;
};

}  // namespace berth::sched
