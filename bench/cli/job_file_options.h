// The options of commands that take HCL job files, named as Nomad's are (R-HCL-720).
#pragma once

#include <CLI/CLI.hpp>

#include "dryrun/job_document.h"

namespace berth::cli {

/// `--var`, `--var-file`, `--hcl2-strict`, `--allow-file-functions`; and NOMAD_VAR_ of the environment.
void add_job_file_options(CLI::App& command, dryrun::JobFileOptions& options);

}  // namespace berth::cli
