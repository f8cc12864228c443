#include "strategy/eviction_rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <tuple>

#include "preempt/victims.h"
#include "rank/components.h"

namespace berth::strategy {
namespace {

using Positions = Victims;
using Wide = std::array<std::int64_t, kDimensions>;

/// Missing amounts; negative: more than enough is free.
Wide missing_of(const Shortage& s) {
  Wide out{};
  for (std::size_t d = 0; d < kDimensions; ++d) out[d] = std::int64_t{s.ask[d]} - s.free[d];
  return out;
}
void subtract(Wide& from, const Amounts& amounts) {
  for (std::size_t d = 0; d < kDimensions; ++d) from[d] -= amounts[d];
}
void add(Wide& to, const Amounts& amounts) {
  for (std::size_t d = 0; d < kDimensions; ++d) to[d] += amounts[d];
}
bool met(const Wide& missing) {
  return std::all_of(missing.begin(), missing.end(), [](std::int64_t m) { return m <= 0; });
}

/// How much of the missing amounts a candidate frees, as a share of the request, summed over dimensions.
double worth(const Shortage& s, const Wide& missing, const Evictable& candidate) {
  double sum = 0;
  for (std::size_t d = 0; d < kDimensions; ++d)
    if (missing[d] > 0)
      sum +=
          static_cast<double>(std::min<std::int64_t>(candidate.amounts[d], missing[d])) / static_cast<double>(s.ask[d]);
  return sum;
}

/// Positions in order of importance: higher priority, then earlier start, then earlier position.
Positions by_importance(const Shortage& s, Positions positions) {
  std::stable_sort(positions.begin(), positions.end(), [&](std::uint32_t a, std::uint32_t b) {
    const Evictable &x = s.candidates[a], &y = s.candidates[b];
    return x.priority != y.priority ? x.priority > y.priority : x.start_ns < y.start_ns;
  });
  return positions;
}

Positions all_of(const Shortage& s) {
  Positions out(s.candidates.size());
  std::iota(out.begin(), out.end(), 0U);
  return out;
}

/// Drops victims that are not needed, in this order. The result is inclusion-minimal.
Positions reprieve_in_order(const Shortage& s, const Positions& victims) {
  Wide missing = missing_of(s);
  for (const std::uint32_t v : victims) subtract(missing, s.candidates[v].amounts);
  Positions out;
  for (const std::uint32_t v : victims) {
    add(missing, s.candidates[v].amounts);
    if (met(missing)) continue;
    subtract(missing, s.candidates[v].amounts);
    out.push_back(v);
  }
  std::sort(out.begin(), out.end());
  return out;
}

/// The same, most important first.
Positions reprieve(const Shortage& s, const Positions& victims) {
  return reprieve_in_order(s, by_importance(s, victims));
}

Positions kubernetes(const Shortage& s) {
  Positions order = by_importance(s, all_of(s));
  if (const std::vector<bool> beyond = beyond_budget(s); !beyond.empty())
    std::stable_partition(order.begin(), order.end(), [&](std::uint32_t v) { return beyond[v]; });
  return reprieve_in_order(s, order);
}

/// Repeatedly takes the candidate of least `cost(candidate, worth)` that frees a missing amount, until it is enough.
template <class Cost>
Positions greedy(const Shortage& s, const Positions& from, Cost cost) {
  Wide missing = missing_of(s);
  Positions out, left = from;
  while (!met(missing) && !left.empty()) {
    std::size_t best = left.size();
    double best_cost = 0;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const Evictable& candidate = s.candidates[left[i]];
      const double brings = worth(s, missing, candidate);
      if (brings <= 0) continue;
      if (const double c = cost(candidate, brings); best == left.size() || c < best_cost) best = i, best_cost = c;
    }
    if (best == left.size()) break;
    subtract(missing, s.candidates[left[best]].amounts);
    out.push_back(left[best]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
  }
  return reprieve(s, out);
}

Positions greedy_fewest(const Shortage& s) {
  return greedy(s, all_of(s), [](const Evictable&, double brings) { return -brings; });
}
Positions greedy_priority(const Shortage& s, const Positions& from) {
  return greedy(s, from, [](const Evictable& c, double brings) { return (double(c.priority) + 1) / brings; });
}
Positions greedy_lexicographic(const Shortage& s) {
  // The lowest priority up to which all candidates together are enough.
  Positions sorted = all_of(s);
  std::stable_sort(sorted.begin(), sorted.end(), [&](std::uint32_t a, std::uint32_t b) {
    return s.candidates[a].priority < s.candidates[b].priority;
  });
  Wide missing = missing_of(s);
  std::size_t taken = 0;
  while (taken < sorted.size() && !met(missing)) subtract(missing, s.candidates[sorted[taken++]].amounts);
  const std::int32_t highest = s.candidates[sorted[taken - 1]].priority;
  while (taken < sorted.size() && s.candidates[sorted[taken]].priority == highest) ++taken;
  sorted.resize(taken);
  std::sort(sorted.begin(), sorted.end());
  return greedy_priority(s, sorted);
}

Positions nomads(const Shortage& s) {
  Positions out;
  Wide missing = missing_of(s);
  // Devices first, by priority; then engine/preempt chooses for the other amounts.
  Positions rest = all_of(s);
  std::stable_sort(rest.begin(), rest.end(), [&](std::uint32_t a, std::uint32_t b) {
    return s.candidates[a].priority < s.candidates[b].priority;
  });
  for (std::size_t i = 0; i < rest.size() && missing[kGpu] > 0;) {
    if (s.candidates[rest[i]].amounts[kGpu] == 0) {
      ++i;
      continue;
    }
    subtract(missing, s.candidates[rest[i]].amounts);
    out.push_back(rest[i]);
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (!met(missing)) {
    std::sort(rest.begin(), rest.end());
    std::vector<preempt::Candidate> candidates;
    model::FlatResources room, ask;
    ask.cpu_mhz = s.ask[kCpu], ask.memory_mb = ask.memory_max_mb = s.ask[kMemory], ask.disk_mb = s.ask[kDisk];
    Wide all{};
    for (std::size_t d = 0; d < kDimensions; ++d) all[d] = s.ask[d] - missing[d];
    std::int64_t highest = 0;
    for (const std::uint32_t v : rest) {
      const Evictable& from = s.candidates[v];
      preempt::Candidate candidate;
      candidate.cpu_mhz = from.amounts[kCpu], candidate.memory_mb = from.amounts[kMemory];
      candidate.disk_mb = from.amounts[kDisk], candidate.priority = from.priority;
      candidates.push_back(candidate);
      add(all, from.amounts);
      highest = std::max<std::int64_t>(highest, from.priority);
    }
    room.cpu_mhz = all[kCpu], room.memory_mb = room.memory_max_mb = all[kMemory], room.disk_mb = all[kDisk];
    preempt::Scratch scratch;
    preempt::Victims victims;
    preempt::choose_for_resources(highest + preempt::kMinPriorityDelta, room, ask, candidates, scratch, victims);
    for (const std::uint32_t v : victims) out.push_back(rest[v]);
  }
  std::sort(out.begin(), out.end());
  return out;
}

Positions by_fragments(const Shortage& s) {
  Positions order = all_of(s);
  std::erase_if(order, [&](std::uint32_t v) { return !(s.candidates[v].fragment_gain > 0); });
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return s.candidates[a].fragment_gain > s.candidates[b].fragment_gain;
  });
  Wide missing = missing_of(s);
  Positions out;
  for (std::size_t i = 0; i < order.size() && !met(missing); ++i) {
    subtract(missing, s.candidates[order[i]].amounts);
    out.push_back(order[i]);
  }
  if (!met(missing)) return greedy_lexicographic(s);
  std::sort(out.begin(), out.end());
  return out;
}

using Objective = std::tuple<double, double, double, double>;

/// Depth-first search over candidates by position. Tries each candidate as a victim first, so that the smallest list of
/// positions comes first among equals. Skips branches that cannot be enough, that cannot improve on the best so far,
/// and those that take a candidate after an equal one was left out.
class Exact {
 public:
  Exact(VictimRule rule, const Shortage& s)
      : rule_(rule), s_(s), rest_(s.candidates.size() + 1), equal_before_(s.candidates.size(), kNone) {
    for (std::size_t i = s.candidates.size(); i-- > 0;) {
      rest_[i] = rest_[i + 1];
      rest_[i].take(s.candidates[i], extra());
      for (std::size_t j = i; j-- > 0 && equal_before_[i] == kNone;)
        if (s.candidates[j].amounts == s.candidates[i].amounts && s.candidates[j].priority == s.candidates[i].priority)
          equal_before_[i] = j;
    }
  }
  /// `start`: a sufficient choice; its objective bounds the search.
  Positions solve(Positions start) {
    limited_ = s_.candidates.size() > kExactCandidates;
    for (const std::uint32_t v : start) take(v);
    taken_ = std::move(start);
    best_ = taken_, best_objective_ = objective(cost_of(s_, taken_, 0).overshoot);
    taken_.clear(), sum_ = 0, highest_ = 0;
    in_.assign(s_.candidates.size(), false);
    walk(0, missing_of(s_));
    return best_;
  }
  [[nodiscard]] bool cut_off() const { return limited_ && steps_ > kExactSteps; }

