#include "strategy/gpu_policies.h"

#include <gtest/gtest.h>

#include "builders.h"

namespace berth::strategy {
namespace {

using namespace testing;  // builders.h

template <class S>
std::int32_t score(const S& strategy, const testing::NodeCase& node, const TaskClass& task) {
  const Fleet fleet = fleet_of({node});
  return strategy.score(fleet.node(0), task);
}

TEST(DotProduct, FollowsTheExample) {  // R-STRAT-311
  EXPECT_EQ(score(DotProduct{}, {96'000, 1, std::vector<std::int16_t>(8, 1000)}, task_of(3152, 1, 810)), 94);
  EXPECT_EQ(score(DotProduct{}, {128'000, 1, std::vector<std::int16_t>(8, 1000)}, task_of(128'000, 8, 1000)), 0);
  EXPECT_EQ(score(DotProduct{}, {0, 1, {}}, task_of(0)), 100);
}

struct Variant {
  const char* name;
  DotProductBy::Method method;
  DotProductBy::Norm norm;
  std::int32_t score;
  DeviceMask devices;
};
class DotProductVariant : public ::testing::TestWithParam<Variant> {};
// Node: 64,000 cpu, devices 400, 1000, 600 of a node of 3: I = 2000, A = {0, 2}, E = 1. Request: 6,400 cpu, 1 x 500.
// max: cpu 0.5 * 0.05 = .025. merge: + .25 * .0625 = .015625, x = .0203125, 97. share: device 2: .075 * .0625 =
// .0046875, x = .01484375, 98; the free one: .125 * .0625 = .0078125, x = .0164; so device 2. divide: device 2 has cpu
// 19,200: .15 * .05 = .0075 + .0046875, x = .00609, 99; the free one: .25 * .05 + .0078125, x = .01; so device 2.
// extend: device 2 over 4 components: (.025 + .0046875) / 4 = .0074, 99. node: cpu 1 * .1; merge: (.1 + .6667 * .16667)
// / 2 = .10556, 89. pod: cpu 10 * 1, merge: (10 + 4) / 2 = 7: 1 - tanh(.7) = .3956, 39.
TEST_P(DotProductVariant, FollowsTheFormula) {  // R-STRAT-321, 322
  const Variant& v = GetParam();
  const Fleet fleet = fleet_of({{64'000, 1, {400, 1000, 600}}});
  const DotProductBy strategy(v.method, v.norm);
  EXPECT_EQ(strategy.score(fleet.node(0), task_of(6'400, 1, 500)), v.score);
  EXPECT_EQ(strategy.devices(fleet.node(0), task_of(6'400, 1, 500)), v.devices);
}
using Method = DotProductBy::Method;
using Norm = DotProductBy::Norm;
INSTANTIATE_TEST_SUITE_P(Methods, DotProductVariant,
                         ::testing::Values(Variant{"Merge", Method::merge, Norm::max, 97, 4},
                                           Variant{"Share", Method::share, Norm::max, 98, 4},
                                           Variant{"Divide", Method::divide, Norm::max, 99, 4},
                                           Variant{"Extend", Method::extend, Norm::max, 99, 4},
                                           Variant{"MergeByNode", Method::merge, Norm::node, 89, 4},
                                           Variant{"MergeByPod", Method::merge, Norm::pod, 39, 4}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(GpuClustering, FollowsTheExamples) {  // R-STRAT-312
  EXPECT_EQ(score(GpuClustering{}, {1, 1, {0, 0, 0, 1000, 1000, 1000, 1000, 1000}}, task_of(0, 1, 500)), 9 + 0);
  EXPECT_EQ(score(GpuClustering{}, {1, 1, {500, 500, 0, 0, 1000, 1000, 1000, 1000}}, task_of(0, 1, 500)), 9 + 50);
  EXPECT_EQ(score(GpuClustering{}, {1, 1, {500, 500, 500, 500, 500, 500, 1000, 1000}}, task_of(0, 1, 500)), 9 + 75);
  EXPECT_EQ(score(GpuClustering{}, {1, 1, std::vector<std::int16_t>(8, 1000)}, task_of(0, 1, 500)), 25);
  EXPECT_EQ(score(GpuClustering{}, {1, 1, {1000, 1000}}, task_of(0, 1, 500)), 18 + 25);
  EXPECT_EQ(score(GpuClustering{}, {1, 1, {1000, 1000}}, task_of(7)), 0);
}

TEST(GpuPacking, FollowsTheExamples) {  // R-STRAT-313
  const testing::NodeCase node{1, 1, {200, 1000, 1000, 500}};
  EXPECT_EQ(score(GpuPacking{}, node, task_of(0, 2, 1000)), 48);
  EXPECT_EQ(score(GpuPacking{}, node, task_of(0, 1, 200)), 98);
  EXPECT_EQ(score(GpuPacking{}, node, task_of(0, 2, 200)), 93);
  EXPECT_EQ(score(GpuPacking{}, {1, 1, std::vector<std::int16_t>(4, 1000)}, task_of(0, 1, 200)), 29);
  EXPECT_EQ(score(GpuPacking{}, {1, 1, std::vector<std::int16_t>(8, 1000)}, task_of(0, 1, 200)), 25);
  EXPECT_EQ(score(GpuPacking{}, {1, 1, {1000}}, task_of(0, 1, 200)), 32);
  EXPECT_EQ(score(GpuPacking{}, node, task_of(5)), 0);
  // Too few fitting devices: in use, free or missing.
  EXPECT_EQ(score(GpuPacking{}, node, task_of(0, 3, 1000)), 0);
  EXPECT_EQ(score(GpuPacking{}, {1, 1, std::vector<std::int16_t>(4, 1000)}, task_of(0, 5, 1000)), 0);
  EXPECT_EQ(score(GpuPacking{}, {1, 1, {}}, task_of(0, 1, 200)), 0);
}

TEST(GpuBestFit, FollowsTheExample) {  // R-STRAT-314
  EXPECT_EQ(score(GpuBestFit{}, {96'000, 1, std::vector<std::int16_t>(8, 1000)}, task_of(3152, 1, 810)), 18);
}

TEST(Fgd, FollowsTheExample) {  // R-STRAT-316
  const Fleet fleet = fleet_of({{8000, 1, {200, 1000, 500, 1000}}});
  const Fgd fgd(example_tables());
  EXPECT_EQ(fgd.score(fleet.node(0), task_of(2000, 1, 400)), 53);
  EXPECT_EQ(fgd.devices(fleet.node(0), task_of(2000, 1, 400)), DeviceMask{1} << 2);
  EXPECT_EQ(fgd.score(fleet.node(0), task_of(2000, 1, 1000)), 57);
  EXPECT_EQ(fgd.devices(fleet.node(0), task_of(2000, 1, 1000)), DeviceMask{1} << 1);
  EXPECT_EQ(fgd.score(fleet.node(0), task_of(4100)), 22);
}

struct DeviceCase {
  const char* name;
  std::int32_t gpus, milli;
  DeviceRule rule;
  DeviceMask devices;
};
class Devices : public ::testing::TestWithParam<DeviceCase> {};
TEST_P(Devices, AreChosenByTheRule) {  // R-STRAT-303, 304
  const DeviceCase& c = GetParam();
  const Fleet fleet = fleet_of({{1, 1, {700, 1000, 400, 400, 1000}}});
  EXPECT_EQ(choose_devices(fleet.node(0), task_of(0, c.gpus, c.milli), c.rule), c.devices);
}
INSTANTIATE_TEST_SUITE_P(Rules, Devices,
                         ::testing::Values(DeviceCase{"NoGpu", 0, 0, DeviceRule::best, 0},
                                           DeviceCase{"OneWhole", 1, 1000, DeviceRule::worst, 0b10},
                                           DeviceCase{"TwoWhole", 2, 1000, DeviceRule::best, 0b10010},
                                           DeviceCase{"Best", 1, 300, DeviceRule::best, 0b100},
                                           DeviceCase{"BestOfTheRest", 1, 500, DeviceRule::best, 0b1},
                                           DeviceCase{"Worst", 1, 300, DeviceRule::worst, 0b10},
                                           DeviceCase{"First", 1, 300, DeviceRule::first, 0b1}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace berth::strategy
