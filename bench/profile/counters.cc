#include "profile/counters.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace berth::profile {
namespace {

struct Event {
  const char* name;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr Event kEvents[] = {
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"page_faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

const char* reason(int error) {
  switch (error) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return "the machine, or its hypervisor, has no such counter";
    case EACCES:
    case EPERM:
      return "the kernel does not allow it: see /proc/sys/kernel/perf_event_paranoid";
    case ENOSYS:
      return "the kernel has no perf events";
    default:
      return std::strerror(error);
  }
}

}  // namespace

Counters::Counters() {
  std::string names;
  int error = 0;
  for (const Event& event : kEvents) {
    perf_event_attr attributes{};
    attributes.size = sizeof attributes;
    attributes.type = event.type;
    attributes.config = event.config;
    attributes.inherit = 1;
    attributes.exclude_kernel = event.type == PERF_TYPE_HARDWARE;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file >= 0) {
      open_.push_back({event.name, static_cast<int>(file)});
      continue;
    }
    if (error == 0) error = errno;
    names += (names.empty() ? "" : ", ") + std::string(event.name);
  }
  if (error != 0) missing_ = names + ": " + reason(error);
}

Counters::~Counters() {
  for (const Open& counter : open_) close(counter.file);
}

CounterValues Counters::read() const {
  CounterValues out;
  out.missing = missing_;
  for (const Open& counter : open_) {
    std::uint64_t value[3] = {0, 0, 0};  // count, time enabled, time running
    if (::read(counter.file, value, sizeof value) != static_cast<ssize_t>(sizeof value)) continue;
    if (value[2] > 0 && value[2] < value[1])
      value[0] = static_cast<std::uint64_t>(static_cast<double>(value[0]) * static_cast<double>(value[1]) /
                                            static_cast<double>(value[2]));
    out.values.emplace_back(counter.name, value[0]);
  }
  return out;
}

}  // namespace berth::profile
