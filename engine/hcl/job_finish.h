// Values that the parser itself sets in a decoded job (R-HCL-500 to 508).
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace berth::hcl {

/// Parts that are decoded separately from the job's object and belong into its tasks.
struct JobParts {
  struct Group {
    json::Object object;  ///< of a job-level task: its own group
    json::Value vault, secrets;
  };
  std::string label;
  json::Value vault, secrets;
  std::vector<Group> lone_tasks;  ///< of job-level tasks, before the groups (R-HCL-413)
  std::vector<Group> groups;      ///< in the order of the job's groups
};

void finish_job(json::Value& job, JobParts parts);

}  // namespace berth::hcl
