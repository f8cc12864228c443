// One evaluation: input, result, the receiver of plans, and the loop around the attempts (R-SCHED-4 to 45, 51 to 54).
// Shared by all schedulers; generic.h and system.h each implement one attempt.
//
//   process()                          the scheduler
//     run_attempts(limit, ...)         until done, failed, or out of attempts without progress
//       one attempt                    fills result.plan and result.groups for the newest state
//         create(...)                  passes blocked and follow-up evaluations to the planner at once
//         submit_plan(...)             passes the plan to the planner, adjusts the queued counts
//   result                             the final status, which the caller stores (to_model.h makes an API object)
#pragma once

#include <algorithm>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "plan/plan_rows.h"
#include "rank/order.h"
#include "sched/failures.h"
#include "tables/job_table.h"

namespace berth::sched {

using plan::PlannedAlloc;
using plan::PlanRows;
using plan::SelectMetrics;

/// The fields of an evaluation that the scheduler reads.
struct EvalFacts {
  base::Uuid id;
  std::string_view id_text;  ///< as stored; seeds the visiting order
  tables::JobKeyRow job = tables::kNoRow;
  std::int64_t priority = 0;
  std::string_view triggered_by;
  model::JobType type = model::JobType::service;
  bool blocked = false;   ///< its status is `blocked`
  bool annotate = false;  ///< AnnotatePlan
  base::Time wait_until;
  std::int64_t now_ns = 0;  ///< the time, read once per evaluation
  /// Order of the nodes of a system job; Nomad may use any (R-SCHED-204, 205). 0: ascending ID; otherwise the seed of a
  /// random order.
  std::uint64_t node_order = 0;
};

/// IDs of the objects that an evaluation creates, in order of creation (R-MODEL-590, R-RECON-12): splitmix64 of a seed.
class IdStream {
 public:
  explicit IdStream(std::uint64_t seed) : state_(seed) {}
  base::Uuid next() {
    const std::uint64_t hi = draw();
    return {hi, draw()};
  }

 private:
  std::uint64_t draw() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15ULL;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
    return z ^ z >> 31;
  }
  std::uint64_t state_;
};

enum class EvalStatus : std::uint8_t { complete, failed, error };

/// An evaluation that processing creates: blocked or delayed.
struct CreatedEval {
  base::Uuid id;
  const model::Evaluation* followup = nullptr;  ///< a delayed one, complete except PreviousEval; null: a blocked one
  std::string_view triggered_by, description;   ///< only for a blocked one
  tables::NodeRow node = tables::kNoRow;        ///< system jobs: the node without room (R-SCHED-163)
  const Eligibility* eligibility = nullptr;
};

/// Everything that one evaluation decided. The plan's metrics are in the scratch arena until the next evaluation
/// starts.
struct EvalResult {
  EvalStatus status = EvalStatus::complete;
  std::string description;                  ///< of a failed evaluation, or the processing error
  const tables::Snapshot* state = nullptr;  ///< the state of the last attempt
  std::uint32_t attempts = 0;               ///< submitted plans

  // Results of the last attempt.
  std::vector<GroupResult> groups;  ///< in the order of R-RECON-9
  bool has_queued = false;
  bool submitted = false;
  PlanRows plan;
  base::Uuid deployment_id;                                               ///< the current deployment's; nil: none
  std::vector<std::pair<std::uint32_t, std::int64_t>> deployment_groups;  ///< new: group position, desired total
  Eligibility eligibility;                                                ///< set when a group failed
  std::uint32_t port_collision_events = 0;                                ///< sum over all attempts

  bool has_blocked = false;  ///< a blocked evaluation was created, and the evaluation refers to it
  base::Uuid blocked_id;
  bool reblocked = false;  ///< the evaluation goes back to the blocked ones; no status update (R-SCHED-18)
  bool gang_over = false;  ///< a gang's time was over (model/gang.h); the evaluation failed
  base::Uuid next_eval;    ///< the last follow-up created (R-SCHED-54); nil: none

