#include "sim/packing.h"

#include <algorithm>

#include "base/assert.h"

namespace berth::sim {
namespace {

/// How many asks fit into the free amounts; 0 when something that is asked is overdrawn.
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
    const Amounts usable{columns.cpu_usable_mhz[row], columns.memory_usable_mb[row], columns.disk_usable_mb[row],
                         columns.devices_usable[row]};
    const Amounts used{columns.cpu_used_mhz[row], columns.memory_used_mb[row], columns.disk_used_mb[row],
                       columns.devices_used[row]};
    // A node may be overdrawn (a client that came back smaller): its free amount is then 0, not negative.
    const Amounts free{std::max<std::int64_t>(0, usable.cpu_mhz - used.cpu_mhz),
                       std::max<std::int64_t>(0, usable.memory_mb - used.memory_mb),
                       std::max<std::int64_t>(0, usable.disk_mb - used.disk_mb),
                       std::max<std::int64_t>(0, usable.devices - used.devices)};
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
