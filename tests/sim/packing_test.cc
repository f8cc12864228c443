#include "sim/packing.h"

#include <gtest/gtest.h>

namespace berth::sim {
namespace {

/// Three nodes of 1000 MHz, 1000 MiB, 1000 MiB disk, the last with two devices. Reference request: 400 MHz, 400 MiB.
/// Free: (100, 900), (500, 500), (1000, 1000): 0, 1 and 2 requests. Pooled 1600 MHz, 2400 MiB: 4 requests.
constexpr NodePacking kThreeNodes[] = {{{1000, 1000, 1000, 0}, {900, 100, 0, 0}, 3},
                                       {{1000, 1000, 1000, 0}, {500, 500, 100, 0}, 1},
                                       {{1000, 1000, 1000, 2}, {0, 0, 0, 1}, 0}};

void expect_sums_of_three(const Packing& packing) {
  EXPECT_EQ(packing.nodes, 3U);
  EXPECT_EQ(packing.nodes_used, 2U);
  EXPECT_DOUBLE_EQ(packing.cpu_utilisation(), 1400.0 / 3000);
  EXPECT_DOUBLE_EQ(packing.memory_utilisation(), 600.0 / 3000);
  EXPECT_DOUBLE_EQ(packing.disk_utilisation(), 100.0 / 3000);
  EXPECT_DOUBLE_EQ(packing.device_utilisation(), 0.5);
  EXPECT_DOUBLE_EQ(packing.fragmentation, 1 - 3.0 / 4);
  EXPECT_EQ(packing.stranded.cpu_mhz, 100);
  EXPECT_EQ(packing.stranded.memory_mb, 900);
}

TEST(PackingState, AgreesWithValuesComputedByHand) {
  PackingSums sums({.cpu_mhz = 400, .memory_mb = 400});
  for (const NodePacking& node : kThreeNodes) sums.add(node);
  expect_sums_of_three(sums.packing());
}

TEST(PackingState, DropsRemovedNodes) {
  PackingSums sums({.cpu_mhz = 400, .memory_mb = 400});
  const NodePacking overdrawn{{100, 100, -5, 0}, {150, 0, 0, 0}, 1};
  sums.add(overdrawn);
  for (const NodePacking& node : kThreeNodes) sums.add(node), sums.add(node);
  for (const NodePacking& node : kThreeNodes) sums.remove(node);
  sums.remove(overdrawn);
  expect_sums_of_three(sums.packing());
}

TEST(PackingState, AcceptsEmptyClustersAndOverbookedNodes) {
  EXPECT_EQ(PackingSums({.cpu_mhz = 1}).packing().fragmentation, 0);
  PackingSums sums({.cpu_mhz = 10});
  sums.add({{100, 100, 0, 0}, {150, 0, 0, 0}, 1});
  const Packing packing = sums.packing();
  EXPECT_DOUBLE_EQ(packing.cpu_utilisation(), 1) << "never more than all";
  EXPECT_EQ(packing.stranded.cpu_mhz, 0);
  EXPECT_EQ(packing.stranded.memory_mb, 100);
  EXPECT_EQ(packing.fragmentation, 0);
}

}  // namespace
}  // namespace berth::sim
