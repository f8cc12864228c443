// Shared by the readers of a workload's parts: words of enums, names, amounts.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "sim/toml_section.h"
#include "sim/workload.h"

namespace berth::sim {

inline constexpr std::pair<const char*, Source> kSources[] = {
    {"mix", Source::mix},     {"nomad-grid", Source::nomad_grid},
    {"openb", Source::openb}, {"openb-like", Source::openb_like},
    {"files", Source::files}, {"import", Source::imported},
    {"trace", Source::trace}};

template <class E, std::size_t N>
const char* word_of(const std::pair<const char*, E> (&words)[N], E value) {
  for (const auto& [word, candidate] : words)
    if (candidate == value) return word;
  return "?";
}
template <class E, std::size_t N>
std::vector<std::pair<const char*, E>> list_of(const std::pair<const char*, E> (&words)[N]) {
  return {std::begin(words), std::end(words)};
}

/// Names become parts of job and node IDs: letters, digits and -_. only (R-MODEL-250 refuses spaces and NUL).
inline constexpr const char* kNameRule = "use 1 to 100 of a-z A-Z 0-9 - _ .";

[[nodiscard]] inline bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= 100 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

inline void check_name(TomlSection& in, std::string_view key, std::string_view name) {
  if (!is_name(name)) in.fail(key, fmt::format("'{}' is not a name", key), kNameRule);
}

inline std::int64_t amount(TomlSection& in, const char* key, std::int64_t fallback, std::int64_t min = 0) {
  return in.integer(key, fallback, min, kMaxAmount);
}

/// Reports the first of these keys that is set; `why` explains that it belongs to another source.
inline void refuse(TomlSection& in, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* key : keys)
    if (in.has(key)) return in.fail(key, fmt::format("'{}' does not go with {}", key, why), "remove one of the two");
}

}  // namespace berth::sim
