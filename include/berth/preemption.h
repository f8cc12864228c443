// Preemption rules: which tasks to evict, and on which node, if a task fits nowhere. Comparable because everything but
// the rule is shared: eligible victims, the meaning of "enough", the order of nodes, the tie rule (the node visited
// first).
//
// A rule is a value with two pure functions:
//
//   struct YoungestFirst {
//     std::optional<Victims> victims(const Shortage& shortage) const { ... }                  // on one node
//     NodeKey node_key(const Shortage&, const EvictionCost& cost) const { return {cost.run_time_s}; }  // least is best
//   };
//   berth::strategy::preemption_registry().add("youngest-first", "latest start first", YoungestFirst{});
//
// They are compiled into a loop over nodes (Evictor::find): one virtual call per batch of nodes, none per node.
// Selected by name and parameters at run time from preemption_registry(), a user's rule like berth's own.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/catalogue.h"
#include "berth/fleet.h"
#include "berth/result.h"
#include "berth/strategy.h"

namespace berth::strategy {

inline constexpr std::int32_t kNoBudget = INT32_MAX;

/// A task on the node that may be evicted.
struct Evictable {
  Amounts amounts{};  ///< freed by its eviction; [kGpu]: on the devices in question
  std::int32_t priority = 0;
  std::int64_t start_ns = 0;
  double fragment_gain = 0;         ///< F(node) - F(node without it); 0 if the rule does not need it
  std::uint32_t group = 0;          ///< group with the disruption budget
  std::int32_t may_go = kNoBudget;  ///< further evictions that the group's budget allows; equal for all of a group
};

/// A node that lacks room for a task. The fourth amount is thousandths of GPU on the devices in question, which the
/// caller chooses (R-STRAT-818); a node may appear with several choices. "Enough" means free + the victims' amounts >=
/// ask in every dimension.
struct Shortage {
  Amounts ask{}, free{}, capacity{};      ///< free may be negative
  std::span<const Evictable> candidates;  ///< only eligible ones, in order of their IDs
  std::int64_t now_ns = 0;
  double fit_score = 0;  ///< Nomad's fit score with the task added and no task evicted (R-STRAT-821)
};

/// Positions in Shortage::candidates, ascending.
using Victims = std::vector<std::uint32_t>;

/// Cost of a choice of victims (R-STRAT-801).
struct EvictionCost {
  std::size_t count = 0;
  std::size_t beyond_budget = 0;  ///< victims beyond their disruption budget
  std::int64_t priorities = 0;
  std::int32_t highest = 0;             ///< 0 without victims
  double overshoot = 0;                 ///< sum over dimensions of max(0, free + freed - ask) / capacity
  double run_time_s = 0;                ///< sum of now - start
  std::int64_t highest_started_ns = 0;  ///< earliest start among the victims of the highest priority
};
[[nodiscard]] EvictionCost cost_of(const Shortage& shortage, std::span<const std::uint32_t> victims,
                                   std::int64_t now_ns);
[[nodiscard]] bool enough(const Shortage& shortage, std::span<const std::uint32_t> victims);

/// Smaller is better, compared in order.
using NodeKey = std::array<double, 5>;

template <class R>
concept PreemptionRuleLike = requires(const R& rule, const Shortage& shortage, const EvictionCost& cost) {
  { rule.victims(shortage) } -> std::same_as<std::optional<Victims>>;
  { rule.node_key(shortage, cost) } -> std::same_as<NodeKey>;
};
/// A rule whose search may be cut off; it then sets *unproven.
template <class R>
concept SaysWhatIsUnproven = requires(const R& rule, const Shortage& shortage, bool* unproven) {
  { rule.victims(shortage, unproven) } -> std::same_as<std::optional<Victims>>;
};

/// Answer of a rule for one shortage.
struct Eviction {
  Victims victims;
  EvictionCost cost;
  NodeKey key{};
};

/// A rule, compiled into the loop over nodes.
class Evictor {
 public:
  virtual ~Evictor() = default;
  /// Sets answers[i] for shortages[i]: nullopt if there are no victims, or the rule's answer is not enough. Sets
  /// *unproven if the rule cut off a search; else leaves it unchanged.
  virtual void find(std::span<const Shortage> shortages, std::span<std::optional<Eviction>> answers,
                    bool* unproven) const = 0;
};

template <PreemptionRuleLike R>
class EvictorOf final : public Evictor {
 public:
  explicit EvictorOf(R rule) : rule_(std::move(rule)) {}
  void find(std::span<const Shortage> shortages, std::span<std::optional<Eviction>> answers,
            bool* unproven) const override {
    for (std::size_t i = 0; i < shortages.size(); ++i) {
      const Shortage& shortage = shortages[i];
      std::optional<Victims> victims;
      if constexpr (SaysWhatIsUnproven<R>)
        victims = rule_.victims(shortage, unproven);
      else
        victims = rule_.victims(shortage);
      answers[i].reset();
      if (!victims || !is_answer(shortage, *victims)) continue;
      Eviction& out = answers[i].emplace();
      out.cost = cost_of(shortage, *victims, shortage.now_ns);
      out.key = rule_.node_key(shortage, out.cost);
      out.victims = std::move(*victims);
    }
  }

