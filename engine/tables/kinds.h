// What the checks of a node read of it beside its computed class, and what the checks of a task group ask, as texts: a
// verdict of (group, node) is one of (ask, kind) and outlives evaluations.
//
//   kind   number of (computed class, the two profiles): NodeCapacity::kind
//   ask    number of ask_text(): CompiledGroup::ask
// Both are numbered as they come and never again, so that whoever remembers a verdict needs no word of what changes: a
// node that changes is of another kind.
#pragma once

#include <string>

#include "model/node.h"
#include "tables/job_table.h"

namespace berth::tables {

/// Appends what the driver check and the default network check read.
void append_check_profile(const model::Node& node, std::string& out);
/// Appends what device and host network checks read: R-FEAS-901 to 935, 1006 to 1010.
void append_other_profile(const model::Node& node, std::string& out);
/// What job and group ask of a node's class, drivers, devices, network and secrets; empty where the answer takes more
/// of a node than its kind: what escapes its class, a device's ID, a host network that the node names.
[[nodiscard]] std::string ask_text(const CompiledJob& job, const CompiledGroup& group);

}  // namespace berth::tables
