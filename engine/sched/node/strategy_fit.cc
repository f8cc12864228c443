#include "sched/node/strategy_fit.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "model/job.h"
#include "tables/state.h"

namespace berth::sched {

using strategy::kCpu;
using strategy::kDevicesMax;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;
using strategy::kWholeDevice;
using tables::NodeRow;

namespace {

std::int32_t amount(std::int64_t value) {
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, -1'900'000'000, 1'900'000'000));
}

/// Converts a number of device instances to devices and thousandths of a device (R-STRAT-103).
std::pair<std::int32_t, std::int32_t> devices_of(std::int64_t instances, std::int64_t shares) {
  if (instances <= 0) return {0, 0};
  if (instances < shares) return {1, static_cast<std::int32_t>((instances * kWholeDevice + shares - 1) / shares)};
  return {amount((instances + shares - 1) / shares), kWholeDevice};
}

const model::NodeDevice* first_group(const tables::Snapshot& snapshot, NodeRow row) {
  const std::optional<model::NodeResources>& resources = snapshot.nodes.spec(row).node.node_resources;
  return resources && !resources->devices.empty() ? &resources->devices.front() : nullptr;
}

}  // namespace

strategy::TaskClass task_class_of(const tables::CompiledGroup& group, std::int64_t priority, std::int64_t shares) {
  std::int64_t instances = 0;
  for (const model::Task& task : group.spec->tasks)
    if (task.resources)
      for (const model::RequestedDevice& device : task.resources->devices)
        instances += static_cast<std::int64_t>(std::min<std::uint64_t>(device.count, 1'000'000));
  const auto [gpus, milli] = devices_of(instances, shares);
  strategy::TaskClass out;
  out.gpus = gpus, out.gpu_milli = milli;
  out.ask = {amount(group.cpu_mhz), amount(group.memory_mb), amount(group.disk_mb), amount(std::int64_t{gpus} * milli)};
  out.priority = amount(priority);
  return out;
}

void StrategyFit::use(strategy::FitFunction function, std::vector<std::string> models, std::int64_t shares) {
  function_ = function;
  models_ = std::move(models);
  shares_ = shares;
  epoch_ = ~0ULL;
  group_ = nullptr;
  nodes_.reserve(kBlock);
  devices_.resize(kBlock * kDevicesMax);
}

void StrategyFit::read_group(const tables::CompiledGroup& group, std::int64_t priority) {
  group_ = &group;
  ask_ = {group.cpu_mhz, group.memory_mb, group.disk_mb};
  task_ = task_class_of(group, priority, shares_);
  tags_ = std::max<std::size_t>(kDevicesMax + 2, task_.tag() + 1);
  if (tag_tasks_.size() < kBlock * tags_) tag_tasks_.resize(kBlock * tags_);
}

void StrategyFit::set_ask_cpu(std::int64_t cpu_mhz) {
  ask_.cpu_mhz = cpu_mhz;
  task_.ask[kCpu] = amount(cpu_mhz);
}

const StrategyFit::Kind& StrategyFit::kind(const tables::Snapshot& snapshot, NodeRow row) {
  if (epoch_ != snapshot.nodes.epoch) {
    epoch_ = snapshot.nodes.epoch;
    kinds_.assign(snapshot.nodes.size(), {});
  }
  Kind& out = kinds_[row];
  if (out.devices != Kind::kUnread) return out;
  out.devices = 0;
  const model::NodeDevice* const group = first_group(snapshot, row);
  if (!group) return out;
  const auto healthy =
      std::count_if(group->instances.begin(), group->instances.end(), [](const auto& i) { return i.healthy; });
  out.devices = static_cast<std::uint16_t>(std::min<std::int64_t>(healthy / shares_, kDevicesMax));
  const std::string name = group->vendor + "/" + group->type + "/" + group->name;
  const auto known = std::find(models_.begin(), models_.end(), name);
  if (known != models_.end()) out.model = static_cast<std::uint16_t>(known - models_.begin());
  return out;
}

