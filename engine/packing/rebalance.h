// Rebalancing: evicts and re-places running tasks to join free capacity (R-STRAT-831 to 834).
//
// All victims leave first. Then the active ranking strategy places them again in the order of eviction; those that fit
// nowhere are lost. The rules consider devices, so nothing is evicted on clusters without devices. Ties: nodes by their
// place in the cluster's list, tasks by the order in which they were placed.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "packing/replay.h"
#include "strategy/fragments.h"

namespace berth::packing {

/// n nodes, m tasks, e evictions; F(node) is the fragment measure (R-STRAT-215).
enum class RebalanceRule : std::uint8_t {
  cosine,          ///< R-STRAT-832. O(m + n log n)
  fragments_one,   ///< R-STRAT-833. O(m classes + n log n)
  fragments_many,  ///< R-STRAT-834, on the current state. O((m + e tasks of a node) classes + e log n)
};
struct RebalanceInfo {
  const char* name;
  RebalanceRule rule;
  const char *formula, *source, *cost;  ///< cost for n nodes, m tasks, e evictions
};
[[nodiscard]] std::span<const RebalanceInfo> rebalance_rules();

/// Positions in `placed` of at most `budget` victims, in order of eviction. `fleet` contains the placed tasks.
/// `name_rank[row]` breaks ties between nodes. `fragments` may be null for `cosine`.
[[nodiscard]] std::vector<std::uint32_t> choose_evictions(RebalanceRule rule, strategy::Fleet fleet,
                                                          std::span<const PlacedTask> placed,
                                                          const strategy::FragmentTables* fragments,
                                                          std::span<const std::uint32_t> name_rank, std::size_t budget);

struct RebalanceRun {
  std::uint64_t asked = 0, placed = 0;              ///< before
  std::uint64_t evicted = 0, again = 0, moved = 0;  ///< again: placed again; moved: of these, to another node
  PackingQuality before, after;
  double choose_us_each = 0;  ///< time to choose the victims, per eviction
  std::string digest;         ///< of all placements, including repeated ones
};

struct RebalanceOptions {
  std::int64_t seed = 1;
  double ratio = 0.1;  ///< of the placed tasks that may be evicted, rounded up (R-STRAT-831)
};

/// Packs the problem without departures, then rebalances once. Tasks of the problem's load stay where they are. Errors
/// come from the ranking strategy.
[[nodiscard]] Result<RebalanceRun> replay_rebalance(const sim::PackingProblem& problem,
                                                    const strategy::Context& context,
                                                    const std::vector<std::uint32_t>& order,
                                                    const RebalanceOptions& options,
                                                    const strategy::Registry& strategies,
                                                    const strategy::StrategySpec& spec, RebalanceRule rule);

}  // namespace berth::packing
