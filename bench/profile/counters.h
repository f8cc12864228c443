// The processor's and the kernel's counters of this process, if machine and kernel provide them. Events are named
// through libpfm (Debian's libpfm4-dev) if built with it; else only a fixed few with kernel numbers are available.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "berth/result.h"

namespace berth::profile {

struct CounterValues {
  std::vector<std::pair<std::string, std::uint64_t>> values;  ///< name, count; scaled if the kernel multiplexed events
  std::string missing;                                        ///< unavailable events with reasons; "" = none
  std::string named_by;                                       ///< "libpfm (Intel Icelake)"; "the kernel" without it
};

/// Checks that libpfm supports the events on this processor: "CYCLE_ACTIVITY:STALLS_L3_MISS", "perf::DTLB-LOAD-MISSES".
/// Errors: an unknown event, or any event in a build without libpfm.
[[nodiscard]] Result<void, InputError> check_events(const std::vector<std::string>& names);

/// Counts events of this thread and threads it starts, from construction to read(): cycles, instructions, misses of
/// caches, TLB and branches, page faults, context switches, and `more`, which must have passed check_events(). Excludes
/// kernel instructions.
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
