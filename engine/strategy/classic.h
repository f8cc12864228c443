// The classic ranking formulas (R-STRAT-704 to 713) and Kubernetes' scores (R-STRAT-721 to 725). Cost of each:
// O(dimensions) per scored node; Nomad's two also take two powers of ten. Names, parameters, formulas, sources and
// costs for users: builtin.cc (`berth compare --list-strategies`).
//
// Notation: F free, C capacity, U = C - F used before, a request, N normaliser. A dimension with N = 0 is skipped.
// "min X" is score = -X. component() converts a score to the fit component of Nomad's scoring (R-STRAT-007), if it is
// neither hundredths nor in 0..1 by itself: a cost in 0..1 becomes 1 - cost, weights are divided by their sum. Examples
// with numbers: tests/strategy/classic_test.cc.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "berth/strategy.h"
#include "rank/score_fit.h"

namespace berth::strategy {

/// Normalisers of amounts and weights of dimensions.
struct Scale {
  enum class Norm : std::uint8_t {
    node,       ///< the node's capacity
    max,        ///< the largest capacity of any node
    reference,  ///< fixed amounts
  };
  Norm norm = Norm::node;
  Amounts fixed{};                           ///< N of max and reference; 0 = no node has the dimension
  std::array<double, kDimensions> weight{};  ///< 0 = the dimension does not count

  /// Divisor that brings weighted sums of shares to 0..1 (R-STRAT-007): the sum of the weights of the dimensions that
  /// some node has; 1 if that is 0.
  [[nodiscard]] double total() const {
    double sum = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) sum += fixed[d] > 0 ? weight[d] : 0;
    return sum > 0 ? sum : 1;
  }
  /// Calls f(dimension, N, weight) for every dimension that counts on this node.
  template <class F>
  void each(const Node& node, F f) const {
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const std::int32_t n = norm == Norm::node ? node.state.capacity[d] : fixed[d];
      if (n > 0 && weight[d] != 0) f(d, static_cast<double>(n), weight[d]);
    }
  }
};

/// R-STRAT-704: min sum w (F - a) / N: least remaining first. Source: Johnson et al., SIAM J. Comput. 3, 1974; in
/// several dimensions folklore.
struct BestFit {
  Scale scale;
  double score(const Node& node, const TaskClass& task) const {
    double left = 0;
    scale.each(node, [&](std::size_t d, double n, double w) { left += w * ((node.state.free[d] - task.ask[d]) / n); });
    return -left;
  }
  double component(double score) const { return 1 + score / scale.total(); }  // the used share
};
/// R-STRAT-705: max sum w (F - a) / N: the opposite of best-fit. Source: as best-fit.
struct WorstFit {
  Scale scale;
  double score(const Node& node, const TaskClass& task) const { return -BestFit{scale}.score(node, task); }
  double component(double score) const { return score / scale.total(); }
};
/// R-STRAT-706: min over nodes of the largest (U + a) / C. The load-balancing rule. Source: folklore, "least loaded".
struct LeastMax {
  double score(const Node& node, const TaskClass& task) const {
    double most = 0;
    for (std::size_t d = 0; d < kDimensions; ++d)
      if (const double c = node.state.capacity[d]; c > 0)
        most = std::max(most, (c - node.state.free[d] + task.ask[d]) / c);
    return -most;
  }
  double component(double score) const { return 1 + score; }
};
/// R-STRAT-708: max sum w (a / N)(F / N), F before the placement. Tetris' alignment; the reverse of DotProduct. Source:
/// Grandl et al., SIGCOMM 2014.
struct Tetris {
  Scale scale;
  double score(const Node& node, const TaskClass& task) const {
    double sum = 0;
    scale.each(node,
               [&](std::size_t d, double n, double w) { sum += w * (task.ask[d] / n) * (node.state.free[d] / n); });
    return sum;
  }
  double component(double score) const { return score / scale.total(); }
};
/// R-STRAT-709: max (a . F) / (|a| |F|) over a / N and F / N; a zero vector scores -1. Shape only: ties need best-fit.
/// Source: Panigrahy et al., Microsoft Research 2011.
struct Cosine {
  Scale scale;
  double score(const Node& node, const TaskClass& task) const {
    double product = 0, asked = 0, free = 0;
    scale.each(node, [&](std::size_t d, double n, double) {
      const double a = task.ask[d] / n, f = node.state.free[d] / n;
      product += a * f, asked += a * a, free += f * f;
    });
    return asked == 0 || free == 0 ? -1 : product / (std::sqrt(asked) * std::sqrt(free));
  }
};
/// R-STRAT-710: min sum w ((F - a) / N)^2, norm-based greedy. Source: Panigrahy et al., Microsoft Research 2011.
struct L2 {
  Scale scale;
  double score(const Node& node, const TaskClass& task) const {
    double sum = 0;
    scale.each(node, [&](std::size_t d, double n, double w) {
      const double left = (node.state.free[d] - task.ask[d]) / n;
      sum += w * left * left;
    });
    return -sum;
  }
  double component(double score) const { return 1 + score / scale.total(); }
};
/// R-STRAT-711: the largest a / (C - a) over the capacities, times 100, rounded half away from zero. Ignores usage: it
/// prefers the smallest node shape that fits. The reference's rescaling to 0..100 keeps the order and is omitted.
/// Source: open-simulator.
struct DominatingShare {
  std::int32_t score(const Node& node, const TaskClass& task) const {
    double most = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const double a = task.ask[d], rest = node.state.capacity[d] - a;
      most = std::max(most, rest == 0 ? (a == 0 ? 0.0 : 1.0) : a / rest);
    }
    return static_cast<std::int32_t>(std::round(std::min(most, 1e7) * 100));
  }
  /// a / C, which has the same order, because a / (C - a) is unbounded.
  double component(std::int32_t score) const { return score > 0 ? score / (100.0 + score) : 0; }
};
/// R-STRAT-712, 713: Nomad's fit component over cpu and memory, with phi = 1 - (U + a) / C: clamp(20 - 10^phi_cpu -
/// 10^phi_memory, 0, 18) / 18, for spread clamp(10^phi_cpu + 10^phi_memory - 2, 0, 18) / 18. Source: Nomad, with its
/// own bits (rank/score_fit.h).
template <rank::FitAlgorithm algorithm>
struct NomadFit {
  double score(const Node& node, const TaskClass& task) const {
    return rank::fit_component(algorithm, node.used(kCpu) + task.ask[kCpu], node.capacity(kCpu),
                               node.used(kMemory) + task.ask[kMemory], node.capacity(kMemory));
  }
};

