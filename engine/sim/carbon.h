// Carbon intensity of electricity by hour of the day, from a CSV file with the columns hour and grams_per_kwh and 24
// rows, hours 0 to 23 in order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

/// 24 values in g per kWh. `path` is for errors.
[[nodiscard]] Result<std::vector<double>> parse_carbon(std::string_view text, const std::string& path);

}  // namespace berth::sim
