// The log line of a decided evaluation.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/log_line.h"
#include "server/lane.h"

namespace berth::server {

inline constexpr const char* kEvalMessage = "evaluation processed";

/// The evaluation, its job and status; attempts; placements committed, failed and refused; the time for deciding and
/// committing; and how many Selects each source answered (sched/source/sources.h, as counted in the lane's scratch).
[[nodiscard]] base::LogFields eval_fields(const Lane& lane, std::string_view trigger, std::int64_t took_ns);

}  // namespace berth::server
