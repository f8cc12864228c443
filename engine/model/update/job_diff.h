// The difference of two versions of a job, in the form of the plan endpoint (input of R-SCHED-197 to 200).
//
// The specification leaves this form open; the names, the order and what is listed follow recorded answers of a running
// Nomad. Blocks that none of them shows (Spread, Multiregion, Actions, ...) are listed by the general rules of a block.
//
//   object = {Type, Name, Fields, Objects}   Type: Added, Deleted, Edited, None
//   field  = {Type, Name, Old, New}          texts; "" where there is none; durations in ns
// A field is Added when its old text is "", Deleted when the new one is. Inside a block that differs the equal fields
// are listed as well (None), but not inside Scaling and Config and not at the level of job, group and task.
#pragma once

#include <map>
#include <string>
#include <tl/expected.hpp>

#include "berth/result.h"
#include "model/eval.h"

namespace berth::model {

/// `before` null: the job is new. Fails when the two jobs have different IDs.
[[nodiscard]] tl::expected<json::Value, std::string> job_diff(const Job* before, const Job* after);

/// Writes annotations and updates into a difference as the plan endpoint answers (R-SCHED-197 to 199).
[[nodiscard]] Result<void> write_annotations(json::Value& diff, const std::map<std::string, DesiredUpdates>& updates);

}  // namespace berth::model
