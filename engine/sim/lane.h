// What one worker works with: scratch memory, scheduler and the result of the evaluation under way. Reused from
// evaluation to evaluation, so that the steady state allocates nothing. Threads: one owner at a time.
#pragma once

#include "plan/apply.h"
#include "plan/plan_queue.h"
#include "sched/generic.h"

namespace berth::sim {

struct Lane {
  sched::Scratch scratch;
  sched::GenericScheduler scheduler{scratch};
  sched::EvalResult result;
  plan::ApplyResult applied;
  std::int64_t started_ns = 0, decided_ns = 0;  ///< of the attempt, on the pool's clock
  std::uint64_t snapshot_index = 0;             ///< of the state it was decided on
  std::uint32_t attempts = 0;                   ///< of this evaluation, the present one included
};

}  // namespace berth::sim
