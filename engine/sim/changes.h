// Changes of single keys of a workload, such as `cluster.nodes=200`, as made by a study. They are applied after the
// label and before any check, so a changed key obeys the same rules as one in the file.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

struct Change {
  /// A dotted TOML key. After a list of tables, the next part is the `name` of one of them, or its number from 0:
  /// jobs.mix.web.cpu_mhz, jobs.mix.0.cpu_mhz.
  std::string key;
  /// TOML: 5, 0.5, true, "text", [1, 2]. Anything else is taken as text: best-fit.
  std::string value;
  friend bool operator==(const Change&, const Change&) = default;
};

/// "nodes=5, strategy=best-fit"; "" for none.
[[nodiscard]] std::string to_text(const std::vector<Change>& changes);

/// Returns the canonical text of `value`: "a" and a give the same.
[[nodiscard]] std::string normal_value(std::string_view value);

}  // namespace berth::sim
