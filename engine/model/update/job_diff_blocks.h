// Blocks that differences of jobs show in several places. Part of job_diff.h.
#pragma once

#include "base/json.h"

namespace berth::model::diff {

/// A block whose keys are the user's, flattened; an empty one counts as absent.
[[nodiscard]] json::Value config_block(const char* name, const json::Value& before, const json::Value& after);
[[nodiscard]] json::Value resources(const json::Value& before, const json::Value& after);
[[nodiscard]] json::Value logs(const json::Value& before, const json::Value& after);
[[nodiscard]] json::Value identity(const json::Value& before, const json::Value& after);
[[nodiscard]] json::Value mount(const json::Value& before, const json::Value& after);
/// Services of a group or a task (R-REG-540 to 542).
void add_services(const json::Value& before, const json::Value& after, json::Value& out);

}  // namespace berth::model::diff
