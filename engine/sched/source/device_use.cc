#include "sched/source/device_use.h"

namespace berth::sched {

using tables::NodeRow;

bool DeviceUse::load(const tables::Snapshot& snapshot, NodeRow row, rank::DeviceAccounter& unused) {
  follow(snapshot);
  const OfNode& node = nodes_[row];
  if (node.known) unused.set_use_counts(node.counts);
  return node.known;
}

void DeviceUse::keep(NodeRow row, const rank::DeviceAccounter& used) {
  OfNode& node = nodes_[row];
  used.read_use_counts(node.counts);
  node.known = true;
}

void DeviceUse::follow(const tables::Snapshot& snapshot) {
  const tables::NodeTable& nodes = snapshot.nodes;
  if (log_ == nodes.fixed->use_log && changes_ == nodes.use_changes && nodes_.size() == nodes.size()) return;
  changed_.clear();
  nodes_.resize(nodes.size());
  if (log_ == nodes.fixed->use_log && log_->read(changes_, nodes.use_changes, changed_)) {
    for (const NodeRow row : changed_) nodes_[row].known = false;
  } else {
    log_ = nodes.fixed->use_log;
    for (OfNode& node : nodes_) node.known = false;
  }
  changes_ = nodes.use_changes;
}

}  // namespace berth::sched
