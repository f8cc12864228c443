// Scaling policies as stored with a job, and their IDs and indexes in a version of the job (R-REG-460 to 465). A policy
// is a group's block `scaling`, or an entry of a task's list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/resources.h"

namespace berth::fsm {

/// One row of the policy table. The record has the job; group, task and type identify the policy in it.
struct ScalingPolicy {
  std::string id, type, group, task;  ///< task "": the group's own
  std::int64_t min = 0, max = 0;
  bool enabled = false;
  json::Retained policy;  ///< read by autoscalers
  std::uint64_t create_index = 0, modify_index = 0;

  [[nodiscard]] bool has_target_of(const ScalingPolicy& other) const {
    return group == other.group && task == other.task && type == other.type;
  }
};

/// The policies in the blocks of a job.
[[nodiscard]] std::vector<ScalingPolicy> scaling_policies_of(const model::Job& job);
[[nodiscard]] bool has_scaling(const model::Job& job);
/// Gives each block of `job` the ID of the same block in `current`, the previous version (null: none), else a new one
/// (R-REG-460).
void fill_policy_ids(const model::Job* current, const std::function<std::string()>& next_id, model::Job& job);
/// Disables every block, because the job is stopped (R-REG-436).
void disable_scaling(model::Job& job);
/// Call when a version is written at `index`. Updates `stored` to the version's blocks, and gives new or changed blocks
/// the indexes of their rows (R-REG-462 to 464).
void store_policies(std::uint64_t index, model::Job& job, std::vector<ScalingPolicy>& stored);

}  // namespace berth::fsm
