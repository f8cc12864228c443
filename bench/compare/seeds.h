// Parses seeds: "10" (that many from a first one), "42..51", "1,5,9".
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/result.h"

namespace berth::compare {

[[nodiscard]] Result<std::vector<std::int64_t>> parse_seeds(const std::string& text, std::int64_t first);

}  // namespace berth::compare
