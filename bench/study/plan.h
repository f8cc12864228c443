// The plan of a sweep: which workloads are run under which settings, how often. README.md has the file.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "study/factors.h"
#include "study/task.h"

namespace berth::study {

struct Plan {
  std::string path, name;
  std::vector<Task> tasks{};      ///< in the order of the file; each one once
  std::set<std::string> files{};  ///< that its workloads read
};

/// Reads the file and every workload in every setting. Errors name the file, line, problem and remedy; a setting that a
/// workload refuses is one.
[[nodiscard]] Result<Plan> read_plan(const std::string& path);
[[nodiscard]] Result<Plan> parse_plan(const std::string& text, const std::string& path);

/// Of all tasks' keys, in any order: what a job on another machine checks before it trusts its numbers.
[[nodiscard]] std::string digest_of(const std::vector<std::string>& keys);

}  // namespace berth::study
