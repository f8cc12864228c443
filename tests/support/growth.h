// Checks that a cost grows at most linearly with the size of its input.
//
// CPU time of the calling thread, the least of several runs: other work on the machine only ever adds to it. A linear
// cost is 8 times as high at 8 times the size, a quadratic one 64 times; sorting and caches make 8 to 14 of a linear
// one.
#pragma once

#include <time.h>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace berth::testing {

inline constexpr std::size_t kGrowth = 8;       ///< times as large
inline constexpr double kLinearAtMost = 24.0;   ///< times as expensive, with room for caches and noise
inline constexpr double kTooShortNs = 200'000;  ///< less is not told from noise: counted as so much

template <class Work>
double least_cpu_ns(Work work, int runs = 3) {
  double least = std::numeric_limits<double>::max();
  for (int run = 0; run < runs; ++run) {
    timespec begin{}, end{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
    work();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    least = std::min(
        least, 1e9 * static_cast<double>(end.tv_sec - begin.tv_sec) + static_cast<double>(end.tv_nsec - begin.tv_nsec));
  }
  return std::max(least, kTooShortNs);
}

/// Cost of `work(kGrowth * size)` in costs of `work(size)`.
template <class Work>
double growth_of(Work work, std::size_t size) {
  const double small = least_cpu_ns([&] { work(size); });
  return least_cpu_ns([&] { work(kGrowth * size); }) / small;
}

}  // namespace berth::testing
