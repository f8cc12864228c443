// Counts and scores of one Select, as numbers (R-MODEL-560 to 569, R-RANK-1001 to 1011).
//
// A placement stores its metrics as this record: no string and no map. They become text only when read (to_model.h).
// Counts are in short lists because a Select meets few distinct reasons; the lists are spans of the attempt's arena.
#pragma once

#include <bit>
#include <cstdint>
#include <span>

#include "rank/components.h"
#include "tables/alloc_table.h"

namespace berth::plan {

using rank::Component;

/// One node of the top list: its final score and the components it logged. 16 bytes, plus 8 per value: most components
/// of most nodes are 0, and a placement writes five of these.
struct ScoredNode {
  tables::NodeRow node = tables::kNoRow;
  std::uint8_t logged = 0;  ///< bit c set: component c is in the score map (R-RANK-701)
  std::uint8_t stored = 0;  ///< the logged components that are not +0: consecutive in SelectMetrics::values, ascending
  std::uint16_t first = 0;  ///< position of the first of them
  double norm = 0;

  /// Logs the row's components, and those of `always` as 0. Appends to `values`, which holds `count` values.
  void log(const rank::ScoreRow& row, std::uint8_t always, double* values, std::uint16_t& count) {
    logged = row.appended | always;
    for (unsigned rest = row.appended; rest != 0; rest &= rest - 1) {
      const double value = row.value[std::countr_zero(rest)];
      if (std::bit_cast<std::uint64_t>(value) == 0) continue;
      stored |= static_cast<std::uint8_t>(rest & (~rest + 1));
      values[count++] = value;
    }
  }
  /// The same for a row with one component.
  void log_one(Component c, double value, std::uint8_t always, double* values, std::uint16_t& count) {
    const std::uint8_t bit = rank::component_bit(c);
    logged = bit | always;
    const bool stores = std::bit_cast<std::uint64_t>(value) != 0;
    if (stores) stored = bit;
    values[count] = value;
    count += stores;
  }
};

/// A small counter: `what` is a reason id, a dimension id or a node class code.
struct Count {
  std::uint32_t what = 0;
  std::int32_t count = 0;
};

struct SelectMetrics {
  std::int32_t evaluated = 0, filtered = 0, exhausted = 0, coalesced = 0;
  /// Exhaustive mode on request: only in_pool, base_set and `evaluated`, the number of visited nodes, are set.
  /// GenericScheduler::complete_metrics() fills in the rest.
  bool deferred = false;
  std::int32_t in_pool = 0;                          ///< ready nodes in matching datacenters (R-FEAS-115)
  std::uint32_t base_set = 0;                        ///< the set whose per-datacenter counts apply; see ReadyNodes
  bool has_pool = false;                             ///< NodesInPool and NodesAvailable were set
  bool names_pool = true;                            ///< NodePool is set as well (not by system jobs, R-SCHED-165)
  std::span<const Count> reasons, classes_filtered;  ///< ids of Reasons; codes of the class column
  std::span<const Count> dimensions, classes_exhausted;
  std::span<const ScoredNode> top;  ///< best first (R-RANK-1006 to 1008)
  const double* values = nullptr;   ///< values of the top nodes' components; see value()

  /// The value that a node of `top` logged for component `c`.
  [[nodiscard]] double value(const ScoredNode& node, std::size_t c) const {
    if ((node.stored >> c & 1) == 0) return 0;
    return values[node.first + std::popcount(static_cast<unsigned>(node.stored) & ((1u << c) - 1))];
  }
};

}  // namespace berth::plan
