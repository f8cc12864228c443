// Rules of part 06 that no recorded decision covers: each case fails if its rule is inverted.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/job.h"
#include "sched/small_world.h"
#include "tables/commit.h"

namespace berth::sched {
namespace {

using tables::NodeRow;
using Counts = std::map<std::string, std::int64_t>;

/// The entry of a list for an allocation, or null.
const model::Allocation* entry_of(const std::vector<model::Allocation>& list, const std::string& id) {
  for (const model::Allocation& alloc : list)
    if (alloc.id == id) return &alloc;
  return nullptr;
}

TEST(SchedulerRules, ProgressResetsTheCountOfAttempts) {  // R-SCHED-6 to 8, 10, worked example 1
  struct Case {
    const char* type;
    const char* answers;
    std::size_t plans;
    bool failed;
  };
  for (const Case& c : {Case{"service", "NNNNNNNN", 5, true}, Case{"service", "NNNNPNNNNNNN", 10, true},
                        Case{"batch", "NPNNNN", 4, true}, Case{"batch", "PNPN", 5, false},
                        Case{"system", "NNNNPNNNNNNN", 10, true}, Case{"sysbatch", "NPNNNN", 4, true}}) {
    SCOPED_TRACE(std::string(c.type) + " " + c.answers);
    SmallWorld w;
    w.add_node();
    w.store(SmallWorld::job(c.type, 1));
    w.run(c.answers);
    EXPECT_EQ(w.plans.size(), c.plans);
    EXPECT_EQ(w.updated.status, c.failed ? "failed" : "complete");
  }
}

TEST(SchedulerRules, AnEarlierBlockedEvalIsKept) {  // R-SCHED-13
  SmallWorld w;
  w.add_node();
  w.store(SmallWorld::job("service", 1));
  w.eval.blocked_eval = "of-before";
  w.run();
  EXPECT_EQ(w.updated.blocked_eval, "of-before");
  w.state.nodes[0].status = "down";
  w.run();
  ASSERT_EQ(w.created.size(), 1U);
  EXPECT_EQ(w.updated.blocked_eval, w.created[0].id);
}

TEST(SchedulerRules, ThePlanOfAPurgedJobNamesTheJobOfItsFirstStop) {  // R-SCHED-23
  for (const char* type : {"service", "system"}) {
    SCOPED_TRACE(type);
    SmallWorld w;
    w.add_node();
    w.add(SmallWorld::job(type, 1, 4), 0, 0);
    w.add(SmallWorld::job(type, 1, 3), 0, 1);
    w.eval.type = type;
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    ASSERT_TRUE(w.plans[0].job);
    EXPECT_EQ(w.plans[0].job->version, 4U);
    EXPECT_EQ(w.plans[0].job_id, "j");
    EXPECT_EQ(w.plans[0].job_namespace, "default");
    ASSERT_EQ(w.stops().size(), 2U);
    EXPECT_FALSE(w.stops()[0].job);
    w.store(SmallWorld::job(type, 0, 5));  // a stored job stays the plan's
    w.run();
    EXPECT_EQ(w.plans[0].job->version, 5U);
  }
}

TEST(SchedulerRules, TheLatestDeploymentHasTheLargestCreateIndex) {  // R-SCHED-38; of equal ones the smallest ID
  std::vector<std::pair<std::uint64_t, std::uint64_t>> deployments = {{5, 3}, {7, 2}, {7, 4}, {6, 9}};  // index, ID
  std::sort(deployments.begin(), deployments.end());
  do {
    SmallWorld w;
    const auto job = SmallWorld::job("service", 1);
    w.store(job);
    for (const auto& [index, number] : deployments) {
      model::Deployment& d = w.add_deployment(job, "successful");
      d.create_index = index, d.id = SmallWorld::id(3, number);
    }
    tables::StateStore store;
    store.load(w.state);
    const auto latest = latest_deployment(store.current(), store.job_key("default", "j"));
    ASSERT_TRUE(latest);
    EXPECT_EQ(latest->id, SmallWorld::id(3, 2));
  } while (std::next_permutation(deployments.begin(), deployments.end()));
}

TEST(SchedulerRules, ASystemJobVisitsNodesInTheGivenOrder) {  // R-SCHED-204
  std::set<std::vector<NodeRow>> orders;
  for (std::uint64_t order = 0; order <= 20; ++order) {
    SmallWorld w;
    w.node_order = order;
    std::vector<std::pair<std::uint64_t, NodeRow>> wanted;  // the order's number of each node
    IdStream numbers(order);
    for (NodeRow row = 0; row < 6; ++row) w.add_node(), wanted.emplace_back(order != 0 ? numbers.next().hi : 0, row);
    std::sort(wanted.begin(), wanted.end());
    w.store(SmallWorld::job("system", 1));
    w.run();
    std::vector<NodeRow> visited, expected;
    for (const PlannedAlloc& alloc : w.result.plan.allocs) visited.push_back(alloc.node);
    for (const auto& [number, row] : wanted) expected.push_back(row);
    EXPECT_EQ(visited, expected) << "order " << order;
    orders.insert(visited);
  }
  EXPECT_GT(orders.size(), 15U);
}

TEST(SchedulerRules, PortsOfALeavingAllocationAreSpared) {  // option spare_leaving_ports, R-MODEL-490, 495
  for (const auto& [spare, of_task] : {std::pair(false, false), {false, true}, {true, false}, {true, true}}) {
    SCOPED_TRACE(of_task ? "network of a task" : "network of a group");
    SmallWorld w;
    w.options.spare_leaving_ports = spare;
    model::NodeResources& host = *w.add_node().node_resources;
    model::NetworkResource& network = host.networks[0];
    network.ip = "10.0.0.1", network.cidr = "10.0.0.1/32", network.mbits = 1000;
    model::NodeNetworkResource& addresses = host.node_networks.emplace().emplace_back();
    addresses.mode = "host", addresses.device = "eth0", addresses.addresses.emplace_back().family = "ipv4";
    addresses.addresses[0].alias = "default", addresses.addresses[0].address = "10.0.0.1";
    const auto version = [&](std::uint64_t number) {
      auto out = SmallWorld::job("service", 1, number);
      model::TaskGroup& group = out->task_groups[0];
      group.tasks[0].user = "user" + std::to_string(number);
      model::NetworkResource& asked =
          of_task ? group.tasks[0].resources->networks.emplace_back() : group.networks.emplace_back();
      asked.mode = "host", asked.mbits = of_task ? 10 : 0;
      asked.dynamic_ports.emplace_back().label = "http", asked.dynamic_ports[0].host_network = "default";
      return out;
    };
    const auto before = version(0);
    model::AllocatedResources& held = *w.add(before, 0, 0).allocated_resources;
    if (of_task) {
      model::Port& port = held.tasks["t"].networks.emplace_back(network).dynamic_ports.emplace_back();
      port.label = "http", port.value = 20'000;
    } else {
      model::AllocatedPort& port = held.shared.ports.emplace_back();
      port.label = "http", port.value = 20'000, port.host_ip = "10.0.0.1";
    }
    w.store(before), w.store(version(1));
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    ASSERT_EQ(w.placed().size(), 1U);
    const model::AllocatedResources got = *w.placed()[0].allocated_resources;
    const std::int64_t port = of_task ? got.tasks.at("t").networks.at(0).dynamic_ports.at(0).value
                                      : static_cast<std::int64_t>(got.shared.ports.at(0).value);
    EXPECT_EQ(port, spare ? 20'001 : 20'000);
  }
}

TEST(SchedulerRules, DatacentersOfUnreadyNodesAreNotCompared) {  // R-SCHED-31, rows 10 to 12 of 129
  struct Case {
    const char* name;
    const char *datacenter, *pool;
    bool eligible, changed, stopped;
  };
  for (const Case& c : {Case{"ready elsewhere", "dc2", "default", true, false, true},
                        Case{"not ready elsewhere", "dc2", "default", false, false, false},
                        Case{"not ready elsewhere, job changed", "dc2", "default", false, true, true},
                        Case{"not ready in another pool", "dc1", "other", false, false, true},
                        Case{"not ready here", "dc1", "default", false, false, false}}) {
    SCOPED_TRACE(c.name);
    SmallWorld w;
    w.add_node();
    w.add_node(c.datacenter).node_pool = c.pool;
    if (!c.eligible) w.state.nodes[1].scheduling_eligibility = "ineligible";
    const auto job = SmallWorld::job("system", 1, 1);
    w.store(job);
    w.add(job, 0, 0);
    w.add(c.changed ? SmallWorld::job("system", 1, 0) : job, 1, 0);
    w.run();
    EXPECT_EQ(entry_of(w.stops(), w.state.allocs[1].id) != nullptr, c.stopped);
    EXPECT_EQ(entry_of(w.stops(), w.state.allocs[0].id), nullptr);
  }
}

/// One failed allocation of a service that is rescheduled after `delay_s`; it failed an hour ago.
SmallWorld failed_world(std::int64_t delay_s, std::int64_t count = 1) {
  SmallWorld w;
  w.add_node();
  const auto job = SmallWorld::job("service", count);
  model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
  policy.delay = delay_s * base::kSecond;
  policy.delay_function = "constant";
  policy.unlimited = true;
  w.store(job);
  for (std::int64_t i = 0; i < count; ++i) w.add(job, 0, static_cast<std::uint64_t>(i), "failed");
  return w;
}

TEST(SchedulerRules, EachAttemptMakesItsOwnFollowups) {  // R-SCHED-54, 55
  SmallWorld w = failed_world(7200);
  w.run("N");
  EXPECT_EQ(w.calls, (std::vector<std::string>{"create", "submit", "create", "submit"}));
  ASSERT_EQ(w.created.size(), 2U);
  EXPECT_NE(w.created[0].id, w.created[1].id);
  EXPECT_EQ(w.updated.next_eval, w.created[1].id);
  EXPECT_EQ(SmallWorld::entries(w.plans[0].node_allocation).at(0).followup_eval_id, w.created[0].id);
  EXPECT_EQ(SmallWorld::entries(w.plans[1].node_allocation).at(0).followup_eval_id, w.created[1].id);
  w.eval.wait_until = base::Time{SmallWorld::kNow - 1};  // a delayed evaluation is not delayed twice
  w.run();
  EXPECT_EQ(w.calls, std::vector<std::string>{"submit"});
}

TEST(SchedulerRules, AFailedReschedulingIsRecordedInTheOldAlloc) {  // R-SCHED-96, 27, 63
  SmallWorld w = failed_world(30);
  w.state.nodes[0].scheduling_eligibility = "ineligible";
  w.run();
  EXPECT_TRUE(w.stops().empty());
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].id, w.state.allocs[0].id);
  EXPECT_EQ(w.placed()[0].desired_status, "run");
  EXPECT_EQ(w.placed()[0].client_status, "failed");
  EXPECT_EQ(w.placed()[0].job, w.state.jobs[0]);
  ASSERT_TRUE(w.placed()[0].reschedule_tracker);
  EXPECT_EQ(w.placed()[0].reschedule_tracker->last_reschedule, "no placement");
  EXPECT_FALSE(w.placed()[0].reschedule_tracker->events);  // absent, not empty

