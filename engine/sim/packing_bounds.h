// Lower bounds on how many nodes a workload needs, whatever the strategy: what a strategy's own number is held against.
//
// Sizes and capacities are whole numbers in one dimension; all arithmetic is exact. A vector packing needs at least as
// many nodes as each of its dimensions alone, so the bounds of several dimensions are combined by their maximum: a
// weighted sum of dual feasible functions of several dimensions is at most the greatest of them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/packing_problem.h"

namespace berth::sim {

struct SizeCount {
  std::int64_t size = 0;
  std::uint64_t count = 0;
};

/// Bound by dual feasible functions: functions u with sum u(x_i) <= 1 whenever sum x_i <= 1, so that sum u(x_i) over
/// all items bounds the bins from below. Two families, each at every parameter that can matter:
///   L2(a), 0 <= a <= C/2   items over C - a fill a bin each; items over C/2 need bins of their own and leave room for
///                          items of at least a (Martello, Toth, Discrete Appl. Math. 28, 1990)
///   u_k, k = 1 .. 64       u(x) = x if (k + 1) x is whole, else floor((k + 1) x) / k (Fekete, Schepers, Math. Program.
///   91, 2001)
/// No size may exceed `capacity`; sizes of 0 count nothing. Cost: O(m log m), m distinct sizes.
[[nodiscard]] std::uint64_t dual_feasible_bound(std::vector<SizeCount> items, std::int64_t capacity);

/// Lower bounds on the nodes taken from the front of `nodes` (by index into the problem's, repeated from the start when
/// they run out) that can hold the workload. 0 when it asks nothing.
struct NodeBound {
  std::array<std::uint64_t, strategy::kDimensions> by_volume{};         ///< per dimension, capacities added up
  std::array<std::uint64_t, strategy::kDimensions> by_dual_feasible{};  ///< per dimension, of the greatest capacity
  std::uint64_t by_devices = 0;                                         ///< parts of a GPU do not straddle devices
  std::uint64_t by_eligible = 0;  ///< volume of tasks with the same eligible nodes; the first node that holds a task
  std::uint64_t by_distinct_hosts = 0;  ///< a job that wants a node per task
  [[nodiscard]] std::uint64_t nodes() const;
  [[nodiscard]] std::string by() const;  ///< which of them is the greatest, e.g. "cpu, dual feasible"
};
/// With `departures` only what is there at the same time counts: the moments of greatest demand in each dimension.
[[nodiscard]] NodeBound bound_nodes(const PackingProblem& problem, std::span<const std::uint32_t> nodes,
                                    bool departures);

}  // namespace berth::sim
