// Fit of groups that ask for ports, devices or cores, and on nodes where such things are held: the bin-pack stage
// written out step by step over the node's proposed allocations (R-RANK-601 to 662). Slower than the column path and
// taken only where needed; its verdict is kept in the cell like any other.
#include <algorithm>

#include "base/text.h"
#include "model/flatten.h"
#include "model/node_canonical.h"
#include "rank/fit.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

Scratch::OfSpec& Scratch::of_spec(const std::shared_ptr<const tables::NodeSpec>& spec) {
  OfSpec& entry = of_specs_[spec.get()];
  if (!entry.spec) entry.spec = spec;
  return entry;
}

const rank::NodePorts& Scratch::node_ports(const std::shared_ptr<const tables::NodeSpec>& spec) {
  OfSpec& entry = of_spec(spec);
  if (!entry.ports) entry.ports = std::make_unique<rank::NodePorts>(rank::read_node_ports(spec->node));
  return *entry.ports;
}

const rank::DeviceAccounter& Scratch::node_devices(const std::shared_ptr<const tables::NodeSpec>& spec) {
  OfSpec& entry = of_spec(spec);
  if (!entry.devices) {
    const std::optional<model::NodeResources>& resources = spec->node.node_resources;
    entry.devices = std::make_unique<rank::DeviceAccounter>(resources ? std::span(resources->devices)
                                                                      : std::span<const model::NodeDevice>());
  }
  return *entry.devices;
}

void GenericStack::proposed(NodeRow row, std::vector<const tables::ResourceShape*>& out) {  // R-RANK-501 to 504
  const tables::AllocTable& allocs = snapshot_->allocs;
  const NodeOverlay* const overlay = scratch_.overlay(row);
  by_id_.clear();
  for (tables::AllocRow a = snapshot_->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    prefetch_alloc(a);  // the chain is followed one after the other, the rest need not wait for it
    if (stays(overlay, a)) by_id_.push_back(a);
  }
  ordered_.clear();
  for (const tables::AllocRow a : by_id_) ordered_.emplace_back(allocs.id[a], a);
  std::sort(ordered_.begin(), ordered_.end());
  for (std::size_t i = 0; i < ordered_.size(); ++i) by_id_[i] = ordered_[i].second;
  out.clear();
  for (const tables::AllocRow a : by_id_) out.push_back(&shape_after(overlay, a));
  if (!overlay) return;
  static const tables::ResourceShape kNothing;
  for (std::int32_t i = 0; i < overlay->relisted; ++i) out.push_back(&kNothing);
  for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = plan_->allocs[i].next_on_node)
    out.push_back(plan_->allocs[i].held);
}

/// The proposed allocations that hold ports, devices or cores; the others matter only by their sums, which the columns
/// have. The walk ends when all of them were met.
void GenericStack::proposed_special(NodeRow row, std::vector<const tables::ResourceShape*>& out) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const tables::NodeUse& use = snapshot_->nodes.use[row];
  const NodeOverlay* const overlay = scratch_.overlay(row);
  out.clear();
  by_id_.clear();
  bool in_order = false;
  std::uint32_t ports = use.port_allocs, devices = use.device_allocs, cores = use.core_allocs;
  for (tables::AllocRow a = use.alloc_head; a != kNoRow && (ports | devices | cores) != 0; a = allocs.next_on_node[a]) {
    const tables::ResourceShape& shape = allocs.shape_of(a);
    ports -= shape.ports;
    devices -= shape.devices;
    cores -= !shape.cores.empty();
    if (!shape.special() || !stays(overlay, a)) continue;
    in_order = in_order || shape.shares_ports;
    by_id_.push_back(a);
  }
  if (in_order)  // R-RANK-504: which of two holders of a port comes first matters only here
    std::sort(by_id_.begin(), by_id_.end(),
              [&](tables::AllocRow a, tables::AllocRow b) { return allocs.id[a] < allocs.id[b]; });
  for (const tables::AllocRow a : by_id_) out.push_back(&shape_after(overlay, a));
  if (overlay && overlay->complex_allocs > 0)
    for (std::uint32_t i = overlay->first_alloc; i != kNoRow; i = plan_->allocs[i].next_on_node)
      if (plan_->allocs[i].held->special()) out.push_back(plan_->allocs[i].held);
}

/// Enters what proposed_special() left out into the fit sum: one entry with their sums, and, where the number of
/// allocations is limited, empty ones for the rest of them.
void GenericStack::sum_others(NodeRow row, bool count_each) {
  const tables::NodeUse& use = snapshot_->nodes.use[row];
  model::FlatResources rest;
  rest.cpu_mhz = use.cpu_mhz;
  rest.memory_mb = use.memory_mb;
  rest.disk_mb = use.disk_mb;
  std::int64_t entries = static_cast<std::int64_t>(use.alloc_count) - static_cast<std::int64_t>(proposed_.size());
  if (const NodeOverlay* overlay = scratch_.overlay(row)) {
    rest.cpu_mhz += overlay->cpu_mhz;
    rest.memory_mb += overlay->memory_mb;
    rest.disk_mb += overlay->disk_mb;
    entries += overlay->allocs;
  }
  for (const tables::ResourceShape* shape : proposed_) {
    rest.cpu_mhz -= shape->cpu_mhz;
    rest.memory_mb -= shape->memory_mb;
    rest.disk_mb -= shape->disk_mb;
  }
  if (entries <= 0) return;
  scratch_.fit.add(&rest);
  for (std::int64_t i = 1; count_each && i < entries; ++i) scratch_.fit.add(nullptr);
}