  w = failed_world(30, 2);  // the first is not the last stop of its node: it stays stopped, and is still written
  w.state.nodes[0].scheduling_eligibility = "ineligible";
  w.run();
  ASSERT_EQ(w.stops().size(), 2U);
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].id, w.state.allocs[0].id);
  EXPECT_EQ(w.updated.failed_tg_allocs.at("web").coalesced_failures, 1);
}

TEST(SchedulerRules,
     AllocsThatBecomeUnknownGetADescription) {  // R-SCHED-96: NodeAllocation holds the allocation already
  SmallWorld w = failed_world(0);
  auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
  job->task_groups[0].disconnect.emplace().lost_after = 600 * base::kSecond;
  w.state.jobs[0] = w.state.job_versions[0] = job;
  w.state.allocs[0].job = job;
  w.state.allocs[0].client_status = "running";
  w.state.nodes[0].status = "disconnected";
  w.run();
  EXPECT_TRUE(w.stops().empty());
  ASSERT_EQ(w.placed().size(), 1U);
  EXPECT_EQ(w.placed()[0].client_status, "unknown");
  ASSERT_TRUE(w.placed()[0].reschedule_tracker);
  EXPECT_EQ(w.placed()[0].reschedule_tracker->last_reschedule, "no placement");
}

/// A service at version 3 with a canary; an allocation of version `lost_version` was lost, and the group
/// `db` has room for one more.
struct CanaryWorld : SmallWorld {
  std::shared_ptr<model::Job> versions[4];
  explicit CanaryWorld(std::size_t lost_version) {
    add_node();
    add_node().status = "down";
    for (std::uint64_t v = 0; v < 4; ++v) {
      versions[v] = canary_job(v);
      store(versions[v]);
    }
    add(versions[lost_version], 1, 0);
    add_canary(versions[3]).create_index = 999;
  }
  /// A deployment of an older version; with canaries unless it is promoted.
  model::Deployment& older(std::size_t version, bool promoted, const char* status = "successful") {
    model::Deployment& d = add_deployment(versions[version], status);
    auto& web = d.task_groups["web"].emplace();
    web.desired_canaries = 1, web.promoted = promoted;
    return d;
  }
  /// "version deployment" of the placement of a group; "none" without one.
  [[nodiscard]] std::string placed_as(const char* group) const {
    for (const model::Allocation& alloc : placed())
      if (alloc.task_group == group && alloc.client_status == "pending") {
        std::string number = "-";
        for (std::size_t i = 0; i < state.deployments.size(); ++i)
          if (state.deployments[i].id == alloc.deployment_id) number = std::to_string(i);
        return "v" + std::to_string(alloc.job ? alloc.job->version : 3) + " d" + number;
      }
    return "none";
  }
};

