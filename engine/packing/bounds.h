// Lower bounds on the number of nodes that a workload needs under any strategy, to compare a strategy's result with.
//
// Sizes and capacities are integers in one dimension; all arithmetic is exact. A vector packing needs at least as many
// nodes as each of its dimensions alone, so the bounds of the dimensions are combined by their maximum. A weighted sum
// of dual feasible functions of several dimensions would not exceed that.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/packing_problem.h"

namespace berth::packing {

struct SizeCount {
  std::int64_t size = 0;
  std::uint64_t count = 0;
};

/// Bound by dual feasible functions: functions u with sum u(x_i) <= 1 whenever sum x_i <= 1, so that sum u(x_i) over
/// all items is a lower bound of the bins. Two families, each at every parameter that can matter:
///   L2(a), 0 <= a <= C/2   items over C - a fill a bin each; items over C/2 need bins of their own and leave room for
///                          items of at least a (Martello, Toth, Discrete Appl. Math. 28, 1990)
///   u_k, k = 1 .. 64       u(x) = x if (k + 1) x is whole, else floor((k + 1) x) / k (Fekete, Schepers, Math. Program.
///   91, 2001)
/// No size may exceed `capacity`; sizes of 0 are ignored. Cost: O(m log m), m distinct sizes.
[[nodiscard]] std::uint64_t dual_feasible_bound(std::vector<SizeCount> items, std::int64_t capacity);

/// Lower bounds on how many nodes from the front of `nodes` (positions in the problem's nodes, repeated from the start
/// after the last) can hold the workload. 0 if it requests nothing.
struct NodeBound {
  std::array<std::uint64_t, strategy::kDimensions> by_volume{};         ///< per dimension, capacities added up
  std::array<std::uint64_t, strategy::kDimensions> by_dual_feasible{};  ///< per dimension, of the largest capacity
  std::uint64_t by_devices = 0;                                         ///< a share of a GPU is on one device
  std::uint64_t by_eligible = 0;  ///< volume of tasks with the same eligible nodes; first node that can hold a task
  std::uint64_t by_distinct_hosts = 0;  ///< tasks of a job that needs one node per task
  [[nodiscard]] std::uint64_t nodes() const;
  [[nodiscard]] std::string by() const;  ///< name of the largest bound, e.g. "cpu, dual feasible"
};
/// With `departures` only tasks that run at the same time count: the moments of greatest demand in each dimension.
[[nodiscard]] NodeBound bound_nodes(const sim::PackingProblem& problem, std::span<const std::uint32_t> nodes,
                                    bool departures);

}  // namespace berth::packing
