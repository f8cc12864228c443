// The processor's and the kernel's counters of this process, where machine and kernel have them: events by name through
// libpfm where the program was built with it (Debian's libpfm4-dev), else a fixed few that the kernel has numbers for.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/result.h"

namespace berth::profile {

struct CounterValues {
  std::vector<std::pair<std::string, std::uint64_t>> values;  ///< name, count; scaled where the kernel took turns
  std::string missing;                                        ///< which are not there and why; "" = all are
  std::string named_by;                                       ///< "libpfm (Intel Icelake)"; "the kernel" without it
};

/// Events that libpfm knows on this processor: "CYCLE_ACTIVITY:STALLS_L3_MISS", "perf::DTLB-LOAD-MISSES". Errors: one
/// that it does not know, or any at all in a build without libpfm.
[[nodiscard]] Result<void, InputError> check_events(const std::vector<std::string>& names);

/// Counts events of this thread and those it starts, from construction to read(): cycles, instructions, misses of
/// caches, TLB and branches, page faults, context switches, and `more`, which check_events() found fine. Instructions
/// of the kernel do not count.
class Counters {
 public:
  explicit Counters(const std::vector<std::string>& more = {});
  ~Counters();
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;
  [[nodiscard]] CounterValues read() const;

 private:
  struct Open {
    std::string name;
    int file;
  };
  std::vector<Open> open_;
  std::string missing_;
};

}  // namespace berth::profile
