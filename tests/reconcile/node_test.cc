// The node reconciler: the decision tables of R-SCHED-129 and 132 row by row, deployments, and invariants on random
// inputs.
#include "reconcile/node.h"

#include <gtest/gtest.h>

#include <random>

#include "model/job.h"
#include "model/predicates.h"
#include "support/cluster_objects.h"

namespace berth::reconcile {
namespace {

using model::ClientStatus;
using model::DesiredStatus;

constexpr std::int64_t kNodeNow = 1'000'000 * base::kSecond;

class Ids final : public IdSource {
 public:
  std::string next_eval_id() override { return next('e'); }
  std::string next_deployment_id() override { return next('d'); }

 private:
  std::string next(char kind) {
    std::string out(1, kind);
    return out += std::to_string(++count_);
  }
  int count_ = 0;
};

/// A job `j` called "name" with one group `g`, on nodes that the test lists.
struct NodeWorld {
  std::shared_ptr<model::Job> job;
  std::vector<RequiredName> required;
  std::vector<NodeVisit> visits;
  std::vector<NodeAlloc> allocs;
  std::optional<model::Deployment> deployment;
  NodeInput input;
  NodeReconciler reconciler;

  explicit NodeWorld(const char* type = "system", std::int64_t count = 1) {
    job = testing::make_job({.type = type, .priority = 70, .version = 3, .groups = {{.count = count}}});
    job->name = "name", job->create_index = 10, job->job_modify_index = 30;
  }
  model::UpdateStrategy& update() {
    model::UpdateStrategy& update = job->task_groups[0].update.emplace();
    update.max_parallel = 1;
    return update;
  }
  NodeVisit& node(bool candidate = true, NodeTaint taint = NodeTaint::none, bool not_ready = false) {
    NodeVisit visit;
    visit.handle = base::NodeRow(visits.size());
    visit.candidate = candidate;
    visit.taint = taint;
    visit.not_ready = not_ready;
    visit.live_begin = visit.live_end = visit.terminal_end = static_cast<std::uint32_t>(allocs.size());
    return visits.emplace_back(visit);
  }
  /// On the node listed last.
  NodeAlloc& live(std::uint8_t flags, std::uint32_t required_name = 0, ClientStatus client = ClientStatus::running) {
    NodeAlloc alloc;
    alloc.required = required_name;
    alloc.desired = DesiredStatus::run;
    alloc.client = client;
    alloc.flags = flags;
    ++visits.back().live_end;
    ++visits.back().terminal_end;
    return allocs.emplace_back(alloc);
  }
  NodeAlloc& terminal(std::uint8_t flags, std::uint32_t required_name = 0) {
    NodeAlloc& alloc = live(flags, required_name, ClientStatus::complete);
    --visits.back().live_end;
    return alloc;
  }
  const NodeResult& run() {
    required_names(job.get(), required);
    input.job = job.get();
    input.required = required;
    input.visits = visits;
    input.allocs = allocs;
    input.deployment = deployment ? &*deployment : nullptr;
    input.now = kNodeNow;
    Ids ids;
    return reconciler.run(input, ids);
  }
  model::Deployment& running_deployment(const char* status = "running") {
    model::Deployment& d = deployment.emplace();
    d.id = "given";
    d.status = status;
    d.job_version = job->version;
    d.job_create_index = job->create_index;
    return d;
  }
};

/// The letter of the only non-empty bucket. Place tuples of a node are not counted if it also has an allocation.
std::string bucket_of(const NodeResult& r) {
  std::string out;
  const auto add = [&](const char* name, const std::vector<NodeTuple>& tuples) {
    for (std::size_t i = 0; i < tuples.size(); ++i) {
      if (!out.empty()) out += ' ';
      out += name;
    }
  };
  add("place", r.place), add("update", r.update), add("migrate", r.migrate), add("stop", r.stop);
  add("ignore", r.ignore), add("lost", r.lost), add("disconnecting", r.disconnecting);
  add("reconnecting", r.reconnecting);
  return out;
}

constexpr std::uint8_t kCurrent = NodeAlloc::kSameSpec | NodeAlloc::kSameVersion;

struct LiveCase {
  const char* name;
  std::uint8_t flags;
  std::uint32_t required;
  ClientStatus client;
  NodeTaint taint;
  bool candidate, not_ready;
  const char* bucket;
};
class LiveTable : public ::testing::TestWithParam<LiveCase> {};

TEST_P(LiveTable, DecidesByTheFirstMatchingRow) {  // R-SCHED-129
  const LiveCase& c = GetParam();
  NodeWorld world;
  world.node(c.candidate, c.taint, c.not_ready);
  world.live(c.flags, c.required, c.client);
  const NodeResult& result = world.run();
  std::string bucket = bucket_of(result);
  if (bucket.starts_with("place ")) bucket.erase(0, 6);  // an unrequired name leaves the required one missing
  EXPECT_EQ(bucket, c.bucket);
}

constexpr auto kRunning = ClientStatus::running;
INSTANTIATE_TEST_SUITE_P(
    Rows, LiveTable,
    ::testing::Values(
        LiveCase{"Row1NameGone", kCurrent, kNoRow, kRunning, NodeTaint::none, true, false, "stop"},
        LiveCase{"Row1BeforeMigrate", NodeAlloc::kMigrate, kNoRow, kRunning, NodeTaint::none, true, false, "stop"},
        LiveCase{"Row2Migrate", kCurrent | NodeAlloc::kMigrate, 0, kRunning, NodeTaint::ready, false, true, "migrate"},
        LiveCase{"Row2BeforeDown", kCurrent | NodeAlloc::kMigrate, 0, kRunning, NodeTaint::down, false, true,
                 "migrate"},
        LiveCase{"Row3Expired", kCurrent | NodeAlloc::kReconnects | NodeAlloc::kExpired, 0, ClientStatus::unknown,
                 NodeTaint::disconnected, false, true, "lost"},
        LiveCase{"Row4Unknown", kCurrent | NodeAlloc::kReconnects, 0, ClientStatus::unknown, NodeTaint::disconnected,
                 false, true, "ignore"},
        LiveCase{"Row4UnknownOnReadyNode", kCurrent | NodeAlloc::kReconnects, 0, ClientStatus::unknown, NodeTaint::none,
                 true, false, "ignore"},
        LiveCase{"Row5Reconnecting", NodeAlloc::kReconnects, 0, kRunning, NodeTaint::none, true, false, "reconnecting"},
        LiveCase{"Row6SysbatchDone", NodeAlloc::kSysbatchJob | NodeAlloc::kSuccessful, 0, kRunning, NodeTaint::down,
                 false, true, "ignore"},
        LiveCase{"Row7Disconnecting", kCurrent, 0, kRunning, NodeTaint::disconnected, false, true, "disconnecting"},
        LiveCase{"Row8Down", kCurrent, 0, kRunning, NodeTaint::down, false, true, "lost"},
        LiveCase{"Row8Gone", kCurrent, 0, kRunning, NodeTaint::gone, false, false, "lost"},
        LiveCase{"Row8SuccessfulSystem", NodeAlloc::kSuccessful, 0, kRunning, NodeTaint::down, false, true, "lost"},
        LiveCase{"Row9Draining", 0, 0, kRunning, NodeTaint::ready, false, true, "ignore"},
        LiveCase{"Row9PendingOnDisconnected", 0, 0, ClientStatus::pending, NodeTaint::disconnected, false, true,
                 "ignore"},
        LiveCase{"Row10IneligibleChanged", 0, 0, kRunning, NodeTaint::none, false, true, "stop"},
        LiveCase{"Row11IneligibleSame", kCurrent, 0, kRunning, NodeTaint::none, false, true, "ignore"},
        LiveCase{"Row12Untargeted", kCurrent, 0, kRunning, NodeTaint::none, false, false, "stop"},
        LiveCase{"Row13Changed", 0, 0, kRunning, NodeTaint::none, true, false, "update"},
        LiveCase{"Row14Same", kCurrent, 0, kRunning, NodeTaint::none, true, false, "ignore"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(NodeReconciler, MissingNamesArePlacedOnCandidatesOnly) {  // R-SCHED-132 rows 3 to 5
  NodeWorld world("system", 2);
  world.node();
  world.node(false, NodeTaint::none, true).candidate = false;
  world.node(true, NodeTaint::down);
  const NodeResult& result = world.run();
  ASSERT_EQ(bucket_of(result), "place place");
  EXPECT_EQ(result.place[0].required, 0U);
  EXPECT_EQ(result.place[1].required, 1U);
  EXPECT_EQ(result.place[1].visit, 0U);
}

TEST(NodeReconciler, TerminalSystemAllocationsAreReplacedAtOnce) {  // R-SCHED-132 row 5, 133
  NodeWorld world;
  world.node();
  world.terminal(kCurrent);
  const NodeResult& result = world.run();
  ASSERT_EQ(bucket_of(result), "place");
  EXPECT_EQ(result.place[0].alloc, 0U);
}

TEST(NodeReconciler, TerminalSysbatchAllocationsRunAgainOnlyAfterAChange) {  // R-SCHED-132 rows 1 and 2, 133
  NodeWorld world("sysbatch");
  world.node();
  world.terminal(kCurrent);
  world.node();
  world.terminal(0);
  const NodeResult& result = world.run();
  ASSERT_EQ(bucket_of(result), "update ignore");
  EXPECT_EQ(result.update[0].visit, 1U);
  EXPECT_FALSE(result.update[0].canary);
}

TEST(NodeReconciler, StoppedJobsRequireNothing) {  // R-SCHED-127
  NodeWorld world("system", 3);
  world.job->stop = true;
  world.node();
  world.live(kCurrent, kNoRow);
  EXPECT_EQ(bucket_of(world.run()), "stop");
}

TEST(NodeReconciler, NamesBeginWithTheJobsName) {  // R-SCHED-127, trap
  NodeWorld world("system", 2);
  required_names(world.job.get(), world.required);
  EXPECT_EQ(required_position(*world.job, world.required, "name.g[1]"), 1U);
  EXPECT_EQ(required_position(*world.job, world.required, "j.g[1]"), kNoRow);
  EXPECT_EQ(required_position(*world.job, world.required, "name.g[2]"), kNoRow);
  EXPECT_EQ(required_position(*world.job, world.required, "name"), kNoRow);
}

TEST(NodeReconciler, ANewDeploymentHoldsTheGroupsWithAnUpdateBlock) {  // R-SCHED-140, 142, 143
  NodeWorld world;
  world.update().auto_revert = true;
  world.job->task_groups[0].update->progress_deadline = 7;
  world.node();
  const NodeResult& result = world.run();
  ASSERT_TRUE(result.deployment);
  EXPECT_EQ(result.deployment->eval_priority, 70);
  EXPECT_EQ(result.deployment->job_version, 3U);
  ASSERT_TRUE(result.deployment->task_groups.at("g"));
  EXPECT_TRUE(result.deployment->task_groups.at("g")->auto_revert);
  EXPECT_EQ(result.deployment->task_groups.at("g")->progress_deadline, 7);
  ASSERT_EQ(result.deployment_updates.size(), 1U);
  EXPECT_EQ(result.deployment_updates[0].status, "running");
}

TEST(NodeReconciler, SettledJobsStartNoDeployment) {  // R-SCHED-141, 144
  NodeWorld world;
  world.update();
  world.node();
  world.live(kCurrent);
  world.node();
  const NodeResult& result = world.run();
  EXPECT_FALSE(result.deployment);
  EXPECT_EQ(bucket_of(result), "place ignore");
}

TEST(NodeReconciler, OldServersStartNoDeployment) {  // R-SCHED-145, 146
  NodeWorld world;
  world.update();
  world.node();
  world.input.old_servers = true;
  const NodeResult& result = world.run();
  EXPECT_FALSE(result.deployment);
  EXPECT_EQ(result.deployment_updates.size(), 1U);
  EXPECT_TRUE(is_before_deployments("1.10.9"));
  EXPECT_TRUE(is_before_deployments("1.11.0-beta.1"));
  EXPECT_FALSE(is_before_deployments("1.11.0"));
  EXPECT_FALSE(is_before_deployments(""));
}

TEST(NodeReconciler, AStoppedJobCancelsOncePerNode) {  // R-SCHED-135, 188
  NodeWorld world;
  world.update();
  world.job->stop = true;
  world.running_deployment();
  world.node();
  world.live(kCurrent, kNoRow);
  world.node(false);
  world.live(kCurrent, kNoRow);
  const NodeResult& result = world.run();
  ASSERT_EQ(result.deployment_updates.size(), 2U);
  EXPECT_EQ(result.deployment_updates[0].description, "Cancelled because job is stopped");
  EXPECT_TRUE(result.deployment);
}

TEST(NodeReconciler, ADeploymentOfAnotherVersionIsCancelledAndIgnored) {  // R-SCHED-136
  NodeWorld world;
  world.update();
  world.running_deployment().job_version = 2;
  world.node();
  const NodeResult& result = world.run();
  EXPECT_EQ(result.old_deployment, "given");
  ASSERT_TRUE(result.deployment);
  EXPECT_TRUE(result.deployment_created);
  ASSERT_EQ(result.deployment_updates.size(), 2U);
  EXPECT_FALSE(result.deployment_updates[0].created);
  EXPECT_EQ(result.deployment_updates[0].status, "cancelled");
  EXPECT_TRUE(result.deployment_updates[1].created);
}

TEST(NodeReconciler, AFailedDeploymentOfAnotherVersionStaysAndBlocksANewOne) {  // R-SCHED-138
  NodeWorld world;
  world.update();
  model::Deployment& d = world.running_deployment("failed");
  d.job_version = 2;
  world.node();
  const NodeResult& result = world.run();
  ASSERT_TRUE(result.deployment);
  EXPECT_EQ(result.deployment->id, "given");
  EXPECT_TRUE(result.deployment->task_groups.empty());
  EXPECT_TRUE(result.deployment_updates.empty());
}

TEST(NodeReconciler, AnOldDeploymentOfThisVersionPreventsANewOne) {  // R-SCHED-137, 140 (d)
  model::Deployment old;
  old.id = "old";
  struct Case {
    std::uint64_t version;
    bool has_job, made;
  };
  for (const Case& c : {Case{3, true, false}, Case{2, true, true}, Case{3, false, false}}) {
    SCOPED_TRACE(c.version);
    NodeWorld world;
    world.update();
    old.job_version = c.version;
    world.input.old_deployment = &old;
    world.node();
    if (!c.has_job) world.job.reset();
    const NodeResult& result = world.run();
    EXPECT_EQ(result.old_deployment, "old");
    EXPECT_EQ(result.deployment.has_value(), c.made);
  }
}

TEST(NodeReconciler, DeploymentsThatWaitGetNoFurtherGroup) {  // R-SCHED-139, 140 (c)
  for (const auto& [status, grows] :
       {std::pair{"running", true}, std::pair{"blocked", true}, std::pair{"paused", false}, std::pair{"pending", false},
        std::pair{"initializing", false}, std::pair{"failed", false}, std::pair{"cancelled", true}}) {
    SCOPED_TRACE(status);
    NodeWorld world;
    world.update();
    world.running_deployment(status);
    world.node();
    const NodeResult& result = world.run();
    ASSERT_TRUE(result.deployment);
    EXPECT_EQ(result.deployment->task_groups.contains("g"), grows);
    EXPECT_EQ(bucket_of(result), "place");
  }
}

TEST(NodeReconciler, AVisitOfOneNodeDropsNoDeployment) {  // R-SCHED-144 and 145 come after all nodes
  for (const bool conclude : {false, true}) {
    NodeWorld world("system", 2);
    world.update();
    world.input.old_servers = true;
    world.input.conclude = conclude;
    world.node();
    EXPECT_EQ(world.run().deployment.has_value(), !conclude);
  }
}

TEST(NodeReconciler, CanaryFlagFollowsThePromotion) {  // R-SCHED-130
  for (const auto& [promoted, has_entry, canary] :
       {std::tuple{false, true, true}, std::tuple{true, true, false}, std::tuple{false, false, false}}) {
    NodeWorld world;
    world.update().canary = 50;
    model::Deployment& d = world.running_deployment("paused");  // adds no group (R-SCHED-139)
    if (has_entry) d.task_groups["g"].emplace().promoted = promoted;
    world.node();
    world.live(0);
    const NodeResult& result = world.run();
    ASSERT_EQ(bucket_of(result), "update");
    EXPECT_EQ(result.update[0].canary, canary);
  }
  NodeWorld world;
  world.update().canary = 50;
  world.running_deployment().task_groups["g"] = std::nullopt;  // present, but of no state
  world.node();
  world.live(0);
  EXPECT_FALSE(world.run().update.at(0).canary);
}

TEST(NodeReconciler, AStoppedUnknownAllocationIsJudgedByItsNode) {  // R-SCHED-129: row 4 is for desired `run`
  for (const auto& [taint, bucket] : {std::pair{NodeTaint::none, "reconnecting"}, std::pair{NodeTaint::down, "lost"},
                                      std::pair{NodeTaint::disconnected, "ignore"}}) {
    NodeWorld world;
    world.node(true, taint);
    world.live(NodeAlloc::kReconnects, 0, ClientStatus::unknown).desired = DesiredStatus::stop;
    EXPECT_EQ(bucket_of(world.run()), bucket);
  }
}

TEST(NodeReconciler, UnknownMarksAreRecordedInTheCopy) {  // R-SCHED-129 row 7
  model::Allocation copy;
  copy.client_status = "running";
  model::become_unknown(copy, kNodeNow);
  EXPECT_EQ(copy.client_status, "unknown");
  EXPECT_EQ(copy.client_description, model::kUnknownNode);
  ASSERT_EQ(copy.alloc_states.size(), 1U);
  EXPECT_EQ(copy.alloc_states[0].value, "unknown");
  EXPECT_EQ(copy.alloc_states[0].time.ns, kNodeNow);
}

TEST(NodeReconciler, EveryLiveAllocationGoesIntoExactlyOneBucket) {
  std::mt19937_64 random(20251122);
  for (int round = 0; round < 300; ++round) {
    NodeWorld world(round % 2 ? "system" : "sysbatch", static_cast<std::int64_t>(random() % 4));
    if (random() % 2) world.update().canary = static_cast<std::int64_t>(random() % 3) * 40;
    if (random() % 2) world.running_deployment(random() % 2 ? "running" : "successful");
    const auto count = static_cast<std::uint32_t>(world.job->task_groups[0].count);
    for (std::size_t n = 0, nodes = random() % 7; n < nodes; ++n) {
      world.node(random() % 2, static_cast<NodeTaint>(random() % 6), random() % 2);
      for (std::size_t a = random() % 3; a > 0; --a)
        world.live(static_cast<std::uint8_t>(random()), count && random() % 3 ? random() % count : kNoRow,
                   static_cast<ClientStatus>(random() % 3 + 1));
      for (std::size_t a = random() % 2; a > 0; --a) world.terminal(static_cast<std::uint8_t>(random()));
    }
    const NodeResult& r = world.run();
    std::vector<int> seen(world.allocs.size());
    for (const auto* bucket : {&r.update, &r.migrate, &r.stop, &r.ignore, &r.lost, &r.disconnecting, &r.reconnecting})
      for (const NodeTuple& tuple : *bucket) {
        ASSERT_NE(tuple.alloc, kNoRow);
        ++seen[tuple.alloc];
      }
    for (const NodeVisit& visit : world.visits)
      for (std::uint32_t row = visit.live_begin; row < visit.terminal_end; ++row)
        EXPECT_EQ(seen[row], row < visit.live_end ? 1 : seen[row]) << "round " << round;
    for (const NodeTuple& tuple : r.place) {  // only names without a live allocation
      const NodeVisit& visit = world.visits[tuple.visit];
      EXPECT_TRUE(visit.candidate && visit.taint == NodeTaint::none);
      for (std::uint32_t row = visit.live_begin; row < visit.live_end; ++row)
        EXPECT_NE(world.allocs[row].required, tuple.required);
    }
  }
}

}  // namespace
}  // namespace berth::reconcile
