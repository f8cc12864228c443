// The difference of two versions of a job, in the form of the plan endpoint (input of R-SCHED-197 to 200).
//
//   object = {Type, Name, Fields, Objects}   Type: Added, Deleted, Edited, None
//   field  = {Type, Name, Old, New}          texts; "" where there is none; durations in ns
//
// R-REG section 12 defines which members show, in which order and under which names. diff_objects.h has the ways of
// comparing.
#pragma once

#include <map>
#include <string>
#include <tl/expected.hpp>

#include "berth/result.h"
#include "model/eval.h"

namespace berth::model {

/// `before` null: the job is new. Fails when the two jobs have different IDs.
[[nodiscard]] tl::expected<json::Value, std::string> job_diff(const Job* before, const Job* after);

/// Writes annotations and updates into a difference, as in the plan endpoint's response (R-SCHED-197 to 199).
[[nodiscard]] Result<void> write_annotations(json::Value& diff, const std::map<std::string, DesiredUpdates>& updates);

}  // namespace berth::model