 private:
  static constexpr std::size_t kNone = SIZE_MAX;

  /// Aggregates of the candidates from one position on.
  struct Rest {
    Wide sum{}, most{};                            ///< amounts: sum, maximum
    std::array<double, kDimensions> least_cost{};  ///< per unit of the amount; infinite if no candidate has any
    Rest() { least_cost.fill(std::numeric_limits<double>::infinity()); }
    void take(const Evictable& candidate, double extra) {
      for (std::size_t d = 0; d < kDimensions; ++d) {
        const std::int64_t amount = candidate.amounts[d];
        sum[d] += amount, most[d] = std::max(most[d], amount);
        if (amount > 0)
          least_cost[d] = std::min(least_cost[d], (candidate.priority + extra) / static_cast<double>(amount));
      }
    }
  };
  /// Cost of a victim in addition to its priority.
  [[nodiscard]] double extra() const { return rule_ == VictimRule::exact_priority ? 1 : 0; }

  [[nodiscard]] Objective objective(double overshoot) const { return objective_of(0, 0, overshoot); }
  /// Objective of the victims so far plus at least `count` more with at least `cost` more.
  [[nodiscard]] Objective objective_of(double count, double cost, double overshoot) const {
    count += static_cast<double>(taken_.size());
    switch (rule_) {
      case VictimRule::exact_fewest:
        return {count, sum_ + cost, overshoot, 0};
      case VictimRule::exact_priority:
        return {sum_ + static_cast<double>(taken_.size()) + cost, count, 0, 0};
      default:
        return {highest_, sum_ + cost, count, overshoot};
    }
  }
  /// Lower bound of all choices that extend the present one. Excludes the overshoot, which is no lower bound before the
  /// end. The cost is rounded up to whole priorities, as all costs are whole; 1e-6 absorbs rounding errors.
  [[nodiscard]] Objective bound(const Rest& rest, const Wide& missing) const {
    double count = 0, cost = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      if (missing[d] <= 0 || rest.most[d] <= 0) continue;
      const auto need = static_cast<double>(missing[d]);
      count = std::max(count, std::ceil(need / static_cast<double>(rest.most[d])));
      cost = std::max(cost, std::ceil(need * rest.least_cost[d] - 1e-6));
    }
    return objective_of(count, cost, 0);
  }
  void take(std::uint32_t v) {
    sum_ += s_.candidates[v].priority;
    highest_ = std::max<double>(highest_, s_.candidates[v].priority);
  }
  /// True if better than the best so far, or equal to it while that is still `start`.
  [[nodiscard]] bool improves(const Objective& here) const {
    return found_ ? here < best_objective_ : here <= best_objective_;
  }

