#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/edit_distance.h"
#include "base/text.h"
#include "strategy/builtin.h"
#include "strategy/parsing.h"

namespace berth::strategy {
namespace {

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 60));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return out;
}

InputError problem_with(const Names& names, std::string_view text, std::string problem, std::string what_to_do) {
  return {fmt::format("{} '{}'", names.what, shown(text)), "", std::move(problem), std::move(what_to_do)};
}

}  // namespace

std::string nearest_and_valid(std::string_view said, const std::vector<std::string>& valid) {
  std::string all;
  for (const std::string& name : valid) all += (all.empty() ? "" : ", ") + name;
  return base::did_you_mean(said, valid) + (all.empty() ? "there are none" : "valid: " + all);
}

double Parameters::number(const std::string& name) const { return *base::parse_double(values_.at(name)); }

std::string StrategySpec::text() const {
  std::string out = name;
  for (const auto& [key, value] : arguments) out += key.empty() ? ":" + value : fmt::format(":{}={}", key, value);
  return out;
}

InputError unknown_name(const Names& names, std::string_view text, std::string_view name) {
  return problem_with(names, text, fmt::format("there is no such {}", names.what), nearest_and_valid(name, names.all));
}

Result<StrategySpec> split_spec(const Names& names, std::string_view text) {
  const auto parts = base::split(text, ':');
  StrategySpec spec{std::string(base::trim_space(parts[0])), {}};
  if (std::find(names.all.begin(), names.all.end(), spec.name) == names.all.end())
    return tl::unexpected(unknown_name(names, text, spec.name));
  const bool with_first =
      std::find(names.with_first.begin(), names.with_first.end(), spec.name) != names.with_first.end();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (i == 1 && with_first) {
      spec.arguments.emplace_back("", base::trim_space(parts[i]));
      continue;
    }
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos || equals == 0)
      return tl::unexpected(
          problem_with(names, text, fmt::format("'{}' is no parameter", shown(parts[i])), "write name:key=value"));
    spec.arguments.emplace_back(base::trim_space(parts[i].substr(0, equals)),
                                base::trim_space(parts[i].substr(equals + 1)));
  }
  return spec;
}

Result<Parameters> check_parameters(const Names& names, const StrategySpec& spec,
                                    const std::vector<ParameterInfo>& parameters, bool weights) {
  std::map<std::string, std::string> values;
  for (const ParameterInfo& parameter : parameters) values[parameter.name] = parameter.fallback;
  const auto bad = [&](std::string problem, std::string what_to_do) {
    return tl::unexpected(problem_with(names, spec.text(), std::move(problem), std::move(what_to_do)));
  };
  std::map<std::string, bool> given;
  for (const auto& [written, value] : spec.arguments) {
    const auto parameter = std::find_if(parameters.begin(), parameters.end(), [&](const ParameterInfo& p) {
      return written.empty() ? p.first : p.name == written;
    });
    const std::string key = parameter == parameters.end() ? written : parameter->name;
    if (given[key]) return bad(fmt::format("parameter '{}' is given twice", shown(key)), "remove one");
    given[key] = true;
    const auto cannot_be = [&](std::string what_to_do) {
      return bad(fmt::format("'{}' cannot be '{}'", shown(key), shown(value)), std::move(what_to_do));
    };
    const auto number = base::parse_double(value);
    if (parameter == parameters.end()) {
      if (!weights || std::find(names.all.begin(), names.all.end(), key) == names.all.end()) {
        std::vector<std::string> valid;
        for (const ParameterInfo& p : parameters) valid.push_back(p.name);
        if (weights) valid.insert(valid.end(), names.all.begin(), names.all.end());
        return bad(fmt::format("there is no parameter '{}'", shown(key)), nearest_and_valid(key, valid));
      }
      if (!number || !std::isfinite(*number))
        return bad(fmt::format("'{}' is no weight", shown(value)), fmt::format("write a number, e.g. {}=0.5", key));
    } else if (parameter->check) {
      // Below, with the parameters that are not given.
    } else if (parameter->reads) {
      if (!parameter->reads(value)) return cannot_be(fmt::format("use {}", parameter->meaning));
    } else if (!parameter->choices.empty()) {
      if (std::find(parameter->choices.begin(), parameter->choices.end(), value) == parameter->choices.end())
        return cannot_be(nearest_and_valid(value, parameter->choices));
    } else if (!number || !(*number >= parameter->min && *number <= parameter->max)) {
      return cannot_be(fmt::format("use {} to {}", parameter->min, parameter->max));
    }
    values[key] = value;
  }
  for (const ParameterInfo& parameter : parameters)
    if (parameter.check)
      if (auto fine = parameter.check(values[parameter.name]); !fine) return tl::unexpected(fine.error());
  return Parameters(std::move(values));
}

Result<StrategySpec> Registry::parse(std::string_view text) const {
  const Names names = names_of("strategy", *this);
  auto spec = split_spec(names, text);
  if (!spec) return spec;
  const StrategyInfo& info = *find(spec->name);
  if (auto checked = check_parameters(names, *spec, info.parameters, info.open_parameters); !checked)
    return tl::unexpected(checked.error());
  return spec;
}

Result<std::unique_ptr<Ranker>> Registry::make(const StrategySpec& spec, const Context& context) const {
  const Names names = names_of("strategy", *this);
  const StrategyInfo* info = find(spec.name);
  if (!info) return tl::unexpected(unknown_name(names, spec.text(), spec.name));
  auto parameters = check_parameters(names, spec, info->parameters, info->open_parameters);
  if (!parameters) return tl::unexpected(parameters.error());
  return info->make(context, *parameters, *this);
}

Result<std::unique_ptr<Ranker>> Registry::make_fit(const StrategySpec& spec, const Context& context) const {
  const StrategyInfo* info = find(spec.name);
  Result<std::unique_ptr<Ranker>> out;
  if (!info || !info->samples) out = make(spec, context);
  if (!out || (*out && (*out)->fit())) return out;
  return tl::unexpected(problem_with({"strategy", {}}, spec.text(), "is not a score of each node for itself",
                                     "a strategy that searches, draws or rescales cannot score the fit: use e.g. "
                                     "best-fit"));
}

Registry& registry() {
  static Registry the = [] {
    Registry made;
    add_builtin(made);
    return made;
  }();
  return the;
}

}  // namespace berth::strategy
