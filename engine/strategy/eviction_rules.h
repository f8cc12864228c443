// Berth's built-in preemption rules (R-STRAT-801 to 824): which tasks to evict from one node, as pure functions over
// amounts, and how nodes compare. The contract is in berth/preemption.h; preemption_registry.cc pairs them by name.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/preemption.h"

namespace berth::strategy {

/// With up to kExactCandidates candidates the exact rules return the optimum, among equals the smallest list of
/// positions, however long that takes. With more they examine at most kExactSteps partial choices, in an order that
/// depends only on the candidates. A search that completes returns the optimum too. One that is cut off returns the
/// first of the best choices found, or the greedy rule's if none is as good. That is never worse than greedy, the same
/// on every machine, and reported as unproven.
inline constexpr std::size_t kExactCandidates = 20;
inline constexpr std::uint64_t kExactSteps = 20'000;

/// Formula, source and cost for m candidates and d dimensions.
enum class VictimRule : std::uint8_t {
  /// R-STRAT-811: by priority, then least distance to what is needed. Nomad, engine/preempt. O(m^2)
  nomad,
  /// R-STRAT-812: evict all, then put tasks back in order of importance while the request fits, those beyond their
  /// disruption budget first. Kubernetes, DefaultPreemption. O(m log m + m d)
  kubernetes,
  /// R-STRAT-813, greedy: most of what is needed first. Multidimensional covering. O(m^2 d)
  fewest,
  /// R-STRAT-814, greedy: least (priority + 1) per part of what is needed. Weighted covering. O(m^2 d)
  least_priority,
  /// R-STRAT-815: no higher priority than needed, then as least_priority. O(m^2 d)
  lexicographic,
  /// R-STRAT-817: largest gain in the fragment measure (Weng et al.) first; if not enough, lexicographic. O(m log m)
  fragments,
  /// R-STRAT-816 for 813: least (count, priorities, overshoot), by branch and bound. Exponential, see above
  exact_fewest,
  /// The same for 814: least (sum of priority + 1, count)
  exact_priority,
  /// The same for 815: least (highest, sum of priorities, count, overshoot)
  exact_lexicographic,
};

/// Returns the victims: empty if none is needed, nullopt if all candidates are not enough. Sets `unproven`, if given,
/// to true if an exact rule was cut off; else leaves it unchanged.
[[nodiscard]] std::optional<Victims> choose_victims(VictimRule rule, const Shortage& shortage,
                                                    bool* unproven = nullptr);

/// Per candidate: true if it is beyond its group's budget. A budget covers so many of the group's candidates, the most
/// important first (R-STRAT-812). Empty if no candidate has a budget.
[[nodiscard]] std::vector<bool> beyond_budget(const Shortage& shortage);

/// How a node is chosen among those where victims were found (R-STRAT-821 to 823). Ties: the node visited first.
enum class NodeRule : std::uint8_t {
  nomad,           ///< mean of the fit score, victims still counted, and 1 / (1 + e^(0.0048 (v - 2048)))
  kubernetes,      ///< (beyond budgets, highest priority, sum of priority + 2^31, count, latest start of the highest)
  fewest,          ///< (count, priorities, overshoot)
  least_priority,  ///< (sum of priority + 1, count)
  lexicographic,   ///< (highest, priorities, count, overshoot)
  overshoot,       ///< least overshoot
  run_time,        ///< least run time lost
};
[[nodiscard]] NodeKey node_key(NodeRule rule, const EvictionCost& cost, double fit_score);

/// A named pair of a victim rule and a node rule.
struct PreemptionRule {
  const char* name;
  VictimRule victims;
  NodeRule node;
  NodeSearch search;
  const char *formula, *source, *cost;  ///< cost per examined node with m candidates
};
[[nodiscard]] std::span<const PreemptionRule> preemption_rules();

}  // namespace berth::strategy
