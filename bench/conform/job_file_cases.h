// Recorded HCL job files that are files of their own, beside what Nomad's parser made of them.
#pragma once

#include <string>

#include "conform/vector.h"

namespace berth::conform {

/// True for NAME.hcl beside a recorded answer: NAME.json, NAME.err or NAME.err.any.
[[nodiscard]] bool is_job_file_case(const std::string& path);
/// Reads the job file with the inputs of NAME.args and compares with all that is recorded.
[[nodiscard]] Outcome replay_job_file(const std::string& path);

}  // namespace berth::conform
