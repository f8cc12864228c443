// Parses "name:key=value:key=value" for ranking strategies and preemption rules, which are registered by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

struct Names {
  const char* what;  ///< "strategy", "rule": for errors
  std::vector<std::string> all;
  std::vector<std::string> with_first{};  ///< of these, with a parameter written first (ParameterInfo::first)
};
template <class Info>
[[nodiscard]] Names names_of(const char* what, const Catalogue<Info>& of) {
  Names out{what, {}};
  for (const Info* info : of.all()) {
    out.all.push_back(info->name);
    for (const ParameterInfo& parameter : info->parameters)
      if (parameter.first) out.with_first.push_back(info->name);
  }
  return out;
}

[[nodiscard]] InputError unknown_name(const Names& names, std::string_view text, std::string_view name);
/// Splits `text` into its parts; the name must be one of `names`. Does not check parameters.
[[nodiscard]] Result<StrategySpec> split_spec(const Names& names, std::string_view text);
/// Values of all parameters, with defaults. `weights`: the names themselves are numeric parameters too.
[[nodiscard]] Result<Parameters> check_parameters(const Names& names, const StrategySpec& spec,
                                                  const std::vector<ParameterInfo>& parameters, bool weights);

}  // namespace berth::strategy
