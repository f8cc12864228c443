#include "rank/trace.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/assert.h"
#include "rank/kernels.h"

namespace berth::rank {
namespace {

/// Records the `kSteps` steps below `step`, which picked next[0], next[1], ... GCC unrolls the counted loop.
template <std::uint32_t kSteps>
inline void store_steps(std::uint16_t* lowest, const std::uint32_t* next, std::uint32_t step) {
  for (std::uint32_t i = 0; i < kSteps; ++i) lowest[next[i]] = static_cast<std::uint16_t>(step - 1 - i);
}
constexpr std::uint32_t kAtOnce = 8;

}  // namespace

void ShuffleTrace::begin(std::span<const std::uint32_t> picks) {
  picks_ = picks;
  const std::size_t n = picks.size() + 1, first = std::min(n, kFirst), tabled = std::min(n, kTabled);
  // Among the first places nearly every swap moves a wanted entry, so all entries are followed there. at[p]: the entry
  // that is at p.
  std::array<std::uint32_t, kFirst> at;
  std::iota(at.begin(), at.end(), 0U);
  for (std::size_t step = 1; step < first; ++step) std::swap(at[step], at[pick(step)]);
  for (std::uint32_t place = 0; place < first; ++place) place_of_[at[place]] = place;
  if (lowest_.size() < tabled) lowest_.resize(tabled, 0);
  const std::uint32_t* next = picks.data() + (n - tabled);
  std::uint32_t step = static_cast<std::uint32_t>(tabled);
  for (; step >= first + kAtOnce; step -= kAtOnce, next += kAtOnce) store_steps<kAtOnce>(lowest_.data(), next, step);
  for (; step > first; --step, ++next) store_steps<1>(lowest_.data(), next, step);
}

/// Place of the entry at `place` before the steps from kFirst to the last tabled one.
std::uint32_t ShuffleTrace::follow(std::uint32_t place) const noexcept {
  const std::size_t tabled = std::min(picks_.size() + 1, kTabled);
  for (;;) {
    std::size_t step = lowest_[place];
    if (step < kFirst || step < place) return place;
    if (step == place) [[unlikely]]  // picked itself, which hides the next step that picked it: one in kFirst entries
      do ++step;
      while (step < tabled && pick(step) != place);
    if (step >= tabled || pick(step) != place) return place;
    place = static_cast<std::uint32_t>(step);
  }
}

void ShuffleTrace::find(std::size_t first, std::span<std::uint32_t> entries) const noexcept {
  const std::size_t n = picks_.size() + 1;
  BERTH_ASSERT(first + entries.size() <= std::min(n, kFirst));
  for (std::size_t k = 0; k < entries.size(); ++k) entries[k] = follow(place_of_[first + k]);
  if (n <= kTabled) return;
  for (; !entries.empty(); entries = entries.subspan(std::min(entries.size(), kMaxSearched))) {
    const std::span<std::uint32_t> some = entries.first(std::min(entries.size(), kMaxSearched));
    alignas(64) std::uint32_t places[kMaxSearched];
    std::fill(std::copy(some.begin(), some.end(), places), std::end(places), ~0U);
    kernels::undo_swaps(picks_.data(), n, kTabled, places);
    std::copy_n(places, some.size(), some.begin());
  }
}

}  // namespace berth::rank
