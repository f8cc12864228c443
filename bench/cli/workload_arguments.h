// The options by which a command is told a workload: its name or file, label, seed, order of commits, options, ISA
// path.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "sim/workload.h"

namespace berth::cli {

struct WorkloadArguments {
  std::string workload, label = "full", commits, isa;
  std::vector<std::string> options;
  std::optional<std::int64_t> seed;

  void add_to(CLI::App& command);
  /// Reads the workload and lays the options over it; chooses the ISA path. Errors name `command`.
  [[nodiscard]] Result<sim::Workload> read(const std::string& command) const;
};

}  // namespace berth::cli