TEST(SchedulerRules, AllocsLostDuringCanariesAreReplacedInTheLatestPromotedVersion) {  // R-SCHED-68 to 71, 73
  {
    CanaryWorld w(0);
    w.older(0, true), w.older(2, false), w.older(1, true, "failed");  // the status does not matter
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v1 d3");
  }
  {
    CanaryWorld w(0);
    w.older(0, true), w.older(2, false).task_groups["web"]->desired_canaries = 0;  // unpromoted, but without canaries
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v2 d2");
  }
  {
    CanaryWorld w(0);
    w.older(0, true), w.older(2, true).job_create_index = 4;  // of an earlier job
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v0 d1");
  }
  {
    CanaryWorld w(0);
    w.older(0, true), w.older(2, true);
    // This version decides, and is removed.
    std::erase(w.state.job_versions, std::shared_ptr<const model::Job>(w.versions[2]));
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v3 d0");
  }
  {
    CanaryWorld w(2);
    w.older(1, true);  // older than the version of the lost allocation
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v3 d0");
  }
  {
    CanaryWorld w(0);
    w.older(1, true), w.older(1, true);  // the smaller ID
    std::swap(w.state.deployments[1].id, w.state.deployments[2].id);
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v1 d2");
  }
  {
    CanaryWorld w(1);  // none is promoted: the lost version, unless its job-level update block says otherwise
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v1 d-");
    w.versions[1]->update.own().max_parallel = 1;
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v3 d0");
  }
}

