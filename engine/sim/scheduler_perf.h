// Kubernetes' scheduler_perf: the YAML file of its test cases, and the templates of nodes and pods that it names, as
// the text of a workload file. The result is approximate, and says in `approximate` how.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

/// Whether a workload's path is that of such a file: it ends in .yaml or .yml.
[[nodiscard]] bool is_scheduler_perf(const std::string& path);

struct PerfWorkload {
  std::string text;   ///< TOML
  std::string label;  ///< the only one in it: `name` with dots for what labels of workload files cannot have
  std::string name;   ///< TESTCASE/WORKLOAD
  std::vector<std::string> templates;  ///< files read besides the one named
};

/// The workload `label`: TESTCASE/WORKLOAD, or "full" if the file has only one. Error: the first thing in the file or
/// in a template that has no equal, with its line. Reads all templates; each has at most 4 MiB, all expanded ones 256
/// MiB.
[[nodiscard]] Result<PerfWorkload> workload_of_scheduler_perf(const std::string& path, const std::string& label);

}  // namespace berth::sim
