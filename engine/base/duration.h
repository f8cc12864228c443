// Durations as Go reads them; duration_text() of time.h writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::base {

/// `1m30s`, `90m`, `1.5h`, `-3s`, `0` in ns; nothing for anything else, and for what exceeds int64.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace berth::base
