// Kind of resource: the ports held on the node, which must not collide (R-RANK-604 to 608).
#pragma once

#include "sched/node/building.h"

namespace berth::sched {

/// Decides a node on which at most ports and cores are held besides amounts, if the columns suffice.
bool decide_by_ports(FitParts& parts, tables::NodeRow row, const GroupView& view, Cell& cell);
bool enter_ports(Building& building);
/// Ports of live allocations that the plan stops or the option evicts, ascending: their clients still hold them.
void list_leaving_ports(const FitParts& parts, tables::NodeRow row, std::vector<std::uint16_t>& out);

}  // namespace berth::sched
