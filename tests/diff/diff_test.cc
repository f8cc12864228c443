// Two states made by hand: which allocations count as moved, replaced, new and ended, and why.
#include "diff/diff.h"
#include "model/job.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/cluster_objects.h"

namespace berth::diff {
namespace {

class DiffTest : public ::testing::Test {
 protected:
  static std::shared_ptr<const model::Job> job(const std::string& id, std::int64_t count, std::uint64_t version = 0,
                                               const std::string& type = "service") {
    auto out =
        testing::make_job({.id = id,
                           .type = type,
                           .version = version,
                           .groups = {{.name = "app", .count = count, .task = "main", .mhz = 500, .memory_mb = 256}}});
    out->status = "running";
    return out;
  }
  static model::Node node(const std::string& name) { return testing::make_node({.id = "id-" + name, .name = name}); }
  static model::Allocation alloc(const std::string& id, const std::string& node,
                                 const std::shared_ptr<const model::Job>& job, const std::string& name = "web.app[0]") {
    model::Allocation out = testing::make_alloc({.id = id, .job = job, .node_id = "id-" + node});
    out.name = name, out.node_name = node;
    return out;
  }
  static void stop(model::Allocation& alloc, const std::string& why) {
    alloc.desired_status = "stop", alloc.desired_description = why, alloc.client_status = "complete";
  }
  static model::ClusterState state(const std::vector<std::string>& nodes, std::shared_ptr<const model::Job> job,
                                   std::vector<model::Allocation> allocs) {
    model::ClusterState out;
    for (const std::string& name : nodes) out.nodes.push_back(node(name));
    if (job) out.jobs.push_back(std::move(job));
    out.allocs = std::move(allocs);
    return out;
  }
  static const NodeChange& at(const Report& report, const std::string& name) {
    return *std::find_if(report.nodes.begin(), report.nodes.end(),
                         [&](const NodeChange& one) { return one.node == name; });
  }
};

TEST_F(DiffTest, AStateDoesNotDifferFromItself) {
  const auto web = job("web", 1);
  const model::ClusterState one = state({"n1", "n2"}, web, {alloc("a", "n1", web)});
  const Report report = compare(one, one);
  EXPECT_TRUE(report.empty());
  EXPECT_TRUE(report.related);
  EXPECT_EQ(report.before.live, 1);
}

TEST_F(DiffTest, AReplacementOnAnotherNodeIsAMoveWithAReason) {
  const auto web = job("web", 1);
  model::Allocation old = alloc("a", "n1", web), next = alloc("b", "n2", web);
  const model::ClusterState before = state({"n1", "n2"}, web, {old});
  stop(old, "alloc is being migrated");
  next.previous_allocation = "a";
  const Report report = compare(before, state({"n1", "n2"}, web, {old, next}));
  ASSERT_EQ(report.allocs.size(), 1u);
  EXPECT_EQ(report.allocs[0].kind, Kind::moved);
  EXPECT_EQ(report.allocs[0].from, "n1");
  EXPECT_EQ(report.allocs[0].to, "n2");
  EXPECT_EQ(report.allocs[0].why, "alloc is being migrated");
  ASSERT_EQ(report.groups.size(), 1u);
  EXPECT_EQ(report.groups[0].moved, 1);
  EXPECT_EQ(report.groups[0].cpu_mhz, 0);
  EXPECT_EQ(at(report, "n1").left, 1);
  EXPECT_EQ(at(report, "n1").cpu_mhz, -500);
  EXPECT_EQ(at(report, "n2").came, 1);
  EXPECT_EQ(at(report, "n2").memory_mb, 256);
}

TEST_F(DiffTest, ChainsOfReplacementsAreFollowedAndCyclesEnd) {
  const auto web = job("web", 1);
  model::Allocation old = alloc("a", "n1", web), between = alloc("b", "n2", web), next = alloc("c", "n1", web);
  const model::ClusterState before = state({"n1", "n2"}, web, {old});
  old.client_status = between.client_status = "failed";
  between.previous_allocation = "a", next.previous_allocation = "b";
  Report report = compare(before, state({"n1", "n2"}, web, {old, between, next}));
  ASSERT_EQ(report.allocs.size(), 1u);
  EXPECT_EQ(report.allocs[0].kind, Kind::replaced);
  EXPECT_EQ(report.allocs[0].old_id, "a");
  EXPECT_EQ(report.allocs[0].why, "failed");
  EXPECT_EQ(report.groups[0].failed, 2);
  EXPECT_EQ(at(report, "n2").failed, 1);
  // A circle names no allocation of A: then the name decides whose place it is.
  between.previous_allocation = "c";
  report = compare(before, state({"n1", "n2"}, web, {old, between, next}));
  ASSERT_EQ(report.allocs.size(), 1u);
  EXPECT_EQ(report.allocs[0].old_id, "a");
}

TEST_F(DiffTest, AddedAllocationsAreNewAndMissingOnesHaveEnded) {
  const auto web = job("web", 1), grown = job("web", 2, 1);
  const model::ClusterState small = state({"n1"}, web, {alloc("a", "n1", web)});
  const model::ClusterState large =
      state({"n1"}, grown, {alloc("a", "n1", grown), alloc("b", "n1", grown, "web.app[1]")});
  Report report = compare(small, large);
  ASSERT_EQ(report.allocs.size(), 1u);
  EXPECT_EQ(report.allocs[0].kind, Kind::placed);
  EXPECT_EQ(report.groups[0].count_before, 1);
  EXPECT_EQ(report.groups[0].count_after, 2);
  EXPECT_EQ(report.groups[0].updated, 1);
  EXPECT_EQ(report.groups[0].cpu_mhz, 500);
  ASSERT_EQ(report.jobs.size(), 1u);
  EXPECT_EQ(report.jobs[0].after, "running, version 1");
  report = compare(large, small);
  ASSERT_EQ(report.allocs.size(), 1u);
  EXPECT_EQ(report.allocs[0].kind, Kind::ended);
  EXPECT_EQ(report.allocs[0].why, "gone");
  EXPECT_EQ(report.groups[0].live_after, 1);
}

TEST_F(DiffTest, OneNewAllocationReplacesAtMostOne) {
  const auto web = job("web", 2);
  model::Allocation one = alloc("a", "n1", web), two = alloc("b", "n2", web);  // the same name twice
  const model::ClusterState before = state({"n1", "n2", "n3"}, web, {one, two});
  stop(one, "lost"), stop(two, "lost");
  const Report report = compare(before, state({"n1", "n2", "n3"}, web, {one, two, alloc("c", "n3", web)}));
  EXPECT_EQ(report.count(Kind::moved), 1);
  EXPECT_EQ(report.count(Kind::ended), 1);
}

TEST_F(DiffTest, ASystemJobDoesNotMoveFromNodeToNode) {
  const auto logs = job("logs", 1, 0, "system");
  model::Allocation old = alloc("a", "n1", logs);
  const model::ClusterState before = state({"n1"}, logs, {old});
  stop(old, "node drain");
  const Report report = compare(before, state({"n1", "n2"}, logs, {old, alloc("b", "n2", logs)}));
  EXPECT_EQ(report.count(Kind::moved), 0);
  EXPECT_EQ(report.count(Kind::placed), 1);
  EXPECT_EQ(report.count(Kind::ended), 1);
  EXPECT_EQ(at(report, "n2").before, "-");
}

TEST_F(DiffTest, AnEvictionNamesTheJobThatTookTheRoom) {
  const auto web = job("web", 1), big = job("big", 1);
  model::Allocation old = alloc("a", "n1", web), by = alloc("b", "n1", big, "big.app[0]");
  const model::ClusterState before = state({"n1"}, web, {old});
  old.desired_status = "evict", old.preempted_by_allocation = "b";
  model::ClusterState after = state({"n1"}, web, {old, by});
  after.jobs.push_back(big);
  model::Evaluation blocked;
  blocked.id = "e", blocked.job_id = "web", blocked.namespace_ = "default", blocked.status = "blocked";
  blocked.failed_tg_allocs["app"].coalesced_failures = INT64_MAX;  // bounded, not added up beyond 64 bits
  after.evals = {blocked, blocked};
  const Report report = compare(before, after);
  ASSERT_EQ(report.allocs.size(), 2u);
  EXPECT_EQ(report.allocs[1].why, "evicted for big");
  ASSERT_EQ(report.groups.size(), 2u);
  EXPECT_EQ(report.groups[1].evicted, 1);
  EXPECT_EQ(report.groups[1].waiting_after, 100'002);
}

TEST_F(DiffTest, NodeStatesAreComparedAndUnrelatedClustersRecognised) {
  model::ClusterState before = state({"n1", "n2"}, nullptr, {}), after = before;
  after.nodes[0].scheduling_eligibility = "ineligible", after.nodes[1].status = "down";
  const Report report = compare(before, after);
  ASSERT_EQ(report.nodes.size(), 2u);
  EXPECT_EQ(report.nodes[0].after, "ready, ineligible");
  EXPECT_EQ(report.nodes[1].after, "down");
  EXPECT_FALSE(compare(before, state({"m1"}, nullptr, {})).related);
  EXPECT_TRUE(compare(before, model::ClusterState()).related);
}

// A new allocation that names no predecessor is visited first, and must not take the place of the one whose
// replacement names it.
TEST_F(DiffTest, ChainsArePairedBeforeNames) {
  const auto web = job("web", 2);
  model::Allocation one = alloc("a", "n1", web), two = alloc("b", "n2", web);  // the same name twice
  const model::ClusterState before = state({"n1", "n2", "n3"}, web, {one, two});
  stop(one, "lost"), stop(two, "rescheduled");
  model::Allocation stranger = alloc("c", "n3", web), next = alloc("d", "n3", web);
  for (const char* previous : {"a", "b"}) {
    next.previous_allocation = previous;
    const Report report = compare(before, state({"n1", "n2", "n3"}, web, {one, two, stranger, next}));
    ASSERT_EQ(report.allocs.size(), 2u);
    const auto& of_next = report.allocs[report.allocs[0].new_id == "d" ? 0 : 1];
    EXPECT_EQ(of_next.old_id, previous);
  }
}

TEST_F(DiffTest, EqualNodesArePairedBeforeEqualNames) {
  const auto web = job("web", 2);
  model::Allocation one = alloc("a", "n1", web), two = alloc("b", "n2", web);
  const model::ClusterState before = state({"n1", "n2", "n3"}, web, {one, two});
  stop(one, "lost"), stop(two, "lost");
  const Report report = compare(
      before,
      state({"n1", "n2", "n3"}, web, {one, two, alloc("c", "n3", web), alloc("d", "n1", web), alloc("e", "n2", web)}));
  EXPECT_EQ(report.count(Kind::replaced), 2);
  EXPECT_EQ(report.count(Kind::placed), 1);
  EXPECT_EQ(report.count(Kind::moved), 0);
}

TEST_F(DiffTest, PropertiesOfNodesAreCompared) {
  model::ClusterState before = state({"n1", "n2"}, nullptr, {});
  for (model::Node& one : before.nodes) {
    one.attributes = {{"os.version", "12.10"}, {"os.signals", "SIGHUP,SIGINT"}, {"gone", "1"}};
    one.meta = {{"rack", "r1"}}, one.datacenter = "dc1";
    one.node_resources.emplace().cpu.cpu_shares = 4000;
    one.node_resources->devices.push_back(
        {.vendor = "nvidia", .type = "gpu", .name = "t4", .instances = {{"0", true}}});
    one.drivers["exec"] = model::DriverInfo{.detected = true, .healthy = true};
  }
  model::ClusterState after = before;
  model::Node& one = after.nodes[1];
  EXPECT_TRUE(compare(before, after).node_fields.empty());
  one.attributes = {{"os.version", "12.11"}, {"os.signals", "SIGINT,SIGHUP"}, {"came", "2"}};
  one.meta["rack"] = "r2", one.node_resources->cpu.cpu_shares = 8000;
  one.node_resources->devices[0].instances[0].healthy = false, one.drivers["exec"]->healthy = false;
  const Report report = compare(before, after);
  EXPECT_FALSE(report.empty());
  std::vector<std::string> said;
  for (const NodeFieldChange& change : report.node_fields)
    said.push_back(change.node + " " + change.field + ": " + change.before + " -> " + change.after);
  EXPECT_EQ(said, (std::vector<std::string>{"n2 attr.came:  -> 2", "n2 attr.gone: 1 -> ",
                                            "n2 attr.os.version: 12.10 -> 12.11", "n2 cpu MHz: 4000 -> 8000",
                                            "n2 device nvidia/gpu/t4: 1 healthy -> 0 healthy",
                                            "n2 driver exec: healthy -> unhealthy", "n2 meta.rack: r1 -> r2"}));
}

}  // namespace
}  // namespace berth::diff
