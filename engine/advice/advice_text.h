// Text and JSON of the advice in `berth plan`.
#pragma once

#include <string>
#include <vector>

#include "advice/advice.h"

namespace berth::advice {

/// `left_out`: number of further failed groups without advice, reported in a line.
[[nodiscard]] std::string to_text(const std::vector<advice::GroupAdvice>& advice, std::size_t left_out = 0);
[[nodiscard]] json::Value to_json(const std::vector<advice::GroupAdvice>& advice);

}  // namespace berth::advice
