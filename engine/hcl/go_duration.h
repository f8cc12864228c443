// Durations in Go's form, with the error text for invalid ones (R-HCL-246).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace berth::hcl {

/// Nanoseconds of "1h30m5.5s", "-3s", "0". The error is a text such as `time: invalid duration "x"` (R-HCL-245).
[[nodiscard]] tl::expected<std::int64_t, std::string> parse_go_duration(std::string_view text);

}  // namespace berth::hcl
