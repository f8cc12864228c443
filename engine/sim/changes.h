// Changes of single keys of a workload: `cluster.nodes=200`, as a study varies them. They are laid over the file after
// its label, before anything is checked, so a changed key is held to the same rules as one that the file has.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

struct Change {
  /// A dotted key as TOML writes it. In a list of tables the next part is the `name` of one of them, or its number from
  /// 0: jobs.mix.web.cpu_mhz, jobs.mix.0.cpu_mhz.
  std::string key;
  /// TOML: 5, 0.5, true, "text", [1, 2]; anything that is no TOML is taken as a text: best-fit.
  std::string value;
  friend bool operator==(const Change&, const Change&) = default;
};

/// "nodes=5, strategy=best-fit"; "" for none.
[[nodiscard]] std::string to_text(const std::vector<Change>& changes);

/// `value` as the text that two ways of writing it share: 5 and 5, "a" and a.
[[nodiscard]] std::string normal_value(std::string_view value);

}  // namespace berth::sim
