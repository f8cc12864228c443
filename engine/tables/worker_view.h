// WorkerView: the newest state as one worker sees it, brought up to date from attempt to attempt, so that commits write
// in place what a snapshot would make them copy: 145 KB a plan of ten placements, for 4 KB of changes.
//
//   use columns   the worker's own copies (NodeUseColumns): bring_up() copies the rows that the logs name since the
//                 last time. Too many, or rows that joined a column: all of it. Up to 461 B per node
//   job keys      likewise (JobTable::keys). 32 B per job
//   the rest      shared with the store, as a Snapshot does: it is appended to, or changes rarely
//
// Kept by state: a view is of one state from one bring_up() to the next.
//   (1) After bring_up() it equals StateStore::current() in every row; debug builds compare them.
//   (2) A commit that writes a use column appends the node's row to NodeStatic::use_log or ended_log; one that writes a
//       job key does so through StateStore::edit_key().
//   (3) Only its worker reads it, and it moves between attempts only.
//   (4) After a refusal job versions and resource shapes of the state before may still be read: keep() holds them.
//   (5) It makes no commit copy a chunk of a use column.
// Threads: its worker's; bring_up() holds the store's mutex.
#pragma once

#include "tables/state.h"

namespace berth::tables {

class WorkerView {
 public:
  [[nodiscard]] const Snapshot& state() const { return state_; }
  /// What the present state shares with the store is held until release(), also when the view moves on.
  void keep() { before_ = state_, jobs_before_ = state_.jobs, fixed_before_ = state_.nodes.fixed; }
  /// The evaluation is over: rows that were removed meanwhile may be used again.
  void release() {
    if (before_.symbols) before_ = {}, jobs_before_ = {}, fixed_before_ = {};
    state_.hold.reset();
  }
  /// Counted since the view was made: rows copied one by one, and columns copied as a whole.
  [[nodiscard]] std::uint64_t rows_copied() const { return rows_copied_; }
  [[nodiscard]] std::uint64_t columns_copied() const { return columns_copied_; }

 private:
  friend class StateStore;

  /// Copies from `now` what changed since the state that the view is of.
  void follow(const NodeTable& now);
  void follow(const CowVector<JobKey, 32>& keys, const BasicRowLog<JobKeyRow>& log);
  void copy_row(const NodeTable& now, NodeRow row);

  Snapshot state_;
  StateTables before_;
  JobVersions jobs_before_;
  Ref<NodeStatic> fixed_before_;
  std::uint64_t key_changes_ = 0;         // entries of the log of job keys that are in
  std::vector<NodeRow> changed_, ended_;  // scratch of follow()
  std::vector<JobKeyRow> keys_;           // likewise
  std::uint64_t rows_copied_ = 0, columns_copied_ = 0;
};

/// Bytes of the columns that a view of these nodes has as its own.
[[nodiscard]] std::size_t view_bytes(const NodeTable& nodes);

/// One line per difference between the columns of a view that are its own and those of a state; empty is right.
[[nodiscard]] std::vector<std::string> view_differences(const Snapshot& view, const Snapshot& now);

}  // namespace berth::tables
