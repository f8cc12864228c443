// The keys of job input (R-MODEL-608): matched exactly, else ignoring case; unknown ones are ignored, null is absent.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "berth/result.h"

namespace berth::model {

/// Rewrites `job` so that every known key has its canonical spelling, occurs once and is not null; drops unknown keys.
/// Fails if a list or an object is expected and the value is something else. `place` is the JSON pointer of `job`, for
/// errors.
[[nodiscard]] Result<json::Value> normalise_job_keys(const json::Value& job, const std::string& path,
                                                     const std::string& place);

/// One sentence for each unknown key of `job` at any depth, which is ignored ("Datacentres"), and for each key that
/// occurs twice in an object, whose last value counts. `place` as above.
[[nodiscard]] std::vector<std::string> job_key_warnings(const json::Value& job, const std::string& place);

}  // namespace berth::model