  void walk(std::size_t i, const Wide& missing) {
    if (limited_ && ++steps_ > kExactSteps) return;
    if (met(missing)) {
      double overshoot = 0;
      for (std::size_t d = 0; d < kDimensions; ++d)
        if (s_.capacity[d] > 0) overshoot += static_cast<double>(-missing[d]) / s_.capacity[d];
      if (const Objective here = objective(overshoot); improves(here))
        best_ = taken_, best_objective_ = here, found_ = true;
      return;  // more victims are never better
    }
    const Rest& rest = rest_[i];
    for (std::size_t d = 0; d < kDimensions; ++d)
      if (missing[d] > rest.sum[d]) return;
    if (!improves(bound(rest, missing))) return;
    const Evictable& candidate = s_.candidates[i];
    if (equal_before_[i] == kNone || in_[equal_before_[i]]) {
      const double sum = sum_, highest = highest_;
      Wide less = missing;
      subtract(less, candidate.amounts);
      const auto v = static_cast<std::uint32_t>(i);
      taken_.push_back(v), in_[i] = true, take(v);
      walk(i + 1, less);
      taken_.pop_back(), in_[i] = false, sum_ = sum, highest_ = highest;
    }
    walk(i + 1, missing);
  }

  VictimRule rule_;
  const Shortage& s_;
  std::vector<Rest> rest_;
  std::vector<std::size_t> equal_before_;
  std::vector<bool> in_;
  Positions taken_, best_;
  double sum_ = 0, highest_ = 0;
  Objective best_objective_{};
  bool found_ = false, limited_ = false;
  std::uint64_t steps_ = 0;
};

