// Fit of groups that ask for ports, devices or cores, and on nodes where such things are held: the bin-pack stage
// written out step by step over the node's proposed allocations (R-RANK-601 to 662). Slower than figures and taken only
// where needed; its verdict is kept in the cell like any other.
//
//   node valid, ports of those there   ->  group network  ->  per task: network, devices, cores  ->  cpu, memory, disk
#include "base/wrap_sums.h"
#include "model/flatten.h"
#include "model/registration/node_canonical.h"
#include "sched/node/node_fit.h"
#include "sched/node/set_keys.h"
#include "tables/port_holders.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

namespace {

void add_cores(const tables::HeldCores& held, std::vector<std::uint16_t>& out) {
  held.each([&](std::uint16_t core) { out.push_back(core); });
}

}  // namespace

std::uint8_t NodeFit::kind_of(const CompiledGroup& group) {
  const auto tasks = static_cast<unsigned>(std::min<std::size_t>(group.tasks.size(), 15));
  const unsigned asks = unsigned{group.has_network} | unsigned{group.has_task_network} << 1 |
                        unsigned{group.has_devices} << 2 | unsigned{group.has_cores} << 3;
  return static_cast<std::uint8_t>(tasks << 4 | asks);
}

bool NodeFit::fail(Option& option, std::string_view prefix, std::string_view text) {
  text_.assign(prefix).append(text);
  option.dimension = scratch_.reasons.id(text_);
  return false;
}

std::uint32_t NodeFit::reason_of(const network::PortFailure& failure) {
  for (const KnownFailure& known : port_failures_)
    if (known.kind == failure.kind && known.port == failure.port && known.name == failure.name) return known.reason;
  const std::uint32_t reason = scratch_.reasons.id("network: " + failure.text());
  if (port_failures_.size() == kFailuresMost) port_failures_.clear();
  port_failures_.push_back({failure.kind, failure.port, std::string(failure.name), reason});
  return reason;
}

bool NodeFit::build_option(NodeRow row, const GroupView& v, bool evict, bool chosen, Option& option) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeSpec& spec = nodes.spec(row);
  const CompiledGroup& group = *v.group;
  const bool asks_ports = group.has_network || group.has_task_network;
  const network::NodePorts& ports = spec.ports;
  option.resources = &scratch_.shapes.next(kind_of(group));
  model::AllocatedResources& resources = *option.resources;
  if (evict) {  // whose search reads what the option has got so far
    resources.tasks.clear(), resources.task_lifecycles.clear();
    resources.shared.networks.clear(), resources.shared.ports.clear();
  }
  option.dimension = kReasonNone;
  option.device_weight = option.device_matched = 0;
  victims.victims.clear();
  if (!ports.error.empty()) {  // R-RANK-604
    option.dimension = kDimensionInvalidNode;
    return false;
  }
  // Choosing victims needs every allocation, everything else only those that hold ports, devices or cores; a strategy
  // is told of the devices in use.
  if (evict)
    proposed.collect(row);
  else
    proposed.collect_special(row, scratch_.strategy_fit ? Proposed::Devices::each
                                  : group.has_devices   ? Proposed::Devices::by_column
                                                        : Proposed::Devices::none);
  const bool clear = !evict && ports_are_clear(row);
  const network::NodePorts& like = asks_ports ? nodes.ports_of_profile(nodes.fixed->port_profile[row]) : ports;
  if ((!clear || asks_ports) && proposed.enter_ports(ports, like, clear)) {  // R-RANK-607
    option.dimension = kDimensionPortCollision;
    return false;
  }
  resources.shared.disk_mb = group.disk_mb;
  if (!evict) {
    const auto name = [](const model::Task& task) -> const std::string& { return task.name; };
    set_keys(resources.tasks, group.spec->tasks, name), set_keys(resources.task_lifecycles, group.spec->tasks, name);
  }
  if (group.has_network && !assign_group_network(row, ports, v, evict, option)) return false;
  if (group.has_devices) proposed.enter_devices(row);
  if (group.has_cores) {
    cores_.clear();
    proposed.merge_cores(row, cores_);
  }
  if (!assign_tasks(row, v, evict, option)) return false;
  if (!chosen) return judge(row, evict, option);
  BERTH_ASSERT(judge(row, evict, option));  // that it has room is known
  return true;
}

