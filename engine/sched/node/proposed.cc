#include "sched/node/proposed.h"

#include <algorithm>

#include "tables/state.h"

namespace berth::sched {

using tables::kNoRow;
using tables::NodeRow;

void Proposed::collect(NodeRow row) {  // R-RANK-501 to 504
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const NodeOverlay* const overlay = scratch_.overlay(row);
  rows.clear();
  held_ports_ = nullptr, held_cores_ = nullptr, held_devices_ = nullptr;
  for (tables::AllocRow a = attempt_.snapshot->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    prefetch(a);  // only the chain itself has to be read one after the other
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

/// Appends allocations that hold no ports, devices or cores in the snapshot, but do after the plan's update. True if
/// one may share a port.
bool Proposed::collect_gaining(const NodeOverlay& overlay, Devices devices) {
  bool shares = false;
  for (std::uint32_t i = overlay.first_update; i != kNoRow; i = attempt_.plan->updates[i].next_on_node) {
    const plan::PlannedUpdate& update = attempt_.plan->updates[i];
    if (update.dropped || !update.held || attempt_.snapshot->allocs.terminal(update.alloc)) continue;
    const tables::ResourceShape& held = *update.held;
    const auto is_special = [&](const tables::ResourceShape& shape) {
      return shape.ports || !shape.cores.empty() || (shape.devices && devices != Devices::none);
    };
    // What held them before is in `rows` already. An allocation may have several updates.
    if (!is_special(held) || is_special(attempt_.snapshot->allocs.shape_of(update.alloc))) continue;
    if (effects_.update_on(&overlay, update.alloc) != &update) continue;
    rows.push_back(update.alloc);
    shares = shares || held.shares_ports;
  }
  return shares;
}

void Proposed::collect_special(NodeRow row, Devices devices) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeUse& use = nodes.use[row];
  const NodeOverlay* const overlay = scratch_.overlay(row);
  shapes.clear();
  rows.clear();
  const bool untouched =
      attempt_.by_amounts() && (!overlay || (overlay->first_stop == kNoRow && overlay->first_update == kNoRow));
  held_ports_ = untouched ? nodes.held_ports(row) : nullptr;
  held_cores_ = untouched ? nodes.held_cores(row) : nullptr;
  held_devices_ = untouched && devices == Devices::by_column ? nodes.held_devices(row) : nullptr;
  const bool by_shape = devices != Devices::none && !held_devices_;
  bool in_order = false;
  // The loop ends when all holders of ports, cores and devices were found.
  std::uint32_t of_ports = held_ports_ ? 0 : use.port_allocs, of_cores = held_cores_ ? 0 : use.core_allocs;
  std::uint32_t of_devices = by_shape ? use.device_allocs : 0;
  for (tables::AllocRow a = use.alloc_head; a != kNoRow && (of_ports | of_devices | of_cores) != 0;
       a = allocs.next_on_node[a]) {
    const tables::ResourceShape& shape = allocs.shape_of(a);
    const bool ports = shape.ports && !held_ports_, cores = !shape.cores.empty() && !held_cores_;
    of_ports -= ports;
    of_cores -= cores;
    of_devices -= shape.devices && by_shape;
    if (!(ports || cores || (shape.devices && by_shape)) || !effects_.stays(overlay, a)) continue;
    in_order = in_order || shape.shares_ports;
    rows.push_back(a);
  }
  if (overlay) in_order = collect_gaining(*overlay, devices) || in_order;
  if (in_order)  // R-RANK-504: the order of two holders of a port matters only here
    std::sort(rows.begin(), rows.end(),
              [&](tables::AllocRow a, tables::AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  for (const tables::AllocRow a : rows) shapes.push_back(&effects_.shape_after(overlay, a));
  if (overlay && overlay->complex_allocs > 0)
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = attempt_.plan->allocs[i].next_on_node)
      if (attempt_.plan->allocs[i].held->special()) shapes.push_back(attempt_.plan->allocs[i].held);
}

bool Proposed::enter_ports(const network::NodePorts& ports, const network::NodePorts& like, bool clear) {
  network::NetworkIndex& index = scratch_.work.network_index;
  index.start(ports, like);
  bool collision = false;
  if (held_ports_ && clear)
    index.list_ports(held_ports_->address(), held_ports_->ports());
  else if (held_ports_)
    collision = index.add_ports(held_ports_->address(), held_ports_->ports());
  for (std::size_t i = held_ports_ ? rows.size() : 0; i < shapes.size(); ++i)
    if (shapes[i]->ports) collision = index.add(*shapes[i]->resources, "") || collision;
  return collision;
}

void Proposed::enter_devices(NodeRow row) {
  std::shared_ptr<const model::DeviceTable> devices = attempt_.snapshot->nodes.device_table(row);
  if (accounter)
    accounter->start(std::move(devices));
  else
    accounter.emplace(std::move(devices));
  if (held_devices_) held_devices_->each([&](std::size_t number) { accounter->mark(number); });
  for (std::size_t i = held_devices_ ? rows.size() : 0; i < shapes.size(); ++i)
    if (shapes[i]->devices)
      for (const auto& [name, task] : shapes[i]->resources->tasks)
        for (const model::AllocatedDevice& device : task.devices) accounter->add(device);
}

void Proposed::merge_cores(NodeRow row, std::vector<std::uint16_t>& cores) const {
  BERTH_DEBUG_ASSERT(cores.empty());
  if (held_cores_) held_cores_->each([&](std::uint16_t core) { cores.push_back(core); });
  for (std::size_t i = held_cores_ ? rows.size() : 0; i < shapes.size(); ++i)
    model::merge_cores(cores, shapes[i]->cores);
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
