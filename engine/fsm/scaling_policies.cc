#include "fsm/scaling_policies.h"

#include <algorithm>

#include "base/json.h"
#include "model/job.h"

namespace berth::fsm {
namespace {

const json::Value& extra_of(const model::Scaling& scaling) { return scaling.extra; }
json::Value& extra_of(model::Scaling& scaling) { return scaling.extra.own(); }

/// Calls `visit(group, task, block)` for each block: the JSON members of a task's policy, and those of a group's policy
/// that have no field.
template <class AnyJob, class Visit>
void each_block(AnyJob& job, Visit visit) {
  for (auto& group : job.task_groups) {
    if (group.scaling) visit(group, std::string(), extra_of(*group.scaling));
    for (auto& task : group.tasks)
      if (task.scaling_policies.is_array())
        for (auto& block : task.scaling_policies.items())
          if (block.is_object()) visit(group, task.name, block);
  }
}

ScalingPolicy read_block(const model::TaskGroup& group, const std::string& task, const json::Value& block) {
  ScalingPolicy out;
  out.id = block["ID"].as_string(), out.type = block["Type"].as_string();
  out.group = group.name, out.task = task, out.policy = block["Policy"];
  out.create_index = block["CreateIndex"].as_uint(), out.modify_index = block["ModifyIndex"].as_uint();
  if (task.empty()) {
    out.min = group.scaling->min, out.max = group.scaling->max, out.enabled = group.scaling->enabled;
  } else {
    out.min = block["Min"].as_int(), out.max = block["Max"].as_int(), out.enabled = block["Enabled"].as_bool();
  }
  return out;
}

ScalingPolicy* find_policy(std::vector<ScalingPolicy>& among, const ScalingPolicy& policy) {
  const auto at = std::ranges::find_if(among, [&](const auto& other) { return other.has_target_of(policy); });
  return at == among.end() ? nullptr : &*at;
}

bool says_the_same(const ScalingPolicy& a, const ScalingPolicy& b) {
  return a.min == b.min && a.max == b.max && a.enabled == b.enabled && a.policy == b.policy;
}

}  // namespace

std::vector<ScalingPolicy> scaling_policies_of(const model::Job& job) {
  std::vector<ScalingPolicy> out;
  each_block(job, [&](const model::TaskGroup& group, const std::string& task, const json::Value& block) {
    out.push_back(read_block(group, task, block));
  });
  return out;
}

bool has_scaling(const model::Job& job) {
  return std::ranges::any_of(job.task_groups, [](const model::TaskGroup& group) {
    return group.scaling || std::ranges::any_of(group.tasks, [](const model::Task& task) {
             return task.scaling_policies.is_array() && task.scaling_policies.size() > 0;
           });
  });
}

void fill_policy_ids(const model::Job* current, const std::function<std::string()>& next_id, model::Job& job) {
  std::vector<ScalingPolicy> known;
  if (current) known = scaling_policies_of(*current);
  each_block(job, [&](const model::TaskGroup& group, const std::string& task, json::Value& block) {
    const ScalingPolicy* before = find_policy(known, read_block(group, task, block));
    block.set("ID", before && !before->id.empty() ? before->id : next_id());
  });
}

void disable_scaling(model::Job& job) {
  each_block(job, [](model::TaskGroup& group, const std::string& task, json::Value& block) {
    if (task.empty())
      group.scaling->enabled = false;
    else
      block.set("Enabled", false);
  });
}

void store_policies(std::uint64_t index, model::Job& job, std::vector<ScalingPolicy>& stored) {
  std::vector<ScalingPolicy> kept;
  each_block(job, [&](const model::TaskGroup& group, const std::string& task, json::Value& block) {
    ScalingPolicy policy = read_block(group, task, block);
    const ScalingPolicy* before = find_policy(stored, policy);
    if (before && says_the_same(*before, policy)) return kept.push_back(*before);
    policy.create_index = index, policy.modify_index = index;
    if (before) policy.id = before->id, policy.create_index = before->create_index;
    block.set("ID", policy.id);
    block.set("CreateIndex", policy.create_index), block.set("ModifyIndex", policy.modify_index);
    kept.push_back(std::move(policy));
  });
  stored = std::move(kept);
}

}  // namespace berth::fsm
