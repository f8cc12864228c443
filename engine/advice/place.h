// Places of values in the job file, for edits.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::advice {

/// A value of the job file and its JSON pointer (RFC 6901).
struct Place {
  const json::Value* value = nullptr;  ///< null: not in the file
  std::string pointer;

  /// The member with this Nomad name, in the file's spelling (R-MODEL-608).
  [[nodiscard]] Place at(std::string_view name) const {
    std::string key(name);
    const json::Value* found = value ? value->find_ignoring_case(name) : nullptr;
    if (found)
      for (const json::Member& m : value->members())
        if (&m.value == found) key = m.key;
    std::string escaped;
    for (const char c : key) escaped += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
    return {found, pointer + "/" + escaped};
  }
  [[nodiscard]] Place at(std::size_t index) const {
    const bool there = value && index < value->items().size();
    return {there ? &value->items()[index] : nullptr, pointer + "/" + std::to_string(index)};
  }
  [[nodiscard]] std::size_t size() const { return value ? value->items().size() : 0; }
  [[nodiscard]] std::string text(std::string_view name) const {
    const Place member = at(name);
    return member.value ? member.value->as_string() : "";
  }
};

/// The job in its file: {"Job": ...} or the bare object.
[[nodiscard]] inline Place job_place(const json::Value& document) {
  const Place whole{&document, ""};
  return document.find_ignoring_case("Job") ? whole.at("Job") : whole;
}

}  // namespace berth::advice
