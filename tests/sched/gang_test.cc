// Gangs (sched/gang.cc): all missing allocations find a node, within few values of a topology's target, or none is
// placed.
#include <gtest/gtest.h>

#include <set>

#include "model/gang.h"
#include "model/job.h"
#include "sched/small_world.h"

namespace berth::sched {
namespace {

/// A gang of `count` allocations of 1,024 MiB each; version `version`.
std::shared_ptr<model::Job> gang(std::int64_t count, const char* topology = "", std::uint64_t version = 0) {
  auto job = SmallWorld::job("service", count, version);
  job->meta[model::kGangKey] = "all";
  if (*topology) job->meta[model::kGangTopologyKey] = topology;
  job->task_groups[0].tasks[0].resources->memory_mb = 1024;
  return job;
}

/// Nodes with room for the given numbers of allocations, each in its own rack.
SmallWorld racks(const std::vector<int>& room) {
  SmallWorld w;
  for (std::size_t i = 0; i < room.size(); ++i) {
    model::Node& node = w.add_node();
    node.meta["rack"] = "r" + std::to_string(i);
    node.node_resources->memory.memory_mb = 1024 * room[i] + 512;
  }
  return w;
}

/// The nodes of the new allocations.
std::multiset<std::string> nodes_of(const SmallWorld& w) {
  std::multiset<std::string> out;
  for (const model::Allocation& alloc : w.placed())
    if (alloc.client_status == "pending") out.insert(alloc.node_name);
  return out;
}
using Nodes = std::multiset<std::string>;

TEST(Gang, IsPlacedWholeOrNotAtAll) {
  SmallWorld w = racks({1, 1});
  w.store(gang(2));
  w.run();
  EXPECT_EQ(nodes_of(w), (Nodes{"n0", "n1"}));
  w.state.nodes[1].node_resources->memory.memory_mb = 512;
  w.run();
  EXPECT_TRUE(w.plans.empty());
  ASSERT_EQ(w.created.size(), 1U);
  EXPECT_EQ(w.created[0].status, "blocked");
}

TEST(Gang, FailedAllocationsAreMarkedIfNotAllFindANode) {  // R-SCHED-96, for those that found one as well
  SmallWorld w = racks({1});
  const auto job = gang(2);
  model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
  policy.unlimited = true, policy.delay = 30 * base::kSecond, policy.delay_function = "constant";
  w.store(job);
  for (std::uint64_t i = 0; i < 2; ++i) w.add(job, 0, i, "failed");
  w.run();
  EXPECT_TRUE(nodes_of(w).empty());
  EXPECT_TRUE(w.stops().empty());
  ASSERT_EQ(w.placed().size(), 2U);
  for (const model::Allocation& alloc : w.placed()) {
    EXPECT_EQ(alloc.client_status, "failed");
    ASSERT_TRUE(alloc.reschedule_tracker);
    EXPECT_EQ(alloc.reschedule_tracker->last_reschedule, "no placement");
  }
  w.state.nodes[0].node_resources->memory.memory_mb = 4096;
  w.run();
  EXPECT_EQ(nodes_of(w), (Nodes{"n0", "n0"}));
}

TEST(Gang, AllocationsToBeReplacedKeepRunning) {
  SmallWorld w = racks({3, 0});
  const auto before = gang(2), after = gang(3, "", 1);
  after->task_groups[0].tasks[0].user = "other";  // a destructive change
  w.store(before), w.store(after);
  for (std::uint64_t i = 0; i < 2; ++i) w.add(before, 0, i).allocated_resources->tasks["t"].memory.memory_mb = 1024;
  w.run();
  EXPECT_EQ(nodes_of(w).size(), 3U);
  EXPECT_EQ(w.stops().size(), 2U);
  w.state.nodes[0].node_resources->memory.memory_mb = 2048 + 512;
  w.run();
  EXPECT_TRUE(w.plans.empty() || w.stops().empty());
  EXPECT_TRUE(nodes_of(w).empty());
}

TEST(Gang, ALaterVersionUsesFewerValues) {  // of the two racks, that of the allocation that stays
  for (const bool has_room : {true, false}) {
    SmallWorld w = racks({1, has_room ? 2 : 1, 2});
    const auto before = gang(2), after = gang(2, "same:meta.rack", 1);
    after->task_groups[0].tasks[0].user = "other";
    after->task_groups[0].update.emplace().max_parallel = 1;
    w.store(before), w.store(after);
    for (std::uint64_t i = 0; i < 2; ++i) w.add(before, i, i).allocated_resources->tasks["t"].memory.memory_mb = 1024;
    w.run();
    EXPECT_EQ(nodes_of(w), has_room ? Nodes{"n1"} : Nodes{});
    if (has_room) {
      ASSERT_EQ(w.stops().size(), 1U);
      EXPECT_EQ(w.stops()[0].node_name, "n0");
    } else {
      EXPECT_TRUE(w.plans.empty() || w.stops().empty());
    }
  }
}

TEST(Gang, ValuesAreTriedInTheOrderOfTheTopology) {
  struct Case {
    const char* topology;
    Nodes nodes;
  };
  for (const Case& c : {Case{"same:meta.rack", {"n1", "n1"}}, Case{"same:meta.rack:spread", {"n2", "n2"}},
                        Case{"at-most:2:meta.rack", {"n1", "n1"}}}) {
    SCOPED_TRACE(c.topology);
    SmallWorld w = racks({1, 3, 3, 9});
    w.state.nodes[3].meta.erase("rack");  // is in no rack
    const auto other = SmallWorld::job("service", 1);
    other->id = other->name = "other";
    w.store(other);
    model::Allocation& alloc = w.add(other, 1, 0);  // n1 is used most
    alloc.job_id = "other", alloc.name = "other.web[0]";
    w.store(gang(2, c.topology));
    w.run();
    EXPECT_EQ(nodes_of(w), c.nodes);
  }
  SmallWorld w = racks({1, 2, 0});
  w.store(gang(3, "at-most:2:meta.rack"));
  w.run();
  EXPECT_EQ(nodes_of(w), (Nodes{"n0", "n1", "n1"}));
  w.store(gang(3, "same:meta.rack"));
  w.run();
  EXPECT_TRUE(w.plans.empty());
  for (model::Node& node : w.state.nodes) node.meta.clear();  // no value at all
  w.run();
  EXPECT_TRUE(w.plans.empty());
  EXPECT_EQ(w.created.size(), 1U);
}

TEST(Gang, EvictsOnlyIfNoSetHasRoomWithout) {
  SmallWorld w = racks({2, 2});
  w.state.scheduler_config->preemption_config.service_scheduler_enabled = true;
  const auto other = SmallWorld::job("service", 1);
  other->id = other->name = "other", other->priority = 10;
  w.store(other);
  model::Allocation& alloc = w.add(other, 0, 0);
  alloc.job_id = "other", alloc.name = "other.web[0]";
  alloc.allocated_resources->tasks["t"].memory.memory_mb = 1024;
  w.store(gang(2, "same:meta.rack"));
  w.run();
  EXPECT_EQ(nodes_of(w), (Nodes{"n1", "n1"}));
  w.state.nodes[1].node_resources->memory.memory_mb = 1024;
  w.run();
  EXPECT_EQ(nodes_of(w), (Nodes{"n0", "n0"}));
  EXPECT_EQ(w.plans.at(0).node_preemptions.size(), 1U);
  w.state.nodes[0].node_resources->memory.memory_mb = 1024;  // not even then: nothing is evicted
  w.run();
  EXPECT_TRUE(w.plans.empty());
}

TEST(Gang, TheEndOfItsWaitIsCreatedOnce) {
  SmallWorld w = racks({1});
  auto job = gang(2);
  job->meta[model::kGangTimeoutKey] = "10m";
  job->submit_time = SmallWorld::kNow - 60 * base::kSecond;
  w.store(job);
  w.run();
  ASSERT_EQ(w.created.size(), 2U);
  EXPECT_EQ(w.created[0].status, "blocked");
  EXPECT_EQ(w.created[1].wait_until.ns, SmallWorld::kNow + 540 * base::kSecond);
  EXPECT_EQ(w.error, "");
  w.create_errors = {"", "no leader"};
  w.run();
  EXPECT_EQ(w.error, "no leader");
  w.create_errors.clear();
  w.eval.status = "blocked";  // its first evaluation created one
  w.run();
  EXPECT_TRUE(w.created.empty());
  w.eval.status = "pending";
  auto over = std::make_shared<model::Job>(*job);
  over->submit_time = SmallWorld::kNow - 600 * base::kSecond;
  w.state.jobs[0] = w.state.job_versions[0] = over;
  w.run();
  EXPECT_EQ(w.updated.status, "failed");
  EXPECT_TRUE(w.created.empty());
  auto stopped = std::make_shared<model::Job>(*over);
  stopped->stop = true;
  w.state.jobs[0] = w.state.job_versions[0] = stopped;
  w.run();
  EXPECT_EQ(w.updated.status, "complete");
  w.state.jobs[0] = w.state.job_versions[0] = job;
  w.state.nodes[0].node_resources->memory.memory_mb = 4096;
  w.run("NNNNN");  // an evaluation for the time after the last attempt, and one for the limit
  ASSERT_EQ(w.created.size(), 2U);
  EXPECT_EQ(w.created[0].triggered_by, "max-plan-attempts");
  EXPECT_EQ(w.created[1].wait_until.ns, SmallWorld::kNow + 540 * base::kSecond);
  w.create_errors = {"", "no leader"};
  w.run("NNNNN");
  EXPECT_EQ(w.error, "no leader");
}

}  // namespace
}  // namespace berth::sched
