#include "run/cluster_samples.h"

#include <algorithm>
#include <cmath>

#include "model/job.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

constexpr std::size_t kLooksMin = 8, kLooksMax = 64;
constexpr std::size_t kArrivalsPerLook = 4;
constexpr std::size_t kRowsAhead = 8;

std::size_t bin_of(double share) {
  return std::min(kUseBins - 1, static_cast<std::size_t>(std::max(0.0, share) * static_cast<double>(kUseBins)));
}

/// At most 1: what is overdrawn counts as full.
double cpu_share(const sim::NodePacking& node) {
  return std::min(1.0, sim::Packing::share(node.used.cpu_mhz, node.usable.cpu_mhz));
}
double memory_share(const sim::NodePacking& node) {
  return std::min(1.0, sim::Packing::share(node.used.memory_mb, node.usable.memory_mb));
}

}  // namespace

ClusterSampler::ClusterSampler(const tables::Snapshot& state, const sim::Amounts& reference, std::size_t arrivals)
    : nodes_(state.nodes.size()), sums_(reference) {
  const std::size_t looks = std::clamp(arrivals / kArrivalsPerLook, kLooksMin, kLooksMax);
  stride_ = std::max(1.0, static_cast<double>(arrivals) / static_cast<double>(looks));
  room_ = looks + 2;
  samples_.reserve(room_);
}

void ClusterSampler::update(const tables::Snapshot& state, tables::NodeRow row) {
  Node& node = nodes_[row];
  if (node.counted) sums_.remove(node.now), --nodes_by_use_[node.bin];
  node.counted = state.nodes.ready(row);
  if (!node.counted) return;
  node.now = sim::packing_of(state, row);
  node.bin = static_cast<std::uint8_t>(bin_of(std::max(cpu_share(node.now), memory_share(node.now))));
  sums_.add(node.now), ++nodes_by_use_[node.bin];
}

/// Prefetches what update() reads. The rows are random, so that most of its time would be waiting for memory.
void ClusterSampler::prefetch_row(const tables::NodeTable& nodes, tables::NodeRow row) const {
  nodes.use.prefetch(row), nodes.fixed->capacity.prefetch(row), nodes.fixed->spec.prefetch(row);
  base::prefetch_all(nodes_[row]);
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
  changed_.clear();
  if (use_.read(state.nodes, changed_) && ready_.read(state.nodes, changed_)) {
    std::erase_if(changed_, [this](tables::NodeRow row) { return row >= nodes_.size(); });
    for (std::size_t i = 0; i < changed_.size(); ++i) {
      if (i + kRowsAhead < changed_.size()) prefetch_row(state.nodes, changed_[i + kRowsAhead]);
      update(state, changed_[i]);
    }
  } else {
    for (tables::NodeRow row = 0; row < nodes_.size(); ++row) update(state, row);
  }
  use_.move_to(state.nodes), ready_.move_to(state.nodes);
  const sim::Packing packing = sums_.packing();
  out.nodes_by_use = nodes_by_use_;
  out.seconds = seconds, out.workload_seconds = workload_seconds, out.placed = placed, out.refused = refused;
  out.cpu = packing.cpu_utilisation(), out.memory = packing.memory_utilisation();
  out.disk = packing.disk_utilisation(), out.devices = packing.device_utilisation();
  out.fragmentation = packing.fragmentation, out.nodes_used = packing.nodes_used;
}

NodeMap ClusterSampler::map() const {
  NodeMap out;
  const std::size_t n = nodes_.size();
  out.nodes_per_cell = std::max<std::size_t>(1, (n + kMapCells - 1) / kMapCells);
  double sum = 0;
  std::size_t ready = 0;
  for (std::size_t row = 0; row < n; ++row) {
    if (const Node& node = nodes_[row]; node.counted) {
      const double cpu = cpu_share(node.now), memory = memory_share(node.now);
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
