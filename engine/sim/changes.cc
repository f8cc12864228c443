#include "sim/changes.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "sim/toml_changes.h"

namespace berth::sim {
namespace {

std::optional<toml::table> parsed(const std::string& text) {
  try {
    return toml::parse(text);
  } catch (const toml::parse_error&) {
    return std::nullopt;
  }
}

/// The parsed table `v = VALUE`; nullopt if VALUE is not exactly one TOML value.
std::optional<toml::table> value_of(std::string_view value) {
  auto out = parsed(fmt::format("v = {}", value));
  if (value.find('\n') != std::string_view::npos || !out || out->size() != 1 || !out->contains("v"))
    return std::nullopt;
  return out;
}

/// The parts of a dotted key; empty if it is malformed.
std::vector<std::string> parts_of(const std::string& key) {
  std::vector<std::string> out;
  const auto tree = key.find('\n') == std::string::npos ? parsed(key + " = 0") : std::nullopt;
  if (!tree) return out;
  const toml::table* at = &*tree;
  while (at && at->size() == 1) {
    out.emplace_back(at->cbegin()->first.str());
    at = at->cbegin()->second.as_table();
  }
  if (at) out.clear();
  return out;
}

std::string names_in(const toml::array& list) {
  std::string out;
  for (const toml::node& item : list)
    if (const toml::table* table = item.as_table())
      if (const auto name = (*table)["name"].value<std::string>())
        out += (out.empty() ? "" : ", ") + base::shown(name->substr(0, 40));
  return out;
}

/// The table of a list with the name or number `part`; null if there is none.
toml::table* element_of(toml::array& list, const std::string& part) {
  for (toml::node& item : list)
    if (toml::table* table = item.as_table())
      if ((*table)["name"].value<std::string>() == part) return table;
  const auto number = base::parse_int64(part);
  if (!number || *number < 0 || *number >= static_cast<std::int64_t>(list.size())) return nullptr;
  return list[static_cast<std::size_t>(*number)].as_table();
}

std::optional<InputError> apply_change(toml::table& root, const Change& change) {
  const auto bad = [&](std::string problem, std::string remedy) {
    return InputError{"", "", fmt::format("'{}' {}", base::shown(change.key.substr(0, 80)), problem),
                      std::move(remedy)};
  };
  const std::vector<std::string> parts = parts_of(change.key);
  if (parts.empty())
    return bad("is not a key", "write it as in the file, with dots: cluster.nodes, jobs.mix.web.count");
  if (parts[0] == "label" || parts[0] == "labels") return bad("cannot be changed", "use --label");
  toml::table* at = &root;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    toml::node* next = at->get(parts[i]);
    if (!next) next = &at->insert(parts[i], toml::table{}).first->second;
    if (toml::array* list = next->as_array(); list && i + 2 < parts.size()) {
      at = element_of(*list, parts[i + 1]);
      if (!at)
        return bad(fmt::format("names '{}', which is not in {}", base::shown(parts[i + 1].substr(0, 40)), parts[i]),
                   fmt::format("use one of: {}; or a number from 0 to {}", names_in(*list), list->size() - 1));
      ++i;
      continue;
    }
    at = next->as_table();
    if (!at) return bad(fmt::format("continues below '{}', which is no table", parts[i]), "shorten it");
  }
  // Copies have no line, so that an error names the key, not line 1 of the file.
  at->erase(parts.back());
  if (const auto value = value_of(change.value))
    value->get("v")->visit([&](const auto& node) { at->insert(parts.back(), node); });
  else
    at->insert(parts.back(), change.value);
  return std::nullopt;
}

}  // namespace

std::string to_text(const std::vector<Change>& changes) {
  std::string out;
  for (const Change& change : changes) out += fmt::format("{}{}={}", out.empty() ? "" : ", ", change.key, change.value);
  return out;
}

std::string normal_value(std::string_view value) {
  const std::string_view trimmed = base::trim_space(value);
  if (const auto parsed_value = value_of(trimmed))
    if (const auto text = parsed_value->get("v")->value_exact<std::string>(); text && !value_of(*text)) return *text;
  return std::string(trimmed);
}

std::optional<InputError> apply_changes(toml::table& root, const std::vector<Change>& changes) {
  for (const Change& change : changes)
    if (auto error = apply_change(root, change)) return error;
  return std::nullopt;
}

}  // namespace berth::sim
