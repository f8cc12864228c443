#include "study/compared.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "compare/choices.h"
#include "sim/named_strategy.h"

namespace berth::study {
namespace {

constexpr std::string_view kPrefix = "compare.";

/// The value of a choice; null if not given.
const std::string* chosen(const SplitChanges& changes, std::string_view key) {
  for (const sim::Change& change : changes.of_compare)
    if (change.key == key) return &change.value;
  return nullptr;
}

tl::unexpected<InputError> bad(std::string_view key, std::string problem, std::string remedy) {
  return tl::unexpected(InputError{fmt::format("{}{}", kPrefix, key), "", std::move(problem), std::move(remedy)});
}

/// Checks that the keys exist and may be combined.
Result<void> check_keys(const sim::Workload& workload, const SplitChanges& changes) {
  const std::vector<std::string> kKeys = {"strategy", "preemption", "eligible", "budget", "rebalance", "ratio"};
  for (const sim::Change& change : changes.of_compare)
    if (std::find(kKeys.begin(), kKeys.end(), change.key) == kKeys.end())
      return bad(base::shown(change.key.substr(0, 40)), "there is no such choice",
                 strategy::nearest_and_valid(change.key, kKeys));
  for (const sim::Change& change : changes.of_workload)
    if (change.key == "strategy")
      return bad("strategy", "and 'strategy' are varied at once",
                 "vary compare.strategy: in comparisons it is what places tasks");
  if (workload.life)
    return bad(changes.of_compare[0].key, "is varied with a workload that has a life, which evicts as its servers do",
               "vary 'strategy' and 'preemption' instead");
  if (chosen(changes, "preemption") && chosen(changes, "rebalance"))
    return bad("preemption", "and compare.rebalance are varied at once", "put them into two [[runs]]");
  for (const auto& [key, with] :
       {std::pair{"eligible", "preemption"}, std::pair{"budget", "preemption"}, std::pair{"ratio", "rebalance"}})
    if (chosen(changes, key) && !chosen(changes, with))
      return bad(key, fmt::format("says nothing without compare.{}", with), "add it, or leave this out");
  return compare::refuse_grid(workload);
}

}  // namespace

SplitChanges split_changes(const std::vector<sim::Change>& changes) {
  SplitChanges out;
  for (const sim::Change& change : changes)
    if (change.key.starts_with(kPrefix))
      out.of_compare.push_back({change.key.substr(kPrefix.size()), change.value});
    else
      out.of_workload.push_back(change);
  return out;
}

Result<compare::GridOptions> read_choices(const sim::Workload& workload, const SplitChanges& changes) {
  if (auto fine = check_keys(workload, changes); !fine) return tl::unexpected(fine.error());
  const auto text_of = [&](std::string_view key, const char* otherwise) {
    const std::string* const text = chosen(changes, key);
    return text ? *text : std::string(otherwise);
  };
  compare::GridOptions out;
  out.seeds = {static_cast<std::int64_t>(workload.seed)}, out.threads = 1, out.quiet = true;
  const std::string placed_by = text_of("strategy", "nomad-binpack");
  auto spec = sim::named_strategy(workload, placed_by);
  if (!spec) return tl::unexpected(spec.error());
  compare::NamedStrategy named{placed_by, std::move(*spec)};
  if (const std::string* const rule = chosen(changes, "preemption"))
    if (auto fine = compare::find_preemption(*rule, named); !fine) return tl::unexpected(fine.error());
  if (const std::string* const rule = chosen(changes, "rebalance"))
    if (auto fine = compare::find_rebalance(*rule, named); !fine) return tl::unexpected(fine.error());
  const auto eligible = compare::parse_eligibility("compare.eligible", text_of("eligible", "nomad"));
  if (!eligible) return tl::unexpected(eligible.error());
  const auto budgets = compare::parse_budget("compare.budget", text_of("budget", "none"));
  if (!budgets) return tl::unexpected(budgets.error());
  const auto ratio = base::parse_double(text_of("ratio", "0.1"));
  if (!ratio || !(*ratio >= 0 && *ratio <= 1))
    return bad("ratio", "is not a part of the placed tasks", "write a number from 0 to 1");
  out.eligible = *eligible, out.budgets = *budgets, out.ratio = *ratio;
  out.strategies.push_back(std::move(named));
  return out;
}

}  // namespace berth::study
