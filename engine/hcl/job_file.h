// A job file in HCL2, native or JSON: text in, the job of the API out (R-HCL-1 to 4, 400 to 508).
//
// Nothing is defaulted or validated here but what the parser itself sets: `model/registration` does that, as for jobs
// that come as JSON.
#pragma once

#include <string>
#include <string_view>

#include <tl/expected.hpp>

#include "base/json.h"
#include "hcl/module.h"

namespace berth::hcl {

/// The job as `nomad job run -output` prints it, without the wrapper "Job". The error is Nomad's text: one diagnostic
/// per line, or the first and how many more there are (R-HCL-702, 703).
[[nodiscard]] tl::expected<json::Value, std::string> read_job(ModuleInput input);

/// Fills the defaults of the API in a job that read_job() returned, as `Canonicalize` of /v1/jobs/parse does
/// (R-HCL-732).
void canonicalize(json::Value& job);

/// True if a text is a job file rather than a job of the API: neither empty nor JSON, or a JSON object that begins with
/// a member of an HCL body, such as "job" (R-HCL-2, 770).
[[nodiscard]] bool is_job_file(std::string_view text);

}  // namespace berth::hcl
