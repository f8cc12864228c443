// Advice as `berth plan` prints it.
#pragma once

#include <string>
#include <vector>

#include "advice/advice.h"

namespace berth::dryrun {

/// `left_out`: failed groups beyond the first ones, which got no advice; a line tells of them.
[[nodiscard]] std::string to_text(const std::vector<advice::GroupAdvice>& advice, std::size_t left_out = 0);
[[nodiscard]] json::Value to_json(const std::vector<advice::GroupAdvice>& advice);

}  // namespace berth::dryrun
