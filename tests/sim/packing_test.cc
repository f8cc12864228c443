#include "sim/packing.h"

#include <gtest/gtest.h>

#include <vector>

namespace berth::sim {
namespace {

TEST(Packing, CountsByHand) {
  // Three nodes of 1000 MHz, 1000 MiB, 1000 MiB disk, the last with two devices. Reference request: 400 MHz, 400 MiB.
  // Free: (100, 900), (500, 500), (1000, 1000): 0, 1 and 2 requests. Pooled 1600 MHz, 2400 MiB: 4 requests.
  const std::vector<std::int64_t> usable{1000, 1000, 1000}, cpu{900, 500, 0}, memory{100, 500, 0}, disk{0, 100, 0},
      devices_usable{0, 0, 2}, devices{0, 0, 1};
  const std::vector<std::uint32_t> allocs{3, 1, 0};
  const Packing packing = measure_packing({.cpu_usable_mhz = usable,
                                           .cpu_used_mhz = cpu,
                                           .memory_usable_mb = usable,
                                           .memory_used_mb = memory,
                                           .disk_usable_mb = usable,
                                           .disk_used_mb = disk,
                                           .devices_usable = devices_usable,
                                           .devices_used = devices,
                                           .alloc_count = allocs},
                                          {.cpu_mhz = 400, .memory_mb = 400});
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

TEST(Packing, EmptyClustersAndOverdrawnNodes) {
  EXPECT_EQ(measure_packing({}, {.cpu_mhz = 1}).fragmentation, 0);
  const std::vector<std::int64_t> usable{100}, used{150}, none{0};
  const std::vector<std::uint32_t> allocs{1};
  const Packing packing = measure_packing({.cpu_usable_mhz = usable,
                                           .cpu_used_mhz = used,
                                           .memory_usable_mb = usable,
                                           .memory_used_mb = none,
                                           .disk_usable_mb = none,
                                           .disk_used_mb = none,
                                           .devices_usable = none,
                                           .devices_used = none,
                                           .alloc_count = allocs},
                                          {.cpu_mhz = 10});
  EXPECT_DOUBLE_EQ(packing.cpu_utilisation(), 1) << "never more than all";
  EXPECT_EQ(packing.stranded.cpu_mhz, 0);
  EXPECT_EQ(packing.stranded.memory_mb, 100);
  EXPECT_EQ(packing.fragmentation, 0);
}

}  // namespace
}  // namespace berth::sim
