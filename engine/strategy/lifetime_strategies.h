// Strategies that read predicted run times (include/berth/lifetimes.h): nodes are ordered by a cost in time first, and
// by the scores of an inner strategy among equals.
//
//   nilas   cost = by how much the task is predicted to outlast its node, in steps
//   lava    cost = whether the task's class of run time suits the node's, then nilas' cost
//
// Source: Ling et al., LAVA: Lifetime-Aware VM Allocation with Learned Distributions and Adaptation to Mispredictions,
// MLSys 2025. Cost of a decision: the inner strategy's, plus a pass over the scores and predicted exits of all nodes,
// 16 bytes each (lava: 40). Nothing is cached by class but the inner scores, since every arrival has its own run time.
#pragma once

#include <memory>

#include "berth/strategy.h"

namespace berth::strategy {

struct NilasOptions {
  double error = 0;
  /// Cost 0: the task ends with the node's other tasks or before. Cost 1, 2, 3 ...: up to 1, 2, 4 ... steps later.
  double step_s = 900;
};
[[nodiscard]] std::unique_ptr<Ranker> make_nilas(const NilasOptions& options, std::unique_ptr<Ranker> inner);

struct LavaOptions {
  NilasOptions nilas;
  double hour_s = 3600;  ///< classes are run times below 1, 10 and 100 hours, and all longer ones
  double full = 0.9;     ///< share of a node's cpu, memory or GPUs in use from which it is recycling
};
[[nodiscard]] std::unique_ptr<Ranker> make_lava(const LavaOptions& options, std::unique_ptr<Ranker> inner);

}  // namespace berth::strategy
