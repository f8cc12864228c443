// NodeDrainer: moves what runs off draining nodes, group by group, and ends their drains (section 10 of part 07).
//
//   node watcher   follows nodes that drain: deadline, jobs to move, done?          R-CTRL-1010 to 1014
//   job watcher    looks at the jobs with work on such nodes, asks for migrations   R-CTRL-1020 to 1027
//   deadlines      what is left on a node at its deadline is moved all at once      R-CTRL-1040 to 1042
//   queue          their requests, one after another; marking takes a batch of 1 s  R-CTRL-1026, 1043
// Told of rows that changed, it looks at those that concern a draining node and at nothing else. Threads: the writer's.
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

  /// Looks at every node: the start of a leader.
  void become_leader();
  /// Rows that entries wrote. What has to be done about them is due at once.
  void changed(const tables::Changes& changes);
  /// The present moment is the least instant there is.
  [[nodiscard]] std::int64_t next_deadline() const {
    if (!to_follow_.empty() || (look_ && !waiting_)) return kNow;
    if (batch_at_ == kNever && (!queue_.empty() || !to_report_.empty())) return kNow;
    return std::min(batch_at_, deadlines_.next_deadline());
  }
  /// Does one thing that is due at `now`, if anything is; its own changes have to be handed in before the next.
  void advance(std::int64_t now, Outbox& out);

  [[nodiscard]] std::size_t draining_nodes() const { return tracked_.size(); }
  [[nodiscard]] std::size_t watched_jobs() const { return jobs_.size(); }

 private:
  static constexpr std::int64_t kNow = std::numeric_limits<std::int64_t>::min();
  struct Tracked {
    tables::NodeRow node;
    model::DrainStrategy strategy;
  };
  /// A request that the queue carries out: migrations of a job watcher's look, or nodes at their deadline.
  struct Work {
    bool deadline = false;
    std::vector<tables::NodeRow> nodes;    // deadline: ascending ID
    std::vector<tables::AllocRow> allocs;  // what to mark
    tables::RowHold hold;                  // of these rows
  };

  [[nodiscard]] Tracked* tracked(tables::NodeRow node);
  void follow_node(tables::NodeRow node, std::int64_t now, Outbox& out);
  void untrack(tables::NodeRow node);
  void register_jobs(tables::NodeRow node);
  /// Every allocation of a job that a drain moves has ended on its client (R-CTRL-1012).
  [[nodiscard]] bool is_done(tables::NodeRow node) const;
  void add_remaining(const Tracked& node, std::vector<tables::AllocRow>& allocs) const;
  void look_at_jobs(std::int64_t now);
  void start_work(std::int64_t now, Outbox& out);
  void finish_work(std::int64_t now, Outbox& out);
  /// Ends the drains of nodes whose work is done, and moves what is left there (R-CTRL-1014).
  void finish_nodes(const std::vector<tables::NodeRow>& nodes, std::int64_t now, Outbox& out);
  void mark(std::span<const tables::AllocRow> allocs, std::int64_t now, Outbox& out);
  void complete(const std::vector<tables::NodeRow>& nodes, bool deadline_reached, std::int64_t now, Outbox& out);
  void sort_by_id(std::vector<tables::NodeRow>& nodes) const;
  [[nodiscard]] bool is_registered(tables::JobKeyRow job) const;

  fsm::StateLog& log_;
  std::function<std::string()> next_id_;
  DrainConfig config_;
  DrainDeadlines deadlines_;
  std::vector<Tracked> tracked_;           // ascending row
  std::deque<tables::NodeRow> to_follow_;  // changed nodes that drain or are tracked
  std::vector<tables::JobKeyRow> jobs_;    // ascending; with work on draining nodes, as far as is known
  std::uint64_t last_handled_ = 1;         // allocation index
  bool look_ = false;                      // the job watcher has something to look at
  bool waiting_ = false;                   // it waits until its request is carried out
  std::vector<tables::NodeRow> migrated_;  // nodes it will report then
  std::deque<Work> queue_;                 // the first one is being carried out from batch_at_ on
  std::int64_t batch_at_ = kNever;
  std::vector<tables::NodeRow> to_report_;  // nodes of migrated allocations, to be looked at once the queue is free
  JobDrain scratch_;
};

}  // namespace berth::lifecycle
