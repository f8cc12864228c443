// Times of deciding and committing per kind of job of a mix, with new versions of jobs separate.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/histogram.h"
#include "sim/job_stream.h"

namespace berth::run {

class KindTimes {
 public:
  struct Kind {
    std::string name;
    std::uint64_t placed = 0;
    sim::Histogram schedule;    ///< ns from snapshot to plan, one value per evaluation
    std::int64_t apply_ns = 0;  ///< time for checking and applying plans
  };

  KindTimes() = default;
  explicit KindTimes(const sim::JobStream& jobs);
  /// Adds the first evaluation of an arrival; retries of blocked ones do not count.
  void add(const sim::JobArrival& arrival, std::uint64_t placed, std::int64_t schedule_ns, std::int64_t apply_ns);
  /// The kinds with evaluations in the order of the file, then their new versions. Empty: not a mix.
  [[nodiscard]] std::vector<Kind> kinds() const;

 private:
  std::vector<Kind> kinds_, updates_;
  std::vector<std::uint32_t> kind_of_;  // by template
};

}  // namespace berth::run
