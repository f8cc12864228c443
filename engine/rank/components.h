// Score components other than fit and spread, and their mean (R-RANK-7xx, 901; R-PREEMPT-701, 702).
//
// A node's final score is the mean of the components *appended* to it, in stage order: binpack, devices,
// job-anti-affinity, node-reschedule-penalty, node-affinity, allocation-spread, preemption. Which are appended and
// which only logged is the table of R-RANK-701; each function below says it for its own.
#pragma once

#include <cstdint>
#include <span>

namespace berth::rank {

/// Sum and number of the appended components; left to right from 0.0 (R-RANK-102, 901).
class ScoreMean {
 public:
  void append(double component) noexcept { sum_ += component, ++count_; }
  [[nodiscard]] double final_score() const noexcept { return sum_ / static_cast<double>(count_); }
  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

 private:
  double sum_ = 0.0;
  std::int64_t count_ = 0;
};

/// `job-anti-affinity` for `collisions` > 0 proposed allocs of the same job ID and group (R-RANK-711); not appended
/// (logged as 0) without collisions. A group count of 0 gives -infinity.
[[nodiscard]] inline double anti_affinity(std::int64_t collisions, std::int64_t group_count) noexcept {
  return static_cast<double>(-1 * (collisions + 1)) / static_cast<double>(group_count);
}

/// `node-reschedule-penalty` of a penalty node, appended only there (R-RANK-721).
inline constexpr double kReschedulePenalty = -1.0;

/// The affinities of a group: the job's, the group's, then each task's in task order, duplicates kept (R-RANK-731).
class AffinitySum {
 public:
  /// Adds one affinity of the list and whether the node matches it (R-RANK-733).
  void add(std::int8_t weight, bool matches) noexcept {
    absolute_ += weight < 0 ? -weight : weight;
    if (matches) matched_ += weight;
  }
  /// `node-affinity`, appended whenever the list is non-empty, even when nothing matches (R-RANK-732).
  [[nodiscard]] double component() const noexcept {
    return static_cast<double>(matched_) / static_cast<double>(absolute_);
  }

 private:
  std::int64_t matched_ = 0, absolute_ = 0;
};

/// Net priority of victims (not empty): highest + sum / highest (R-PREEMPT-701).
[[nodiscard]] double net_priority(std::span<const std::int64_t> victim_priorities) noexcept;

/// `preemption` for a net priority; appended when something is preempted (R-PREEMPT-702, 703).
[[nodiscard]] double preemption_score(double net_priority) noexcept;

}  // namespace berth::rank
