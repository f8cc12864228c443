#include "sim/packing.h"

#include <algorithm>

namespace berth::sim {
namespace {

/// Number of requests that fit into the free amounts; 0 if a requested amount is overdrawn.
std::int64_t fits(const Amounts& free, const Amounts& ask) {
  std::int64_t count = INT64_MAX;
  const auto limit = [&](std::int64_t have, std::int64_t want) {
    if (want > 0) count = std::min(count, std::max<std::int64_t>(0, have) / want);
  };
  limit(free.cpu_mhz, ask.cpu_mhz), limit(free.memory_mb, ask.memory_mb);
  limit(free.disk_mb, ask.disk_mb), limit(free.devices, ask.devices);
  return count == INT64_MAX ? 0 : count;
}

void accumulate(Amounts& sum, const Amounts& amounts, std::int64_t sign) {
  sum.cpu_mhz += sign * amounts.cpu_mhz, sum.memory_mb += sign * amounts.memory_mb;
  sum.disk_mb += sign * amounts.disk_mb, sum.devices += sign * amounts.devices;
}

}  // namespace

void PackingSums::count(const NodePacking& node, std::int64_t sign) {
  // Reservations may exceed the total; then nothing is usable. Used amounts may exceed the usable ones: an evicted
  // allocation counts until its client ends it, along with its successor, or a client returned with less. So used
  // amounts are limited to the usable ones.
  const Amounts usable{std::max<std::int64_t>(0, node.usable.cpu_mhz), std::max<std::int64_t>(0, node.usable.memory_mb),
                       std::max<std::int64_t>(0, node.usable.disk_mb), node.usable.devices};
  const Amounts used{std::min(node.used.cpu_mhz, usable.cpu_mhz), std::min(node.used.memory_mb, usable.memory_mb),
                     std::min(node.used.disk_mb, usable.disk_mb), std::min(node.used.devices, usable.devices)};
  const Amounts free{usable.cpu_mhz - used.cpu_mhz, usable.memory_mb - used.memory_mb, usable.disk_mb - used.disk_mb,
                     usable.devices - used.devices};
  accumulate(sums_.usable, usable, sign), accumulate(sums_.used, used, sign), accumulate(free_, free, sign);
  sums_.nodes += static_cast<std::uint64_t>(sign);
  if (node.alloc_count > 0) sums_.nodes_used += static_cast<std::uint64_t>(sign);
  const std::int64_t here = fits(free, sums_.reference);
  fitting_ += sign * here;
  if (here == 0) accumulate(sums_.stranded, free, sign);
}

Packing PackingSums::packing() const {
  Packing out = sums_;
  const std::int64_t pooled = fits(free_, out.reference);
  out.fragmentation = pooled == 0 ? 0 : 1 - static_cast<double>(fitting_) / static_cast<double>(pooled);
  return out;
}

}  // namespace berth::sim
