// Annotations that a dry run adds to the difference of two job versions (R-SCHED-197 to 199). The difference itself is
// an input.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "berth/result.h"
#include "model/eval.h"

namespace berth::model {

struct GroupAnnotations {
  std::string group;
  std::map<std::string, std::uint64_t> updates;  ///< `create`, `destroy`, `in-place update`, ...; only those above zero
  std::vector<std::string> count;                ///< annotations of the group's Count field
  std::map<std::string, std::vector<std::string>> tasks;  ///< task -> annotations; tasks without any are left out
};

/// One entry per group of the difference, in its order. `diff` is {Type, ID, TaskGroups: [{Type, Name, Fields, Tasks}]}
/// as the plan endpoint gives it. Fails when a Count is not a number.
[[nodiscard]] Result<std::vector<GroupAnnotations>> annotate_diff(const json::Value& diff,
                                                                  const std::map<std::string, DesiredUpdates>& updates);

}  // namespace berth::model
