// The score of a node: a row of components and its mean (R-RANK-7xx, 901; R-PREEMPT-701, 702).
//
//   value[c]   8 B per component, in stage order; valid if bit c of `appended` is set
//   appended   1 B, bit c set: component c counts in the mean
//
// The table of components is sched/node/component_table.h. The sum, the metrics and the record of the best nodes
// iterate over the row.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

namespace berth::rank {

/// Places in the row, in stage order (R-RANK-201), which is the order of the sum. The names are those of Nomad's
/// components; further places are free.
enum class Component : std::uint8_t { binpack, devices, anti_affinity, penalty, affinity, spread, preemption };
inline constexpr std::size_t kComponentPlaces = 8;

[[nodiscard]] constexpr std::uint8_t component_bit(Component c) {
  return static_cast<std::uint8_t>(1U << static_cast<unsigned>(c));
}

struct ScoreRow {
  double value[kComponentPlaces];
  std::uint8_t appended = 0;

  void append(Component c, double component) noexcept { set(c, component, true); }
  /// Appends the component or removes it.
  void set(Component c, double component, bool appends) noexcept {
    value[static_cast<std::size_t>(c)] = component;
    const std::uint8_t bit = component_bit(c);
    appended = static_cast<std::uint8_t>(appends ? appended | bit : appended & ~bit);
  }
  [[nodiscard]] int count() const noexcept { return std::popcount(appended); }
  /// The appended components, left to right from 0.0 (R-RANK-102, 901).
  [[nodiscard]] double sum() const noexcept {
    double out = 0.0;
    for (unsigned rest = appended; rest != 0; rest &= rest - 1) out += value[std::countr_zero(rest)];
    return out;
  }
  [[nodiscard]] double mean() const noexcept { return sum() / static_cast<double>(count()); }
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
  /// Adds one affinity of the list; `matches`: the node satisfies it (R-RANK-733).
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
