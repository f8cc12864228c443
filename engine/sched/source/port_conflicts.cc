#include "sched/source/port_conflicts.h"

#include <algorithm>

#include "sched/scratch.h"
#include "tables/port_holders.h"

namespace berth::sched {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

void PortConflicts::update(const tables::Snapshot& snapshot, Scratch& scratch) {
  const tables::NodeTable& nodes = snapshot.nodes;
  const std::optional<NodeFeed::Rows> changed = scratch.feed.advance(place_, nodes);
  if (!changed) {
    bad_.assign(nodes.size(), 0);
    bad_count_ = 0;
    for (NodeRow row = 0; row < nodes.size(); ++row) look_at(snapshot, row, scratch);
  } else {
    bad_.resize(nodes.size(), 0);
    for (const NodeRow row : *changed) look_at(snapshot, row, scratch);
  }
}

void PortConflicts::look_at(const tables::Snapshot& snapshot, NodeRow row, Scratch& scratch) {
  const bool ports = collide(snapshot, row, scratch);
  bad_count_ += static_cast<std::size_t>(ports) - static_cast<std::size_t>(at(row));
  bad_[row] = static_cast<std::uint8_t>(ports ? kPorts : 0) |
              static_cast<std::uint8_t>(scratch.core_use.held_well(snapshot, row) ? 0 : kCores);
}

bool PortConflicts::collide(const tables::Snapshot& snapshot, NodeRow row, Scratch& scratch) {
  const tables::AllocTable& allocs = snapshot.allocs;
  // A profile is found for who asks for ports, not for all nodes.
  const PortProfiles::OfNode& known = scratch.port_profiles.by_row(snapshot.nodes)[row];
  const rank::NodePorts& ports = known.own ? *known.own : scratch.node_ports(snapshot.nodes.fixed->spec[row]);
  if (ports.host_without_address) return true;
  if (snapshot.nodes.use[row].port_allocs == 0) return false;
  if (const tables::HeldPorts* const held = snapshot.nodes.held_ports(row))
    return rank::NetworkIndex::collide(ports, known.own ? scratch.port_profiles.of(known.profile) : ports,
                                       held->address(), held->ports());
  scratch.network_index.start(ports);
  holders_.clear();
  tables::each_port_holder(snapshot, row, [&](AllocRow a, const tables::ResourceShape&) { holders_.push_back(a); });
  // R-RANK-504: where ports are shared, which of two holders comes first decides.
  std::sort(holders_.begin(), holders_.end(), [&](AllocRow a, AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  bool bad = false;
  for (const AllocRow a : holders_) bad = scratch.network_index.add(*allocs.shape_of(a).resources, "") || bad;
  return bad;
}

}  // namespace berth::sched
