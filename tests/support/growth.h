// Checks that a cost grows at most linearly with the size of its input.
//
// Measures CPU time of the calling thread, the least of several runs: other work on the machine can only add to it. If
// the size is 8 times as large, a linear cost is 8 times as high and a quadratic one 64 times. Sorting and caches can
// raise the 8 of a linear cost to 14.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace berth::testing {

inline constexpr std::size_t kGrowth = 8;       ///< times as large
inline constexpr double kLinearAtMost = 24.0;   ///< times as expensive, with room for caches and noise
inline constexpr double kTooShortNs = 200'000;  ///< shorter times are noise and count as this much

/// `enough_ns`: a run that takes less is the last, because the caller wants to know only whether some run does.
template <class Work>
double least_cpu_ns(Work work, double enough_ns = 0) {
  double least = std::numeric_limits<double>::max();
  for (int run = 0; run < 3 && least >= enough_ns; ++run) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    work();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    least = std::min(
        least, 1e9 * static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec));
  }
  return std::max(least, kTooShortNs);
}

/// Cost of `larger` divided by `small_ns`, the cost of the same work on 1/kGrowth of the input; exact only if it is
/// kLinearAtMost or more.
template <class Work>
double growth_from(double small_ns, Work larger) {
  return least_cpu_ns(larger, small_ns * kLinearAtMost) / small_ns;
}

/// growth_from() of `work` from `size` to kGrowth times as much.
template <class Work>
double growth_of(Work work, std::size_t size) {
  const double small_ns = least_cpu_ns([&] { work(size); });
  return growth_from(small_ns, [&] { work(kGrowth * size); });
}

}  // namespace berth::testing
