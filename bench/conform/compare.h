// Compares berth's results with recorded ones.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "conform/vector.h"

namespace berth::conform {

struct CompareOptions {
  bool absent_is_zero = true;   ///< absent, null, false, 0, "", [] and {} are the same (FORMAT-evals.md, section 5)
  bool lists_are_sets = false;  ///< order of list items does not matter
  std::string_view rule = "";   ///< rule numbers for each difference
};

/// Absent, null, false, 0, "", [] or {}.
[[nodiscard]] bool is_zero(const json::Value& value);

/// Every place where `got` differs from `expected`; numbers exactly, -0.0 equal to 0.0, member order ignored.
[[nodiscard]] std::vector<Difference> compare(const json::Value& expected, const json::Value& got,
                                              const CompareOptions& options = {});

/// A double as 16 hex digits of its bits, and back. All NaN have the same text.
[[nodiscard]] std::string bits_text(double value);
[[nodiscard]] std::optional<double> parse_bits(std::string_view text);

/// Recorded bits in the form of bits_text: all NaN are equal, with any sign.
[[nodiscard]] std::string same_nan(const json::Value& bits);

}  // namespace berth::conform