/// Enters the ports of the node and of its proposed allocations (proposed_special()) into the network index.
bool GenericStack::ports_collide(const rank::NodePorts& ports) {
  rank::NetworkIndex& index = scratch_.network_index;
  index.start(ports);
  bool collision = false;
  for (const tables::ResourceShape* shape : proposed_)
    if (shape->ports) collision = index.add(*shape->resources, "") || collision;
  return collision;
}

bool GenericStack::build_option(const Position& position, const GroupView& v, Option& option) {
  const std::shared_ptr<const tables::NodeSpec>& spec = snapshot_->nodes.fixed->spec[position.row];
  const model::Node& node = spec->node;
  const CompiledGroup& group = *v.group;
  const rank::NodePorts& ports = scratch_.node_ports(spec);
  option.resources = {};
  option.dimension = kReasonNone;
  option.device_weight = option.device_matched = 0;
  victims_.clear();
  auto fail = [&](std::uint32_t dimension) {
    option.dimension = dimension;
    return false;
  };
  auto fail_text = [&](std::string_view prefix, std::string_view text) {
    return fail(scratch_.reasons.id(std::string(prefix) + std::string(text)));
  };

  if (!ports.error.empty()) return fail(kDimensionInvalidNode);  // R-RANK-604
  // Choosing victims needs every allocation, everything else only those that hold ports, devices or cores.
  if (evicting_)
    proposed(position.row, proposed_);
  else
    proposed_special(position.row, proposed_);
  if (ports_collide(ports)) return fail(kDimensionPortCollision);  // R-RANK-607
  rank::NetworkIndex& index = scratch_.network_index;

  model::AllocatedResources& resources = option.resources;
  resources.shared.disk_mb = group.disk_mb;
  if (group.has_network) {  // R-RANK-611 to 618
    model::NetworkResource network = group.spec->networks.front();
    for (auto* list : {&network.dynamic_ports, &network.reserved_ports})
      for (model::Port& port : *list) {
        if (port.host_network.empty()) continue;
        const match::Target target = match::parse_target(port.host_network);
        const match::Side side = match::resolve(target, node);
        if (!side.found) return false;  // dropped without a metric (R-RANK-612)
        port.host_network = std::string(side.text);
      }
    std::vector<model::AllocatedPort> offer;
    auto offered = index.assign_ports(network, offer);
    if (!offered && evicting_ && evict_for_network(network, ports, option))
      offered = index.assign_ports(network, offer);
    if (!offered) return fail_text("network: ", offered.error().text());
    if (auto done = rank::fill_group_network(ports, offer, network); !done) {
      error_ = done.error().text;
      return false;
    }
    // What is recorded is the ask as written, with host networks resolved and dynamic values filled in.
    index.add_ports(offer);
    resources.shared.networks.push_back(std::move(network));
    resources.shared.ports = std::move(offer);
  }

  if (group.has_devices) start_accounter(position.row);
  std::vector<std::uint16_t> consumed;
  const auto consume = [&] {
    consumed.clear();
    for (const tables::ResourceShape* shape : proposed_) model::merge_cores(consumed, shape->cores);
    each_relisted(position.row,
                  [&](tables::AllocRow a) { model::merge_cores(consumed, snapshot_->allocs.shape_of(a).cores); });
  };
  if (group.has_cores) consume();

  std::size_t request_index = 0;
  for (std::size_t t = 0; t < group.tasks.size(); ++t) {
    const model::Task& task = group.spec->tasks[t];
    const tables::CompiledTask& ask = group.tasks[t];
    model::AllocatedTask allocated;
    allocated.cpu.cpu_shares = ask.cpu_mhz;
    allocated.memory.memory_mb = ask.memory_mb;
    if (config_.memory_oversubscription) allocated.memory.memory_max_mb = ask.memory_max_mb;
    if (ask.network) {  // R-RANK-623, 624
      model::NetworkResource offer;
      const model::NetworkResource& network = task.resources->networks.front();
      auto offered = index.assign_task_network(network, offer);
      if (!offered && evicting_ && evict_for_network(network, ports, option))
        offered = index.assign_task_network(network, offer);
      if (!offered) return fail_text("network: ", offered.error().text());
      index.add_network(offer);
      allocated.networks.push_back(std::move(offer));
    }
    if (ask.devices) {  // R-RANK-631 to 637
      const std::span<const match::DeviceRequest> requests =
          std::span(v.devices).subspan(request_index, task.resources->devices.size());
      request_index += requests.size();
      if (!evicting_) {
        if (!serve_devices(requests, position.row, false, option, allocated)) return false;
      } else {  // R-PREEMPT-601
        const rank::DeviceAccounter before = *accounter_;
        const double weight = option.device_weight, matched = option.device_matched;
        if (!serve_devices(requests, position.row, false, option, allocated)) {
          if (!error_.empty()) return false;
          *accounter_ = before;
          allocated.devices.clear();
          option.device_weight = weight;
          option.device_matched = matched;
          if (!serve_devices(requests, position.row, true, option, allocated)) return false;
        }
        option.dimension = kReasonNone;
      }
    }
    if (ask.cores > 0) {        // R-RANK-641, 642
      if (!victims_.empty()) {  // what the victims so far held is free
        consume();
        for (const auto& [name, earlier] : resources.tasks) model::merge_cores(consumed, earlier.cpu.reserved_cores);
      }
      const model::Topology* topology = model::topology_of(node);
      if (!topology ||
          !rank::assign_cores(*topology, consumed, ask.cores, allocated.cpu.reserved_cores, allocated.cpu.cpu_shares))
        return fail(kDimensionCores);
      model::merge_cores(consumed, allocated.cpu.reserved_cores);
    }
    resources.task_lifecycles[task.name] = task.lifecycle;
    resources.tasks[task.name] = std::move(allocated);
  }

  rank::FitSum& fit = scratch_.fit;  // R-RANK-645
  fit.clear();
  if (!evicting_) sum_others(position.row, snapshot_->nodes.capacity(position.row).max_allocs != 0);
  model::FlatResources flat;
  for (const tables::ResourceShape* shape : proposed_) {
    flat.cpu_mhz = shape->cpu_mhz;
    flat.memory_mb = shape->memory_mb;
    flat.disk_mb = shape->disk_mb;
    flat.cores = shape->cores;
    fit.add(&flat);
  }
  flat = model::flatten(resources);
  fit.add(&flat);
  const tables::NodeCapacity& capacity = snapshot_->nodes.capacity(position.row);
  rank::NodeFit room;
  room.available.cpu_mhz = capacity.cpu_mhz;
  room.available.memory_mb = capacity.memory_mb;
  room.available.disk_mb = capacity.disk_mb;
  room.available.cores = spec->cores;
  room.max_allocs = capacity.max_allocs;
  const rank::Dimension dimension = fit.judge(room);
  if (dimension != rank::Dimension::none && !(evicting_ && evict_for_resources(position.row, flat, room.available)))
    return fail(scratch_.reasons.id(rank::dimension_text(dimension)));
  option.ask_cpu_mhz = flat.cpu_mhz;
  option.use = {fit.used().cpu_mhz, fit.used().memory_mb, fit.used().disk_mb};
  if (fixed_ && dimension != rank::Dimension::none) {
    option.use = {flat.cpu_mhz, flat.memory_mb, flat.disk_mb};
    sum_staying(option.use);
  }
  return true;
}

