// WorkerView: the newest state for one worker, updated from attempt to attempt. Commits then write in place where a
// snapshot would make them copy: 145 KB a plan of ten placements, for 4 KB of changes.
//
//   use columns   the worker's own copies (NodeUseColumns): bring_up() copies the rows in the logs since the last
//                 time. If they are too many, or a column got more rows: all of it. Up to 461 B per node
//   job keys      the same (JobTable::keys). 32 B per job
//   the rest      shared with the store, as in a Snapshot: only appended to, or rarely changed
//
// Cache by state: a view shows one state from one bring_up() to the next.
//   (1) After bring_up() it equals StateStore::current() in every row; debug builds compare them.
//   (2) A commit that writes a use column appends the node's row to NodeStatic::use_log or ended_log; one that writes a
//       job key does so through StateStore::edit_key().
//   (3) Only its worker reads it, and it changes between attempts only.
//   (4) After a refused plan, job versions and resource shapes of the previous state may still be read: keep() holds
//       them.
//   (5) It never makes a commit copy a chunk of a use column.
// Threads: its worker's; bring_up() holds the store's mutex.
#pragma once

#include "tables/state.h"

namespace berth::tables {

class WorkerView {
 public:
  [[nodiscard]] const Snapshot& state() const { return state_; }
  /// Holds the parts of the current state that are shared with the store until release(), even when the view moves on.
  void keep() { before_ = state_, jobs_before_ = state_.jobs, fixed_before_ = state_.nodes.fixed; }
  /// The evaluation is over: rows that were removed meanwhile may be reused.
  void release() {
    if (before_.symbols) before_ = {}, jobs_before_ = {}, fixed_before_ = {};
    state_.hold.reset();
  }
  /// Totals since the view was made: rows copied one by one, and columns copied as a whole.
  [[nodiscard]] std::uint64_t rows_copied() const { return rows_copied_; }
  [[nodiscard]] std::uint64_t columns_copied() const { return columns_copied_; }

 private:
  friend class StateStore;

  /// Copies from `now` what changed since the view's state.
  void follow(const NodeTable& now);
  void follow(const CowVector<JobKey, 32>& keys, const BasicRowLog<JobKeyRow>& log);
  void copy_row(const NodeTable& now, NodeRow row);

  Snapshot state_;
  StateTables before_;
  JobVersions jobs_before_;
  Ref<NodeStatic> fixed_before_;
  std::uint64_t key_changes_ = 0;         // entries of the log of job keys that are included
  std::vector<NodeRow> changed_, ended_;  // scratch of follow()
  std::vector<JobKeyRow> keys_;           // scratch of follow()
  std::uint64_t rows_copied_ = 0, columns_copied_ = 0;
};

/// Bytes of the columns that a view of these nodes owns.
[[nodiscard]] std::size_t view_bytes(const NodeTable& nodes);

/// One line per difference between a view's own columns and those of a state; empty if correct.
[[nodiscard]] std::vector<std::string> view_differences(const Snapshot& view, const Snapshot& now);

}  // namespace berth::tables
