// The options of commands that read HCL job files, with Nomad's names (R-HCL-720).
#pragma once

#include <CLI/CLI.hpp>

#include "dryrun/job_document.h"

namespace berth::cli {

/// Adds `--var`, `--var-file`, `--hcl2-strict`, `--allow-file-functions`; also reads NOMAD_VAR_ of the environment.
void add_job_file_options(CLI::App& command, dryrun::JobFileOptions& options);

/// Prints the errors of dryrun::job_document() and what to do about them.
void print_job_file_errors(const dryrun::JobDocumentError& errors, std::string_view text);

}  // namespace berth::cli
