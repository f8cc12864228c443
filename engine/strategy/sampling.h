// Strategies that do not score every node: first-fit, next-fit, random draws of nodes, and the early-stopping searches
// of Nomad and Kubernetes (R-STRAT-310, 701 to 703, 715 to 717). Draws come from Context::draw. Each object serves one
// fleet, like every Ranker.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "berth/strategy.h"

namespace berth::strategy {

using Draw = std::function<std::uint32_t(std::uint32_t)>;

/// R-STRAT-701: the first feasible node in visiting order; score 0 everywhere. Source: Johnson et al., SIAM J. Comput.
/// 3, 1974. Cost: feasibility is cached per class in blocks of 64 nodes, so one check per block, not per node.
struct FirstFit {
  std::int32_t score(const Node&, const TaskClass&) const { return 0; }
};

/// R-STRAT-702: as first-fit, from the node of the previous placement on, wrapping. Source: as first-fit. Cost:
/// O(visited nodes).
[[nodiscard]] std::unique_ptr<Ranker> make_next_fit(DeviceRule rule);

/// R-STRAT-310: a uniformly drawn feasible node (no draw if there is only one). For part of a device, fitting device
/// number c is taken whenever draw(c) is 0. Source: Weng et al., USENIX ATC 2023. Cost: O(n / 64) over cached
/// feasibility.
[[nodiscard]] std::unique_ptr<Ranker> make_random(Draw draw);
/// R-STRAT-703: uniform over the feasible nodes by one reservoir pass: node number c is taken whenever draw(c) is 0.
/// Source: folklore. Cost: O(feasible) draws.
[[nodiscard]] std::unique_ptr<Ranker> make_random_fit(Draw draw, DeviceRule rule);

/// R-STRAT-715: draws nodes without replacement until `k` feasible ones are found or all were drawn. The inner strategy
/// decides among them, ties by visiting order. Sources: Mitzenmacher, IEEE TPDS 12, 2001; Ousterhout et al., SOSP 2013.
/// Cost: O(n) for the inner scores, O(draws).
[[nodiscard]] std::unique_ptr<Ranker> make_power_of_k(std::size_t k, Draw draw, std::unique_ptr<Ranker> inner);

/// R-STRAT-716: nodes in an order shuffled per decision, at most `limit` feasible ones (0 = max(2, ceil(log2 n))). Up
/// to three of score <= 0 are skipped while others follow. The largest score wins, among equals the first. Source:
/// Nomad, selection of nodes. Cost: O(n) for the inner scores, O(draws).
[[nodiscard]] std::unique_ptr<Ranker> make_nomad_limit(std::size_t limit, Draw draw, std::unique_ptr<Ranker> inner);

/// R-STRAT-717: continues round-robin where the previous search ended, until K feasible nodes are found: all if
/// n < 100, else max(100, n * q div 100), q = percent or, if 0, max(5, 50 - n div 125). Ties by visiting order. Source:
/// Kubernetes, percentageOfNodesToScore. Cost: O(n) for the inner scores, O(visited nodes).
[[nodiscard]] std::unique_ptr<Ranker> make_kubernetes_sampling(std::size_t percent, std::unique_ptr<Ranker> inner);

/// R-STRAT-323, and sums of any strategies with scores: total = sum of weight * score, in the given order. With
/// `rescale` each component is first scaled over the feasible nodes to 0..1 (all 0 if all are equal); components with
/// `integer_steps` to 0..100 by integer division, as the reference does with BestFit. Devices: by the rule. The fit
/// component (R-STRAT-007) is the weighted mean of the components' fits, not rescaled. Source: Weng et al., USENIX ATC
/// 2023, combined policies. Cost: O(n) per component.
struct SumComponent {
  std::unique_ptr<Ranker> ranker;
  double weight = 1;
  bool integer_steps = false;
};
[[nodiscard]] std::unique_ptr<Ranker> make_sum(std::vector<SumComponent> components, bool rescale, DeviceRule rule);

}  // namespace berth::strategy
