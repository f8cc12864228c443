// History: data that the writer keeps in addition to the tables, for the state machine and its garbage collection:
// reverse relations, counts, and rows to be reused. See StateStore::keep_history().
//
// A row is reused when no reader can mistake it for the old one. After its object is removed, it waits for these
// conditions, in this order:
//   1. no row refers to it: a removed allocation stays while another one names it as its predecessor, successor or
//      evictor, a deployment while an allocation names it, a version while an allocation carries it; an evaluation
//      that a server is about to decide stays while it is held, the description of a node while it has allocations
//   2. the watchers of changes (StateStore::set_changes) received the removal and cleared the list
//   3. no snapshot or RowHold from before that exists
// Rows that only rows of the same commit refer to (shapes) need only 1. What versions share (shared_slots.h, columns
// that no node has a value in) ends with the last version that has it. Threads: the writer's only.
#pragma once

#include <memory>
#include <vector>

#include "base/chunked.h"
#include "tables/job_table.h"

namespace berth::tables {

/// Rows by table.
struct RowLists {
  std::vector<AllocRow> allocs;
  std::vector<StoredEvalRow> evals;
  std::vector<DeploymentRow> deployments;
  std::vector<VersionRow> versions;
  std::vector<JobKeyRow> keys;
  std::vector<NodeRow> nodes;  ///< their rows are not reused, only their descriptions are released

  [[nodiscard]] bool empty() const {
    return allocs.empty() && evals.empty() && deployments.empty() && versions.empty() && keys.empty() && nodes.empty();
  }
  /// Moves all of `other`, which is empty afterwards.
  void take(RowLists& other);
};

/// While it exists, rows that were removed since it was taken are not reused.
using RowHold = std::shared_ptr<const int>;

/// Flag in a reference count: the row will be reused unless a new reference appears.
inline constexpr std::uint32_t kQueued = 1U << 31;

struct History {
  struct Alloc {
    AllocRow next_of_eval = kNoRow, prev_of_eval = kNoRow;  ///< chain of its evaluation's allocations (AllocStamp)
    AllocRow prev_of_job = kNoRow;                          ///< AllocTable::next_of_job backwards
    DeploymentRow deployment = kNoRow;                      ///< also of an allocation with an API object
    std::uint32_t links = 0;                                ///< AllocLinks that refer to it
  };
  static_assert(sizeof(Alloc) == 20);
  struct Eval {
    AllocRow alloc_head = kNoRow;
    StoredEvalRow next_of_job = kNoRow, prev_of_job = kNoRow;  ///< newest first
    std::uint32_t ended_allocs = 0;                            ///< number of terminal allocations in its chain
    std::int64_t modify_time = 0;
    bool open = false;     ///< not terminal
    bool blocked = false;  ///< status `blocked`
    bool batch = false;    ///< of type `batch`
    bool held = false;     ///< see StateStore::hold_eval()
  };
  struct Job {
    StoredEvalRow eval_head = kNoRow;
    std::uint32_t live_allocs = 0;  ///< not terminal (R-CTRL-107)
    std::uint32_t evals = 0, open_evals = 0, blocked_evals = 0, active_deployments = 0;
    std::uint32_t versions = 0;      ///< number of version rows
    Symbol released = kEmptySymbol;  ///< for a row to be reused: the ID of its former job
  };

  base::Chunked<Alloc> allocs;                 // by AllocRow
  base::Chunked<Eval> evals;                   // by StoredEvalRow
  std::vector<Job> jobs;                       // by JobKeyRow
  std::vector<std::uint32_t> version_refs;     // by VersionRow: number of allocations that carry it
  std::vector<std::uint32_t> deployment_refs;  // by DeploymentRow: number of allocations that name it
  std::vector<std::uint32_t> shape_refs;       // by ShapeId: number of allocations and version groups
  std::vector<ShapeId> free_shapes;
  // Number of uses by job versions, each constraint, check or column as often as a version names it.
  std::vector<std::uint32_t> constraint_refs;  // by ConstraintId
  std::vector<std::uint32_t> checks_refs;      // by CompiledGroup::checks
  std::vector<std::uint32_t> base_set_refs;    // by base set id
  std::vector<std::uint32_t> column_refs;      // by ColumnId

  // Rows to be reused, by the condition that they wait for.
  RowLists removed, reported, waiting, free;  // free.allocs: descending
  bool dropped = false;                       // the objects of versions in `waiting` are destroyed
  std::uint64_t removed_round = 0;            // round of Changes in which the newest of `removed` was removed
  std::weak_ptr<const int> holders;           // of rows in `waiting`
};

}  // namespace berth::tables