constexpr const char* kBranchAndBound = "optimum, by branch and bound";
constexpr const char* kExponential =
    "exponential in m; beyond 20 candidates 20,000 steps, then the best so far, counted as unproven";

constexpr PreemptionRule kRules[] = {
    {"nomad", VictimRule::nomad, NodeRule::nomad, NodeSearch::all,
     "lowest priorities, least distance to what is needed", "Nomad", "O(m^2)"},
    {"kubernetes", VictimRule::kubernetes, NodeRule::kubernetes, NodeSearch::all,
     "all, then back in order of importance, those beyond their disruption budget first",
     "Kubernetes, DefaultPreemption", "O(m log m)"},
    {"kubernetes-sampled", VictimRule::kubernetes, NodeRule::kubernetes, NodeSearch::kubernetes,
     "as kubernetes, of the first max(100, 10 %) nodes where it helps, from a random one on",
     "Kubernetes, DefaultPreemption: minCandidateNodesAbsolute, minCandidateNodesPercentage", "O(m log m)"},
    {"fewest", VictimRule::fewest, NodeRule::fewest, NodeSearch::all, "greedy: most of what is needed first",
     "greedy multidimensional covering", "O(m^2)"},
    {"least-priority", VictimRule::least_priority, NodeRule::least_priority, NodeSearch::all,
     "greedy: least (priority + 1) per part of what is needed", "greedy weighted covering", "O(m^2)"},
    {"lexicographic", VictimRule::lexicographic, NodeRule::lexicographic, NodeSearch::all,
     "no higher priority than needed, then as least-priority", "greedy", "O(m^2)"},
    {"least-overshoot", VictimRule::lexicographic, NodeRule::overshoot, NodeSearch::all,
     "as lexicographic; node with least freed in vain", "greedy", "O(m^2)"},
    {"least-run-time", VictimRule::lexicographic, NodeRule::run_time, NodeSearch::all,
     "as lexicographic; node with least run time lost", "greedy", "O(m^2)"},
    {"fragments", VictimRule::fragments, NodeRule::lexicographic, NodeSearch::all,
     "greatest gain in the fragment measure first", "Weng et al., USENIX ATC 2023 (measure)",
     "O(m log m), and the measure per candidate"},
    {"exact-fewest", VictimRule::exact_fewest, NodeRule::fewest, NodeSearch::all,
     "least (count, priorities, overshoot)", kBranchAndBound, kExponential},
    {"exact-priority", VictimRule::exact_priority, NodeRule::least_priority, NodeSearch::all,
     "least (sum of priority + 1, count)", kBranchAndBound, kExponential},
    {"exact-lexicographic", VictimRule::exact_lexicographic, NodeRule::lexicographic, NodeSearch::all,
     "least (highest, sum of priorities, count, overshoot)", kBranchAndBound, kExponential},
};

}  // namespace

