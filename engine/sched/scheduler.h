// Both schedulers of a worker over one scratch memory: evaluations of every type of job.
#pragma once

#include "sched/generic.h"
#include "sched/system.h"

namespace berth::sched {

class Scheduler {
 public:
  explicit Scheduler(Scratch& scratch) : generic(scratch), system(scratch) {}

  /// Processes one evaluation; `of_system`: of a system or sysbatch job, whose nodes have an order of their own
  /// (EvalFacts::node_order). Otherwise as GenericScheduler::process.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, bool of_system, rank::OrderProvider provider,
               IdStream& ids, Planner& planner, EvalResult& result) {
    of_system_ = of_system;
    if (of_system)
      system.process(snapshot, eval, ids, planner, result);
    else
      generic.process(snapshot, eval, provider, ids, planner, result);
  }
  /// Appends the rows of the nodes whose use the last evaluation looked at; false when that may be any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const {
    return !of_system_ && generic.rows_read(out);
  }

  GenericScheduler generic;
  SystemScheduler system;

 private:
  bool of_system_ = false;
};

}  // namespace berth::sched
