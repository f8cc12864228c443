#include "berth/preemption.h"
#include "strategy/eviction_rules.h"
#include "strategy/parsing.h"

namespace berth::strategy {
namespace {

constexpr std::pair<const char*, NodeRule> kNodeRules[] = {{"nomad", NodeRule::nomad},
                                                           {"kubernetes", NodeRule::kubernetes},
                                                           {"fewest", NodeRule::fewest},
                                                           {"least-priority", NodeRule::least_priority},
                                                           {"lexicographic", NodeRule::lexicographic},
                                                           {"least-overshoot", NodeRule::overshoot},
                                                           {"least-run-time", NodeRule::run_time}};

/// A built-in pair of a victim rule and a node rule.
struct BuiltIn {
  VictimRule rule;
  NodeRule node;
  [[nodiscard]] std::optional<Victims> victims(const Shortage& shortage, bool* unproven = nullptr) const {
    return choose_victims(rule, shortage, unproven);
  }
  [[nodiscard]] NodeKey node_key(const Shortage& shortage, const EvictionCost& cost) const {
    return strategy::node_key(node, cost, shortage.fit_score);
  }
};

PreemptionInfo info_of(const PreemptionRule& rule) {
  ParameterInfo node{.name = "node", .fallback = "", .meaning = "how nodes with victims are compared"};
  for (const auto& [name, known] : kNodeRules) {
    node.choices.emplace_back(name);
    if (known == rule.node) node.fallback = name;
  }
  return {.name = rule.name,
          .formula = rule.formula,
          .source = rule.source,
          .cost = rule.cost,
          .search = rule.search,
          .fragments = rule.victims == VictimRule::fragments,
          .parameters = {std::move(node)},
          .make = [victims = rule.victims](const Parameters& p) -> Result<std::unique_ptr<Evictor>> {
            const auto* const chosen = std::find_if(std::begin(kNodeRules), std::end(kNodeRules),
                                                    [&](const auto& one) { return one.first == p.word("node"); });
            return make_evictor(BuiltIn{victims, chosen->second});
          }};
}

}  // namespace

Result<StrategySpec> PreemptionRegistry::parse(std::string_view text) const {
  const Names names = names_of("rule", *this);
  auto spec = split_spec(names, text);
  if (!spec) return spec;
  if (auto checked = check_parameters(names, *spec, find(spec->name)->parameters, false); !checked)
    return tl::unexpected(checked.error());
  return spec;
}

Result<std::unique_ptr<Evictor>> PreemptionRegistry::make(const StrategySpec& spec) const {
  const Names names = names_of("rule", *this);
  const PreemptionInfo* info = find(spec.name);
  if (!info) return tl::unexpected(unknown_name(names, spec.text(), spec.name));
  auto parameters = check_parameters(names, spec, info->parameters, false);
  if (!parameters) return tl::unexpected(parameters.error());
  return info->make(*parameters);
}

PreemptionRegistry& preemption_registry() {
  static PreemptionRegistry the = [] {
    PreemptionRegistry made;
    for (const PreemptionRule& rule : preemption_rules()) made.add(info_of(rule));
    return made;
  }();
  return the;
}

}  // namespace berth::strategy
