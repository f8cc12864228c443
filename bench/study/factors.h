// What a study varies: a key and its values.
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

/// "key=a,b,c": commas within brackets, braces and quotes do not separate. "1..5" and "10..50..20" are the whole
/// numbers from, to and by. Errors name `command`.
[[nodiscard]] Result<Factor> parse_factor(const std::string& text, const std::string& command);
/// The numbers of "1..5" or "10..50..20"; empty where `text` is no range, an error where it is one that has none.
[[nodiscard]] Result<std::vector<std::string>> range_of(const std::string& text, const std::string& command);

/// Every value of every factor with every other; the last factor changes fastest. One empty setting for no factors.
[[nodiscard]] std::vector<std::vector<sim::Change>> crossed(const std::vector<Factor>& factors);

}  // namespace berth::study
