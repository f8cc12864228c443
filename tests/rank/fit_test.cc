// Fit of allocations on a node and assignment of cores.
#include "rank/fit.h"
#include "model/job.h"

#include <gtest/gtest.h>

namespace berth::rank {
namespace {

model::Node four_core_node() {  // 4000 MHz, 100 reserved, four usable cores
  model::Node node;
  auto& topology = node.node_resources.emplace().processors.emplace().topology.emplace();
  for (std::uint16_t id = 0; id < 4; ++id) {
    topology.cores.emplace_back().id = id;
    topology.cores.back().base_speed = 1000;
  }
  node.reserved_resources.emplace().cpu.cpu_shares = 100;
  return node;
}

model::Allocation using_cpu(std::int64_t cpu_mhz, std::vector<std::uint16_t> cores = {}) {
  model::Allocation alloc;
  alloc.client_status = "running";
  alloc.allocated_resources.emplace().tasks["t"].cpu = {cpu_mhz, std::move(cores)};
  return alloc;
}

Fit fit_of(const model::Node& node, const std::vector<model::Allocation>& allocs, bool check_claims = false) {
  std::vector<const model::Allocation*> list;
  for (const model::Allocation& alloc : allocs) list.push_back(&alloc);
  network::NetworkIndex index;
  return allocs_fit(node, list, check_claims, index);
}

TEST(Fit, ReservedSharesReduceTheCapacity) {  // W-7
  EXPECT_TRUE(fit_of(four_core_node(), {using_cpu(3900)}).fits());
  EXPECT_EQ(fit_of(four_core_node(), {using_cpu(3901)}).text(), "cpu");
}

TEST(Fit, OverlappingCoresAreReportedBeforeCpu) {  // W-7, R-MODEL-404
  EXPECT_EQ(fit_of(four_core_node(), {using_cpu(2500, {2}), using_cpu(2500, {2})}).text(), "cores");
}

TEST(Fit, CoresAreNotTestedWithoutUsableCores) {  // R-MODEL-385
  model::Node node = four_core_node();
  EXPECT_EQ(fit_of(node, {using_cpu(100, {7})}).text(), "cores");
  node.reserved_resources->cpu.reserved_cpu_cores = {0, 1, 2, 3};
  EXPECT_TRUE(fit_of(node, {using_cpu(100, {7})}).fits());
}

TEST(Fit, OnlyAFinishedClientFreesResources) {  // R-RANK-503
  std::vector<model::Allocation> allocs = {using_cpu(3000), using_cpu(3000)};
  allocs[0].desired_status = "stop";
  EXPECT_EQ(fit_of(four_core_node(), allocs).text(), "cpu");
  allocs[0].client_status = "complete";
  EXPECT_TRUE(fit_of(four_core_node(), allocs).fits());
}

TEST(Fit, TooManyAllocationsZeroTheUse) {  // R-MODEL-401: terminal ones count as well
  model::Node node = four_core_node();
  node.node_max_allocs = 1;
  std::vector<model::Allocation> allocs = {using_cpu(10), using_cpu(10)};
  allocs[1].client_status = "lost";
  const Fit fit = fit_of(node, allocs);
  EXPECT_EQ(fit.text(), "max allocation exceeded");
  EXPECT_EQ(fit.used, model::FlatResources{});
}

TEST(Fit, IgnoredCollisionsCountForTheSecondHolderOnly) {  // R-MODEL-411
  std::vector<model::Allocation> allocs = {using_cpu(1), using_cpu(1)};
  allocs[0].id = "a", allocs[1].id = "b";
  allocs[0].allocated_resources->shared.ports = {{"p", 80, 0, "10.0.0.1", false}};
  allocs[1].allocated_resources->shared.ports = {{"p", 80, 0, "10.0.0.1", true}};
  EXPECT_TRUE(fit_of(four_core_node(), allocs).fits());
  std::swap(allocs[0], allocs[1]);
  EXPECT_EQ(fit_of(four_core_node(), allocs).text(),
            "reserved alloc port collision: collision when reserving port for alloc a: [port 80 already in use]");
}

TEST(Fit, DevicesAndExclusiveVolumesAreTestedOnDemand) {  // R-MODEL-407
  model::Node node = four_core_node();
  auto& group = node.node_resources->devices.emplace_back();
  group.vendor = "nvidia", group.type = "gpu", group.name = "x";
  group.instances.resize(1);
  group.instances[0].id = "g0", group.instances[0].healthy = true;
  std::vector<model::Allocation> allocs = {using_cpu(1), using_cpu(1)};
  auto job = std::make_shared<model::Job>();
  job->task_groups.resize(1);
  job->task_groups[0].name = "g";
  job->task_groups[0].volumes["v"].emplace().source = "data";
  job->task_groups[0].volumes["v"]->access_mode = "single-node-single-writer";
  for (model::Allocation& alloc : allocs) {
    alloc.job = job, alloc.task_group = "g";
    alloc.allocated_resources->tasks["t"].devices = {{"nvidia", "gpu", "x", {"g0"}}};
  }
  EXPECT_TRUE(fit_of(node, allocs, false).fits());
  EXPECT_EQ(fit_of(node, allocs, true).text(), "device oversubscribed");
  group.instances[0].healthy = false;
  EXPECT_EQ(fit_of(node, allocs, true).text(), "conflicting claims for host volume with single-writer");
}

TEST(Fit, AllocationsWithoutResourcesAreListedOnly) {  // R-MODEL-401, 614
  model::Node node = four_core_node();
  auto& group = node.node_resources->devices.emplace_back();
  group.vendor = "nvidia", group.type = "gpu", group.name = "x";
  std::vector<model::Allocation> allocs = {using_cpu(3900), using_cpu(1)};
  allocs[1].allocated_resources.reset();
  auto job = std::make_shared<model::Job>();
  job->task_groups.resize(1);
  job->task_groups[0].name = "g";
  job->task_groups[0].volumes["null"] = std::nullopt;
  for (model::Allocation& alloc : allocs) alloc.job = job, alloc.task_group = "g";
  EXPECT_TRUE(fit_of(node, allocs, true).fits());
  node.node_max_allocs = 1;
  EXPECT_EQ(fit_of(node, allocs).text(), "max allocation exceeded");
  node = model::Node();  // without resources
  EXPECT_EQ(fit_of(node, {using_cpu(1)}, true).text(), "cpu");
  EXPECT_TRUE(fit_of(node, {using_cpu(0)}, true).fits());
}

TEST(AssignCores, TakesTheSmallestFreeIds) {  // R-MODEL-441, 443
  model::Topology topology = *four_core_node().node_resources->processors->topology;
  topology.cores[1].disable = true;
  topology.cores[3].base_speed = 2500;
  std::vector<std::uint16_t> cores;
  std::int64_t cpu_mhz = 0;
  ASSERT_TRUE(assign_cores(topology, {0}, 2, cores, cpu_mhz));
  EXPECT_EQ(cores, (std::vector<std::uint16_t>{2, 3}));
  EXPECT_EQ(cpu_mhz, 3500);
  EXPECT_FALSE(assign_cores(topology, {0}, 3, cores, cpu_mhz));
}

}  // namespace
}  // namespace berth::rank
