// The log's line of an evaluation that was decided.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/log_line.h"
#include "server/lane.h"

namespace berth::server {

inline constexpr const char* kEvalMessage = "evaluation processed";

/// The evaluation, its job, status, attempts, placements that were committed, failed and refused, the time that
/// deciding and committing took, and which sources answered how many Selects (sched/source/sources.h; those counted in
/// the lane's scratch).
[[nodiscard]] base::LogFields eval_fields(const Lane& lane, std::string_view trigger, std::int64_t took_ns);

}  // namespace berth::server