/// Networks, devices and cores of the group's tasks.
bool NodeFit::assign_tasks(NodeRow row, const GroupView& v, bool evict, Option& option) {
  const CompiledGroup& group = *v.group;
  const tables::NodeSpec& spec = attempt_.snapshot->nodes.spec(row);
  model::AllocatedResources& resources = *option.resources;
  std::span<const match::DeviceRequest> requests = v.devices;
  for (std::size_t t = 0; t < group.tasks.size(); ++t) {
    const model::Task& task = group.spec->tasks[t];
    const tables::CompiledTask& ask = group.tasks[t];
    if (evict) task_ = {};
    model::AllocatedTask& allocated = evict ? task_ : resources.tasks.find(task.name)->second;
    allocated.cpu.cpu_shares = ask.cpu_mhz;
    allocated.cpu.reserved_cores.clear();
    allocated.memory.memory_mb = ask.memory_mb;
    allocated.memory.memory_max_mb = attempt_.config.memory_oversubscription ? ask.memory_max_mb : 0;
    allocated.networks.clear();
    if (!ask.devices) allocated.devices.clear();
    if (ask.network &&
        !assign_task_network(row, task.resources->networks.front(), spec.ports, evict, option, allocated))
      return false;
    if (ask.devices) {
      const std::size_t count = task.resources->devices.size();
      if (!assign_devices(requests.first(count), row, evict, option, allocated)) return false;
      requests = requests.subspan(count);
    }
    if (ask.cores > 0 && !assign_cores(spec.node, row, ask.cores, option, allocated)) return false;
    resources.task_lifecycles[task.name] = task.lifecycle;
    if (evict) resources.tasks[task.name] = std::move(task_);
  }
  return true;
}

/// Whether nobody's ports collide on the node, for certain: nobody there holds any, or the state's do not and the plan
/// brings none.
bool NodeFit::ports_are_clear(NodeRow row) {
  const NodeOverlay* const overlay = scratch_.overlay(row);
  if (overlay && (overlay->complex_allocs != 0 || overlay->first_update != tables::kNoRow)) return false;
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  return use.port_allocs == 0 || (attempt_.by_amounts() && (use.irregular & tables::kPortsCollide) == 0);
}

/// Ports that the plan takes from allocations on the node, ascending: their clients still hold them.
std::span<const std::uint16_t> NodeFit::leaving_ports(NodeRow row) {
  leaving_.clear();
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const auto list = [&](tables::AllocRow alloc) {
    const tables::ResourceShape& shape = allocs.shape_of(alloc);
    if (shape.ports && !tables::client_terminal(allocs.client[alloc])) tables::list_ports(*shape.resources, leaving_);
  };
  if (const NodeOverlay* const overlay = scratch_.overlay(row))
    for (std::uint32_t i = overlay->first_stop; i != tables::kNoRow; i = attempt_.plan->stops[i].next_on_node)
      if (!attempt_.plan->stops[i].dropped) list(attempt_.plan->stops[i].alloc);
  for (const tables::AllocRow victim : victims.victims) list(victim);
  std::ranges::sort(leaving_);
  return leaving_;
}

bool NodeFit::assign_group_network(NodeRow row, const network::NodePorts& ports, const GroupView& v, bool evict,
                                   Option& option) {  // R-RANK-611 to 618
  const model::Node& node = attempt_.snapshot->nodes.fixed->spec[row]->node;
  network::NetworkIndex& index = scratch_.network_index;
  model::AllocatedShared& shared = option.resources->shared;
  shared.networks.resize(1);
  model::NetworkResource& network = shared.networks.front();
  network = v.group->spec->networks.front();
  for (auto* list : {&network.dynamic_ports, &network.reserved_ports})
    for (model::Port& port : *list) {
      if (!port.host_network.starts_with("${")) continue;  // a literal is itself
      const match::Target target = match::parse_target(port.host_network);
      const match::Side side = match::resolve(target, node);
      if (!side.found) return false;  // dropped without a metric (R-RANK-612)
      port.host_network = std::string(side.text);
    }
  auto offered = index.assign_ports(network, ports_);
  if (!offered && evict && victims.for_network(network, ports, *option.resources))
    offered = index.assign_ports(network, ports_);
  if (!offered) {
    option.dimension = reason_of(offered.error());
    return false;
  }
  if (scratch_.options.spare_leaving_ports && !network.dynamic_ports.empty())
    if (const auto leaving = leaving_ports(row); !leaving.empty()) index.spare_ports(network, leaving, ports_);
  if (auto done = network::fill_group_network(ports, ports_, network); !done) {
    attempt_.error = done.error().text;
    return false;
  }
  // What is recorded is the ask as written, with host networks resolved and dynamic values filled in.
  if (v.group->has_task_network) index.add_ports(ports_);
  shared.ports.swap(ports_);
  return true;
}

