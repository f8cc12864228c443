#include "cli/job_file_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string_view>

#include "base/printable.h"

namespace berth::cli {

void add_job_file_options(CLI::App& command, dryrun::JobFileOptions& options) {
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    if (std::string_view(*entry).starts_with("NOMAD_VAR_")) options.environment.emplace_back(*entry);
  }
  command
      .add_option("--var", options.variables,
                  "value of a variable of the job file; overrides NOMAD_VAR_name of the environment")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--var-file", options.variable_files, "file with values of variables")
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
  command.add_option("--hcl2-strict", options.strict,
                     "true, or false: ignore values of variables that the job file does not declare (default: true)");
  command.add_flag("--allow-file-functions", options.file_functions,
                   "let file(), fileset() and similar functions read files in the job file's folder and below");
}

void print_job_file_errors(const dryrun::JobDocumentError& errors, std::string_view text) {
  fmt::print(stderr, "{}\n", base::printable(errors, true));
  if (const std::string hint = dryrun::job_file_hint(errors, text); !hint.empty()) fmt::print(stderr, "{}\n", hint);
}

}  // namespace berth::cli
