// Chooses victims on one node (R-PREEMPT-202 to 204, 301 to 305): finds candidates among its proposed allocations, and
// chooses for ports, devices or cpu, memory and disk by the functions of engine/preempt.
//
//   victims      V of the option under construction, in order of choice
//   candidates   rebuilt from `proposed` for every choice
#pragma once

#include <map>

#include "preempt/victims.h"
#include "sched/node/proposed.h"

namespace berth::sched {

class VictimSearch {
 public:
  VictimSearch(Attempt& attempt, PlanEffects& effects, Proposed& proposed)
      : attempt_(attempt), effects_(effects), proposed_(proposed), scratch_(attempt.scratch) {}

  void start() { preempted_.clear(); }
  /// Records that the plan evicts the allocation.
  void count(tables::AllocRow victim);

  /// R-PREEMPT-202 to 204: true if any allocation on the node may be evicted.
  [[nodiscard]] bool has_preemptible(tables::NodeRow row) const;
  /// The highest priority that may be evicted (R-PREEMPT-204, R-SEED-80).
  [[nodiscard]] std::int64_t highest_evicted() const {
    return attempt_.job->priority - scratch_.options.preemption_min_delta;
  }

  // Each adds to `victims`; false: no victims were found. `so_far`: resources assigned to the option so far.
  bool for_network(const model::NetworkResource& ask, const network::NodePorts& ports,
                   const model::AllocatedResources& so_far);
  bool for_device(const match::DeviceRequest& request, tables::NodeRow row, const model::AllocatedResources& so_far,
                  const model::AllocatedTask& task);
  bool for_resources(tables::NodeRow row, const model::FlatResources& ask, const model::FlatResources& room);

  /// Adds the use of the node without V and without the option, in the dimensions that R-RANK-647 does not compute.
  void sum_staying(FitUse& use) const;
  /// R-PREEMPT-701, 702.
  [[nodiscard]] double score() const;

  std::vector<tables::AllocRow> victims;

 private:
  void collect_candidates();
  bool take_chosen();
  void count_preempted(tables::AllocRow alloc, preempt::Candidate& candidate) const;
  [[nodiscard]] std::int64_t evicting_priority() const;
  [[nodiscard]] bool is_victim(std::size_t i) const;

  Attempt& attempt_;
  PlanEffects& effects_;
  Proposed& proposed_;
  Scratch& scratch_;
  std::vector<tables::AllocRow> candidate_rows_;
  std::vector<preempt::Candidate> candidates_;
  preempt::Victims chosen_;
  std::map<std::pair<tables::JobKeyRow, tables::Symbol>, std::int64_t> preempted_;  // by the plan, per group
  preempt::Scratch preempt_scratch_;
  mutable std::vector<std::int64_t> priorities_;
};

}  // namespace berth::sched
