// Work of a call: instructions of this thread if the kernel counts them, else the least CPU time of several calls. For
// tests of how work grows, which must not depend on other load of the machine.
#pragma once

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <ctime>

namespace berth::testing {

template <class Call>
[[nodiscard]] double work_of(Call call) {
  perf_event_attr wanted;
  std::memset(&wanted, 0, sizeof wanted);
  wanted.type = PERF_TYPE_HARDWARE, wanted.size = sizeof wanted, wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
  wanted.disabled = 1, wanted.exclude_kernel = 1, wanted.exclude_hv = 1;
  if (const int counter = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, 0)); counter >= 0) {
    ioctl(counter, PERF_EVENT_IOC_ENABLE, 0);
    call();
    ioctl(counter, PERF_EVENT_IOC_DISABLE, 0);
    std::uint64_t count = 0;
    const bool counted = read(counter, &count, sizeof count) == sizeof count && count > 0;
    close(counter);
    if (counted) return static_cast<double>(count);
  }
  double least = 0;
  for (int i = 0; i < 5; ++i) {
    timespec before{}, after{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
    call();
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
    const double taken =
        static_cast<double>(after.tv_sec - before.tv_sec) * 1e9 + static_cast<double>(after.tv_nsec - before.tv_nsec);
    least = i == 0 ? taken : std::min(least, taken);
  }
  return least;
}

}  // namespace berth::testing
