#include "rank/crossings.h"

#include "rank/kernels.h"

namespace berth::rank {

std::size_t crossings(const LeftRanges& ranges, std::size_t n, const AskedAmounts& ask, std::uint32_t* out) noexcept {
  return kernels::list_crossings(ranges, n, ask, out);
}

}  // namespace berth::rank
