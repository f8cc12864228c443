// Makes a job's document from the text of a file: JSON of the API, or an HCL job file with its variables.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "berth/result.h"

namespace berth::dryrun {

/// Options of reading an HCL job file, as in `nomad job plan` (R-HCL-720).
struct JobFileOptions {
  std::vector<std::string> variables;       ///< "name=value" of -var
  std::vector<std::string> variable_files;  ///< paths of -var-file
  std::vector<std::string> environment;     ///< "NOMAD_VAR_name=value"
  bool strict = true;                       ///< a value of an undeclared variable is an error
  bool file_functions = false;              ///< file() and similar functions may read below the job file's folder
};

struct JobDocument {
  json::Value value;
  bool is_hcl = false;
};
/// Lines to print: one, or Nomad's, optionally with a mark under each place.
using JobDocumentError = std::string;

/// `path` names the file in errors; "-" is standard input. JSON with variables is an error (R-HCL-721).
[[nodiscard]] tl::expected<JobDocument, JobDocumentError> job_document(const std::string& text, const std::string& path,
                                                                       const JobFileOptions& options = {},
                                                                       bool marks = false);

/// What to do about the errors of job_document(), as one more line to print: for a template that has to be rendered
/// first, and for what `--var` and `--allow-file-functions` would settle; empty for other errors.
[[nodiscard]] std::string job_file_hint(std::string_view errors, std::string_view text);

/// Adds, below each diagnostic about `name`, its line of `text` with `^` under the place.
[[nodiscard]] std::string with_marks(std::string_view errors, std::string_view name, std::string_view text);

}  // namespace berth::dryrun
