#include "sched/source/device_use.h"

namespace berth::sched {

using tables::NodeRow;

bool DeviceUse::load(const tables::Snapshot& snapshot, NodeRow row, rank::DeviceAccounter& unused) {
  follow(snapshot);
  const OfNode& node = nodes_[row];
  if (node.known) unused.set_use_counts(node.counts);
  return node.known;
}

std::span<const std::uint32_t> DeviceUse::free(const tables::Snapshot& snapshot, NodeRow row) {
  follow(snapshot);
  const OfNode& node = nodes_[row];
  return node.known ? std::span<const std::uint32_t>(node.free) : std::span<const std::uint32_t>();
}

void DeviceUse::keep(NodeRow row, const rank::DeviceAccounter& used) {
  OfNode& node = nodes_[row];
  used.read_use_counts(node.counts);
  node.free.clear();
  for (const rank::DeviceAccounter::Group& group : used.groups())
    node.free.push_back(static_cast<std::uint32_t>(group.free_count()));
  node.known = true;
}

void DeviceUse::follow(const tables::Snapshot& snapshot) {
  if (follower_.is_at(snapshot)) return;
  const std::vector<NodeRow>* changed = follower_.advance(snapshot);
  nodes_.resize(snapshot.nodes.size());
  if (changed) {
    for (const NodeRow row : *changed) nodes_[row].known = false;
  } else {
    for (OfNode& node : nodes_) node.known = false;
  }
}

}  // namespace berth::sched
