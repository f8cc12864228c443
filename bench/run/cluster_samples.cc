#include "run/cluster_samples.h"

#include <algorithm>
#include <cmath>

#include "sim/load_store.h"

namespace berth::run {
namespace {

// All samples together stay below 1 % of a run's cost (measured: storm 0.1 %, openb-like's small size 0.9 %).
constexpr std::size_t kVisits = 2'000'000;  // visited nodes per run
constexpr std::size_t kLooksMin = 8, kLooksMax = 64;
constexpr std::size_t kLooksMaxDevices = 32;  // a changed node costs a pass over its allocations
constexpr std::size_t kArrivalsPerLook = 4;

std::size_t bin_of(double share) {
  return std::min(kUseBins - 1, static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(kUseBins)));
}

}  // namespace

ClusterSampler::ClusterSampler(const tables::Snapshot& state, const sim::Amounts& reference, std::size_t arrivals)
    : reference_(reference) {
  const std::size_t n = state.nodes.size();
  for (auto* column : {&cpu_usable_, &cpu_used_, &memory_usable_, &memory_used_, &disk_usable_, &disk_used_,
                       &devices_usable_, &devices_used_})
    column->assign(n, 0);
  alloc_count_.assign(n, 0);
  bool devices = false;
  for (tables::NodeRow row = 0; row < n; ++row) {
    devices_usable_[row] = sim::healthy_instances(state.nodes.spec(row).node);
    devices |= devices_usable_[row] > 0;
  }
  if (devices) changed_.assign(n, 1), held_.assign(n, 0);
  const std::size_t looks = std::clamp(std::min(kVisits / std::max<std::size_t>(1, n), arrivals / kArrivalsPerLook),
                                       kLooksMin, devices ? kLooksMaxDevices : kLooksMax);
  stride_ = std::max(1.0, static_cast<double>(arrivals) / static_cast<double>(looks));
  room_ = looks + 2;
  samples_.reserve(room_);
}

void ClusterSampler::look(const tables::Snapshot& state, double seconds, double workload_seconds, std::uint64_t placed,
                          std::uint64_t refused, std::size_t happened) {
  if (samples_.size() == room_) {  // drop every second one
    std::size_t kept = 1;
    for (std::size_t i = 2; i < samples_.size(); i += 2) samples_[kept++] = samples_[i];
    samples_.resize(kept);
    stride_ *= 2;
  }
  next_ = static_cast<std::size_t>(std::ceil((std::floor(static_cast<double>(happened) / stride_) + 1) * stride_));
  ClusterSample& out = samples_.emplace_back();
  const std::size_t n = std::min<std::size_t>(cpu_usable_.size(), state.nodes.size());
  for (tables::NodeRow row = 0; row < n; ++row) {
    if (!changed_.empty() && changed_[row] != 0) {
      held_[row] = sim::held_instances(state, row);
      changed_[row] = 0;
    }
    if (!state.nodes.ready(row)) {
      cpu_usable_[row] = memory_usable_[row] = disk_usable_[row] = 0;
      cpu_used_[row] = memory_used_[row] = disk_used_[row] = devices_used_[row] = alloc_count_[row] = 0;
      continue;
    }
    const tables::NodeCapacity& capacity = state.nodes.capacity(row);
    const tables::NodeUse& use = state.nodes.use[row];
    cpu_usable_[row] = std::max<std::int64_t>(0, capacity.cpu_mhz);
    cpu_used_[row] = std::min(use.cpu_mhz, cpu_usable_[row]);
    memory_usable_[row] = std::max<std::int64_t>(0, capacity.memory_mb);
    memory_used_[row] = std::min(use.memory_mb, memory_usable_[row]);
    disk_usable_[row] = capacity.disk_mb, disk_used_[row] = use.disk_mb;
    devices_used_[row] = held_.empty() ? 0 : held_[row];
    alloc_count_[row] = use.alloc_count;
    ++out.nodes_by_use[bin_of(std::max(sim::Packing::share(cpu_used_[row], cpu_usable_[row]),
                                       sim::Packing::share(memory_used_[row], memory_usable_[row])))];
  }
  const sim::Packing packing = sim::measure_packing({.cpu_usable_mhz = cpu_usable_,
                                                     .cpu_used_mhz = cpu_used_,
                                                     .memory_usable_mb = memory_usable_,
                                                     .memory_used_mb = memory_used_,
                                                     .disk_usable_mb = disk_usable_,
                                                     .disk_used_mb = disk_used_,
                                                     .devices_usable = devices_usable_,
                                                     .devices_used = devices_used_,
                                                     .alloc_count = alloc_count_},
                                                    reference_);
  out.seconds = seconds, out.workload_seconds = workload_seconds, out.placed = placed, out.refused = refused;
  out.cpu = packing.cpu_utilisation(), out.memory = packing.memory_utilisation();
  out.disk = packing.disk_utilisation(), out.devices = packing.device_utilisation();
  out.fragmentation = packing.fragmentation, out.nodes_used = packing.nodes_used;
}

NodeMap ClusterSampler::map() const {
  NodeMap out;
  const std::size_t n = cpu_usable_.size();
  out.nodes_per_cell = std::max<std::size_t>(1, (n + kMapCells - 1) / kMapCells);
  double sum = 0;
  std::size_t ready = 0;
  for (std::size_t row = 0; row < n; ++row) {
    if (cpu_usable_[row] > 0 || memory_usable_[row] > 0) {
      const double cpu = sim::Packing::share(cpu_used_[row], cpu_usable_[row]);
      const double memory = sim::Packing::share(memory_used_[row], memory_usable_[row]);
      ++out.by_cpu_and_memory[bin_of(cpu)][bin_of(memory)];
      sum += std::max(cpu, memory), ++ready;
    }
    if ((row + 1) % out.nodes_per_cell != 0 && row + 1 != n) continue;
    out.use.push_back(ready == 0 ? 0 : sum / static_cast<double>(ready));
    sum = 0, ready = 0;
  }
  return out;
}

}  // namespace berth::run
