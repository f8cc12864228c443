// The options of `berth whatif` and `berth capacity` for steps, in the order of the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "whatif/whatif.h"

namespace berth::cli {

class StepOptions {
 public:
  /// Adds an option for each step, and the options of how steps are made. `command`: name in errors, "berth whatif".
  /// Must outlive parsing.
  StepOptions(CLI::App& app, std::string command);
  StepOptions(const StepOptions&) = delete;
  StepOptions& operator=(const StepOptions&) = delete;

  /// After parsing. Errors name the option, or file and line.
  [[nodiscard]] Result<std::vector<whatif::Step>> steps() const;
  [[nodiscard]] Result<whatif::Settings> settings() const;
  /// Input files.
  [[nodiscard]] std::vector<std::string> inputs() const { return {file_, prices_}; }
  [[nodiscard]] std::uint64_t seed() const { return seed_; }

  static constexpr const char* kFooter =
      "NODES: a name, the beginning of an ID, KEY=VALUE terms joined by commas (name, id, datacenter, pool, class, "
      "attr.NAME, meta.NAME; a value may end in *), or all. JOB: an ID, or ID@NAMESPACE.\n";

 private:
  const CLI::App& app_;
  const std::string command_;
  std::map<const CLI::Option*, whatif::Change> changes_;
  const CLI::Option *like_ = nullptr, *shape_ = nullptr;
  std::string file_, deadline_ = "1h", start_delay_ = "1s", step_time_ = "4h", prices_;
  dryrun::JobFileOptions job_files_;
  std::int64_t at_once_ = 1;
  std::uint64_t seed_ = 1;
};

}  // namespace berth::cli
