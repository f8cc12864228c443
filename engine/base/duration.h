// Durations as Go reads them; duration_text() of time.h writes them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace berth::base {

/// Parses `1m30s`, `90m`, `1.5h`, `-3s` or `0`; returns ns. nullopt for anything else and for values beyond int64.
[[nodiscard]] std::optional<std::int64_t> parse_duration(std::string_view text);

}  // namespace berth::base