bool NodeFit::assign_task_network(NodeRow row, const model::NetworkResource& ask, const network::NodePorts& ports,
                                  bool evict, Option& option, model::AllocatedTask& task) {  // R-RANK-623, 624
  network::NetworkIndex& index = scratch_.network_index;
  model::NetworkResource offer;
  auto offered = index.assign_task_network(ask, offer);
  if (!offered && evict && victims.for_network(ask, ports, *option.resources))
    offered = index.assign_task_network(ask, offer);
  if (!offered) {
    option.dimension = reason_of(offered.error());
    return false;
  }
  if (scratch_.options.spare_leaving_ports && !offer.dynamic_ports.empty())
    if (const auto leaving = leaving_ports(row); !leaving.empty()) index.spare_ports(leaving, offer);
  index.add_network(offer);
  task.networks.push_back(std::move(offer));
  return true;
}

bool NodeFit::assign_devices(std::span<const match::DeviceRequest> requests, NodeRow row, bool evict, Option& option,
                             model::AllocatedTask& task) {  // R-RANK-631 to 637
  if (!evict) return serve_devices(requests, row, false, option, task);
  const rank::DeviceAccounter before = *proposed.accounter;  // R-PREEMPT-601
  const double weight = option.device_weight, matched = option.device_matched;
  if (!serve_devices(requests, row, false, option, task)) {
    if (!attempt_.error.empty()) return false;
    *proposed.accounter = before;
    task.devices.clear();
    option.device_weight = weight;
    option.device_matched = matched;
    if (!serve_devices(requests, row, true, option, task)) return false;
  }
  option.dimension = kReasonNone;
  return true;
}

bool NodeFit::serve_devices(std::span<const match::DeviceRequest> requests, NodeRow row, bool evict, Option& option,
                            model::AllocatedTask& task) {
  rank::DeviceAccounter& accounter = *proposed.accounter;
  std::size_t served = 0;
  for (const match::DeviceRequest& request : requests) {
    auto offer = accounter.offer(request, scratch_.patterns, device_);
    if (!offer && !offer.error().not_a_number && evict && victims.for_device(request, row, *option.resources, task))
      offer = accounter.offer(request, scratch_.patterns, device_);
    if (!offer) {
      if (!offer.error().not_a_number) return fail(option, "devices: ", offer.error().text);
      attempt_.error = offer.error().text;
      return false;
    }
    accounter.add(device_);
    if (!request.affinities.empty()) {
      option.device_weight += rank::total_affinity_weight(request);
      option.device_matched += *offer;
    }
    if (served == task.devices.size()) task.devices.emplace_back();
    std::swap(task.devices[served++], device_);
  }
  task.devices.resize(served);
  return true;
}

bool NodeFit::assign_cores(const model::Node& node, NodeRow row, std::int64_t cores, Option& option,
                           model::AllocatedTask& task) {  // R-RANK-641, 642
  if (!victims.victims.empty()) {                         // what the victims so far held is free
    cores_.clear();
    proposed.merge_cores(row, cores_);
    for (const auto& [name, earlier] : option.resources->tasks) model::merge_cores(cores_, earlier.cpu.reserved_cores);
  }
  const model::Topology* topology = model::topology_of(node);
  if (!topology || !rank::assign_cores(*topology, cores_, cores, task.cpu.reserved_cores, task.cpu.cpu_shares)) {
    option.dimension = kDimensionCores;
    return false;
  }
  model::merge_cores(cores_, task.cpu.reserved_cores);
  return true;
}

