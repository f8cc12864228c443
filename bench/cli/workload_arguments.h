// The options of a command for its workload: name or file, label, seed, queue policy, order of commits, options, ISA
// path.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload.h"

namespace berth::cli {

struct WorkloadArguments {
  std::string workload, label = "full", strategy, queue, commits, isa;
  std::vector<std::string> options;
  std::optional<std::int64_t> seed;

  void add_to(CLI::App& command);
  /// Chooses the ISA path, and checks that a workload was given. Errors name `command`.
  [[nodiscard]] Result<void> begin(const std::string& command) const;
  /// Calls begin(), then reads the workload and applies the options.
  [[nodiscard]] Result<sim::Workload> read(const std::string& command) const;
  /// The options that change the workload, as changes of its keys.
  [[nodiscard]] std::vector<sim::Change> changes(std::optional<std::int64_t> workers) const;
};

/// --workers, for commands that run a single number of workers.
void add_workers(CLI::App& command, std::optional<std::int64_t>& workers,
                 const std::string& about = "number of workers instead of the file's; may exceed the number of cores");
/// The names of all queue policies, for help texts.
[[nodiscard]] std::string queue_names();
/// --order: "", free or deterministic.
void add_order(CLI::App& command, std::string& commits);

}  // namespace berth::cli
