// Cache by attempt: the candidates by *position* in the visiting order, with the results of their checks and their
// scores. The cursor moves from one position to the next.
//
//   Position  16 B  row, class codes, job checks         filled when the cursor first reaches the position
//   Cell      72 B  group checks, fit or dimension, row  filled when a Select of the group first reaches it
//                   of score components
//
// A cell stays valid for the whole attempt, as the snapshot does not change. Only when the plan touches the node is its
// fit decided again. So a node is checked and scored once per change, however many Selects visit it. One more position
// behind the candidates serves the Select on one named node.
#pragma once

#include <optional>
#include <vector>

#include "feasible/network_check.h"
#include "match/device_match.h"
#include "sched/stack/attempt.h"

namespace berth::sched {

enum CheckState : std::uint8_t { kUnknown, kPass, kFail };

struct Position {
  tables::NodeRow row;
  std::uint32_t computed_class, node_class;
  CheckState job_checks;
};

struct Cell {
  rank::ScoreRow score;     ///< set if the node fits
  std::uint32_t dimension;  ///< reason id when exhausted; kReasonNone: dropped without a metric (R-RANK-612)
  CheckState group_checks, fit;
};

/// A group of the job, read for the checks and scores of an attempt.
struct GroupView {
  const tables::CompiledGroup* group = nullptr;
  std::uint32_t number = 0;                     ///< number of the group's name in this attempt
  Needs needs;                                  ///< of the group, its job and the state's volumes
  std::span<Cell> cells;                        ///< by position, valid below the frontier; one more behind the last
  std::vector<match::DeviceRequest> devices;    ///< of all tasks, compiled
  std::optional<feasible::NetworkAsk> network;  ///< absent: the group has no network
  std::uint32_t network_number = 0;             ///< number of `network` in the attempt; 0: not numbered yet
  std::uint32_t checked_network = 0;            ///< network_number under which the cells' group checks were decided
  bool distinct_built = false;
};

struct Candidates {
  const ReadyNodes* nodes = nullptr;
  std::uint32_t base_set = 0;
  std::uint64_t base_set_number = 0;  ///< BaseSet::number
  rank::VisitingOrder order;
  std::uint64_t order_index = 0;           ///< seeds the order; 0: the snapshot's index
  std::span<Position> positions;           ///< valid below the frontier
  std::uint32_t size = 0;                  ///< number of candidates
  std::uint32_t offset = 0;                ///< the cursor
  std::uint32_t frontier = 0;              ///< the general source has read no position from here on
  std::uint32_t asked = 0;                 ///< nodes at positions below it were prefetched
  std::uint32_t expected = 0;              ///< estimated number of nodes that the attempt visits
  std::int64_t limit = 2, list_limit = 2;  ///< of the current Select; of the list of candidates
  std::vector<GroupView> views;            ///< by position of the group in the job's list

  void start(Scratch& scratch);
  /// Sets the candidates: by ascending ID, shuffled by the order provider (R-FEAS-202, R-RANK-304). Rewinds the cursor.
  [[nodiscard]] Result<void> set(const Attempt& attempt, const ReadyNodes& ready, std::uint32_t base,
                                 std::string_view eval_id, std::size_t placements);
  /// For another version of the job: clears the results of checks and the groups.
  void forget_job();
  GroupView& view(const Attempt& attempt, std::uint32_t group);
  /// Fills the position with its node and clears all cached results there.
  void take(Attempt& attempt, std::uint32_t position);
  /// Fills the positions from the frontier up to this one; a fast source may have moved the cursor past several.
  void reach(Attempt& attempt, std::uint32_t position) {
    for (; frontier <= position; ++frontier) {
      prefetch_next(attempt, frontier);
      take(attempt, frontier);
    }
  }
  /// Prefetches the table rows of the next nodes, which are scattered over the tables.
  void prefetch_next(Attempt& attempt, std::uint32_t position);
  /// Clears the cached fit of a node that the plan changed.
  void forget_fit(Scratch& scratch, tables::NodeRow row);
};

}  // namespace berth::sched
