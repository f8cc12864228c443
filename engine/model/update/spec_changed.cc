#include "model/update/spec_changed.h"

#include "base/json_members.h"
#include "model/codec/codec.h"
#include "model/job.h"

namespace berth::model {
namespace {

bool is_zero(const json::Value& v) {
  return v.is_null() || (v.is_bool() && !v.as_bool()) || (v.is_number() && v.as_double() == 0) ||
         (v.is_string() && v.as_string().empty());
}

/// The form in which two jobs are compared if they differ at first sight. Driver configuration and environment are the
/// user's own maps: an empty value is a value there.
Job without_zeros_in_blocks(Job job) {
  const auto strip = [](json::Retained& block) { block = without_zeros(block); };
  for (TaskGroup& group : job.task_groups) {
    strip(group.services), strip(group.consul);
    if (group.scaling) strip(group.scaling->extra);  // with the server's ID and indexes (R-REG-432)
    for (Task& task : group.tasks)
      for (json::Retained* block :
           {&task.services, &task.vault, &task.consul, &task.templates, &task.secrets, &task.dispatch_payload,
            &task.artifacts, &task.volume_mounts, &task.scaling_policies, &task.csi_plugin_config, &task.identity,
            &task.identities, &task.actions, &task.schedule})
        strip(*block);
  }
  return job;
}

/// A copy with the fields that never count set to fixed values.
Job without_bookkeeping(const Job& job) {
  Job copy = job;
  copy.status.clear(), copy.status_description.clear();
  copy.stable = false;
  copy.version = copy.create_index = copy.modify_index = copy.job_modify_index = 0;
  copy.submit_time = 0;
  for (TaskGroup& group : copy.task_groups)
    for (Task& task : group.tasks)
      if (task.volume_mounts.is_array() && task.volume_mounts.size() == 0) task.volume_mounts = json::Value();
  return copy;
}

}  // namespace

json::Value without_zeros(const json::Value& block) {
  if (block.is_array()) {
    json::Value out = json::Value::array();
    for (const json::Value& item : block.items()) out.push(without_zeros(item));
    return out;
  }
  if (!block.is_object()) return block;
  json::Value out = json::Value::object();
  const json::MemberIndex last(block);           // of a repeated key the last one counts
  for (const json::Member& m : block.members())  // a template's user and group may be absent, and 0 is root
    if (last.find(m.key) == &m.value &&
        (!is_zero(m.value) || ((m.key == "Uid" || m.key == "Gid") && !m.value.is_null())))
      out.members().push_back({m.key, without_zeros(m.value)});
  return out;
}

bool spec_changed(const Job& stored, const Job& submitted, const EmptyContainers& stored_empty,
                  EmptyContainers submitted_empty) {
  std::erase_if(submitted_empty, [](const std::string& place) {
    for (const char* list :
         {"/Constraints", "/Affinities", "/Spreads", "/SpreadTarget", "/VolumeMounts", "/Resources/Networks"})
      if (place.ends_with(list)) return true;
    return false;
  });
  if (stored_empty != submitted_empty) return true;
  const Job a = without_bookkeeping(stored), b = without_bookkeeping(submitted);
  if (a == b) return false;
  // Members of retained blocks may have a different order without meaning.
  return !json::equal_ignoring_member_order(to_json(without_zeros_in_blocks(a), WriteMode::sparse),
                                            to_json(without_zeros_in_blocks(b), WriteMode::sparse));
}

}  // namespace berth::model
