// Reads a job file in HCL2, native or JSON, as a job of the API (R-HCL-1 to 4, 400 to 508).
//
// Only what the parser itself sets is defaulted or validated here. `model/registration` does the rest, as for jobs that
// come as JSON.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/json.h"
#include "hcl/module.h"

namespace berth::hcl {

/// The job as printed by `nomad job run -output`, without the wrapper "Job". The error is Nomad's text: one diagnostic
/// per line, or the first and the number of further ones (R-HCL-702, 703).
[[nodiscard]] tl::expected<json::Value, std::string> read_job(ModuleInput input);

/// Fills in the API's defaults in a job from read_job(), as `Canonicalize` of /v1/jobs/parse does (R-HCL-732).
void canonicalize(json::Value& job);

/// True if a text is a job file, not a job of the API. It is then neither empty nor JSON, or is a JSON object that
/// begins with a member of an HCL body, such as "job" (R-HCL-2, 770).
[[nodiscard]] bool is_job_file(std::string_view text);

}  // namespace berth::hcl
