// The total request of a placement, in the amounts that alone decide the fit on most nodes (R-RANK-533).
#pragma once

#include <cstdint>

namespace berth::rank {

/// MHz and MiB; not negative.
struct AskedAmounts {
  std::int32_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
};

}  // namespace berth::rank
