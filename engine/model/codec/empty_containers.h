// Lists and maps of a job's JSON that are present but empty.
//
// The structs of the model do not distinguish an empty container from an absent one, and neither does a canonical job.
// Before canonicalising, Nomad does (R-MODEL-8): it refuses a system job with an empty list of affinities, and an empty
// list of devices is a change. Callers that have the JSON can pass this set to validate() and spec_changed().
#pragma once

#include <set>
#include <string>

#include "base/retained_json.h"

namespace berth::model {

using EmptyContainers = std::set<std::string>;  ///< JSON pointers, unescaped

[[nodiscard]] EmptyContainers empty_containers(const json::Value& job);

}  // namespace berth::model