/// Cpu, memory, disk, cores and the number of allocations (R-RANK-645 to 647).
bool NodeFit::judge(NodeRow row, bool evict, Option& option) {
  const tables::NodeCapacity& capacity = attempt_.snapshot->nodes.capacity(row);
  rank::FitSum& fit = scratch_.fit;
  fit.clear();
  bool cores_are_in = !proposed.held_cores();
  if (!evict) cores_are_in = sum_others(row, capacity.max_allocs != 0) || cores_are_in;
  model::FlatResources& flat = flat_;
  flat.clear();
  for (std::size_t i = 0; i < proposed.shapes.size(); ++i) {
    const tables::ResourceShape* const shape = proposed.shapes[i];
    flat.cpu_mhz = shape->cpu_mhz;
    flat.memory_mb = shape->memory_mb;
    flat.disk_mb = shape->disk_mb;
    if (proposed.held_cores() && i < proposed.rows.size()) {  // they are all in one entry
      flat.cores.clear();
      if (!std::exchange(cores_are_in, true)) add_cores(*proposed.held_cores(), flat.cores);
    } else {
      flat.cores = shape->cores;
    }
    fit.add(&flat);
  }
  model::flatten(*option.resources, flat);
  fit.add(&flat);
  rank::NodeFit& room = room_;
  room.available.cpu_mhz = capacity.cpu_mhz;
  room.available.memory_mb = capacity.memory_mb;
  room.available.disk_mb = capacity.disk_mb;
  room.available.cores = attempt_.snapshot->nodes.fixed->spec[row]->cores;
  room.max_allocs = capacity.max_allocs;
  const rank::Dimension dimension = fit.judge(room);
  if (dimension != rank::Dimension::none && !(evict && victims.for_resources(row, flat, room.available)))
    return fail(option, "", rank::dimension_text(dimension));
  option.ask_cpu_mhz = flat.cpu_mhz;
  option.use = {fit.used().cpu_mhz, fit.used().memory_mb, fit.used().disk_mb};
  if (!attempt_.quirks.fit_counts_victims && dimension != rank::Dimension::none) {
    option.use = {flat.cpu_mhz, flat.memory_mb, flat.disk_mb};
    victims.sum_staying(option.use);
  }
  return true;
}

/// Enters what `proposed` left out into the fit sum: one entry with their sums and all cores of the state, where these
/// are known as a set, and, where the number of allocations is limited, empty ones for the rest of them.
/// False: nobody was left out.
bool NodeFit::sum_others(NodeRow row, bool count_each) {
  const tables::NodeUse& use = attempt_.snapshot->nodes.use[row];
  model::FlatResources& rest = rest_;
  rest.clear();
  rest.cpu_mhz = use.cpu_mhz;
  rest.memory_mb = use.memory_mb;
  rest.disk_mb = use.disk_mb;
  std::int64_t entries = static_cast<std::int64_t>(use.alloc_count) - static_cast<std::int64_t>(proposed.shapes.size());
  if (const NodeOverlay* overlay = scratch_.overlay(row)) {
    base::wrap_add_to(rest.cpu_mhz, overlay->cpu_mhz);
    base::wrap_add_to(rest.memory_mb, overlay->memory_mb);
    base::wrap_add_to(rest.disk_mb, overlay->disk_mb);
    entries += overlay->allocs;
  }
  for (const tables::ResourceShape* shape : proposed.shapes) {
    base::wrap_sub_from(rest.cpu_mhz, shape->cpu_mhz);
    base::wrap_sub_from(rest.memory_mb, shape->memory_mb);
    base::wrap_sub_from(rest.disk_mb, shape->disk_mb);
  }
  if (entries <= 0) return false;
  if (proposed.held_cores()) add_cores(*proposed.held_cores(), rest.cores);
  scratch_.fit.add(&rest);
  for (std::int64_t i = 1; count_each && i < entries; ++i) scratch_.fit.add(nullptr);
  return true;
}

}  // namespace berth::sched
