// Small fleets for the tests of strategies.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "berth/strategy.h"
#include "strategy/fragments.h"

namespace berth::strategy::testing {

struct NodeCase {
  std::int32_t cpu = 0, memory = 1'000'000;
  std::vector<std::int16_t> devices{};  ///< free thousandths
  std::uint16_t model = 0;
};

/// A node in a given state: devices are emptied by tasks of the missing share.
inline Fleet fleet_of(const std::vector<NodeCase>& nodes) {
  std::vector<Fleet::NodeSpec> specs;
  for (const NodeCase& n : nodes)
    specs.push_back({{n.cpu, n.memory, 0, 0}, n.model, static_cast<std::uint16_t>(n.devices.size())});
  Fleet fleet(specs);
  for (Row row = 0; row < nodes.size(); ++row)
    for (std::size_t i = 0; i < nodes[row].devices.size(); ++i)
      if (nodes[row].devices[i] < 1000) {
        TaskClass filler;
        filler.gpus = 1, filler.gpu_milli = 1000 - nodes[row].devices[i];
        fleet.place(row, fleet.add_class(filler), DeviceMask{1} << i);
      }
  return fleet;
}

inline TaskClass task_of(std::int32_t cpu, std::int32_t gpus = 0, std::int32_t gpu_milli = 0, std::int32_t memory = 0) {
  TaskClass out;
  out.ask = {cpu, memory, 0, gpus * gpu_milli};
  out.gpus = gpus, out.gpu_milli = gpu_milli;
  return out;
}

/// Nodes of a few shapes, GPUs on some, and classes of small tasks.
inline Fleet random_fleet(std::uint64_t seed, std::size_t nodes, std::size_t classes) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t n) { return static_cast<std::int32_t>(random() % n); };
  std::vector<Fleet::NodeSpec> specs;
  for (std::size_t i = 0; i < nodes; ++i) {
    const std::uint16_t devices[] = {0, 0, 2, 4, 8};
    specs.push_back({{8'000 * (1 + below(16)), 16'384 * (1 + below(16)), 100'000, 0},
                     static_cast<std::uint16_t>(below(3)),
                     devices[below(5)],
                     static_cast<std::uint16_t>(i % 2)});
  }
  Fleet fleet(specs);
  for (std::size_t i = 0; i < classes; ++i) {
    TaskClass task = task_of(1'000 * (1 + below(12)), 0, 0, 1'024 * (1 + below(24)));
    const int kind = below(4);
    if (kind == 1) task.gpus = 1, task.gpu_milli = 50 * (1 + below(19));
    if (kind == 2) task.gpus = 1 << below(3), task.gpu_milli = 1000;
    task.ask[kDisk] = 100 * below(5);
    if (below(5) == 0) {
      task.eligible.assign((nodes + 63) / 64, 0);
      for (std::size_t row = 0; row < nodes; ++row)
        if (below(2) == 0) task.eligible[row / 64] |= std::uint64_t{1} << (row % 64);
    }
    fleet.add_class(std::move(task));
  }
  return fleet;
}

/// The workload of R-STRAT-217.
inline std::shared_ptr<const FragmentTables> example_tables() {
  return std::make_shared<FragmentTables>(std::vector<TypicalClass>{{4000, 1, 500, "", 0, .5},
                                                                    {16000, 1, 1000, "", 0, .2},
                                                                    {2000, 2, 1000, "", 0, .1},
                                                                    {4000, 0, 0, "", 0, .1},
                                                                    {1000, 1, 300, "G2", 0, .1}},
                                          std::vector<std::string>{"T4", "G2", "P100"});
}

/// Power and price of two kinds of nodes.
inline std::shared_ptr<const RateTable> example_rates() {
  return std::make_shared<RateTable>(RateTable{{{.price_micro = 2'500'000,
                                                 .package_cpu = 48'000,
                                                 .package_idle_mw = 20'000,
                                                 .package_max_mw = 165'000,
                                                 .device_idle_mw = 10'000,
                                                 .device_max_mw = 70'000},
                                                {.price_micro = 7'000'000,
                                                 .package_cpu = 32'000,
                                                 .package_idle_mw = 15'500,
                                                 .package_max_mw = 120'000,
                                                 .device_idle_mw = 25'000,
                                                 .device_max_mw = 250'000}},
                                               true,
                                               true});
}

inline Context context_of(const Fleet& fleet, std::uint64_t seed = 1) {
  Context out;
  for (Row row = 0; row < fleet.size(); ++row)
    for (std::size_t d = 0; d < kDimensions; ++d)
      out.capacity_max[d] = std::max(out.capacity_max[d], fleet.node(row).state.capacity[d]);
  out.demand_mean = {4000, 8192, 100, 500};
  out.fragments = example_tables();
  out.rates = example_rates();
  auto random = std::make_shared<std::mt19937_64>(seed);
  out.draw = [random](std::uint32_t bound) { return static_cast<std::uint32_t>((*random)() % bound); };
  out.run_times = true;
  return out;
}

}  // namespace berth::strategy::testing
