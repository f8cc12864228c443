#include "sched/node/proposed.h"

#include <algorithm>

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;

void Proposed::collect(NodeRow row) {  // R-RANK-501 to 504
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const NodeOverlay* const overlay = scratch_.overlay(row);
  rows.clear();
  held_ = nullptr;
  for (tables::AllocRow a = attempt_.snapshot->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    prefetch(a);  // the chain is followed one after the other, the rest need not wait for it
    if (effects_.stays(overlay, a)) rows.push_back(a);
  }
  ordered_.clear();
  for (const tables::AllocRow a : rows) ordered_.emplace_back(allocs.id[a], a);
  std::sort(ordered_.begin(), ordered_.end());
  for (std::size_t i = 0; i < ordered_.size(); ++i) rows[i] = ordered_[i].second;
  shapes.clear();
  for (const tables::AllocRow a : rows) shapes.push_back(&effects_.shape_after(overlay, a));
  if (!overlay) return;
  static const tables::ResourceShape kNothing;
  for (std::int32_t i = 0; i < overlay->relisted; ++i) shapes.push_back(&kNothing);
  for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node)
    shapes.push_back(attempt_.plan->allocs[i].held);
}

void Proposed::collect_special(NodeRow row, bool instances) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  const NodeOverlay* const overlay = scratch_.overlay(row);
  shapes.clear();
  rows.clear();
  const bool untouched = !overlay || (overlay->first_stop == kNoRow && overlay->first_update == kNoRow);
  held_ = !instances && use.core_allocs == 0 && untouched ? attempt_.snapshot->nodes.held_ports(row) : nullptr;
  bool in_order = false;
  // The walk ends when all of them were met.
  std::uint32_t ports = use.port_allocs, devices = use.device_allocs, cores = use.core_allocs;
  if (held_) ports = devices = 0;
  for (tables::AllocRow a = use.alloc_head; a != kNoRow && (ports | devices | cores) != 0; a = allocs.next_on_node[a]) {
    const tables::ResourceShape& shape = allocs.shape_of(a);
    ports -= shape.ports;
    devices -= shape.devices;
    cores -= !shape.cores.empty();
    if (!shape.special() || !effects_.stays(overlay, a)) continue;
    in_order = in_order || shape.shares_ports;
    rows.push_back(a);
  }
  if (in_order)  // R-RANK-504: which of two holders of a port comes first matters only here
    std::sort(rows.begin(), rows.end(),
              [&](tables::AllocRow a, tables::AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  for (const tables::AllocRow a : rows) shapes.push_back(&effects_.shape_after(overlay, a));
  if (overlay && overlay->complex_allocs > 0)
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node)
      if (attempt_.plan->allocs[i].held->special()) shapes.push_back(attempt_.plan->allocs[i].held);
}

bool Proposed::enter_ports(const rank::NodePorts& ports) {
  rank::NetworkIndex& index = scratch_.network_index;
  index.start(ports);
  bool collision = held_ && index.add_ports(held_->address(), held_->ports());
  for (const tables::ResourceShape* shape : shapes)
    if (shape->ports) collision = index.add(*shape->resources, "") || collision;
  return collision;
}

void Proposed::enter_devices(NodeRow row) {
  accounter = scratch_.node_devices(attempt_.snapshot->nodes.fixed->spec[row]);
  add_devices();
}

void Proposed::add_devices() {
  for (const tables::ResourceShape* shape : shapes)
    if (shape->devices)
      for (const auto& [name, task] : shape->resources->tasks)
        for (const model::AllocatedDevice& device : task.devices) accounter->add(device);
}

void Proposed::enter_all_devices(NodeRow row) {
  if (scratch_.overlay(row)) return enter_devices(row);
  accounter = scratch_.node_devices(attempt_.snapshot->nodes.fixed->spec[row]);
  if (scratch_.device_use.load(*attempt_.snapshot, row, *accounter)) return;
  add_devices();
  scratch_.device_use.keep(row, *accounter);
}

void Proposed::merge_cores(NodeRow row, std::vector<std::uint16_t>& cores) const {
  for (const tables::ResourceShape* shape : shapes) model::merge_cores(cores, shape->cores);
  effects_.each_relisted(
      row, [&](tables::AllocRow a) { model::merge_cores(cores, attempt_.snapshot->allocs.shape_of(a).cores); });
}

void Proposed::remove(std::span<const tables::AllocRow> victims) {
  std::size_t kept = 0;
  const std::size_t count = rows.size();
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i < count && std::find(victims.begin(), victims.end(), rows[i]) != victims.end()) continue;
    if (i < count) rows[kept] = rows[i];
    shapes[kept++] = shapes[i];
  }
  rows.resize(count - (shapes.size() - kept));
  shapes.resize(kept);
}

void Proposed::prefetch(tables::AllocRow alloc) const {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  allocs.id.prefetch(alloc);
  allocs.shape.prefetch(alloc);
  allocs.job.prefetch(alloc);
  allocs.job_key.prefetch(alloc);
}

}  // namespace berth::sched
