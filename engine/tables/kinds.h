// Text keys for caching verdicts: what the checks of a node read besides its computed class, and what the checks of a
// task group require. A verdict of (group, node) is cached by (checks, kind) and outlives evaluations.
//
//   kind     number of (computed class, the two profiles): NodeCapacity::kind
//   checks   position of checks_text(): CompiledGroup::checks, with a number of its own (shared_slots.h)
// Kinds are numbered in order of appearance and never reused. So cached verdicts need no invalidation: a node that
// changes gets another kind, and other checks at the same position have another number.
#pragma once

#include <string>

#include "model/node.h"
#include "tables/job_table.h"

namespace berth::tables {

/// Appends what the driver check and the default network check read.
void append_check_profile(const model::Node& node, std::string& out);
/// Appends what device and host network checks read: R-FEAS-901 to 935, 1006 to 1010.
void append_other_profile(const model::Node& node, std::string& out);
/// The job's and group's requirements on a node's class, drivers, devices, network and secrets. Empty if the answer
/// depends on more than the node's kind: constraints that escape the class, a device's ID, a host network that the node
/// names.
[[nodiscard]] std::string checks_text(const CompiledJob& job, const CompiledGroup& group);

}  // namespace berth::tables
