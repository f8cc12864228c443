// EarlyCheck: a worker checks its plan before its turn, on the state that it decided on. In its turn only the nodes
// that changed since then are checked: the logs of the node table name them (NodeStatic::use_log, ready_log).
//
// Only checks by columns are done early, and only of nodes where they are certain (column_check.h); every other node is
// checked in turn, as without an early check.
//
// Threads: run() is called by the worker; the rest by the applier, while the worker waits for its answer. The plan and
// the state of run() must outlive both.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/column_check.h"

namespace berth::plan {

class EarlyCheck {
 public:
  /// Checks the nodes of the plan's placements on `state`.
  void run(const tables::Snapshot& state, const PlanRows& plan);
  /// Drops the results of nodes that changed between the state of run() and `now`; of all nodes if the logs no longer
  /// reach back to it, or name so many changes that checking again is cheaper.
  void renew(const tables::NodeTable& now, const PlanRows& plan);
  /// True if the node of the planned allocation `first` is known to accept the plan.
  [[nodiscard]] bool fits(std::uint32_t first) const { return first < fits_.size() && fits_[first] != 0; }

 private:
  ColumnCheck columns_;
  const tables::NodeTable* checked_ = nullptr;  // of run()
  std::vector<std::uint8_t> fits_;              // by position in PlanRows::allocs; set for the first on a node only
  std::vector<tables::NodeRow> changed_;        // scratch of renew()
};

}  // namespace berth::plan
