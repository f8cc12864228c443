// Kept by attempt: the candidates by *position* in the visiting order, because the cursor walks positions one after the
// other, and what was decided about them.
//
//   Position  16 B  row, class codes, job checks         filled when the cursor first reaches the position
//   Cell      72 B  group checks, fit or dimension, row  filled when a Select of the group first reaches it
//                   of score components
//
// A cell stays valid for the whole attempt, as the snapshot does not change, until the plan touches its node: then its
// fit is decided again. So a node is checked and scored once per change, however many Selects look at it. Behind the
// candidates there is one more position, for the Select on one named node.
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
  rank::ScoreRow score;     ///< where it fits
  std::uint32_t dimension;  ///< reason id when exhausted; kReasonNone: dropped without a metric (R-RANK-612)
  CheckState group_checks, fit;
};

/// A group of the job, read for the checks and scores of an attempt.
struct GroupView {
  const tables::CompiledGroup* group = nullptr;
  std::uint32_t number = 0;                     ///< of its name in this attempt
  Needs needs;                                  ///< of the group, its job and the state's volumes
  std::span<Cell> cells;                        ///< by position, valid below the frontier; then the one behind
  std::vector<match::DeviceRequest> devices;    ///< of all tasks, compiled
  std::optional<feasible::NetworkAsk> network;  ///< absent: the group has no network
  std::uint32_t network_number = 0;             ///< of these parameters in the attempt; 0: not numbered yet
  std::uint32_t checked_network = 0;            ///< of those under which the cells' group checks were decided
  bool distinct_built = false;
};

struct Candidates {
  const ReadyNodes* nodes = nullptr;
  std::uint32_t base_set = 0;
  rank::VisitingOrder order;
  std::uint64_t order_index = 0;           ///< seeds the order; 0: the snapshot's index
  std::span<Position> positions;           ///< valid below the frontier
  std::uint32_t size = 0;                  ///< of the candidates
  std::uint32_t offset = 0;                ///< the cursor
  std::uint32_t frontier = 0;              ///< the general source has read no position from here on
  std::uint32_t asked = 0;                 ///< the nodes before it were asked for
  std::uint32_t expected = 0;              ///< a guess at how many nodes are looked at
  std::int64_t limit = 2, list_limit = 2;  ///< now, and as the list of candidates sets it
  std::vector<GroupView> views;            ///< by position of the group in the job's list

  void start(Scratch& scratch);
  /// The candidates in ascending ID, shuffled by the order provider (R-FEAS-202, R-RANK-304). Rewinds the cursor.
  [[nodiscard]] Result<void> set(const Attempt& attempt, const ReadyNodes& ready, std::uint32_t base,
                                 std::string_view eval_id, std::size_t placements);
  /// Another version: checks and groups are unknown again.
  void forget_job();
  GroupView& view(const Attempt& attempt, std::uint32_t group);
  /// Nothing is known of the node there yet.
  void take(Attempt& attempt, std::uint32_t position);
  /// The cursor is there for the first time; a fast source may have moved it past others.
  void reach(Attempt& attempt, std::uint32_t position) {
    for (; frontier <= position; ++frontier) {
      ask_ahead(attempt, frontier);
      take(attempt, frontier);
    }
  }
  /// Asks for what the visits of the next nodes read, as these lie all over the tables.
  void ask_ahead(Attempt& attempt, std::uint32_t position);
  /// The plan changed the node: its fit is unknown again.
  void forget_fit(Scratch& scratch, tables::NodeRow row);
};

}  // namespace berth::sched