TEST(SchedulerRules, ADowngradeToTheCurrentVersionCarriesItsJob) {  // R-SCHED-69, 70, 87
  CanaryWorld w(3);  // the lost allocation already has the current version, and nothing is promoted
  w.run();
  EXPECT_EQ(w.placed_as("web"), "v3 d-");
  for (const model::Allocation& alloc : w.placed())
    EXPECT_EQ(alloc.job != nullptr, alloc.task_group == "web") << alloc.name;
}

TEST(SchedulerRules, ADowngradeReloadsNodesIfItsDatacentersDiffer) {  // R-SCHED-70: up to ten compare in one direction
  for (const std::size_t length : {2U, 10U, 11U}) {
    CanaryWorld w(1);
    w.older(1, true);
    w.add_node("dc2").node_resources->memory.memory_mb = 1024;  // the fullest node, which is taken if it may be
    w.versions[1]->datacenters = std::vector<std::string>(length, "dc1");  // each of them is among those of version 3
    w.versions[3]->datacenters = {"dc1"};
    for (std::size_t i = 2; i <= length; ++i) w.versions[3]->datacenters.push_back("dc" + std::to_string(i));
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v1 d1");
    for (const model::Allocation& alloc : w.placed())
      if (alloc.task_group == "web" && alloc.client_status == "pending") {
        EXPECT_EQ(alloc.node_name, length > 10 ? "n0" : "n2") << length;
      }
  }
}

