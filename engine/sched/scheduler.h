// The schedulers of one worker, for every type of job. They share one Scratch.
#pragma once

#include "sched/generic.h"
#include "sched/system.h"

namespace berth::sched {

class Scheduler {
 public:
  explicit Scheduler(Scratch& scratch) : generic(scratch), system(scratch) {}

  /// Processes one evaluation, like GenericScheduler::process. System and sysbatch jobs visit nodes in the order of
  /// EvalFacts::node_order.
  void process(const tables::Snapshot& snapshot, const EvalFacts& eval, rank::OrderProvider provider, IdStream& ids,
               Planner& planner, EvalResult& result) {
    of_system_ = is_of_system(eval.type);
    if (of_system_)
      system.process(snapshot, eval, ids, planner, result);
    else
      generic.process(snapshot, eval, provider, ids, planner, result);
  }
  /// Appends the rows of the nodes whose use the last evaluation read; false if it may have read any node.
  [[nodiscard]] bool rows_read(std::vector<tables::NodeRow>& out) const {
    return !of_system_ && generic.rows_read(out);
  }

  GenericScheduler generic;
  SystemScheduler system;

 private:
  bool of_system_ = false;
};

}  // namespace berth::sched