void GenericStack::start_accounter(NodeRow row) {
  accounter_ = scratch_.node_devices(snapshot_->nodes.fixed->spec[row]);
  for (const tables::ResourceShape* shape : proposed_)
    if (shape->devices)
      for (const auto& [name, task] : shape->resources->tasks)
        for (const model::AllocatedDevice& device : task.devices) accounter_->add(device);
}

bool GenericStack::serve_devices(std::span<const match::DeviceRequest> requests, NodeRow row, bool evict,
                                 Option& option, model::AllocatedTask& allocated) {
  for (const match::DeviceRequest& request : requests) {
    auto offer = accounter_->offer(request, scratch_.patterns);
    if (!offer && !offer.error().not_a_number && evict && evict_for_device(request, row, option, allocated))
      offer = accounter_->offer(request, scratch_.patterns);
    if (!offer) {
      if (offer.error().not_a_number)
        error_ = offer.error().text;
      else
        option.dimension = scratch_.reasons.id("devices: " + std::string(offer.error().text));
      return false;
    }
    accounter_->add(offer->device);
    if (!request.affinities.empty()) {
      option.device_weight += rank::total_affinity_weight(request);
      option.device_matched += offer->matched_weight;
    }
    allocated.devices.push_back(std::move(offer->device));
  }
  return true;
}

void GenericStack::decide_fit_special(const Position& position, const GroupView& v, Cell& cell) {
  cell.fit = kFail;
  if (!build_option(position, v, option_)) {
    cell.dimension = option_.dimension;
    return;
  }
  score(position, v, cell, option_.use, true);
  if (option_.device_weight != 0) {  // R-RANK-654
    cell.has_devices = true;
    cell.devices = option_.device_matched / option_.device_weight;
    // In stage order devices follows binpack: the prefix sum is formed anew.
    cell.prefix = cell.binpack + cell.devices;
    cell.appended = 2;
    if (cell.collides) cell.prefix += cell.anti_affinity, ++cell.appended;
    if (!system_ && !v.group->affinities.empty()) cell.prefix += cell.affinity, ++cell.appended;
  }
}

}  // namespace berth::sched