TEST(SchedulerRules, TheDeploymentOfADowngradeLeaks) {  // R-SCHED-72
  CanaryWorld plain(0);
  plain.state.nodes[1].status = "ready";  // nothing was lost
  plain.run();
  EXPECT_EQ(plain.placed_as("db"), "v3 d0");

  CanaryWorld w(0);
  w.older(1, true);
  w.run();
  EXPECT_EQ(w.placed_as("web"), "v1 d1");
  EXPECT_EQ(w.placed_as("db"), "v3 d1");

  w.versions[1]->task_groups[0].tasks[0].resources->memory_mb = 100'000;  // finds no node, but still leaks
  w.run();
  EXPECT_EQ(w.placed_as("web"), "none");
  EXPECT_EQ(w.placed_as("db"), "v3 d1");
  w.run("N");  // the next attempt starts again, with the same result
  EXPECT_EQ(w.plans.size(), 2U);
  EXPECT_EQ(w.placed_as("db"), "v3 d1");

  CanaryWorld without(1);  // R-SCHED-69: no deployment at all
  without.run();
  EXPECT_EQ(without.placed_as("db"), "v3 d-");
}

TEST(SchedulerRules, AMissingNodeHasNoProperties) {  // R-FEAS-1406 to 1408, R-RANK-815
  // One per rack. n0 was removed with an allocation that was to stop; n1 runs another one in the same rack.
  SmallWorld w;
  for (int i = 0; i < 3; ++i) w.add_node().meta["rack"] = "r";
  const auto job = SmallWorld::job("service", 2);
  job->task_groups[0].constraints.push_back({"${meta.rack}", "1", "distinct_property"});
  w.store(job);
  w.add(job, 0, 0).desired_status = "stop";
  w.add(job, 1, 1);
  w.after_loading = [](tables::StateStore& store) {
    tables::Commit commit = store.begin_commit(1001);
    commit.remove_node(0);
  };
  w.run();
  ASSERT_EQ(w.stops().size(), 1U);
  EXPECT_EQ(w.stops()[0].client_status, "lost");
  EXPECT_TRUE(w.placed().empty());  // its stop frees nothing that n1 uses
  ASSERT_TRUE(w.updated.failed_tg_allocs.contains("web"));
  EXPECT_EQ(w.updated.failed_tg_allocs.at("web").constraint_filtered,
            (std::map<std::string, std::int64_t>{{"distinct_property: ${meta.rack}=r used by 1 allocs", 2}}));
}

TEST(SchedulerRules, CreatedObjectsHaveTheJobsModifyIndex) {  // R-RECON-152, 208 with R-CTRL-720
  const auto changed = [](tables::StateStore& store) {        // its status, at index 1001
    auto job = std::make_shared<model::Job>(*store.current().jobs.objects[0]);
    job->status = "running", job->modify_index = 1001;
    store.begin_commit(1001).alias_job(job, store.current().jobs.keys[0].current);
  };
  for (const char* type : {"batch", "service", "system"}) {
    SCOPED_TRACE(type);
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job(type, 1);
    model::TaskGroup& group = job->task_groups[0];
    if (job->type != "system") {
      model::ReschedulePolicy& policy = group.reschedule_policy.emplace();
      policy.unlimited = true, policy.delay_function = "constant", policy.delay = 600 * base::kSecond;
    }
    if (job->type != "batch") group.update.emplace().max_parallel = 1;
    w.store(job);
    if (job->type == "batch") {
      model::Allocation& failed = w.add(job, 0, 0, "failed");
      failed.task_states["t"].emplace().finished_at = base::Time{SmallWorld::kNow};
    }
    w.after_loading = changed;
    w.run();
    if (job->type == "batch") {
      ASSERT_EQ(w.created.size(), 1U);
      EXPECT_EQ(w.created[0].triggered_by, "alloc-reschedule");
      EXPECT_EQ(w.created[0].job_modify_index, 1001U);
    } else {
      ASSERT_TRUE(!w.plans.empty() && w.plans.back().deployment);
      EXPECT_EQ(w.plans.back().deployment->job_modify_index, 1001U);
      EXPECT_EQ(w.plans.back().deployment->job_spec_modify_index, 10U);
    }
  }
}

