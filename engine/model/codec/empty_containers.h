// Lists and maps of a job's JSON that are present but empty.
//
// The structs of the model do not distinguish an empty container from an absent one, and neither does a canonical job.
// Before canonicalising, Nomad does (R-MODEL-8): it refuses a system job with an empty list of affinities, and an empty
// list of devices is a change. Callers that have the JSON can pass this set to validate() and spec_changed().
#pragma once

#include <set>
#include <string>

#include "base/json.h"

namespace berth::model {

using EmptyContainers = std::set<std::string>;  ///< JSON pointers, unescaped

inline void find_empty_containers(const json::Value& value, const std::string& place, EmptyContainers& out) {
  if ((value.is_object() || value.is_array()) && value.size() == 0) out.insert(place);
  for (const json::Member& member : value.members()) find_empty_containers(member.value, place + "/" + member.key, out);
  for (std::size_t i = 0; i < value.items().size(); ++i)
    find_empty_containers(value.items()[i], place + "/" + std::to_string(i), out);
}

[[nodiscard]] inline EmptyContainers empty_containers(const json::Value& job) {
  EmptyContainers out;
  find_empty_containers(job, "", out);
  return out;
}

}  // namespace berth::model
