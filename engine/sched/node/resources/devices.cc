#include "sched/node/resources/devices.h"

#include <array>

#include "model/job.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

namespace {

constexpr Needs kFreeDevices = kDynamicPorts | Needs{Need::devices};
constexpr std::size_t kGroupsMost = 32;  // device groups of a node; with more, an option is built

/// Writes the free instances of each device group of the node, from a column of the state (tables/held_devices.h) if
/// it has them; otherwise they are counted.
void count_free_devices(FitParts& parts, NodeRow row, std::span<std::uint32_t> out) {
  const tables::Snapshot& state = *parts.attempt.snapshot;
  if (const tables::HeldDevices* const held = state.nodes.held_devices(row)) {
    const std::vector<model::DeviceTable::Group>& groups = state.nodes.spec(row).devices.groups;
    for (std::size_t g = 0; g < groups.size(); ++g) out[g] = held->free_of(groups[g]);
    return;
  }
  parts.proposed.collect_special(row, Proposed::Devices::each);
  parts.proposed.enter_devices(row);
  for (const rank::DeviceAccounter::Group& group : parts.proposed.accounter->groups()) {
    out.front() = static_cast<std::uint32_t>(group.free_count());
    out = out.subspan(1);
  }
}

bool serve(Building& b, std::span<const match::DeviceRequest> requests, bool evict, model::AllocatedTask& task) {
  FitParts& parts = b.parts;
  rank::DeviceAccounter& accounter = *parts.proposed.accounter;
  model::AllocatedDevice& device = parts.device;
  std::size_t served = 0;
  for (const match::DeviceRequest& request : requests) {
    auto offer = accounter.offer(request, parts.scratch.work.patterns, device);
    if (!offer && !offer.error().not_a_number && evict &&
        parts.victims.for_device(request, b.row, *b.option.resources, task))
      offer = accounter.offer(request, parts.scratch.work.patterns, device);
    if (!offer) {
      if (!offer.error().not_a_number) return b.fail("devices: ", offer.error().text);
      parts.attempt.error = offer.error().text;
      return false;
    }
    accounter.add(device);
    if (!request.affinities.empty()) {
      b.option.device_weight += rank::total_affinity_weight(request);
      b.option.device_matched += *offer;
    }
    if (served == task.devices.size()) task.devices.emplace_back();
    std::swap(task.devices[served++], device);
  }
  task.devices.resize(served);
  return true;
}

}  // namespace

bool decide_by_free_devices(FitParts& parts, NodeRow row, const GroupView& v, Cell& cell) {
  const CompiledGroup& group = *v.group;
  const tables::Snapshot& state = *parts.attempt.snapshot;
  const tables::NodeUse& use = state.nodes.use[row];
  if (!tables::serves(kFreeDevices, parts.needs_of(group)) || !parts.attempt.by_amounts() ||
      parts.scratch.strategy_fit || parts.scratch.overlay(row))
    return false;
  const bool no_ports = use.port_allocs == 0 && use.core_allocs == 0 && !group.has_network &&
                        state.nodes.capacity(row).network_invalid == 0;
  if (!no_ports && !parts.ports.free_for_certain(row, group)) return false;
  const std::vector<model::DeviceTable::Group>& groups = state.nodes.spec(row).devices.groups;
  if (groups.empty() || groups.size() > kGroupsMost) return false;
  std::array<std::uint32_t, kGroupsMost> left;  // free instances per group after the requests served so far
  count_free_devices(parts, row, left);
  Option& option = parts.option;
  option.device_weight = option.device_matched = 0;
  bool served = true;
  for (const match::DeviceRequest& request : v.devices) {
    const auto choice = rank::choose_devices(request, groups, parts.scratch.work.patterns,
                                             [&](std::size_t g) { return left[g] >= request.count; });
    if (!choice) return false;
    served = choice->group != rank::DeviceChoice::kNone;
    if (!served) break;
    left[choice->group] -= static_cast<std::uint32_t>(request.count);
    if (request.affinities.empty()) continue;
    option.device_weight += rank::total_affinity_weight(request);
    option.device_matched += choice->matched_weight;
  }
  if (served) {
    parts.decide_by(parts.plain(row, group), row, group, &option, cell);
  } else {
    cell.fit = kFail;
    cell.dimension = kDimensionNoDevices;
  }
  return true;
}

bool assign_free_devices(Building& b, TaskGets& gets) {
  const std::size_t count = gets.task.resources->devices.size();
  const std::span<const match::DeviceRequest> requests = b.devices.first(count);
  b.devices = b.devices.subspan(count);
  if (!b.evict) return serve(b, requests, false, gets.out);
  const rank::DeviceAccounter before = *b.parts.proposed.accounter;  // R-PREEMPT-601
  const double weight = b.option.device_weight, matched = b.option.device_matched;
  if (!serve(b, requests, false, gets.out)) {
    if (!b.parts.attempt.error.empty()) return false;
    *b.parts.proposed.accounter = before;
    gets.out.devices.clear();
    b.option.device_weight = weight;
    b.option.device_matched = matched;
    if (!serve(b, requests, true, gets.out)) return false;
  }
  b.option.dimension = kReasonNone;
  return true;
}

}  // namespace berth::sched
