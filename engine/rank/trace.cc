#include "rank/trace.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "rank/kernels.h"

namespace berth::rank {

void trace_back(std::span<const std::uint32_t> picks, std::span<std::uint32_t> entries) noexcept {
  const std::size_t n = picks.size() + 1, count = entries.size();
  BERTH_ASSERT(count <= std::min(n, kMaxTraced));
  // Among the first places nearly every swap moves a traced entry: there all are followed. at[p]: which one is at p.
  constexpr std::size_t kFirst = 1024;
  const std::size_t first = std::min(n, kFirst);
  std::uint32_t at[kFirst], place_of[kFirst];
  std::iota(at, at + first, 0u);
  for (std::size_t i = 1; i < first; ++i) std::swap(at[i], at[picks[n - 1 - i]]);
  for (std::uint32_t place = 0; place < first; ++place) place_of[at[place]] = place;
  alignas(64) std::uint32_t places[kMaxTraced];
  std::fill(std::copy(place_of, place_of + count, places), std::end(places), ~0u);
  kernels::undo_swaps(picks.data(), n, first, places);
  std::copy(places, places + count, entries.begin());
}

}  // namespace berth::rank
