#include "compare/choices.h"

#include <fmt/format.h>

#include "base/text.h"
#include "berth/queue.h"

namespace berth::compare {

Result<void> find_preemption(const std::string& text, NamedStrategy& named) {
  auto spec = strategy::preemption_registry().parse(text);
  if (!spec) return tl::unexpected(spec.error());
  named.rule = std::move(*spec);
  return {};
}

Result<void> find_queue(const std::string& text, NamedStrategy& named) {
  auto spec = strategy::queue_registry().parse(text);
  if (!spec) return tl::unexpected(spec.error());
  named.queue = std::move(*spec);
  return {};
}

Result<void> find_rebalance(const std::string& name, NamedStrategy& named) {
  std::vector<std::string> valid;
  for (const packing::RebalanceInfo& info : packing::rebalance_rules()) {
    if (info.name == name) named.rebalance = &info;
    valid.emplace_back(info.name);
  }
  if (named.rebalance) return {};
  return tl::unexpected(InputError{"rebalance", "",
                                   fmt::format("there is no rule '{}'", base::shown(name.substr(0, 40))),
                                   strategy::nearest_and_valid(name, valid)});
}

Result<packing::Eligibility> parse_eligibility(const std::string& option, const std::string& text) {
  if (text == "nomad") return packing::Eligibility::nomad;
  if (text == "kubernetes") return packing::Eligibility::kubernetes;
  return tl::unexpected(InputError{option, "", fmt::format("there is no '{}'", base::shown(text.substr(0, 40))),
                                   "write nomad or kubernetes"});
}

Result<packing::Budgets> parse_budget(const std::string& option, const std::string& text) {
  if (text == "none") return packing::Budgets{};
  if (text == "migrate") return packing::Budgets{.by_migrate = true, .of_each = {}};
  const auto number = base::parse_int64(text);
  if (!number || *number < 0 || *number >= strategy::kNoBudget)
    return tl::unexpected(InputError{option, "", fmt::format("'{}' is no budget", base::shown(text.substr(0, 40))),
                                     "write none, migrate, or how many tasks of a group may be away at a time"});
  return packing::Budgets{.by_migrate = false, .of_each = static_cast<std::int32_t>(*number)};
}

}  // namespace berth::compare