bool enough(const Shortage& s, std::span<const std::uint32_t> victims) {
  Wide missing = missing_of(s);
  for (const std::uint32_t v : victims) subtract(missing, s.candidates[v].amounts);
  return met(missing);
}

std::vector<bool> beyond_budget(const Shortage& s) {
  const auto has_budget = [](const Evictable& candidate) { return candidate.may_go != kNoBudget; };
  if (std::none_of(s.candidates.begin(), s.candidates.end(), has_budget)) return {};
  std::vector<bool> out(s.candidates.size(), false);
  std::map<std::uint32_t, std::int32_t> counted;  // candidates by group
  for (const std::uint32_t v : by_importance(s, all_of(s)))
    if (const Evictable& candidate = s.candidates[v]; has_budget(candidate))
      out[v] = ++counted[candidate.group] > candidate.may_go;
  return out;
}

std::optional<Victims> choose_victims(VictimRule rule, const Shortage& s, bool* unproven) {
  if (met(missing_of(s))) return Positions{};
  if (!enough(s, all_of(s))) return std::nullopt;
  switch (rule) {
    case VictimRule::nomad:
      return nomads(s);
    case VictimRule::kubernetes:
      return kubernetes(s);
    case VictimRule::fewest:
      return greedy_fewest(s);
    case VictimRule::least_priority:
      return greedy_priority(s, all_of(s));
    case VictimRule::lexicographic:
      return greedy_lexicographic(s);
    case VictimRule::fragments:
      return by_fragments(s);
    default: {
      Exact search(rule, s);
      Positions found = search.solve(rule == VictimRule::exact_fewest     ? greedy_fewest(s)
                                     : rule == VictimRule::exact_priority ? greedy_priority(s, all_of(s))
                                                                          : greedy_lexicographic(s));
      if (unproven && search.cut_off()) *unproven = true;
      return found;
    }
  }
}

EvictionCost cost_of(const Shortage& s, std::span<const std::uint32_t> victims, std::int64_t now_ns) {
  EvictionCost out;
  Wide missing = missing_of(s);
  out.count = victims.size();
  const std::vector<bool> beyond = beyond_budget(s);
  for (const std::uint32_t v : victims) {
    const Evictable& victim = s.candidates[v];
    out.beyond_budget += !beyond.empty() && beyond[v];
    subtract(missing, victim.amounts);
    out.priorities += victim.priority;
    out.run_time_s += static_cast<double>(now_ns - victim.start_ns) * 1e-9;
    if (out.highest < victim.priority || &victim == &s.candidates[victims.front()])
      out.highest = victim.priority, out.highest_started_ns = victim.start_ns;
    else if (out.highest == victim.priority)
      out.highest_started_ns = std::min(out.highest_started_ns, victim.start_ns);
  }
  for (std::size_t d = 0; d < kDimensions; ++d)
    if (s.capacity[d] > 0) out.overshoot += static_cast<double>(std::max<std::int64_t>(0, -missing[d])) / s.capacity[d];
  return out;
}

NodeKey node_key(NodeRule rule, const EvictionCost& cost, double fit_score) {
  const auto count = static_cast<double>(cost.count), sum = static_cast<double>(cost.priorities);
  const double highest = cost.highest;
  switch (rule) {
    case NodeRule::nomad: {
      // R-PREEMPT-701: highest + sum / highest; 0 if no priority is above 0.
      const double net = highest > 0 ? highest + sum / highest : 0;
      return {-(fit_score + rank::preemption_score(net)) / 2};
    }
    case NodeRule::kubernetes:
      return {static_cast<double>(cost.beyond_budget), highest, sum + count * 2147483648.0, count,
              -static_cast<double>(cost.highest_started_ns)};
    case NodeRule::fewest:
      return {count, sum, cost.overshoot};
    case NodeRule::least_priority:
      return {sum + count, count};
    case NodeRule::lexicographic:
      return {highest, sum, count, cost.overshoot};
    case NodeRule::overshoot:
      return {cost.overshoot, highest, sum, count};
    case NodeRule::run_time:
      return {cost.run_time_s, highest, sum, count};
  }
  return {};
}

std::span<const PreemptionRule> preemption_rules() { return kRules; }

}  // namespace berth::strategy
