// Kind of resource: the ports held on the node, which must not collide (R-RANK-604 to 608).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

/// Of a node where ports and cores at most are held besides amounts, as far as columns tell that these do.
bool decide_by_ports(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);
bool enter_ports(Building& building);
/// Ports that the plan takes from allocations on the node, ascending: their clients still hold them.
void list_leaving_ports(const FitParts& parts, tables::NodeRow row, std::vector<std::uint16_t>& out);

}  // namespace berth::sched
