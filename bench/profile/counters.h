// The processor's own counters of this process, by perf_event_open where kernel and machine have them.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace berth::profile {

struct CounterValues {
  std::vector<std::pair<std::string, std::uint64_t>> values;  ///< name, count; scaled where the kernel took turns
  std::string missing;                                        ///< why some or all are not there; "" = all are
};

/// Counts cycles, instructions, cache and branch misses, and page faults of this thread and those it starts, from
/// construction to read().
class Counters {
 public:
  Counters();
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
