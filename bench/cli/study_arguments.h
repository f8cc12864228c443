// `berth run --repeat`, `--vary`, `--results` and `--benchstat`: the same workload many times.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/html_output.h"
#include "cli/workload_arguments.h"
#include "run/runner.h"

namespace berth::cli {

struct StudyArguments {
  std::optional<std::int64_t> repetitions, warm_ups;
  std::vector<std::string> varied;
  std::string results, benchstat;
  bool wide = false;

  void add_to(CLI::App& command);
  /// True if there is more than one run.
  [[nodiscard]] bool many() const { return repetitions || !varied.empty(); }
};

/// Runs the study, prints it, writes the requested files, and returns the exit code.
[[nodiscard]] int run_study_command(const WorkloadArguments& chosen, std::optional<std::int64_t> workers,
                                    const StudyArguments& study, const std::string& json, const std::string& html,
                                    const run::RunOptions& options);

/// Adds the run of this process to the file of --results and writes that of --benchstat, where they are given.
[[nodiscard]] int add_result(const StudyArguments& arguments, const std::vector<sim::Change>& changes,
                             const run::RunResult& result, const json::Value& report);

}  // namespace berth::cli