  void clear();
  void begin_attempt(const tables::Snapshot& snapshot);
  [[nodiscard]] bool any_failed() const;
  [[nodiscard]] GroupResult* group(tables::Symbol name);
};

/// The planner's answer to a submitted plan.
struct Submission {
  std::string error;                            ///< R-SCHED-41
  const tables::Snapshot* refreshed = nullptr;  ///< newer state to continue with; outlives process()
  bool nothing_committed = false;
  bool placements_refused = false;                 ///< the job was stopped meanwhile, so no new allocation
  std::span<const tables::NodeRow> refused_nodes;  ///< their stops, placements and preemptions were refused
  bool stored = true;                              ///< false: a dry run; indexes did not move (R-SCHED-45)
};

/// Receives plans and created evaluations, in order. Not needed by a caller that commits the plan itself afterwards.
class Planner {
 public:
  virtual ~Planner() = default;
  /// Submits result.plan, made on result.state.
  virtual Submission submit(const EvalResult& result) = 0;
  /// Creates an evaluation from the current failed groups of result.groups. Returns an error text, or "".
  virtual std::string create(const EvalResult& result, const CreatedEval& eval) = 0;
};

/// Accepts everything and does nothing.
class NoPlanner final : public Planner {
 public:
  Submission submit(const EvalResult&) override { return {}; }
  std::string create(const EvalResult&, const CreatedEval&) override { return {}; }
};

/// What process() of a scheduler was given, for the steps of the evaluation under way.
struct Given {
  const tables::Snapshot* state = nullptr;  ///< the newest; a planner may replace it
  const EvalFacts* eval = nullptr;
  rank::OrderProvider provider = rank::OrderProvider::nomad;
  IdStream* ids = nullptr;
  Planner* planner = nullptr;  ///< null: each attempt is given it
  EvalResult* result = nullptr;
};

enum class AttemptEnd : std::uint8_t { done, again, again_with_progress, error };  // error: result.description

/// Submits the plan of an attempt, subtracts what was placed from the queued counts, and puts refreshed state into
/// `state` (R-SCHED-41 to 45, 121). `needs_refresh`: a partial commit without newer state is an error (R-SCHED-44).
AttemptEnd submit_plan(Planner& planner, const tables::Snapshot*& state, EvalResult& result, bool needs_refresh);

/// Creates a blocked evaluation from the failures so far (R-SCHED-52). Returns an error text, or "".
std::string create_blocked(Planner& planner, const EvalResult& result, base::Uuid id, std::string_view triggered_by,
                           std::string_view description, tables::NodeRow node = tables::kNoRow,
                           const Eligibility* eligibility = nullptr);

/// The loop of R-SCHED-7. `attempt()` makes one attempt and returns its end. True if the evaluation was served, false
/// if the attempts ran out. Errors are in `result`.
template <class Attempt>
bool run_attempts(std::uint32_t limit, EvalResult& result, Attempt attempt) {
  for (std::uint32_t used = 0; used < limit;) {
    switch (attempt()) {
      case AttemptEnd::done:
        return true;
      case AttemptEnd::error:
        result.status = EvalStatus::error;
        return true;
      case AttemptEnd::again_with_progress:
        used = 0;
        break;
      case AttemptEnd::again:
        ++used;
        break;
    }
  }
  result.status = EvalStatus::failed;
  result.description = "maximum attempts reached (" + std::to_string(limit) + ")";
  return false;
}

/// Fails an evaluation with an unknown trigger (R-SCHED-4).
void refuse_trigger(const EvalFacts& eval, EvalResult& result);

/// The newest deployment of a job, of any version (R-SCHED-38, R-RECON-16); null without one.
[[nodiscard]] std::shared_ptr<const model::Deployment> latest_deployment(const tables::Snapshot& state,
                                                                         tables::JobKeyRow job);

}  // namespace berth::sched
