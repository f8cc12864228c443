// Recorded HCL job files as separate files, with the results of Nomad's parser in neighbouring files.
#pragma once

#include <string>

#include "conform/vector.h"

namespace berth::conform {

/// True for NAME.hcl with a recorded answer: NAME.json, NAME.err or NAME.err.any.
[[nodiscard]] bool is_job_file_case(const std::string& path);
/// Reads the job file with the inputs of NAME.args and compares with all recorded results.
[[nodiscard]] Outcome replay_job_file(const std::string& path);

}  // namespace berth::conform
