// The parts of a stack, in the order in which they build on each other, and the Select under way.
//
//   attempt      which state, plan and job version
//   effects      what the plan so far changes on nodes
//   counts       what the Select counts
//   candidates   positions in visiting order, cursor, limits, cells
//   checks       is a node feasible, and why not
//   fit          does the group fit there; fit.proposed, fit.scorer (components), fit.victims (whom to evict)
//   evicting     what evict mode made of the nodes visited
//   options, needs, view, top, detail   of the Select: what it was asked, what it requires of a source, for which
//                group, its five best, where its stages are marked (null: not inside)
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
  /// False: it is the version given last (R-FEAS-310, R-RANK-215).
  [[nodiscard]] bool is_new_version(const tables::CompiledJob& job) const {
    return !attempt.job || attempt.job->version != job.version;
  }
  void set_job(const tables::CompiledJob& job, const StackConfig& config);
  /// Nothing is counted yet.
  GroupView& begin_select(std::uint32_t group, const SelectOptions& asked);
  /// The same, for the group of the last one.
  void begin_again(const SelectOptions& asked) {
    options = asked;
    evicting.clear();
    counts.clear();
    top.clear();
  }
  /// What the Select under way requires of a source, into `needs`; all else of it was begun.
  void find_needs();
  /// Puts the victims of a Select into the plan, for the allocation that is appended next (R-PREEMPT-801).
  void preempt(const Selected& selected);
};

/// What a source of candidates works with. A source goes through nodes in its own way and comes to the same node,
/// score, counts and list of the best as the Walk, the general one.
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
