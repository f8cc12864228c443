// Power of nodes compared with the study's own formula, and integrals over time compared with a slow sum.
#include "packing/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "packing/replay.h"
#include "strategy/builders.h"

namespace berth::packing {
namespace {

using strategy::Fleet;
using strategy::kCpu;
using strategy::kWholeDevice;
using strategy::NodeRates;
using strategy::RateTable;
using strategy::Row;

/// Watts: packages of 24 cores of two vCPUs, 20 or 165 W; devices of 10 or 70 W.
constexpr NodeRates kT4{.price_micro = 2'500'000,
                        .package_cpu = 48'000,
                        .package_idle_mw = 20'000,
                        .package_max_mw = 165'000,
                        .device_idle_mw = 10'000,
                        .device_max_mw = 70'000};
constexpr NodeRates kLarge{.price_micro = 7'000'000,
                           .package_cpu = 64'000,
                           .package_idle_mw = 20'000,
                           .package_max_mw = 270'000,
                           .device_idle_mw = 25'000,
                           .device_max_mw = 250'000};
const RateTable kRates{.kinds = {kT4, kLarge}, .power = true, .price = true};

TEST(NodePower, FollowsTheExample) {
  const Fleet::NodeSpec spec{{104'000, 1000, 0, 0}, 0, 4, 0};
  Fleet fleet(std::span(&spec, 1));
  const auto small = fleet.add_class(strategy::testing::task_of(1)),
             part = fleet.add_class(strategy::testing::task_of(48'000, 1, 300)),
             whole = fleet.add_class(strategy::testing::task_of(0, 2, 1000));
  const auto power = [&] { return strategy::node_power_mw(kRates, fleet.node(0)); };
  EXPECT_EQ(power(), 3 * 20'000 + 4 * 10'000);  // 104 vCPUs are three packages
  EXPECT_EQ(strategy::added_power_mw(kRates, fleet.node(0), fleet.task_class(small), 0), 145'000);
  fleet.place(0, small, 0);
  EXPECT_EQ(power(), 100'000 + 145'000);
  EXPECT_EQ(strategy::added_power_mw(kRates, fleet.node(0), fleet.task_class(part), 1), 145'000 + 60'000);
  fleet.place(0, part, 1);  // 48,001 need a second package
  EXPECT_EQ(strategy::added_power_mw(kRates, fleet.node(0), fleet.task_class(part), 1), 145'000);
  fleet.place(0, whole, 0b110);
  EXPECT_EQ(power(), 100'000 + 2 * 145'000 + 3 * 60'000);
}

TEST(NodePower, CountsThePackagesOfReservedCpu) {
  RateTable rates{.kinds = {kT4}, .power = true, .price = false};
  rates.kinds[0].reserved_cpu = 48'000;
  const Fleet::NodeSpec spec{{48'000, 1000, 0, 0}, 0, 0, 0};
  Fleet fleet(std::span(&spec, 1));
  EXPECT_EQ(strategy::node_power_mw(rates, fleet.node(0)), 2 * 20'000);
  fleet.place(0, fleet.add_class(strategy::testing::task_of(48'000)), 0);
  EXPECT_EQ(strategy::node_power_mw(rates, fleet.node(0)), 20'000 + 165'000);
}

/// The formula of the study's code: two vCPUs per core, cores rounded up to packages.
std::int64_t study_power_mw(const NodeRates& rates, const strategy::Node& node) {
  const double cores = std::ceil(node.capacity(kCpu) / 1000.0 / 2), idle = std::floor(node.free(kCpu) / 1000.0 / 2);
  const double of_package = rates.package_cpu / 2000.0;
  const double packages = std::ceil(cores / of_package), active = std::ceil((cores - idle) / of_package);
  double out = rates.package_idle_mw * (packages - active) + rates.package_max_mw * active;
  for (const std::int16_t free : node.devices) out += free == kWholeDevice ? rates.device_idle_mw : rates.device_max_mw;
  return static_cast<std::int64_t>(out);
}

struct Event {
  std::int64_t at_ns;
  std::int64_t power_mw, price_micro;  ///< from then on
};

/// Adds the events span by span, split at every hour.
PowerUse slow_use(const std::vector<Event>& events, std::int64_t end_ns, const std::vector<double>& carbon) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  PowerUse out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const std::int64_t until = i + 1 < events.size() ? events[i + 1].at_ns : end_ns;
    for (std::int64_t at = events[i].at_ns; at < until;) {
      const std::int64_t next = std::min(until, (at / kHour + 1) * kHour);
      const double hours = static_cast<double>(next - at) / kHour, kw = static_cast<double>(events[i].power_mw) / 1e6;
      out.energy_kwh += kw * hours;
      out.carbon_kg += kw * hours * carbon[static_cast<std::size_t>(at / kHour % 24)] / 1000;
      out.price += static_cast<double>(events[i].price_micro) / 1e6 * hours;
      at = next;
    }
  }
  out.power_mean_kw = out.energy_kwh / (static_cast<double>(end_ns - events.front().at_ns) / kHour);
  return out;
}

TEST(PowerMeter, EqualsASlowSum) {
  for (const std::uint64_t seed : {1U, 2U, 3U, 4U, 5U}) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    std::vector<Fleet::NodeSpec> specs;
    for (int i = 0; i < 20; ++i)
      specs.push_back({{static_cast<std::int32_t>(2'000 * (1 + below(64))), 1'000'000, 0, 0},
                       0,
                       static_cast<std::uint16_t>(below(9)),
                       static_cast<std::uint16_t>(below(2))});
    Fleet fleet(specs);
    for (int i = 0; i < 10; ++i)
      fleet.add_class(strategy::testing::task_of(static_cast<std::int32_t>(below(20'000)), i % 3 == 0 ? 0 : 1,
                                                 i % 3 == 0   ? 0
                                                 : i % 3 == 1 ? 250
                                                              : 1000));
    std::vector<double> carbon;
    for (int hour = 0; hour < 24; ++hour) carbon.push_back(static_cast<double>(below(800'000)) / 1000);
    PowerMeter meter(fleet, kRates, carbon);
    std::vector<Event> events;
    std::vector<std::tuple<Row, strategy::ClassId, strategy::DeviceMask>> placed;
    std::int64_t now = below(200'000'000'000'000);
    meter.advance(fleet, now);
    for (int step = 0; step < 400; ++step) {
      const auto row = static_cast<Row>(random() % fleet.size());
      const auto id = static_cast<strategy::ClassId>(random() % fleet.class_count());
      if (placed.size() > 30 || (!placed.empty() && below(3) == 0)) {
        std::swap(placed[random() % placed.size()], placed.back());
        const auto [from, gone, devices] = placed.back();
        fleet.remove(from, gone, devices), placed.pop_back();
      } else if (fleet.feasible(row, fleet.task_class(id))) {
        const auto& task = fleet.task_class(id);
        const auto devices = strategy::choose_devices(fleet.node(row), task, strategy::DeviceRule::worst);
        const std::int64_t before = strategy::node_power_mw(kRates, fleet.node(row));
        const std::int64_t added = strategy::added_power_mw(kRates, fleet.node(row), task, devices);
        fleet.place(row, id, devices), placed.emplace_back(row, id, devices);
        ASSERT_EQ(strategy::node_power_mw(kRates, fleet.node(row)), before + added) << "seed " << seed;
      }
      Event event{now, 0, 0};
      for (Row r = 0; r < fleet.size(); ++r) {
        const NodeRates& rates = kRates.kinds[fleet.node(r).state.kind];
        const std::int64_t power = study_power_mw(rates, fleet.node(r));
        ASSERT_EQ(strategy::node_power_mw(kRates, fleet.node(r)), power) << "seed " << seed << " row " << r;
        event.power_mw += power, event.price_micro += fleet.node(r).state.tasks > 0 ? rates.price_micro : 0;
      }
      ASSERT_DOUBLE_EQ(meter.power_kw(fleet), static_cast<double>(event.power_mw) / 1e6) << "seed " << seed;
      events.push_back(event);
      // In one of ten steps, up to several days pass.
      now += below(10) == 0 ? below(400'000'000'000'000) : below(4) == 0 ? 0 : below(5'000'000'000'000);
      meter.advance(fleet, now);
    }
    const PowerUse slow = slow_use(events, now, carbon), use = meter.use(fleet);
    EXPECT_NEAR(use.energy_kwh / slow.energy_kwh, 1, 1e-12) << "seed " << seed;
    EXPECT_NEAR(use.carbon_kg / slow.carbon_kg, 1, 1e-12) << "seed " << seed;
    EXPECT_NEAR(use.price / slow.price, 1, 1e-12) << "seed " << seed;
    EXPECT_NEAR(use.power_mean_kw / slow.power_mean_kw, 1, 1e-12) << "seed " << seed;
  }
}

/// Two nodes of one package of 1,000; a task of an hour, and at the end of it one that stays for two more.
TEST(PackingReplay, MeasuresPowerFromTheFirstArrivalToTheLast) {
  constexpr std::int64_t kHour = 3'600'000'000'000;
  sim::PackingProblem problem;
  problem.nodes.assign(2, {{1000, 1000, 0, 0}, 0, 0, 0});
  problem.node_classes.assign(2, "n");
  problem.models = {""};
  problem.rates = std::make_shared<RateTable>(RateTable{
      {{.price_micro = 3'000'000, .package_cpu = 1000, .package_idle_mw = 100'000, .package_max_mw = 300'000}},
      true,
      true});
  problem.carbon.assign(24, 0);
  problem.carbon[1] = 500, problem.carbon[2] = 100;
  strategy::TaskClass whole;
  whole.ask = {1000, 1000, 0, 0};
  problem.classes = {whole};
  problem.arrivals = {{.due_ns = kHour / 2, .run_time_ns = kHour, .task = 0, .count = 1},
                      {.due_ns = kHour * 5 / 2, .run_time_ns = kHour, .task = 0, .count = 2}};
  const auto run = replay_packing(problem, problem.context(), {0, 1}, {.departures = true, .moments = true},
                                  strategy::registry(), {"first-fit", {}});
  ASSERT_TRUE(run);
  // 0.4 kW for the first hour and 0.2 for the second; the last arrival is the end.
  EXPECT_DOUBLE_EQ(run->power.energy_kwh, 0.6);
  EXPECT_DOUBLE_EQ(run->power.power_mean_kw, 0.3);
  EXPECT_DOUBLE_EQ(run->power.price, 3);
  // 0.4 kW and 0.2 kW for half of hour 1, 0.2 kW for half of hour 2.
  EXPECT_DOUBLE_EQ(run->power.carbon_kg, (0.2 * 500 + 0.1 * 500 + 0.1 * 100) / 1000);
  EXPECT_DOUBLE_EQ(run->moments.back().power_kw, 0.6);
  problem.arrivals.resize(1);
  const auto one =
      replay_packing(problem, problem.context(), {0, 1}, {.moments = true}, strategy::registry(), {"first-fit", {}});
  EXPECT_DOUBLE_EQ(one->power.power_mean_kw, 0.4) << "no time passes";
  EXPECT_DOUBLE_EQ(one->power.energy_kwh, 0);
}

}  // namespace
}  // namespace berth::packing
