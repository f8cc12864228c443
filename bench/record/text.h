// Reports of replays as text and as JSON (bench/schema/berth-replay.json).
#pragma once

#include <string>

#include "base/json.h"
#include "record/life.h"

namespace berth::record {

/// `verbose`: every evaluation that differs; else the first kShown.
[[nodiscard]] std::string to_text(const Report& report, const OtherSettings& settings, bool verbose);
inline constexpr std::size_t kShown = 10;

[[nodiscard]] json::Value to_json(const Report& report);

/// The part of both that does not describe a recording.
[[nodiscard]] std::string decisions_text(const Report& report, bool verbose);
void add_decisions(const Report& report, json::Value& out);

[[nodiscard]] std::string to_text(const LifeReport& report, const OtherSettings& settings);
[[nodiscard]] json::Value to_json(const LifeReport& report);

}  // namespace berth::record