 private:
  /// True if the positions are ascending, exist and are enough. Checked because a user's rule may be wrong.
  static bool is_answer(const Shortage& shortage, const Victims& victims) {
    return std::adjacent_find(victims.begin(), victims.end(), std::greater_equal<>()) == victims.end() &&
           (victims.empty() || victims.back() < shortage.candidates.size()) && enough(shortage, victims);
  }
  R rule_;
};

template <PreemptionRuleLike R>
[[nodiscard]] std::unique_ptr<Evictor> make_evictor(R rule) {
  return std::make_unique<EvictorOf<R>>(std::move(rule));
}

/// Which nodes are searched for victims.
enum class NodeSearch : std::uint8_t {
  all,         ///< every node
  kubernetes,  ///< R-STRAT-822: from a random one on, round-robin, until enough candidates were found
};
/// kube-scheduler's defaults: the search over n possible nodes ends after max(10 % of n, 100) nodes on which evicting
/// helps, at least one of them within the budgets (minCandidateNodesPercentage, minCandidateNodesAbsolute).
[[nodiscard]] constexpr std::size_t kubernetes_candidates(std::size_t n) { return n / 10 > 100 ? n / 10 : 100; }

struct PreemptionInfo {
  std::string name;
  std::string formula, source, cost;  ///< cost per examined node with m candidates
  NodeSearch search = NodeSearch::all;
  bool fragments = false;  ///< reads Evictable::fragment_gain
  std::vector<ParameterInfo> parameters{};
  std::function<Result<std::unique_ptr<Evictor>>(const Parameters&)> make;
};

class PreemptionRegistry : public Catalogue<PreemptionInfo> {
 public:
  using Catalogue::add;
  /// Adds a rule without parameters, e.g. a user's own.
  template <PreemptionRuleLike R>
  void add(std::string name, std::string formula, R rule) {
    add(PreemptionInfo{
        .name = std::move(name),
        .formula = std::move(formula),
        .source = "user",
        .cost = "the user's",
        .make = [rule](const Parameters&) -> Result<std::unique_ptr<Evictor>> { return make_evictor(rule); }});
  }

  /// Reads "name:key=value" and checks it. Errors name the nearest known name and list the valid ones.
  [[nodiscard]] Result<StrategySpec> parse(std::string_view text) const;
  [[nodiscard]] Result<std::unique_ptr<Evictor>> make(const StrategySpec& spec) const;
};

/// The rules of this program: berth's own and added ones. Not for concurrent changes.
[[nodiscard]] PreemptionRegistry& preemption_registry();

}  // namespace berth::strategy