TEST(SchedulerRules, UpdatesInPlaceCheckDatacenterAndPoolOfTheNodeOnly) {  // R-SCHED-110
  struct Case {
    const char* name;
    void (*change)(model::Node&);
    bool in_place;
  };
  for (const Case& c :
       {Case{"ready", [](model::Node&) {}, true},
        Case{"ineligible", [](model::Node& n) { n.scheduling_eligibility = "ineligible"; }, true},
        Case{"initializing", [](model::Node& n) { n.status = "initializing"; }, true},
        Case{"draining", [](model::Node& n) { n.drain_strategy.emplace(), n.scheduling_eligibility = "ineligible"; },
             true},
        Case{"another datacenter", [](model::Node& n) { n.datacenter = "dc2"; }, false},
        Case{"another pool", [](model::Node& n) { n.node_pool = "other"; }, false}}) {
    SCOPED_TRACE(c.name);
    SmallWorld w;
    c.change(w.add_node());
    w.add_node();
    const auto before = SmallWorld::job("service", 1, 0), after = SmallWorld::job("service", 1, 1);
    after->priority = 60;
    w.store(before), w.store(after);
    w.add(before, 0, 0);
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    const model::DesiredUpdates& updates = w.updated.plan_annotations->desired_tg_updates.at("web");
    EXPECT_EQ(updates.in_place_update, c.in_place ? 1U : 0U);
    EXPECT_EQ(updates.destructive_update, c.in_place ? 0U : 1U);
  }
}

TEST(SchedulerRules, LimitedRunsAreUpdatedInPlaceWithoutAFitCheck) {  // R-SCHED-111
  for (const bool limited_before : {true, false})
    for (const bool limited_after : {true, false})
      for (const char* type : {"batch", "service"}) {
        SCOPED_TRACE(std::string(type) + (limited_before ? " limited before" : "") + (limited_after ? " after" : ""));
        SmallWorld w;
        w.add_node();
        const auto before = SmallWorld::job(type, 1, 0), after = SmallWorld::job(type, 1, 1);
        if (limited_before) before->task_groups[0].max_run_duration = 60 * base::kSecond;
        if (limited_after) after->task_groups[0].max_run_duration = 90 * base::kSecond;
        model::Constraint& constraint = after->constraints.emplace_back();  // the node does not satisfy it
        constraint.ltarget = "${attr.none}", constraint.operand = "=", constraint.rtarget = "x";
        w.store(before), w.store(after);
        w.add(before, 0, 0);
        w.run();
        const model::DesiredUpdates& updates = w.updated.plan_annotations->desired_tg_updates.at("web");
        const bool in_place = limited_before && std::string(type) == "batch";
        EXPECT_EQ(updates.in_place_update, in_place ? 1U : 0U);
        EXPECT_EQ(updates.destructive_update, in_place ? 0U : 1U);
        if (!in_place) continue;
        ASSERT_EQ(w.placed().size(), 1U);
        EXPECT_EQ(w.placed()[0].eval_id, w.eval.id);
        EXPECT_EQ(w.placed()[0].allocated_resources, w.state.allocs[0].allocated_resources);
      }
}

