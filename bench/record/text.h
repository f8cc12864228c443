// A replay's report as text and as JSON (bench/schema/berth-replay.json).
#pragma once

#include <string>

#include "base/json.h"
#include "record/replay.h"

namespace berth::record {

/// `verbose`: every evaluation that differs; else the first kShown.
[[nodiscard]] std::string to_text(const Report& report, const OtherSettings& settings, bool verbose);
inline constexpr std::size_t kShown = 10;

[[nodiscard]] json::Value to_json(const Report& report);

}  // namespace berth::record
