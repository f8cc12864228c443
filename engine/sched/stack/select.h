// What one Select is asked, and what it answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "rank/order.h"
#include "rank/score_fit.h"
#include "sched/source/sources.h"
#include "tables/state.h"

namespace berth::sched {

struct StackConfig {
  rank::FitAlgorithm algorithm = rank::FitAlgorithm::binpack;
  bool memory_oversubscription = false;
  std::int64_t node_limit = 100;  ///< F of R-RANK-403
  rank::OrderProvider provider = rank::OrderProvider::nomad;
  EnabledSources sources;      ///< that may answer
  bool exhaustive = false;     ///< no limit and nothing set aside: the best of all nodes
  bool defer_metrics = false;  ///< exhaustive: metrics may be SelectMetrics::deferred
};

/// What the scheduler configuration says for a job, its pool's settings laid over it (R-SCHED-36, R-RANK-216).
[[nodiscard]] StackConfig stack_config(const tables::Snapshot& snapshot, const tables::CompiledJob& job,
                                       rank::OrderProvider provider);

struct SelectOptions {
  std::uint32_t name_index = 0;                    ///< of the allocation, for per-allocation volumes
  std::string_view name;                           ///< its whole name where it is not made of the index
  std::span<const tables::NodeRow> penalty_nodes;  ///< R-RANK-1105
  bool evict = false;                              ///< the second pass of R-PREEMPT-105
  bool then_evict = false;                         ///< a first pass: what it counts is dropped if it finds nothing
};

/// The best node of a source of candidates.
struct Found {
  tables::NodeRow node = tables::kNoRow;
  double score = 0;
  /// Who must go for it, in order of choice (V of part 04); belongs to the attempt's arena.
  std::span<const tables::AllocRow> victims;
};

/// The node a Select found, with what the allocation will hold there.
struct Selected : Found {
  const tables::ResourceShape* held = nullptr;
  /// Owner of `held` where ports, devices or cores were assigned; null where it is the group's own shape.
  std::shared_ptr<const tables::ResourceShape> shape;
};

/// Candidates with a score of 0 or less that one Select may put aside (R-RANK-411).
inline constexpr std::uint32_t kSetAside = 3;

}  // namespace berth::sched
