// A node assigns the same cores to a request by its table of cores as by its topology.
#include "sched/node/resources/cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/registration/node_canonical.h"
#include "rank/fit.h"
#include "sched/small_world.h"

namespace berth::sched {
namespace {

TEST(FreeCores, TheTableAgreesWithTheTopology) {  // R-RANK-524, 641, 642
  std::mt19937 random(7);
  const auto any = [&](std::uint32_t least, std::uint32_t most) { return least + random() % (most - least + 1); };
  std::uint32_t by_table = 0, too_few = 0, exceeds = 0, unknown = 0;
  for (int round = 0; round < 400; ++round) {
    SmallWorld world;
    model::Node& node = world.add_node();
    model::Topology& topology = *node.node_resources->processors->topology;
    const std::uint32_t step = any(1, 3);
    for (std::uint32_t i = 0; i < any(1, 60); ++i) {
      model::Core& core = topology.cores.emplace_back();
      core.id = static_cast<std::uint16_t>(i * step + (round % 7 == 0 ? 430 : 0));  // some ids are beyond the table
      core.disable = any(0, 5) == 0;
      core.base_speed = 1000 + any(0, 3) * 100;
    }
    for (const model::Core& core : topology.cores)
      if (any(0, 9) == 0) node.reserved_resources.emplace().cpu.reserved_cpu_cores.push_back(core.id);
    const auto job = SmallWorld::job("service", 3);
    world.store(job);
    std::vector<std::uint16_t> held;
    for (std::uint32_t i = 0; i < any(0, 3); ++i) {
      model::Allocation& alloc = world.add(job, 0, i);
      for (const model::Core& core : topology.cores) {
        if (any(0, 6) != 0 || std::find(held.begin(), held.end(), core.id) != held.end()) continue;
        alloc.allocated_resources->tasks["t"].cpu.reserved_cores.push_back(core.id);
        held.push_back(core.id);
      }
    }
    std::sort(held.begin(), held.end());
    tables::StateStore store;
    store.load(world.state);
    const tables::SnapshotRef state = store.snapshot();
    const tables::NodeSpec& spec = state->nodes.spec(tables::NodeRow(0));
    const auto beyond = [&](const std::vector<std::uint16_t>& cores) {
      return !spec.cores.empty() && !std::includes(spec.cores.begin(), spec.cores.end(), cores.begin(), cores.end());
    };
    EXPECT_EQ(state->nodes.use[tables::NodeRow(0)].irregular, beyond(held) ? tables::kCoresIrregular : 0);
    for (std::uint64_t count = 1; count <= 4; ++count) {
      std::vector<std::uint16_t> more, taken = held, given;
      for (const model::Core& core : topology.cores)
        if (any(0, 8) == 0 && std::find(held.begin(), held.end(), core.id) == held.end()) more.push_back(core.id);
      model::merge_cores(taken, more);
      std::int64_t mhz = 0;
      const bool enough = rank::assign_cores(topology, taken, static_cast<std::int64_t>(count), given, mhz);
      const auto offer = free_cores(*state, tables::NodeRow(0), count, more);
      ASSERT_EQ(offer.has_value(), spec.core_table.is_exact && !beyond(held)) << "round " << round;
      unknown += !offer;
      if (!offer) continue;
      ++by_table;
      ASSERT_EQ(offer->too_few, !enough) << "round " << round;
      too_few += !enough;
      if (!enough) continue;
      EXPECT_EQ(offer->mhz, static_cast<std::uint64_t>(mhz)) << "round " << round;
      EXPECT_EQ(offer->exceeds, beyond(given)) << "round " << round;
      exceeds += offer->exceeds;
    }
  }
  EXPECT_GT(by_table, 300U);
  EXPECT_GT(too_few, 30U);
  EXPECT_GT(exceeds, 30U);
  EXPECT_GT(unknown, 30U);
}

}  // namespace
}  // namespace berth::sched
