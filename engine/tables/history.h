// History: what the writer keeps beside the tables for the state machine and its garbage collection: who belongs to
// whom, read backwards, how many there are, and which rows may be used again. See StateStore::keep_history().
//
// A row of the tables is used again when nobody can mistake it. Its object is gone, and then, in this order:
//   1. no row refers to it any more: a removed allocation stays behind as long as another one names it as its
//      predecessor, successor or evictor, a deployment while an allocation names it, a version while one carries it
//   2. whoever asked for changes (StateStore::set_changes) has been told of the removal, and cleared them
//   3. nobody holds a snapshot, or a RowHold, from before that
// Rows that only rows of the same commit refer to (shapes) need 1 alone. Threads: the writer's only.
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

  [[nodiscard]] bool empty() const {
    return allocs.empty() && evals.empty() && deployments.empty() && versions.empty() && keys.empty();
  }
  /// Takes all of `other`, which is empty afterwards.
  void take(RowLists& other);
};

/// While it lives, rows that were removed since it was taken are not used again.
using RowHold = std::shared_ptr<const int>;

/// In a count of references: the row is on its way to being used again, unless it is referred to anew meanwhile.
inline constexpr std::uint32_t kQueued = 1U << 31;

struct History {
  struct Alloc {
    AllocRow next_of_eval = kNoRow, prev_of_eval = kNoRow;  ///< chain of its evaluation's allocations (AllocStamp)
    AllocRow prev_of_job = kNoRow;                          ///< AllocTable::next_of_job backwards
    DeploymentRow deployment = kNoRow;                      ///< also of an allocation with an API object
    std::uint32_t links = 0;                                ///< AllocLinks that lead here
  };
  static_assert(sizeof(Alloc) == 20);
  struct Eval {
    AllocRow alloc_head = kNoRow;
    StoredEvalRow next_of_job = kNoRow, prev_of_job = kNoRow;  ///< newest first
    std::uint32_t ended_allocs = 0;                            ///< terminal ones of its chain
    std::int64_t modify_time = 0;
    bool open = false;     ///< not terminal
    bool blocked = false;  ///< status `blocked`
    bool batch = false;    ///< of type `batch`
  };
  struct Job {
    StoredEvalRow eval_head = kNoRow;
    std::uint32_t live_allocs = 0;  ///< not terminal (R-CTRL-107)
    std::uint32_t evals = 0, open_evals = 0, blocked_evals = 0, active_deployments = 0;
    std::uint32_t versions = 0;      ///< rows
    Symbol released = kEmptySymbol;  ///< of a row on its way to being used again: the ID of the job that it was
  };

  base::Chunked<Alloc> allocs;                 // by AllocRow
  base::Chunked<Eval> evals;                   // by StoredEvalRow
  std::vector<Job> jobs;                       // by JobKeyRow
  std::vector<std::uint32_t> version_refs;     // by VersionRow: allocations that carry it
  std::vector<std::uint32_t> deployment_refs;  // by DeploymentRow: allocations that name it
  std::vector<std::uint32_t> shape_refs;       // by ShapeId: allocations and groups of versions
  std::vector<ShapeId> free_shapes;

  // Rows on their way to being used again, by what they wait for.
  RowLists fresh, told, waiting, free;  // free.allocs: descending
  bool dropped = false;                 // the objects of versions in `waiting` are gone
  std::uint64_t fresh_round = 0;        // of Changes: when the newest of `fresh` was removed
  std::weak_ptr<const int> holders;     // of rows in `waiting`
};

}  // namespace berth::tables
