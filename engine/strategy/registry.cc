#include <fmt/format.h>

#include <cmath>

#include "base/edit_distance.h"
#include "base/text.h"
#include "strategy/builtin.h"

namespace berth::strategy {
namespace {

std::string shown(std::string_view text) {
  std::string out(text.substr(0, 60));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) > 0x7e) c = '?';
  return out;
}

InputError problem_with(std::string_view text, std::string problem, std::string what_to_do) {
  return {fmt::format("strategy '{}'", shown(text)), "", std::move(problem), std::move(what_to_do)};
}

}  // namespace

std::string nearest_and_valid(std::string_view said, const std::vector<std::string>& valid) {
  std::string all;
  const std::string* nearest = nullptr;
  std::size_t least = 1 + said.size() / 2;
  for (const std::string& name : valid) {
    all += (all.empty() ? "" : ", ") + name;
    if (const std::size_t d = base::edit_distance(said.substr(0, 60), name); d < least || (d == least && !nearest))
      least = d, nearest = &name;
  }
  const std::string list = all.empty() ? "there are none" : "valid: " + all;
  return nearest ? fmt::format("did you mean '{}'? {}", *nearest, list) : list;
}

double Parameters::number(const std::string& name) const { return *base::parse_double(values_.at(name)); }

std::string StrategySpec::text() const {
  std::string out = name;
  for (const auto& [key, value] : arguments) out += fmt::format(":{}={}", key, value);
  return out;
}

void Registry::add(StrategyInfo info) {
  std::string name = info.name;
  infos_.insert_or_assign(std::move(name), std::move(info));
}

const StrategyInfo* Registry::find(std::string_view name) const {
  const auto found = infos_.find(name);
  return found == infos_.end() ? nullptr : &found->second;
}

std::vector<const StrategyInfo*> Registry::all() const {
  std::vector<const StrategyInfo*> out;
  for (const auto& [name, info] : infos_) out.push_back(&info);
  return out;
}

Result<StrategySpec> Registry::parse(std::string_view text) const {
  const auto parts = base::split(text, ':');
  StrategySpec spec{std::string(base::trim_space(parts[0])), {}};
  const StrategyInfo* info = find(spec.name);
  if (!info) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : infos_) names.push_back(name);
    return tl::unexpected(problem_with(text, "there is no such strategy", nearest_and_valid(spec.name, names)));
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    if (equals == std::string_view::npos || equals == 0)
      return tl::unexpected(
          problem_with(text, fmt::format("'{}' is no parameter", shown(parts[i])), "write name:key=value"));
    spec.arguments.emplace_back(base::trim_space(parts[i].substr(0, equals)),
                                base::trim_space(parts[i].substr(equals + 1)));
  }
  if (auto checked = check(*info, spec); !checked) return tl::unexpected(checked.error());
  return spec;
}

Result<Parameters> Registry::check(const StrategyInfo& info, const StrategySpec& spec) const {
  std::map<std::string, std::string> values;
  std::vector<std::string> names;
  for (const ParameterInfo& parameter : info.parameters) {
    values[parameter.name] = parameter.fallback;
    names.push_back(parameter.name);
  }
  std::map<std::string, bool> given;
  for (const auto& [key, value] : spec.arguments) {
    if (given[key])
      return tl::unexpected(
          problem_with(spec.text(), fmt::format("parameter '{}' is given twice", shown(key)), "remove one"));
    given[key] = true;
    const auto parameter = std::find_if(info.parameters.begin(), info.parameters.end(),
                                        [&](const ParameterInfo& p) { return p.name == key; });
    if (parameter == info.parameters.end()) {
      if (!info.open_parameters || !find(key)) {
        std::vector<std::string> valid = names;
        if (info.open_parameters)
          for (const auto& [name, unused] : infos_) valid.push_back(name);
        return tl::unexpected(problem_with(spec.text(), fmt::format("there is no parameter '{}'", shown(key)),
                                           nearest_and_valid(key, valid)));
      }
      const auto weight = base::parse_double(value);
      if (!weight || !std::isfinite(*weight))
        return tl::unexpected(problem_with(spec.text(), fmt::format("'{}' is no weight", shown(value)),
                                           fmt::format("write a number, e.g. {}=0.5", key)));
      values[key] = value;
      continue;
    }
    if (parameter->reads) {
      if (!parameter->reads(value))
        return tl::unexpected(problem_with(spec.text(), fmt::format("'{}' cannot be '{}'", shown(key), shown(value)),
                                           fmt::format("use {}", parameter->meaning)));
    } else if (!parameter->choices.empty()) {
      if (std::find(parameter->choices.begin(), parameter->choices.end(), value) == parameter->choices.end())
        return tl::unexpected(problem_with(spec.text(), fmt::format("'{}' cannot be '{}'", shown(key), shown(value)),
                                           nearest_and_valid(value, parameter->choices)));
    } else {
      const auto number = base::parse_double(value);
      if (!number || !(*number >= parameter->min && *number <= parameter->max))
        return tl::unexpected(problem_with(spec.text(), fmt::format("'{}' cannot be '{}'", shown(key), shown(value)),
                                           fmt::format("use {} to {}", parameter->min, parameter->max)));
    }
    values[key] = value;
  }
  return Parameters(std::move(values));
}

Result<std::unique_ptr<Ranker>> Registry::make(const StrategySpec& spec, const Context& context) const {
  const StrategyInfo* info = find(spec.name);
  if (!info) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : infos_) names.push_back(name);
    return tl::unexpected(problem_with(spec.text(), "there is no such strategy", nearest_and_valid(spec.name, names)));
  }
  auto parameters = check(*info, spec);
  if (!parameters) return tl::unexpected(parameters.error());
  return info->make(context, *parameters, *this);
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
