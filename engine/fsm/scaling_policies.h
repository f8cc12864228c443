// Scaling policies as they are stored beside a job, and how a version of the job gets their IDs and indexes (R-REG-460
// to 465). A policy is a block of a group (`scaling`), or one of a task's list.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/job.h"

namespace berth::fsm {

/// One row of the policy table. The job is the record's; group, task and type name the policy in it.
struct ScalingPolicy {
  std::string id, type, group, task;  ///< task "": the group's own
  std::int64_t min = 0, max = 0;
  bool enabled = false;
  json::Value policy;  ///< what an autoscaler reads
  std::uint64_t create_index = 0, modify_index = 0;

  [[nodiscard]] bool has_target_of(const ScalingPolicy& other) const {
    return group == other.group && task == other.task && type == other.type;
  }
};

/// What the blocks of a job say.
[[nodiscard]] std::vector<ScalingPolicy> scaling_policies_of(const model::Job& job);
[[nodiscard]] bool has_scaling(const model::Job& job);
/// Each block of `job` gets the ID that the same block has in `current`, the version before (null: none), else a new
/// one (R-REG-460).
void fill_policy_ids(const model::Job* current, const std::function<std::string()>& next_id, model::Job& job);
/// Switches every block off: the job is stopped (R-REG-436).
void disable_scaling(model::Job& job);
/// A version is written at `index`: brings `stored` up to date with its blocks, and gives the blocks that are new or
/// changed the indexes of their rows (R-REG-462 to 464).
void store_policies(std::uint64_t index, model::Job& job, std::vector<ScalingPolicy>& stored);

}  // namespace berth::fsm
