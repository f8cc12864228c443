// PWR of Lettich et al., CCGrid 2025 (arXiv 2412.17484), as its code defines it: the node whose power rises least.
// Power is that of berth/power.h.
#pragma once

#include <memory>

#include "berth/strategy.h"
#include "strategy/gpu_policies.h"

namespace berth::strategy {

/// Minus the watts that the placement adds, truncated. A task with part of a device takes the first one in use that has
/// enough, else the first idle one. Cost: O(devices) per changed node.
class Pwr {
 public:
  explicit Pwr(std::shared_ptr<const RateTable> rates) : rates_(std::move(rates)) {}

  std::int32_t score(const Node& node, const TaskClass& task) const {
    return static_cast<std::int32_t>(-added_power_mw(*rates_, node, task, devices(node, task)) / 1000);
  }
  DeviceMask devices(const Node& node, const TaskClass& task) const;
  double component(std::int32_t score) const { return 1.0 / (1.0 - score); }

 private:
  std::shared_ptr<const RateTable> rates_;
};

/// The study's sum with FGD: (1000 - weight) p + weight f in integers, weight in thousandths. p is PWR's score scaled
/// over the feasible nodes to 0..100 by integer division, 100 if all are equal; f is FGD's score. FGD chooses the
/// devices. Cost: O(nodes) per decision.
[[nodiscard]] std::unique_ptr<Ranker> make_pwr_with_fgd(Pwr pwr, Fgd fgd, std::int32_t fgd_weight);

}  // namespace berth::strategy
