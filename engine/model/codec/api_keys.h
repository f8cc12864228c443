// The keys of job input (R-MODEL-608): matched exactly, else ignoring case; unknown ones are ignored, null is absent.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "berth/result.h"

namespace berth::model {

/// Rewrites `job` so that every known key stands in its own spelling, once, and not null; unknown keys go. Fails where
/// a list or an object is wanted and something else stands. `place` is the JSON pointer of `job`, for the error.
[[nodiscard]] Result<json::Value> normalise_job_keys(const json::Value& job, const std::string& path,
                                                     const std::string& place);

/// One sentence for each key of `job`, at whatever depth, that no job has and that is therefore ignored
/// ("Datacentres"), and for each that stands twice in an object, whose last value counts. `place` as above.
[[nodiscard]] std::vector<std::string> job_key_warnings(const json::Value& job, const std::string& place);

}  // namespace berth::model
