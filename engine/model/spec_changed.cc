#include "model/spec_changed.h"

#include "model/codec.h"

namespace berth::model {
namespace {

/// A copy in which the fields that never count are equal to those of every other copy.
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
  // Members of retained blocks may come in another order, which means nothing.
  return !json::equal_ignoring_member_order(to_json(a, WriteMode::sparse), to_json(b, WriteMode::sparse));
}

}  // namespace berth::model
