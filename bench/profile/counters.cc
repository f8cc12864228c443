#include "profile/counters.h"

#if BERTH_WITH_LIBPFM
#include <perfmon/pfmlib_perf_event.h>
#else
#include <linux/perf_event.h>
#endif
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/text.h"

namespace berth::profile {
namespace {

/// An event that is counted by default. The kernel has the same numbers for these on every processor; `event` is
/// libpfm's name.
struct Usual {
  const char* name;
  const char* event;
  std::uint32_t type;
  std::uint64_t config;
};
constexpr std::uint64_t missed_read(std::uint64_t cache) {
  return cache | (PERF_COUNT_HW_CACHE_OP_READ << 8) | (PERF_COUNT_HW_CACHE_RESULT_MISS << 16);
}
constexpr Usual kUsual[] = {
    {"cycles", "perf::CPU-CYCLES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"instructions", "perf::INSTRUCTIONS", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cache_misses", "perf::CACHE-MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES},
    {"l1d_misses", "perf::L1-DCACHE-LOAD-MISSES", PERF_TYPE_HW_CACHE, missed_read(PERF_COUNT_HW_CACHE_L1D)},
    {"dtlb_misses", "perf::DTLB-LOAD-MISSES", PERF_TYPE_HW_CACHE, missed_read(PERF_COUNT_HW_CACHE_DTLB)},
    {"branch_misses", "perf::BRANCH-MISSES", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
    {"page_faults", "perf::PAGE-FAULTS", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS},
    {"context_switches", "perf::CONTEXT-SWITCHES", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES},
};

#if BERTH_WITH_LIBPFM
int ready() {
  static const int result = pfm_initialize();
  return result;
}

/// Fills type and configuration. Returns 0 or libpfm's error.
int encode(const char* event, perf_event_attr& attributes) {
  if (ready() != PFM_SUCCESS) return ready();
  pfm_perf_encode_arg_t arguments{};
  arguments.size = sizeof arguments;
  arguments.attr = &attributes;
  return pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT, &arguments);
}
#endif

std::string source() {
#if BERTH_WITH_LIBPFM
  if (ready() == PFM_SUCCESS)
    for (int i = 0; i < PFM_PMU_MAX; ++i) {
      pfm_pmu_info_t pmu{};
      pmu.size = sizeof pmu;
      if (pfm_get_pmu_info(static_cast<pfm_pmu_t>(i), &pmu) == PFM_SUCCESS && pmu.is_present &&
          pmu.type == PFM_PMU_TYPE_CORE)
        return fmt::format("libpfm ({})", pmu.desc);
    }
  return "libpfm";
#else
  return "the kernel";
#endif
}

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

Result<void, InputError> check_events(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto error = [&](std::string problem, std::string remedy) {
      return tl::unexpected(InputError{"berth profile", "--counters", std::move(problem), std::move(remedy)});
    };
#if BERTH_WITH_LIBPFM
    perf_event_attr attributes{};
    if (const int bad = encode(name.c_str(), attributes); bad != PFM_SUCCESS)
      return error(fmt::format("{} does not know '{}': {}", source(), base::shown(name), pfm_strerror(bad)),
                   "name an event as libpfm writes it for this processor, such as perf::DTLB-LOAD-MISSES");
#else
    return error(fmt::format("this build has no libpfm, which would know '{}'", base::shown(name)),
                 "apt-get install libpfm4-dev and build again, or leave the option out");
#endif
  }
  return {};
}

Counters::Counters(const std::vector<std::string>& more) {
  std::vector<std::pair<const char*, std::string>> absent;  // reason, names
  const auto open = [&](std::string name, perf_event_attr attributes) {
    attributes.size = sizeof attributes;
    attributes.disabled = 0;
    attributes.inherit = 1;
    attributes.exclude_kernel = attributes.type != PERF_TYPE_SOFTWARE;
    attributes.exclude_hv = 1;
    attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
    const long file = syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (file >= 0) {
      open_.push_back({std::move(name), static_cast<int>(file)});
      return;
    }
    const char* const why = reason(errno);
    for (auto& [known, names] : absent)
      if (std::strcmp(known, why) == 0) {
        names += ", " + name;
        return;
      }
    absent.emplace_back(why, std::move(name));
  };
  for (const Usual& one : kUsual) {
    perf_event_attr attributes{};
#if BERTH_WITH_LIBPFM
    if (encode(one.event, attributes) == PFM_SUCCESS) {
      open(one.name, attributes);
      continue;
    }
    attributes = {};
#endif
    attributes.type = one.type;
    attributes.config = one.config;
    open(one.name, attributes);
  }
#if BERTH_WITH_LIBPFM
  for (const std::string& name : more) {
    perf_event_attr attributes{};
    if (encode(name.c_str(), attributes) == PFM_SUCCESS) open(name, attributes);
  }
#else
  static_cast<void>(more);  // refused by check_events()
#endif
  for (const auto& [why, names] : absent) missing_ += fmt::format("{}{}: {}", missing_.empty() ? "" : "; ", names, why);
}

Counters::~Counters() {
  for (const Open& counter : open_) close(counter.file);
}

CounterValues Counters::read() const {
  CounterValues out;
  out.missing = missing_;
  out.named_by = source();
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
