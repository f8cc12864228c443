// Options and result of one Select.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rank/order.h"
#include "rank/score_fit.h"
#include "sched/source/sources.h"
#include "tables/job_table.h"

namespace berth::sched {

struct StackConfig {
  rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
  bool memory_oversubscription = false;
  std::int64_t node_limit = 100;  ///< F of R-RANK-403
  rank::OrderProvider provider = rank::OrderProvider::nomad;
  EnabledSources sources;      ///< sources that may answer
  bool exhaustive = false;     ///< no limit and no set-aside: the best of all nodes
  bool defer_metrics = false;  ///< exhaustive: metrics may be SelectMetrics::deferred
};

/// Options from the scheduler configuration for a job; its pool's settings override them (R-SCHED-36, R-RANK-216).
[[nodiscard]] StackConfig stack_config(const tables::Snapshot& snapshot, const tables::CompiledJob& job,
                                       rank::OrderProvider provider);

struct SelectOptions {
  std::uint32_t name_index = 0;                    ///< allocation's index, for per-allocation volumes
  std::string_view name;                           ///< its full name, if not made from the index
  std::span<const tables::NodeRow> penalty_nodes;  ///< R-RANK-1105
  bool evict = false;                              ///< the second pass of R-PREEMPT-105
  bool then_evict = false;                         ///< a first pass; if it fails, its counts are dropped
};

/// The best node that a source of candidates found.
struct Found {
  tables::NodeRow node = tables::kNoRow;
  double score = 0;
  /// Allocations to evict for it, in order of choice (V of part 04); stored in the attempt's arena.
  std::span<const tables::AllocRow> victims;
};

/// The node that a Select found, with the resources that the allocation gets there.
struct Selected : Found {
  const tables::ResourceShape* held = nullptr;
  /// Owner of `held` if ports, devices or cores were assigned; null if `held` is the group's own shape.
  std::shared_ptr<const tables::ResourceShape> shape;
};

/// Most candidates with a score of 0 or less that one Select may set aside (R-RANK-411).
inline constexpr std::uint32_t kSetAside = 3;

}  // namespace berth::sched
