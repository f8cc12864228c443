// PWR compared with the study's own steps: power before and after, computed from scratch for every device.
#include "strategy/pwr.h"

#include <gtest/gtest.h>

#include <cmath>

#include "builders.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h

/// A node's resources as the study's code holds them.
struct Resources {
  std::int32_t cpu_capacity = 0, cpu_left = 0;
  std::vector<std::int16_t> devices_left;
  const NodeRates* rates = nullptr;

  [[nodiscard]] double watts() const {
    const double of_package = rates->package_cpu / 2000.0;
    const double cores = std::ceil(cpu_capacity / 2000.0), idle = std::floor(cpu_left / 2000.0);
    const double packages = std::ceil(cores / of_package), active = std::ceil((cores - idle) / of_package);
    double mw = rates->package_idle_mw * (packages - active) + rates->package_max_mw * active;
    for (const std::int16_t left : devices_left) mw += left == 1000 ? rates->device_idle_mw : rates->device_max_mw;
    return mw / 1000;
  }
};
struct Scored {
  std::int64_t score = 0;
  DeviceMask devices = 0;
};
Scored study_score(const Node& node, const TaskClass& task, const RateTable& table) {
  const Resources before{
      node.capacity(kCpu), node.free(kCpu), {node.devices.begin(), node.devices.end()}, &table.kinds[node.state.kind]};
  Resources after = before;
  after.cpu_left -= task.ask[kCpu];
  if (task.gpus != 1 || task.gpu_milli == 1000) {
    Scored out;
    std::int32_t wanted = task.gpus;
    for (std::size_t i = 0; i < after.devices_left.size() && wanted > 0; ++i)
      if (after.devices_left[i] == 1000) after.devices_left[i] = 0, out.devices |= DeviceMask{1} << i, --wanted;
    out.score = static_cast<std::int64_t>(before.watts() - after.watts());
    return out;
  }
  Scored best;
  for (std::size_t i = 0; i < before.devices_left.size(); ++i) {
    if (before.devices_left[i] < task.gpu_milli) continue;
    Resources here = after;
    here.devices_left[i] = static_cast<std::int16_t>(here.devices_left[i] - task.gpu_milli);
    const auto score = static_cast<std::int64_t>(before.watts() - here.watts());
    if (best.devices == 0 || score > best.score) best = {score, DeviceMask{1} << i};
  }
  return best;
}

/// Places and removes tasks, and holds every choice to `oracle`.
template <class Oracle>
void agrees(Ranker& ranker, Fleet& fleet, std::uint64_t seed, Oracle oracle) {
  std::mt19937_64 random(seed);
  std::vector<std::tuple<Row, ClassId, DeviceMask>> placed;
  std::size_t chosen = 0;
  for (int step = 0; step < 250; ++step) {
    const auto id = static_cast<ClassId>(random() % fleet.class_count());
    if (!placed.empty() && random() % 4 == 0) {
      std::swap(placed[random() % placed.size()], placed.back());
      const auto [row, gone, devices] = placed.back();
      fleet.remove(row, gone, devices), placed.pop_back();
    }
    const auto expected = oracle(fleet, id);
    const auto choice = ranker.choose(fleet, id);
    ASSERT_EQ(choice.has_value(), expected.has_value()) << "seed " << seed << " step " << step;
    if (!choice) continue;
    ASSERT_EQ(choice->row, expected->row) << "seed " << seed << " step " << step;
    ASSERT_EQ(choice->devices, expected->devices) << "seed " << seed << " step " << step;
    ASSERT_EQ(choice->score, expected->score) << "seed " << seed << " step " << step;
    fleet.place(choice->row, id, choice->devices), placed.emplace_back(choice->row, id, choice->devices), ++chosen;
  }
  EXPECT_GT(chosen, 50U);
}

TEST(Pwr, EqualsTheStudyStepByStep) {
  for (const std::size_t nodes : {7U, 64U, 65U, 130U}) {
    Fleet fleet = random_fleet(nodes, nodes, 12);
    const Context context = context_of(fleet);
    auto ranker = registry().make({"pwr", {}}, context);
    ASSERT_TRUE(ranker);
    agrees(**ranker, fleet, nodes, [&](const Fleet& now, ClassId id) {
      std::optional<Choice> best;
      for (Row row = 0; row < now.size(); ++row) {
        if (!now.feasible(row, now.task_class(id))) continue;
        const Scored s = study_score(now.node(row), now.task_class(id), *context.rates);
        if (!best || static_cast<double>(s.score) > best->score) best = {row, s.devices, static_cast<double>(s.score)};
      }
      return best;
    });
  }
}

TEST(Pwr, SumWithFgdEqualsTheStudyStepByStep) {
  for (const std::size_t nodes : {7U, 65U, 130U}) {
    Fleet fleet = random_fleet(nodes, nodes, 12);
    const Context context = context_of(fleet);
    auto ranker = registry().make({"pwr", {{"fgd", "0.9"}}}, context);
    ASSERT_TRUE(ranker);
    const Fgd fgd(context.fragments);
    agrees(**ranker, fleet, nodes, [&](const Fleet& now, ClassId id) {
      const TaskClass& task = now.task_class(id);
      std::int64_t least = INT64_MAX, greatest = INT64_MIN;
      for (Row row = 0; row < now.size(); ++row)
        if (now.feasible(row, task)) {
          const std::int64_t s = study_score(now.node(row), task, *context.rates).score;
          least = std::min(least, s), greatest = std::max(greatest, s);
        }
      std::optional<Choice> best;
      for (Row row = 0; row < now.size(); ++row) {
        if (!now.feasible(row, task)) continue;
        const std::int64_t s = study_score(now.node(row), task, *context.rates).score;
        const std::int64_t scaled = least == greatest ? 100 : (s - least) * 100 / (greatest - least);
        const auto total = static_cast<double>(100 * scaled + 900 * fgd.score(now.node(row), task));
        if (!best || total > best->score) best = {row, fgd.devices(now.node(row), task), total};
      }
      return best;
    });
  }
}

TEST(Pwr, WithAllWeightOnFgdChoosesAsFgd) {
  Fleet fleet = random_fleet(3, 130, 12);
  const Context context = context_of(fleet);
  auto sum = registry().make({"pwr", {{"fgd", "1"}}}, context), fgd = registry().make({"fgd", {}}, context);
  ASSERT_TRUE(sum && fgd);
  for (int step = 0; step < 200; ++step) {
    const auto id = static_cast<ClassId>(static_cast<std::size_t>(step) % fleet.class_count());
    const auto a = (*sum)->choose(fleet, id), b = (*fgd)->choose(fleet, id);
    ASSERT_EQ(a.has_value(), b.has_value());
    if (!a) continue;
    ASSERT_EQ(a->row, b->row) << step;
    ASSERT_EQ(a->devices, b->devices) << step;
    fleet.place(a->row, id, a->devices);
  }
}

TEST(Pwr, IsRefusedWithoutPower) {
  Context context = context_of(random_fleet(1, 5, 2));
  context.rates = nullptr;
  for (const char* text : {"pwr", "pwr:fgd=0.5", "expr:-power_added", "expr:node_power+1"}) {
    const auto spec = registry().parse(text);
    ASSERT_TRUE(spec) << text;
    const auto ranker = registry().make(*spec, context);
    ASSERT_FALSE(ranker) << text;
    EXPECT_NE(ranker.error().problem.find("power of the nodes is not known"), std::string::npos);
  }
  EXPECT_FALSE(registry().parse("pwr:fgd=1.5"));
}

}  // namespace
}  // namespace berth::strategy
