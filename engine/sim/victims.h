// Whom to evict from one node, by interchangeable rules (R-STRAT-801 to 817), as pure functions over amounts.
//
// The fourth amount is thousandths of GPU on the devices that are asked about: which devices these are is the caller's
// choice (R-STRAT-818). Candidates are eligible ones only, in the order of their ids; a lower position wins ties.
// "Enough" means free + the victims' amounts >= ask in every dimension.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "berth/fleet.h"

namespace berth::sim {

inline constexpr std::int32_t kNoBudget = INT32_MAX;

struct Evictable {
  strategy::Amounts amounts{};
  std::int32_t priority = 0;
  std::int64_t start_ns = 0;
  double fragment_gain = 0;         ///< F(node) - F(node without it), for VictimRule::fragments
  std::uint32_t group = 0;          ///< whose disruption budget it counts against
  std::int32_t may_go = kNoBudget;  ///< how many more of the group its budget lets go now; the same for all of a group
};

struct Shortage {
  strategy::Amounts ask{}, free{}, capacity{};  ///< free may be below ask, or below 0
  std::span<const Evictable> candidates;
};

/// With up to kExactCandidates candidates the exact rules give the optimum, among equals the smallest list of
/// positions, however long that takes. With more they look at no more than kExactSteps partial choices, in an order
/// that depends on the candidates alone. A search that ends by itself gives the same as above. One that is cut off
/// gives the first of the best choices it came by, or the greedy rule's where it came by none that is as good: never
/// worse than greedy, the same on every machine, and said to be unproven.
inline constexpr std::size_t kExactCandidates = 20;
inline constexpr std::uint64_t kExactSteps = 20'000;

/// Formula, source and cost for m candidates and d dimensions.
enum class VictimRule : std::uint8_t {
  nomad,           ///< R-STRAT-811: by priority, then least distance to what is needed; Nomad, engine/preempt. O(m^2)
  kubernetes,      ///< R-STRAT-812: all, then back in order of importance while the ask fits, those beyond their
                   ///< disruption budget first; Kubernetes, DefaultPreemption. O(m log m + m d)
  fewest,          ///< R-STRAT-813, greedy: most of what is needed first; multidimensional covering. O(m^2 d)
  least_priority,  ///< R-STRAT-814, greedy: least (priority + 1) per part of what is needed; weighted covering. O(m^2
                   ///< d)
  lexicographic,   ///< R-STRAT-815: no higher priority than needed, then as least_priority. O(m^2 d)
  fragments,       ///< R-STRAT-817: greatest gain in the fragment measure (Weng et al.), else lexicographic. O(m log m)
  exact_fewest,    ///< R-STRAT-816 of 813: (count, priorities, overshoot), branch and bound. Exponential, see above
  exact_priority,  ///< of 814: (sum of priority + 1, count)
  exact_lexicographic,  ///< of 815: (highest, sum of priorities, count, overshoot)
};

/// Positions of the victims, ascending; empty when nobody has to go; nothing when all of them are not enough.
/// `unproven`, where given, is set when an exact rule was cut off, and left alone otherwise.
[[nodiscard]] std::optional<std::vector<std::uint32_t>> choose_victims(VictimRule rule, const Shortage& shortage,
                                                                       bool* unproven = nullptr);

/// Per candidate: is it beyond its group's budget? A budget covers so many of the group's candidates, the most
/// important first (R-STRAT-812). Empty when no candidate has a budget.
[[nodiscard]] std::vector<bool> beyond_budget(const Shortage& shortage);

/// What a choice costs (R-STRAT-801).
struct EvictionCost {
  std::size_t count = 0;
  std::size_t beyond_budget = 0;  ///< victims beyond their disruption budget
  std::int64_t priorities = 0;
  std::int32_t highest = 0;               ///< 0 without victims
  double overshoot = 0;                   ///< sum over dimensions of max(0, free + freed - ask) / capacity
  double run_time_s = 0;                  ///< sum of now - start
  std::int64_t latest_of_highest_ns = 0;  ///< earliest start among the victims of the highest priority
};
[[nodiscard]] EvictionCost cost_of(const Shortage& shortage, std::span<const std::uint32_t> victims,
                                   std::int64_t now_ns);

[[nodiscard]] bool enough(const Shortage& shortage, std::span<const std::uint32_t> victims);

/// How one node is chosen among those where victims were found (R-STRAT-821 to 823); ties: the node visited first.
enum class NodeRule : std::uint8_t {
  nomad,       ///< mean of the fit score, victims still counted, and 1 / (1 + e^(0.0048 (v - 2048)))
  kubernetes,  ///< fewest beyond budgets, least highest priority, least sum of priority + 2^31, fewest, latest start
               ///< of the highest
  fewest,      ///< (count, priorities, overshoot)
  least_priority,  ///< (sum of priority + 1, count)
  lexicographic,   ///< (highest, priorities, count, overshoot)
  overshoot,       ///< least overshoot
  run_time,        ///< least run time lost
};
/// Smaller is better, compared in order.
using NodeKey = std::array<double, 5>;
[[nodiscard]] NodeKey node_key(NodeRule rule, const EvictionCost& cost, double fit_score);

/// Which nodes are looked at for victims.
enum class NodeSearch : std::uint8_t {
  all,         ///< every node
  kubernetes,  ///< R-STRAT-822: from a random one on, round-robin, until enough candidates were found
};
/// kube-scheduler's defaults: the search over n nodes that may help ends with max(10 % of n, 100) nodes on which
/// evicting helps, one of them without going beyond a budget (minCandidateNodesPercentage, minCandidateNodesAbsolute).
[[nodiscard]] constexpr std::size_t kubernetes_candidates(std::size_t n) { return n / 10 > 100 ? n / 10 : 100; }

/// A preemption strategy by name.
struct PreemptionRule {
  const char* name;
  VictimRule victims;
  NodeRule node;
  NodeSearch search;
  const char *formula, *source, *cost;  ///< cost per node that is looked at, m candidates there
};
[[nodiscard]] std::span<const PreemptionRule> preemption_rules();
[[nodiscard]] const PreemptionRule* find_preemption_rule(const std::string& name);

}  // namespace berth::sim
