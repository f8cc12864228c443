#include "own_strategy.h"

#include <algorithm>
#include <numeric>

namespace {

using namespace berth::strategy;

struct KeepGpus {
  double weight = 1;
  double score(const Node& node, const TaskClass& task) const {
    const double free_gpus = task.gpus > 0 ? 0 : node.free(kGpu) / 1000.0;
    const double capacity = node.capacity(kMemory);
    const double memory_left = capacity > 0 ? (node.free(kMemory) - task.ask[kMemory]) / capacity : 0;
    return -(weight * free_gpus + memory_left);
  }
};

struct OwnLeastMax {
  double score(const Node& node, const TaskClass& task) const {
    double most = 0;
    for (std::size_t d = 0; d < kDimensions; ++d)
      if (const double c = node.state.capacity[d]; c > 0)
        most = std::max(most, (c - node.state.free[d] + task.ask[d]) / c);
    return -most;
  }
};

struct YoungestFirst {
  std::optional<Victims> victims(const Shortage& shortage) const {
    Victims order(shortage.candidates.size()), out;
    std::iota(order.begin(), order.end(), 0U);
    std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
      return shortage.candidates[a].start_ns > shortage.candidates[b].start_ns;
    });
    for (std::size_t i = 0; i < order.size() && !enough(shortage, out); ++i) out.push_back(order[i]);
    if (!enough(shortage, out)) return std::nullopt;
    std::sort(out.begin(), out.end());
    return out;
  }
  NodeKey node_key(const Shortage&, const EvictionCost& cost) const { return {cost.run_time_s}; }
};

}  // namespace

void add_youngest_first(PreemptionRegistry& registry) {
  registry.add("youngest-first", "latest start first; least run time lost", YoungestFirst{});
}

void add_own_least_max(Registry& registry) {
  registry.add("own-least-max", "min of the greatest share", OwnLeastMax{});
}

void add_keep_gpus(Registry& registry) {
  StrategyInfo info;
  info.name = "keep-gpus";
  info.formula = "min weight * free GPUs + memory left";
  info.source = "user";
  info.cost = "O(1) per changed node";
  info.parameters = {{"weight", "1", "what a free GPU counts", {}, 0, 1000}};
  info.make = [](const Context&, const Parameters& p, const Registry&) -> berth::Result<std::unique_ptr<Ranker>> {
    return make_ranker(KeepGpus{p.number("weight")});
  };
  registry.add(std::move(info));
}
