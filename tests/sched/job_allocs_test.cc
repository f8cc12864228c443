// Columns of simple allocations have the same values as their API objects.
#include "sched/stack/job_allocs.h"

#include <gtest/gtest.h>

#include <random>

#include "model/job.h"
#include "sched/small_world.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::sched {
namespace {

TEST(JobAllocs, FactsOfColumnsAreThoseOfTheObject) {  // R-RECON-41, 54, 105
  for (const char* name : {"j", "another name"}) {
    SCOPED_TRACE(name);
    SmallWorld world;
    for (int i = 0; i < 4; ++i) world.add_node();
    const auto job = SmallWorld::job("batch", 3, 0, {"web", "db"});
    job->name = name;
    world.store(job);
    world.add_deployment(job, "running");
    tables::StateStore store;
    store.load(world.state);
    std::mt19937_64 random(7);
    const auto one_of = [&](std::uint64_t n) { return static_cast<std::uint32_t>(random() % n); };
    const tables::JobKeyRow key = store.find_job_key("default", "j");
    {
      tables::Commit commit = store.begin_commit(2000);
      commit.set_node_state(1, tables::NodeStatus::down, true, false);
      commit.set_node_state(2, tables::NodeStatus::ready, false, true);
      for (std::uint64_t i = 1; i <= 500; ++i) {
        tables::PlainAlloc alloc;
        alloc.id = {i, 2};
        alloc.node = tables::NodeRow(one_of(4));
        alloc.job = store.current().jobs.keys[key].current;
        alloc.group = one_of(2);
        alloc.name_index = one_of(2000);
        alloc.client = static_cast<tables::Client>(one_of(6));
        if (one_of(2) != 0) alloc.links.deployment = 0;
        if (i > 1 && one_of(3) == 0) alloc.links.next = tables::AllocRow(one_of(i - 1));
        alloc.links.health = static_cast<std::uint8_t>(one_of(16));
        const tables::AllocRow row = commit.insert_plain(alloc);
        if (one_of(4) == 0) commit.set_desired_status(row, static_cast<tables::Desired>(one_of(3)));
      }
    }
    const tables::SnapshotRef snapshot = store.snapshot();
    JobAllocs allocs;
    for (const base::Uuid deployment : {base::Uuid{}, snapshot->deployments.id[0], base::Uuid{5, 5}}) {
      allocs.read(*snapshot, key, deployment);
      ASSERT_EQ(allocs.size(), 500U);
      for (std::size_t i = 0; i < allocs.size(); ++i) {
        const tables::AllocRow row = allocs.rows()[i];
        const model::Allocation object = tables::to_alloc(*snapshot, row);
        const reconcile::AllocFacts& facts = allocs.facts()[i];
        const reconcile::AllocFacts expected =
            reconcile::read_facts(object, facts.group, taint_of(*snapshot, snapshot->allocs.node[row]),
                                  deployment.is_nil() ? "" : base::to_text(deployment));
        const auto told = [](const reconcile::AllocFacts& f) {
          return std::tuple(f.job_version, f.job_create_index, f.name_index, f.desired, f.client, f.taint, f.transition,
                            f.flags);
        };
        EXPECT_EQ(told(facts), told(expected)) << "row " << row;
        EXPECT_EQ(allocs.group_names()[facts.group], object.task_group);
        EXPECT_EQ(facts.alloc->id, object.id);
        EXPECT_EQ(facts.alloc->next_allocation, object.next_allocation);
      }
    }
  }
}

}  // namespace
}  // namespace berth::sched
