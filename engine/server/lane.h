// The working memory of one evaluation at a time: scratch, both schedulers and the result. A lane is reused from
// evaluation to evaluation, so that the steady state allocates nothing. Threads: one owner at a time; while its plan
// waits in the queue, that is the applier.
#pragma once

#include <chrono>

#include "base/stages.h"
#include "plan/apply.h"
#include "plan/plan_queue.h"
#include "sched/scheduler.h"
#include "server/eval_book.h"
#include "tables/worker_view.h"

namespace berth::server {

/// Monotonic time for measuring durations: a driver's clock may stand still or jump.
[[nodiscard]] inline std::int64_t measured_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

/// Most bytes for the views of all workers. Beyond it, each attempt takes a snapshot, and commits copy chunks.
inline constexpr std::size_t kViewBytes = std::size_t{256} << 20;

struct Lane {
  explicit Lane(const model::Options& options) { scratch.options = options; }
  Lane(const Lane&) = delete;  // the scheduler refers to the scratch
  Lane& operator=(const Lane&) = delete;

  std::uint32_t number = 0;  ///< in order of creation; the driver's own is the first
  sched::Scratch scratch;
  sched::Scheduler scheduler{scratch};
  base::StageClock* stages = nullptr;  ///< marked by the thread that decides in the lane; null: not measured

  // The evaluation under way.
  EvalRecord* record = nullptr;
  broker::Token token{};
  sched::EvalFacts facts;
  sched::EvalResult result;
  std::uint64_t ids_seed = 0, order_index = 0;  ///< of the decision's IDs and visiting order; 0: the state's index
  std::uint64_t state_index = 0;                ///< of the state that this attempt is decided on
  std::uint32_t attempts = 0;                   ///< states decided on, the current one included
  std::uint32_t plans = 0;                      ///< submitted
  std::uint32_t placed = 0, refused = 0;        ///< planned allocations and updates, by all plans
  std::uint64_t commit_index = 0;               ///< of the last commit; 0: none yet
  // Its last plan.
  plan::EarlyCheck early;  ///< of a free worker's plan
  plan::ApplyResult applied;
  tables::AllocRow first_alloc = 0;  ///< the allocations that it made: rows one after the other
  std::uint32_t alloc_count = 0;
  bool all_at_once = false;

  [[nodiscard]] bool exhausted() const { return result.status == sched::EvalStatus::failed && plans > 0; }

  // Used by the server only.
  std::string id_text;          // the text that facts.id_text refers to
  tables::WorkerView view;      // of a free worker: the state of this attempt
  tables::SnapshotRef held[2];  // if a view would be too large: the states of this and the previous attempt
  struct : plan::Submission {
    Lane* lane = nullptr;
  } submission;
  std::uint64_t job_modify_index = 0;       // of the job in the state that this attempt is decided on
  std::vector<sched::CreatedEval> created;  // decided ahead: evaluations to be created in turn
  bool created_first = false;               // decided ahead: true if one was created before the plan
};

}  // namespace berth::server
