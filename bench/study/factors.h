// Factors of a study: a key and its values.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "sim/changes.h"

namespace berth::study {

struct Factor {
  std::string key;
  std::vector<std::string> values;
};

/// Parses "key=a,b,c"; commas within brackets, braces and quotes do not separate. "1..5" and "10..50..20" are ranges of
/// whole numbers: from, to and step. Errors name `command`.
[[nodiscard]] Result<Factor> parse_factor(const std::string& text, const std::string& command);
/// The numbers of "1..5" or "10..50..20"; empty if `text` is not a range; an error for an empty range.
[[nodiscard]] Result<std::vector<std::string>> range_of(const std::string& text, const std::string& command);

/// All combinations of the factors' values; the last factor changes fastest. One empty setting if there are no factors.
[[nodiscard]] std::vector<std::vector<sim::Change>> crossed(const std::vector<Factor>& factors);

}  // namespace berth::study