std::uint32_t StrategyFit::devices(const tables::Snapshot& snapshot, NodeRow row) {
  return kind(snapshot, row).devices;
}

void StrategyFit::add(const tables::Snapshot& snapshot, NodeRow row, const FitUse& use, std::int64_t allocs) {
  const std::size_t at = nodes_.size();
  BERTH_DEBUG_ASSERT(at < kBlock);
  const Kind& of_node = kind(snapshot, row);
  const tables::NodeCapacity& capacity = snapshot.nodes.capacity(row);
  strategy::NodeState& state = states_[at];
  state = {};
  const auto set = [&](strategy::Dimension d, std::int64_t all, std::int64_t used, std::int64_t ask) {
    state.capacity[d] = std::max(0, amount(all));
    state.free[d] = amount(state.capacity[d] - (used - ask));
  };
  set(kCpu, capacity.cpu_mhz, use.cpu_mhz, ask_.cpu_mhz);
  set(kMemory, capacity.memory_mb, use.memory_mb, ask_.memory_mb);
  set(kDisk, capacity.disk_mb, use.disk_mb, ask_.disk_mb);
  state.capacity[kGpu] = state.free[kGpu] = of_node.devices * kWholeDevice;
  state.tasks = amount(allocs);
  state.model = of_node.model;
  state.device_count = of_node.devices;
  const std::span<std::int16_t> devices(devices_.data() + at * kDevicesMax, of_node.devices);
  const std::span<std::uint32_t> tags(tag_tasks_.data() + at * tags_, tags_);
  std::fill(devices.begin(), devices.end(), static_cast<std::int16_t>(kWholeDevice));
  std::fill(tags.begin(), tags.end(), 0);
  nodes_.push_back({state, devices, tags});
}

void StrategyFit::add(const tables::Snapshot& snapshot, NodeRow row, const FitUse& use, std::int64_t allocs,
                      std::span<const tables::ResourceShape* const> held) {
  const std::size_t at = nodes_.size();
  add(snapshot, row, use, allocs);
  const model::NodeDevice* const group = first_group(snapshot, row);
  strategy::NodeState& state = states_[at];
  std::int16_t* const devices = devices_.data() + at * kDevicesMax;
  std::uint32_t* const tags = tag_tasks_.data() + at * tags_;
  rank::DeviceAccounter used(snapshot.nodes.device_table(row));
  for (const tables::ResourceShape* shape : held) {
    if (!shape->devices) continue;
    std::int64_t instances = 0;
    for (const auto& [name, task] : shape->resources->tasks)
      for (const model::AllocatedDevice& device : task.devices) {
        used.add(device);
        if (device.vendor == group->vendor && device.type == group->type && device.name == group->name)
          instances += static_cast<std::int64_t>(device.device_ids.size());
      }
    const auto [gpus, milli] = devices_of(instances, shares_);
    if (gpus == 0) continue;
    const strategy::TaskClass other{.gpus = gpus, .gpu_milli = milli};
    if (other.tag() < tags_) ++tags[other.tag()];
    ++state.gpu_tasks;
  }
  for (const rank::DeviceAccounter::Group& of : used.groups()) {
    if (of.device != group) continue;
    for (std::size_t i = 0; i < state.device_count; ++i) {
      std::int64_t free = 0;
      for (std::size_t share = 0; share < static_cast<std::size_t>(shares_); ++share)
        free += of.instances[i * static_cast<std::size_t>(shares_) + share].use_count == 0;
      devices[i] = static_cast<std::int16_t>(free * kWholeDevice / shares_);
      state.free[kGpu] -= kWholeDevice - devices[i];
    }
  }
}

std::span<const double> StrategyFit::take() {
  const std::span<double> out = std::span(components_).first(nodes_.size());
  function_(nodes_, task_, out);
  nodes_.clear();
  return out;
}

}  // namespace berth::sched
