// Replaces the fit component of Nomad's scoring by a ranking strategy (R-STRAT-007). The other components of a node's
// score (device affinity, anti-affinity, penalty of nodes where it failed before, affinity, spread, preemption) and the
// mean are unchanged.
//
// A strategy is represented by one function over an array of nodes, compiled with the strategy's formula: one call per
// block of nodes, none per node.
#pragma once

#include <span>

#include "berth/fleet.h"

namespace berth::strategy {

struct FitFunction {
  /// out[i] = fit of nodes[i], in 0..1, for one task of `task`. `out` is as long as `nodes`. Reads only.
  using Call = void (*)(const void* strategy, std::span<const Node> nodes, const TaskClass& task,
                        std::span<double> out);
  Call call = nullptr;
  const void* strategy = nullptr;  ///< not owned

  explicit operator bool() const noexcept { return call != nullptr; }
  void operator()(std::span<const Node> nodes, const TaskClass& task, std::span<double> out) const {
    call(strategy, nodes, task, out);
  }
};

}  // namespace berth::strategy