TEST(SchedulerRules, CountsOfFilteredNodesAddUp) {  // R-SCHED-158 to 160, 162
  for (const char* type : {"system", "sysbatch"}) {
    SCOPED_TRACE(type);
    SmallWorld w;
    for (int i = 0; i < 4; ++i) w.add_node().node_class = i < 3 ? "a" : "b";
    w.state.nodes[1].attributes.erase("driver.exec");
    const auto job = SmallWorld::job(type, 1);
    model::Constraint& constraint = job->constraints.emplace_back();
    constraint.ltarget = "${node.class}", constraint.operand = "=", constraint.rtarget = "a";
    model::Constraint& second = job->task_groups[0].constraints.emplace_back();
    second.ltarget = "${meta.no}", second.operand = "=", second.rtarget = "x";
    w.store(job);
    w.run();
    EXPECT_TRUE(w.plans.empty());
    EXPECT_TRUE(w.created.empty());
    EXPECT_EQ(w.updated.queued_allocations->at("web"), 0);
    const model::AllocMetric& metric = w.updated.failed_tg_allocs.at("web");
    EXPECT_EQ(metric.nodes_evaluated, 4);
    EXPECT_EQ(metric.nodes_filtered, 4);
    EXPECT_EQ(metric.constraint_filtered,
              (Counts{{"${node.class} = a", 1}, {"${meta.no} = x", 2}, {"missing drivers", 1}}));
    EXPECT_EQ(metric.class_filtered, (Counts{{"a", 3}, {"b", 1}}));
    EXPECT_TRUE(metric.nodes_available.empty());
    EXPECT_EQ(metric.coalesced_failures, 0);
  }
}

// The `required = 0` of R-SCHED-175 cannot occur: R-SCHED-172 requires a percentage above 0, an allocation to replace
// and an update block that is not empty. A block without max_parallel is empty (R-RECON-98).
TEST(SchedulerRules, AllocsWithoutHealthDelayASystemUpdate) {  // R-SCHED-150, with an API object and without one
  for (const bool plain : {false, true}) {
    SCOPED_TRACE(plain);
    SmallWorld w;
    for (int i = 0; i < 2; ++i) w.add_node();
    const auto before = SmallWorld::job("system", 1, 0), after = SmallWorld::job("system", 1, 1);
    for (const auto& job : {before, after}) job->task_groups[0].update.emplace().max_parallel = 1;
    after->task_groups[0].tasks[0].resources->memory_mb = 128;  // a destructive change
    w.store(before), w.store(after);
    w.add_deployment(after, "running").task_groups["web"].emplace().desired_total = 2;
    w.add(before, 1, 0);
    if (!plain) w.add(after, 0, 0).deployment_id = w.state.deployments[0].id;
    w.after_loading = [&](tables::StateStore& store) {
      tables::PlainAlloc alloc;
      alloc.id = {2, 99};
      alloc.node = 0, alloc.job = store.current().jobs.keys[0].current, alloc.links.deployment = 0;
      if (plain) store.insert_plain(alloc, 1001);
    };
    w.run();
    EXPECT_TRUE(w.stops().empty());
  }
}

TEST(SchedulerRules, SystemJobsPlaceCanaries) {  // R-SCHED-172, 173, 175
  struct Case {
    const char* name;
    std::uint64_t version;
    std::int64_t canary, max_parallel, nodes;
    std::int64_t desired;
    std::size_t placed;
  };
  for (const Case& c :
       {Case{"half of four", 1, 50, 4, 4, 2, 2}, Case{"version 0 has none, so nothing is trimmed", 0, 50, 4, 4, 0, 4},
        Case{"the smallest share is one", 1, 1, 4, 1, 1, 1}, Case{"capped", 1, 100, 2, 4, 2, 2},
        Case{"no canaries", 1, 0, 2, 4, 0, 2}}) {
    SCOPED_TRACE(c.name);
    SmallWorld w;
    const auto before = SmallWorld::job("system", 1, 0), after = SmallWorld::job("system", 1, c.version);
    before->create_index = 4, before->job_modify_index = 4;  // of an earlier registration
    auto& update = after->task_groups[0].update.emplace();
    update.canary = c.canary, update.max_parallel = c.max_parallel;
    after->task_groups[0].tasks[0].resources->memory_mb = 128;
    w.store(after);
    for (std::int64_t i = 0; i < c.nodes; ++i) {
      w.add_node();
      w.add(before, static_cast<std::size_t>(i), 0);
    }
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    ASSERT_TRUE(w.plans[0].deployment);
    const model::DeploymentState& state = *w.plans[0].deployment->task_groups.at("web");
    EXPECT_EQ(state.desired_canaries, c.desired);
    EXPECT_EQ(state.placed_canaries.size(), static_cast<std::size_t>(c.desired));
    EXPECT_EQ(w.placed().size(), c.placed);
    EXPECT_EQ(w.stops().size(), c.placed);
  }
}

