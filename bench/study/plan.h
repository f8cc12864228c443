// The plan of a sweep: workloads, settings and repetitions. README.md describes the file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/factors.h"
#include "study/task.h"

namespace berth::study {

struct Plan {
  std::string path, name;
  std::vector<Task> tasks{};      ///< in the order of the file, each once
  std::set<std::string> files{};  ///< read by its workloads
};

/// Reads the file and every workload in every setting. Errors, including settings that a workload refuses, name the
/// file, line, problem and remedy.
[[nodiscard]] Result<Plan> read_plan(const std::string& path);
[[nodiscard]] Result<Plan> parse_plan(const std::string& text, const std::string& path);

/// The text of a plan that runs one workload, or the own jobs of a cluster, with all combinations of the factors.
[[nodiscard]] std::string plan_text(const std::string& name, const std::string& workload,
                                    const std::vector<Factor>& factors, std::int64_t repetitions);

/// Digest of all tasks' keys, in any order. A job on another machine checks it, so that its task numbers are valid.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& keys);

}  // namespace berth::study
