// DeploymentWatcher: continues deployments as their allocations report health, and ends those that fail (section 12 of
// part 07).
//
// One watch per active deployment: the job as it was when watching started, the instant by which it must progress, and
// the allocations that its next evaluation may replace. Two batches delay the evaluation after a report:
//   report -> 1 s per deployment (R-CTRL-1201) -> 250 ms over all deployments (R-CTRL-1202) -> one entry
// It visits only deployments whose rows changed, and of their allocations only those that changed or required something
// before: all other healthy ones are older than the newest evaluation and stay so, unless that evaluation is deleted or
// canceled. Threads: the writer's.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "lifecycle/outbox.h"
#include "lifecycle/timers.h"

namespace berth::lifecycle {

struct DeploymentConfig {
  std::int64_t eval_batch_ns = 1'000'000'000;  ///< R-CTRL-1201
  std::int64_t entry_batch_ns = 250'000'000;   ///< R-CTRL-1202
};

class DeploymentWatcher {
 public:
  /// `next_id` gives the IDs of `deployment-watcher` evaluations.
  DeploymentWatcher(fsm::StateLog& log, std::function<std::string()> next_id, const DeploymentConfig& config = {})
      : log_(log), next_id_(std::move(next_id)), config_(config) {}

  /// Starts a new watch for every active deployment.
  void become_leader();
  void changed(const tables::Changes& changes);
  /// Changes are due at once, at the smallest instant.
  [[nodiscard]] std::int64_t next_deadline() const {
    if (!dirty_.empty()) return std::numeric_limits<std::int64_t>::min();
    return std::min({deadlines_.next(), eval_batches_.next(), requests_at_});
  }
  /// Performs one action that is due at `now`; its own changes must be passed to changed() before the next call.
  void advance(std::int64_t now, Outbox& out);

  // --- requests; `now` in unix ns ---
  /// `groups` empty: all (R-CTRL-1214). `promoted_at` is the caller's, 0 if not given.
  [[nodiscard]] fsm::Answer promote(const std::string& deployment_id, const std::vector<std::string>& groups,
                                    std::int64_t promoted_at, std::int64_t now);
  [[nodiscard]] fsm::Answer pause(const std::string& deployment_id, bool pause, std::int64_t now);
  [[nodiscard]] fsm::Answer fail(const std::string& deployment_id, std::int64_t now);
  [[nodiscard]] fsm::Answer set_health(const std::string& deployment_id, const std::vector<std::string>& healthy,
                                       const std::vector<std::string>& unhealthy, std::int64_t now);

  [[nodiscard]] std::size_t watched() const { return watches_.size(); }

 private:
  struct Watch {
    std::shared_ptr<const model::Job> job;                // as it was when watching started (R-CTRL-1203)
    std::shared_ptr<const model::Deployment> deployment;  // as of the last visit of the row
    std::int64_t deadline = kNever;                       // last value of its timer
    bool deadline_hit = false;                            // sticky (R-CTRL-1210)
    bool row_changed = true, allocs_changed = true;
    bool looked = false;                   // all allocations were visited once; from then on only `allocs`
    std::vector<tables::AllocRow> allocs;  // changed since the last visit, or required something then
    std::uint64_t latest_eval = 0;         // at the last visit
    bool queued = false;                   // in dirty_
    std::set<std::string> replace;         // allocations that the next evaluation may replace
  };
  struct Request {  // in the batch over all deployments
    std::set<std::string> replace;
    model::Evaluation eval;
  };
  struct Rollback {
    std::shared_ptr<const model::Job> job;  // null: none
    std::string text;                       // added to the description
  };

  void queue(tables::DeploymentRow row, Watch& watch);
  void look_at(tables::DeploymentRow row, std::int64_t now, Outbox& out);
  void unwatch(tables::DeploymentRow row);
  void set_deadline(tables::DeploymentRow row, Watch& watch);
  void look_at_allocs(tables::DeploymentRow row, Watch& watch, std::int64_t now, Outbox& out);
  void hit_deadline(tables::DeploymentRow row, std::int64_t now, Outbox& out);
  void end_eval_batch(tables::DeploymentRow row, std::int64_t now);
  void write_requests(std::int64_t now, Outbox& out);
  void fail_deployment(const Watch& watch, bool roll_back, std::string description, std::int64_t now, Outbox& out);
  [[nodiscard]] std::int64_t healthy_canaries(const model::Deployment& deployment,
                                              const std::vector<std::string>& ids) const;
  void promote_automatically(const Watch& watch, std::int64_t now, Outbox& out);
  [[nodiscard]] Rollback rollback_of(const model::Job& watched, bool silent_without_stable) const;
  [[nodiscard]] std::uint64_t latest_eval_index(const model::Deployment& deployment) const;
  /// Unordered.
  [[nodiscard]] std::vector<tables::AllocRow> allocs_of(tables::DeploymentRow row) const;
  [[nodiscard]] model::Evaluation new_eval(const model::Deployment& deployment, const model::Job& job,
                                           std::int64_t now);
  /// The job that a request uses: the watch's, or the stored one.
  [[nodiscard]] std::shared_ptr<const model::Job> job_of(const model::Deployment& deployment) const;

  fsm::StateLog& log_;
  std::function<std::string()> next_id_;
  DeploymentConfig config_;
  std::map<tables::DeploymentRow, Watch> watches_;  // by deployment row
  std::deque<tables::DeploymentRow> dirty_;         // rows to visit, in the order of their changes
  Timers deadlines_, eval_batches_;                 // by deployment row
  std::map<std::string, Request> requests_;         // by deployment ID (R-CTRL-1207)
  std::int64_t requests_at_ = kNever;
};

}  // namespace berth::lifecycle
