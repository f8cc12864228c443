// Reads a job file up to its job block: syntax, variables and locals (phases a to c of R-HCL-3). The next phase decodes
// the job block by field tables, starting from Module::job.
//
//   auto module = read_module(std::move(input));        // unexpected: the error text of phases a to c
//   Diagnostics out;
//   const Content content = module->job->body.content(kJobSchema, out);
//   if (!out.empty()) { Diagnostics all = module->warnings; all.add(out); return all.all_text(); }   // R-HCL-702
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "hcl/body.h"
#include "hcl/functions.h"
#include "hcl/source.h"

namespace berth::hcl {

/// A variable file: its path as given, and its text or the reason why it cannot be read, such as "open x: no such file
/// or directory" (R-HCL-264).
struct VariableFile {
  std::string path;
  tl::expected<std::string, std::string> text;
};

/// Everything that determines the job (R-HCL-1).
struct ModuleInput {
  std::string name;  ///< of the job file, for errors
  std::string text;
  FileAccess files;
  std::vector<std::string> arguments;           ///< "name=value" of -var, in order
  std::vector<VariableFile> variable_files;     ///< in order
  std::optional<std::string> variable_content;  ///< as in /v1/jobs/parse
  std::vector<std::string> environment;         ///< "NAME=value"; only NOMAD_VAR_ counts
  bool strict = true;                           ///< values of undeclared variables are errors (R-HCL-266)
};

struct Module {
  Module();
  Module(Module&&) noexcept;
  Module& operator=(Module&&) noexcept;
  ~Module();

  std::optional<Block> job;  ///< always set in a result of read_module
  Diagnostics warnings;      ///< shown only with errors (R-HCL-702)
  /// Declared variables with their final values, in source order (R-HCL-723).
  std::vector<std::pair<std::string, Value>> variables;

  struct State;  // sources, trees and names that everything else points into
  std::unique_ptr<State> state;
};

[[nodiscard]] tl::expected<Module, std::string> read_module(ModuleInput input);

}  // namespace berth::hcl
