#include "sim/packing.h"

#include <algorithm>

#include "base/assert.h"

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

void add(Amounts& sum, const Amounts& amounts) {
  sum.cpu_mhz += amounts.cpu_mhz, sum.memory_mb += amounts.memory_mb;
  sum.disk_mb += amounts.disk_mb, sum.devices += amounts.devices;
}

}  // namespace

Packing measure_packing(const PackingColumns& columns, const Amounts& reference) {
  const std::size_t n = columns.cpu_usable_mhz.size();
  BERTH_ASSERT(columns.cpu_used_mhz.size() == n && columns.memory_usable_mb.size() == n &&
               columns.memory_used_mb.size() == n && columns.disk_usable_mb.size() == n &&
               columns.disk_used_mb.size() == n && columns.devices_usable.size() == n &&
               columns.devices_used.size() == n && columns.alloc_count.size() == n);
  Packing out;
  out.nodes = n;
  out.reference = reference;
  Amounts free_total;
  std::int64_t fitting = 0;
  for (std::size_t row = 0; row < n; ++row) {
    const Amounts usable{std::max<std::int64_t>(0, columns.cpu_usable_mhz[row]),
                         std::max<std::int64_t>(0, columns.memory_usable_mb[row]),
                         std::max<std::int64_t>(0, columns.disk_usable_mb[row]), columns.devices_usable[row]};
    // Reservations may exceed the total; then nothing is usable. Used amounts may exceed the usable ones: an evicted
    // allocation counts until its client ends it, along with its successor, or a client returned with less. So used
    // amounts are limited to the usable ones.
    const Amounts used{
        std::min(columns.cpu_used_mhz[row], usable.cpu_mhz), std::min(columns.memory_used_mb[row], usable.memory_mb),
        std::min(columns.disk_used_mb[row], usable.disk_mb), std::min(columns.devices_used[row], usable.devices)};
    const Amounts free{usable.cpu_mhz - used.cpu_mhz, usable.memory_mb - used.memory_mb, usable.disk_mb - used.disk_mb,
                       usable.devices - used.devices};
    add(out.usable, usable), add(out.used, used), add(free_total, free);
    out.nodes_used += columns.alloc_count[row] > 0;
    const std::int64_t here = fits(free, reference);
    fitting += here;
    if (here == 0) add(out.stranded, free);
  }
  const std::int64_t pooled = fits(free_total, reference);
  out.fragmentation = pooled == 0 ? 0 : 1 - static_cast<double>(fitting) / static_cast<double>(pooled);
  return out;
}

}  // namespace berth::sim