// Kubernetes. R = used + request over the resources; integers 0..100. `old` = version 1.20. Source of the formulas:
// kube-scheduler, NodeResourcesFit and NodeResourcesBalancedAllocation (its idea: Huang et al., IMIS 2013).

/// Weights per dimension; 0 = the resource is ignored.
struct KubernetesResources {
  std::array<std::int32_t, kDimensions> weight{1, 1, 0, 0};
  bool old = false;
  /// Amounts of a task without a request (R-STRAT-721 to 724, not for the balance).
  static constexpr std::int32_t kCpuDefault = 100, kMemoryDefault = 200;
  [[nodiscard]] static std::int64_t request(const TaskClass& task, std::size_t d) {
    if (task.ask[d] == 0 && d == kCpu) return kCpuDefault;
    if (task.ask[d] == 0 && d == kMemory) return kMemoryDefault;
    return task.ask[d];
  }
  /// f(C, R) in integers per resource, weighted mean by integer division.
  template <class F>
  [[nodiscard]] std::int32_t weighted(const Node& node, const TaskClass& task, F f) const {
    std::int64_t sum = 0, weights = 0;
    for (std::size_t d = 0; d < kDimensions; ++d) {
      const std::int64_t c = node.state.capacity[d], r = c - node.state.free[d] + request(task, d);
      if (weight[d] == 0 || (c == 0 && !old)) continue;
      sum += c == 0 ? 0 : weight[d] * f(c, r);
      weights += weight[d];
    }
    return weights == 0 ? 0 : static_cast<std::int32_t>(sum / weights);
  }
};
/// R-STRAT-721: weighted mean of ((C - R) 100) div C, 0 if R > C.
struct LeastAllocated {
  KubernetesResources resources;
  std::int32_t score(const Node& node, const TaskClass& task) const {
    return resources.weighted(node, task, [](std::int64_t c, std::int64_t r) { return r > c ? 0 : (c - r) * 100 / c; });
  }
};
/// R-STRAT-722: weighted mean of (min(R, C) 100) div C; in 1.20 0 if R > C.
struct MostAllocated {
  KubernetesResources resources;
  std::int32_t score(const Node& node, const TaskClass& task) const {
    return resources.weighted(node, task, [this](std::int64_t c, std::int64_t r) {
      return r > c && resources.old ? 0 : std::min(r, c) * 100 / c;
    });
  }
};
/// R-STRAT-723: trunc(100 (1 - sigma)) over f = min(R / C, 1); 1.20: trunc(100 (1 - |fcpu - fmem|)), 0 if one is full.
struct BalancedAllocation {
  KubernetesResources resources;
  std::int32_t score(const Node& node, const TaskClass& task) const;
};
/// Utilisations 0..100, ascending, and their scores 0..10; at least one.
using UtilisationPoints = std::vector<std::pair<std::int32_t, std::int32_t>>;
/// Parses a list such as "0-0/60-10/100-0"; nullopt if malformed.
[[nodiscard]] std::optional<UtilisationPoints> parse_points(std::string_view text);

/// R-STRAT-724: a broken line over utilisation, constant outside its points, scores times 10, integer interpolation.
struct RequestedToCapacityRatio {
  KubernetesResources resources;
  UtilisationPoints points{{0, 0}, {100, 10}};
  std::int32_t score(const Node& node, const TaskClass& task) const;
};
/// R-STRAT-725: LeastAllocated + BalancedAllocation, the parts of kube-scheduler's default profile that apply here.
struct KubernetesDefault {
  KubernetesResources resources;
  std::int32_t score(const Node& node, const TaskClass& task) const {
    return LeastAllocated{resources}.score(node, task) + BalancedAllocation{resources}.score(node, task);
  }
  double component(std::int32_t score) const { return score / 200.0; }  // of two scores of 0..100
};

/// R-STRAT-707: the order in which tasks are packed off-line, largest first; then first-fit. Ties keep their order.
/// Source: Panigrahy et al., Microsoft Research 2011. Cost: O(tasks log tasks) once.
enum class OfflineOrder : std::uint8_t {
  arrival,  ///< unchanged
  sum,      ///< FFDSum: sum of w a, w = total demand / total capacity
  product,  ///< FFDProd: product of a over the requested dimensions
  max,      ///< the largest a / N, N the largest capacity of any node
};
/// The size of each class of `fleet` under `order`; all 0 for `arrival`. `tasks`: the tasks to pack, for the demand.
[[nodiscard]] std::vector<double> packing_sizes(const Fleet& fleet, OfflineOrder order, std::span<const ClassId> tasks);

}  // namespace berth::strategy
