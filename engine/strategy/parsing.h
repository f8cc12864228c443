// Reading "name:key=value:key=value" for whatever is registered by name: ranking strategies, preemption rules.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

struct Names {
  const char* what;  ///< "strategy", "rule": for errors
  std::vector<std::string> all;
};
template <class Info>
[[nodiscard]] Names names_of(const char* what, const Catalogue<Info>& of) {
  Names out{what, {}};
  for (const Info* info : of.all()) out.all.push_back(info->name);
  return out;
}

[[nodiscard]] InputError unknown_name(const Names& names, std::string_view text, std::string_view name);
/// The parts of `text`; its name must be one of them. Parameters are not looked at.
[[nodiscard]] Result<StrategySpec> split_spec(const Names& names, std::string_view text);
/// Values of all parameters, defaults filled in. `weights`: the names themselves are parameters too, numbers.
[[nodiscard]] Result<Parameters> check_parameters(const Names& names, const StrategySpec& spec,
                                                  const std::vector<ParameterInfo>& parameters, bool weights);

}  // namespace berth::strategy
