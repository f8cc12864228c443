// The keys of job input (R-MODEL-608): matched exactly, else ignoring case; unknown ones are ignored, null is absent.
#pragma once

#include "base/json.h"
#include "berth/result.h"

namespace berth::model {

/// Rewrites `job` so that every known key stands in its own spelling, once, and not null; unknown keys go. Fails where
/// a list or an object is wanted and something else stands. `place` is the JSON pointer of `job`, for the error.
[[nodiscard]] Result<json::Value> normalise_job_keys(const json::Value& job, const std::string& path,
                                                     const std::string& place);

}  // namespace berth::model
