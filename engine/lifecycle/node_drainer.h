// NodeDrainer: moves allocations off draining nodes, group by group, and ends the drains (section 10 of part 07).
//
//   node watcher   follows draining nodes: deadline, jobs to move, end              R-CTRL-1010 to 1014
//   job watcher    checks the jobs with work on such nodes, requests migrations     R-CTRL-1020 to 1027
//   deadlines      allocations left on a node at its deadline are moved at once     R-CTRL-1040 to 1042
//   queue          their requests, one after another; marking takes a batch of 1 s  R-CTRL-1026, 1043
// Of the changed rows, it visits only those that concern a draining node. Threads: the writer's.
#pragma once

#include <algorithm>
#include <deque>

#include "lifecycle/drain_deadlines.h"
#include "lifecycle/job_drain.h"
#include "lifecycle/outbox.h"

namespace berth::lifecycle {

struct DrainConfig {
  std::int64_t batch_ns = 1'000'000'000;  ///< R-CTRL-1026; 0 marks at once
  std::int64_t coalesce_ns = DrainDeadlines::kCoalesceNs;
  std::size_t ids_per_entry_max = 7281;  ///< R-CTRL-1032
};

class NodeDrainer {
 public:
  /// `next_id` gives the IDs of `node-drain` evaluations.
  NodeDrainer(fsm::StateLog& log, std::function<std::string()> next_id, const DrainConfig& config = {})
      : log_(log), next_id_(std::move(next_id)), config_(config), deadlines_(config.coalesce_ns) {}

  /// Visits every node, as a new leader does.
  void become_leader();
  /// Takes rows that entries wrote. The resulting actions are due at once.
  void changed(const tables::Changes& changes);
  /// "Due at once" is the smallest instant.
  [[nodiscard]] std::int64_t next_deadline() const {
    if (!to_follow_.empty() || (look_ && !waiting_)) return kNow;
    if (batch_at_ == kNever && (!queue_.empty() || !to_report_.empty())) return kNow;
    return std::min(batch_at_, deadlines_.next_deadline());
  }
  /// Performs at most one action that is due at `now`; its own changes must be passed to changed() before the next
  /// call.
  void advance(std::int64_t now, Outbox& out);

  [[nodiscard]] std::size_t draining_nodes() const { return tracked_.size(); }
  [[nodiscard]] std::size_t watched_jobs() const { return jobs_.size(); }

 private:
  static constexpr std::int64_t kNow = std::numeric_limits<std::int64_t>::min();
  struct Tracked {
    tables::NodeRow node;
    model::DrainStrategy strategy;
  };
  /// A job that may have work on draining nodes.
  struct Watched {
    tables::JobKeyRow key;
    /// It, or a draining node, may have changed since its last check, which found nothing to move. Otherwise the same
    /// check would find nothing again.
    bool stale = true;
  };
  /// A request that the queue executes: migrations from a job watcher's check, or nodes at their deadline.
  struct Work {
    bool deadline = false;
    std::vector<tables::NodeRow> nodes;    // deadline: ascending ID
    std::vector<tables::AllocRow> allocs;  // allocations to mark
    tables::RowHold hold;                  // protects these rows from reuse
  };

  [[nodiscard]] Tracked* tracked(tables::NodeRow node);
  void follow_node(tables::NodeRow node, std::int64_t now, Outbox& out);
  void untrack(tables::NodeRow node);
  void register_jobs(tables::NodeRow node);
  /// True if every allocation of a job that a drain moves has ended on its client (R-CTRL-1012).
  [[nodiscard]] bool is_done(tables::NodeRow node) const;
  void add_remaining(const Tracked& node, std::vector<tables::AllocRow>& allocs) const;
  void look_at_jobs(std::int64_t now);
  void start_work(std::int64_t now, Outbox& out);
  void finish_work(std::int64_t now, Outbox& out);
  /// Ends the drains of nodes whose work is done, and moves the remaining allocations there (R-CTRL-1014).
  void finish_nodes(const std::vector<tables::NodeRow>& nodes, std::int64_t now, Outbox& out);
  void mark(std::span<const tables::AllocRow> allocs, std::int64_t now, Outbox& out);
  void complete(const std::vector<tables::NodeRow>& nodes, bool deadline_reached, std::int64_t now, Outbox& out);
  void sort_by_id(std::vector<tables::NodeRow>& nodes) const;
  /// Null if the job has no work on draining nodes.
  [[nodiscard]] Watched* watched(tables::JobKeyRow job);
  /// True if a check of the job now changes nothing. Reads all its allocations.
  [[nodiscard]] bool has_nothing_to_do(tables::JobKeyRow key) const;
  void mark_stale_on(tables::NodeRow node);
  void mark_all_stale() {
    for (Watched& job : jobs_) job.stale = true;
  }

  fsm::StateLog& log_;
  std::function<std::string()> next_id_;
  DrainConfig config_;
  DrainDeadlines deadlines_;
  std::vector<Tracked> tracked_;           // ascending row
  std::deque<tables::NodeRow> to_follow_;  // changed nodes that drain or are tracked
  std::vector<Watched> jobs_;              // ascending key
  std::uint64_t last_handled_ = 1;         // allocation index
  bool look_ = false;                      // the job watcher has jobs to check
  bool waiting_ = false;                   // the job watcher waits for the execution of its request
  std::vector<tables::NodeRow> migrated_;  // nodes to report after that
  std::deque<Work> queue_;                 // the first one is in progress from start to batch_at_
  std::int64_t batch_at_ = kNever;
  std::vector<tables::NodeRow> to_report_;  // nodes of migrated allocations, to be checked when the queue is free
  JobDrain scratch_;
};

}  // namespace berth::lifecycle