/// A system job whose new version places canaries on nodes where another job must leave.
SmallWorld evicting_canaries() {
  SmallWorld w;
  const auto before = SmallWorld::job("system", 1, 0), after = SmallWorld::job("system", 1, 1);
  auto& update = after->task_groups[0].update.emplace();
  update.canary = 50, update.max_parallel = 4;
  after->task_groups[0].tasks[0].resources->memory_mb = 128;
  const auto other = SmallWorld::job("service", 4);
  other->id = other->name = "other", other->priority = 10;
  w.store(other), w.store(before), w.store(after);
  for (std::size_t i = 0; i < 4; ++i) {
    w.add_node().node_resources->memory.memory_mb = 128;
    w.add(before, i, 0);
    model::Allocation& alloc = w.add(other, i, i);
    alloc.job_id = "other", alloc.name = "other.web[" + std::to_string(i) + "]";
  }
  w.eval.annotate_plan = true;
  return w;
}

TEST(SchedulerRules, TrimmedCanariesStillEvict) {  // R-SCHED-102, 175, 181
  for (const bool overshoots : {true, false}) {
    SCOPED_TRACE(overshoots);
    SmallWorld w = evicting_canaries();
    w.options.quirks.canary_trim_overshoots = overshoots;
    w.run();
    ASSERT_EQ(w.plans.size(), 1U);
    EXPECT_EQ(w.placed().size(), 2U);
    EXPECT_EQ(SmallWorld::entries(w.plans[0].node_preemptions).size(), overshoots ? 4U : 2U);
    EXPECT_EQ(w.updated.plan_annotations->desired_tg_updates.at("web").preemptions, overshoots ? 4U : 2U);
    EXPECT_EQ(w.updated.plan_annotations->desired_tg_updates.at("web").canary, 2U);
  }
}

TEST(SchedulerRules,
     DatacenterListsOfADowngradeMayDifferInLength) {  // R-SCHED-70: a long list makes it a comparison of sets
  struct Case {
    std::size_t before, after;  // lengths; all entries but dc1 are of the longer list only
    bool same;
  };
  for (const Case& c : {Case{1, 11, false}, Case{11, 1, false}, Case{12, 11, true}, Case{2, 1, false}}) {
    SCOPED_TRACE(std::to_string(c.before) + " " + std::to_string(c.after));
    CanaryWorld w(1);
    w.older(1, true);
    w.add_node("dc3").node_resources->memory.memory_mb = 1024;  // the fullest node, which is taken if it may be
    const auto list = [](std::size_t length) {
      std::vector<std::string> out = {"dc1"};
      for (std::size_t i = 2; i <= length; ++i) out.push_back("dc" + std::to_string(std::min<std::size_t>(i, 11)));
      return out;
    };
    w.versions[1]->datacenters = list(c.before), w.versions[3]->datacenters = list(c.after);
    w.run();
    EXPECT_EQ(w.placed_as("web"), "v1 d1");
    for (const model::Allocation& alloc : w.placed())
      if (alloc.task_group == "web" && alloc.client_status == "pending") {
        // Nodes of the old version, unless the lists count as equal.
        EXPECT_EQ(alloc.node_name, c.before > 10 ? "n2" : "n0");
      }
  }
}

TEST(SchedulerRules, DeploymentsWithoutTheGroupDecideNothing) {  // R-SCHED-68, 70
  CanaryWorld w(0);
  w.older(0, true), w.older(2, true).task_groups["web"] = std::nullopt;  // no state
  w.run();
  EXPECT_EQ(w.placed_as("web"), "v0 d1");
  w.older(1, true).task_groups.erase("web");
  w.run();
  EXPECT_EQ(w.placed_as("web"), "v0 d1");
  w.after_loading = [](tables::StateStore& store) { store.begin_commit(1001).remove_deployment(1); };
  w.run();  // that of version 0 is gone: the lost version itself, without a deployment
  EXPECT_EQ(w.placed_as("web"), "v0 d-");
  w.after_loading = nullptr;
  w.versions[0]->task_groups[0].name = "former";  // the version lacks the group
  w.run();
  EXPECT_EQ(w.placed_as("web"), "v3 d0");
}

}  // namespace
}  // namespace berth::sched
