// What one Select counted and scored, in numbers (R-MODEL-560 to 569, R-RANK-1001 to 1011).
//
// A placement keeps its metrics as this record: no string and no map. Words come when somebody reads them (to_model.h).
// Counts live in a few small lists because a Select meets few distinct reasons; the lists are spans of the attempt's
// arena.
#pragma once

#include <cstdint>
#include <span>

#include "tables/state.h"

namespace berth::plan {

/// Score components in stage order (R-RANK-201).
enum class Component : std::uint8_t { binpack, devices, anti_affinity, penalty, affinity, spread, preemption };
inline constexpr std::size_t kComponents = 7;
inline constexpr const char* kComponentNames[kComponents] = {
    "binpack",       "devices",           "job-anti-affinity", "node-reschedule-penalty",
    "node-affinity", "allocation-spread", "preemption"};

/// One node of the top list: its logged components and final score. 72 bytes.
struct ScoredNode {
  tables::NodeRow node = tables::kNoRow;
  std::uint8_t logged = 0;  ///< bit c set: component c is in the score map (R-RANK-701)
  double norm = 0;
  double value[kComponents] = {};
};

/// A small counter: `what` is a reason id, a dimension id or a node class code.
struct Count {
  std::uint32_t what = 0;
  std::int32_t count = 0;
};

struct SelectMetrics {
  std::int32_t evaluated = 0, filtered = 0, exhausted = 0, coalesced = 0;
  /// Exhaustive mode on request: only in_pool and base_set are set, and `evaluated` says how many nodes were looked at;
  /// the rest comes with GenericScheduler::complete_metrics().
  bool deferred = false;
  std::int32_t in_pool = 0;                          ///< ready nodes in matching datacenters (R-FEAS-115)
  std::uint32_t base_set = 0;                        ///< whose per-datacenter counts apply; see ReadyNodes
  bool has_pool = false;                             ///< NodesInPool and NodesAvailable were set
  bool names_pool = true;                            ///< and NodePool with them (not by system jobs, R-SCHED-165)
  std::span<const Count> reasons, classes_filtered;  ///< ids of Reasons; codes of the class column
  std::span<const Count> dimensions, classes_exhausted;
  std::span<const ScoredNode> top;  ///< best first (R-RANK-1006 to 1008)
};

}  // namespace berth::plan
