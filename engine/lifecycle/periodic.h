// PeriodicDispatcher: launches children of periodic jobs at their times (section 13 of part 07).
//
// Tracked jobs are in a heap by next launch, with the steps of R-CTRL-310. Jobs of the same instant are launched one
// after another in heap order. Of all jobs, it visits only those that changed. Threads: the writer's.
#pragma once

#include <map>
#include <set>

#include "lifecycle/outbox.h"
#include "lifecycle/timers.h"

namespace berth::lifecycle {

class PeriodicDispatcher {
 public:
  /// `next_id` gives the IDs of `periodic-job` evaluations.
  PeriodicDispatcher(fsm::StateLog& log, std::function<std::string()> next_id)
      : log_(log), next_id_(std::move(next_id)) {}

  /// Tracks every periodic job, and launches those that became due since their last launch (R-CTRL-1308).
  void become_leader(std::int64_t now, Outbox& out);
  void changed(const tables::Changes& changes, std::int64_t now);
  [[nodiscard]] std::int64_t next_deadline() const { return heap_.empty() ? kNever : heap_.front().at; }
  /// Launches the jobs that are due, each with its own instant.
  void advance(std::int64_t now, Outbox& out);
  /// Launches the job now, even if another child of it runs (R-CTRL-1307).
  [[nodiscard]] fsm::Answer force(const std::string& name_space, const std::string& job_id, std::int64_t now);

  [[nodiscard]] std::size_t tracked() const { return heap_.size(); }

 private:
  struct Launch {
    std::int64_t at = kNever;  ///< kNever: no schedule has a next instant
    tables::JobKeyRow job = tables::kNoRow;
  };
  static bool earlier(const Launch& a, const Launch& b) { return a.at < b.at; }
  [[nodiscard]] std::size_t place_of(tables::JobKeyRow job) const;
  void follow(tables::JobKeyRow key, std::int64_t now);
  void remove(tables::JobKeyRow key);
  [[nodiscard]] std::shared_ptr<const model::Job> job_of(tables::JobKeyRow key) const;
  void follow_child(tables::JobKeyRow key, const model::Job* job);
  /// True if a child has a non-terminal evaluation, or a non-terminal allocation of one of its evaluations
  /// (R-CTRL-1304).
  [[nodiscard]] bool child_runs(tables::JobKeyRow parent);
  fsm::Answer launch(tables::JobKeyRow key, std::int64_t instant, std::int64_t now);

  fsm::StateLog& log_;
  std::function<std::string()> next_id_;
  std::vector<Launch> heap_;
  std::vector<bool> is_tracked_;              // by JobKeyRow
  std::vector<tables::JobKeyRow> parent_of_;  // by JobKeyRow; kNoRow: not launched by a periodic job
  std::map<tables::JobKeyRow, std::set<tables::JobKeyRow>> children_;  // by parent
  std::map<tables::JobKeyRow, std::int64_t> last_launch_;              // R-CTRL-1305, 1306; outlives leaders
};

}  // namespace berth::lifecycle
