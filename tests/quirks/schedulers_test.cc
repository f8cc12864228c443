// Quirks of the schedulers around feasibility and ranking.
#include <gtest/gtest.h>

#include <set>

#include "model/job.h"
#include "model/update/tasks_updated.h"
#include "plan/apply.h"
#include "quirks/quirk_test.h"
#include "sched/small_world.h"
#include "tables/export.h"

namespace berth::sched {
namespace {

/// Builds a world, decides it and passes it to `check`.
template <class Build, class Check>
void decide(const model::Quirks& quirks, Build build, std::string_view answers, Check check) {
  SmallWorld w = build();
  w.options.quirks = quirks;
  w.run(answers);
  check(w);
}

model::ReschedulePolicy& policy_of(model::Job& job, std::int64_t delay_s) {
  model::ReschedulePolicy& policy = job.task_groups[0].reschedule_policy.emplace();
  policy.delay = delay_s * base::kSecond;
  policy.delay_function = "constant";
  policy.unlimited = true;
  return policy;
}

/// A service on two nodes whose `count` allocations on the first failed an hour ago.
SmallWorld with_failed(std::int64_t delay_s, std::int64_t count) {
  SmallWorld w;
  w.add_node(), w.add_node();
  const auto job = SmallWorld::job("service", count);
  policy_of(*job, delay_s);
  w.store(job);
  for (std::int64_t i = 0; i < count; ++i) w.add(job, 0, static_cast<std::uint64_t>(i), "failed");
  return w;
}

QUIRK_TEST(followups_dangle, OnlyCreatedFollowupsAreNamed) {  // R-RECON-154, 223, R-SCHED-56
  const auto delayed = [] {
    SmallWorld w = with_failed(7200, 1);
    w.eval.wait_until = base::Time{SmallWorld::kNow - 1};
    return w;
  };
  decide(quirks, delayed, "", [off](const SmallWorld& w) {
    EXPECT_TRUE(w.created.empty());
    EXPECT_EQ(w.plans.size(), off ? 0U : 1U);
    if (off) return;
    EXPECT_NE(w.placed().at(0).followup_eval_id, "");
  });
  const auto stopped_by_hand = [] {
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job("batch", 1);
    policy_of(*job, 240);
    w.store(job);
    model::Allocation& alloc = w.add(job, 0, 0);
    alloc.desired_transition.migrate = alloc.desired_transition.reschedule = true;
    alloc.modify_time = SmallWorld::kNow - 10 * base::kSecond;
    return w;
  };
  decide(quirks, stopped_by_hand, "N", [off](const SmallWorld& w) {
    ASSERT_EQ(w.plans.size(), 2U);
    ASSERT_EQ(w.created.size(), off ? 2U : 1U);  // Nomad's second attempt finds the ID in the allocation
    ASSERT_EQ(w.stops().size(), 1U);
    EXPECT_EQ(w.stops()[0].followup_eval_id, w.created.back().id);
  });
}

QUIRK_TEST(downgrade_leaks_deployment, TheDeploymentOfADowngradeIsItsOwn) {  // R-SCHED-72
  const auto build = [] {
    SmallWorld w;
    w.add_node(), w.add_node().status = "down";
    const auto before = SmallWorld::canary_job(0), after = SmallWorld::canary_job(1);
    w.store(before), w.store(after);
    w.add(before, 1, 0);
    w.add_deployment(before, "successful").task_groups["web"].emplace().promoted = true;
    w.add_canary(after);
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    std::map<std::string, std::string> deployments;
    for (const model::Allocation& alloc : w.placed()) deployments[alloc.task_group] = alloc.deployment_id;
    EXPECT_EQ(deployments.at("web"), w.state.deployments[0].id);
    EXPECT_EQ(deployments.at("db"), w.state.deployments[off ? 1 : 0].id);
  });
}

QUIRK_TEST(set_aside_deployment_named,
           ADeploymentThatIsSetAsideGivesNoId) {  // R-SCHED-49; R-SCHED-147 for system jobs
  for (const char* type : {"service", "system"}) {
    SCOPED_TRACE(type);
    const auto build = [type] {
      SmallWorld w;
      w.add_node();
      const auto before = SmallWorld::job(type, 1, 0), after = SmallWorld::job(type, 1, 1);
      after->priority = 60;
      w.store(before), w.store(after);
      w.add(before, 0, 0);
      w.add_deployment(before, "running").task_groups["web"].emplace().desired_total = 1;
      return w;
    };
    decide(quirks, build, "", [off](const SmallWorld& w) {
      const std::string expected = off ? "" : w.state.deployments[0].id;
      EXPECT_EQ(w.updated.deployment_id, expected);
      ASSERT_EQ(w.placed().size(), 1U);
      EXPECT_EQ(w.placed()[0].deployment_id, expected);
      ASSERT_EQ(w.plans[0].deployment_updates.size(), 1U);  // cancelled in both cases
      EXPECT_EQ(w.plans[0].deployment_updates[0].status, "cancelled");
    });
  }
}

QUIRK_TEST(coalesced_failure_unmarked, ACoalescedFailureIsMarkedToo) {  // R-SCHED-27, 63, 96
  const auto build = [] {
    SmallWorld w = with_failed(30, 2);
    for (model::Node& node : w.state.nodes) node.scheduling_eligibility = "ineligible";
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.stops().size(), off ? 0U : 2U);
    ASSERT_EQ(w.placed().size(), off ? 2U : 1U);
    for (const model::Allocation& alloc : w.placed())
      EXPECT_EQ(alloc.reschedule_tracker->last_reschedule, "no placement");
    EXPECT_EQ(w.updated.failed_tg_allocs.at("web").coalesced_failures, 1);
  });
}

QUIRK_TEST(reschedule_loses_description, AReplacedAllocKeepsItsReasonAndTheNote) {  // R-SCHED-94, R-CTRL-703
  decide(
      quirks, [] { return with_failed(30, 1); }, "",
      [off](const SmallWorld& w) {
        const char* const reason = off ? "alloc was rescheduled because it failed" : "";
        ASSERT_EQ(w.stops().size(), 1U);
        EXPECT_EQ(w.stops()[0].desired_description, reason);
        tables::StateStore store;
        store.load(w.state);
        plan::ApplyResult applied;
        plan::apply(store, w.result.plan, w.state.index + 1, false, applied, w.options.quirks);
        const tables::AllocRow row = store.find_alloc(*base::parse_uuid(w.state.allocs[0].id));
        const model::Allocation stored = tables::to_alloc(store.current(), row);
        EXPECT_EQ(stored.desired_status, "stop");
        EXPECT_EQ(stored.desired_description, reason);
        ASSERT_EQ(stored.reschedule_tracker.has_value(), off);
        if (!off) return;
        EXPECT_EQ(stored.reschedule_tracker->last_reschedule, "ok");
      });
}

QUIRK_TEST(max_run_skips_test, ALimitedRunSkipsTheTestOnlyWhenTheLimitChanges) {  // R-SCHED-111, R-RECON-234
  for (const std::int64_t limit_after : {60, 90}) {
    SCOPED_TRACE(limit_after);
    const auto build = [limit_after] {
      SmallWorld w;
      w.add_node();
      const auto before = SmallWorld::job("batch", 1, 0), after = SmallWorld::job("batch", 1, 1);
      before->task_groups[0].max_run_duration = 60 * base::kSecond;
      after->task_groups[0].max_run_duration = limit_after * base::kSecond;
      model::Constraint& constraint = after->constraints.emplace_back();  // the node does not hold it
      constraint.ltarget = "${attr.none}", constraint.operand = "=", constraint.rtarget = "x";
      w.store(before), w.store(after);
      w.add(before, 0, 0);
      return w;
    };
    decide(quirks, build, "", [limit_after, off](const SmallWorld& w) {
      const bool in_place = !off || limit_after != 60;
      const model::DesiredUpdates& updates = w.updated.plan_annotations->desired_tg_updates.at("web");
      EXPECT_EQ(updates.in_place_update, in_place ? 1U : 0U);
      EXPECT_EQ(updates.destructive_update, in_place ? 0U : 1U);
    });
  }
}

QUIRK_TEST(devices_compared_with_last, DeviceRequestsAreComparedAsMultisets) {  // R-SCHED-103
  struct Case {
    std::vector<std::int64_t> before, after;
    bool nomad, without;
  };
  for (const Case& c : {Case{{1}, {1}, false, false}, Case{{1}, {2}, true, true}, Case{{1, 2}, {1, 2}, true, false},
                        Case{{1, 2}, {2, 1}, true, false}, Case{{1, 1}, {2, 1}, false, true}}) {
    const auto with = [](const std::vector<std::int64_t>& counts) {
      const auto job = SmallWorld::job("service", 1);
      for (const std::int64_t count : counts) {
        model::RequestedDevice& device = job->task_groups[0].tasks[0].resources->devices.emplace_back();
        device.name = "gpu", device.count = count;
      }
      return job;
    };
    EXPECT_EQ(model::tasks_updated(*with(c.before), *with(c.after), "web", quirks), off ? c.without : c.nomad);
  }
}

QUIRK_TEST(second_blocked_eval, TheBlockedEvaluationOfAnEarlierAttemptIsReused) {  // R-SCHED-17
  const auto build = [] {
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job("service", 2);
    job->task_groups[0].tasks[0].resources->memory_mb = 3000;  // one fits
    w.store(job);
    return w;
  };
  decide(quirks, build, "NNNNN", [off](const SmallWorld& w) {
    EXPECT_EQ(w.updated.status, "failed");
    ASSERT_EQ(w.created.size(), off ? 1U : 2U);
    EXPECT_EQ(w.created.back().triggered_by, off ? "queued-allocs" : "max-plan-attempts");
    EXPECT_EQ(w.updated.blocked_eval, w.created.back().id);
  });
}

/// A job of version 0 on `nodes` nodes, whose version 1 requests more memory.
SmallWorld with_update(const char* type, int nodes, std::int64_t memory_mb) {
  SmallWorld w;
  const auto before = SmallWorld::job(type, 1, 0), after = SmallWorld::job(type, 1, 1);
  after->task_groups[0].tasks[0].resources->memory_mb = memory_mb;
  w.store(before), w.store(after);
  for (int i = 0; i < nodes; ++i) {
    w.add_node();
    w.add(before, static_cast<std::size_t>(i), 0);
  }
  return w;
}

QUIRK_TEST(system_stop_leaves_hole, AnUpdateWithoutRoomIsTakenBack) {  // R-SCHED-167
  decide(
      quirks, [] { return with_update("system", 1, 100'000); }, "",
      [off](const SmallWorld& w) {
        EXPECT_EQ(w.stops().size(), off ? 0U : 1U);
        EXPECT_TRUE(w.placed().empty());
        EXPECT_EQ(w.updated.queued_allocations->at("web"), 1);
      });
}

QUIRK_TEST(system_stop_leaves_hole, DesiredPlacementsDoNotWrap) {  // R-SCHED-161
  const auto build = [] {
    SmallWorld w = with_update("sysbatch", 1, 128);
    auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
    model::Constraint& constraint = job->constraints.emplace_back();
    constraint.ltarget = "${attr.none}", constraint.operand = "=", constraint.rtarget = "x";
    w.state.jobs[0] = w.state.job_versions.back() = job;
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.updated.plan_annotations->desired_tg_updates.at("web").place, off ? 0U : ~std::uint64_t{0});
    EXPECT_EQ(w.stops().size(), off ? 0U : 1U);
  });
}

QUIRK_TEST(system_metrics_lose_pool, PlacedSystemAllocsNameTheirPool) {  // R-SCHED-165, R-FEAS-116
  const auto build = [] {
    SmallWorld w;
    w.add_node();
    w.store(SmallWorld::job("system", 1));
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    ASSERT_EQ(w.placed().size(), 1U);
    EXPECT_EQ(w.placed()[0].metrics->node_pool, off ? "default" : "");
    EXPECT_EQ(w.placed()[0].metrics->nodes_in_pool, 1);
  });
}

/// Four nodes to be updated, canaries on half of them.
SmallWorld with_canaries() {
  SmallWorld w = with_update("system", 4, 128);
  auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
  auto& update = job->task_groups[0].update.emplace();
  update.canary = 50, update.max_parallel = 4;
  job->task_groups[0].disconnect.emplace().lost_after = 600 * base::kSecond;
  w.state.jobs[0] = w.state.job_versions.back() = job;
  return w;
}

QUIRK_TEST(canary_trim_overshoots, TrimmedCanariesAreNoLongerQueued) {  // R-SCHED-181
  decide(quirks, with_canaries, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.placed().size(), 2U);
    EXPECT_EQ(w.stops().size(), 2U);
    EXPECT_EQ(w.updated.queued_allocations->at("web"), off ? 0 : 2);
  });
}

QUIRK_TEST(deployment_resubmitted, TheTextOfAPromotionStays) {  // R-SCHED-189
  decide(quirks, with_canaries, "", [off](const SmallWorld& w) {
    ASSERT_EQ(w.plans[0].deployment_updates.size(), 1U);
    EXPECT_EQ(w.plans[0].deployment_updates[0].status, "running");
    EXPECT_EQ(w.plans[0].deployment_updates[0].status_description,
              off ? "Deployment is running but requires manual promotion" : "Deployment is running");
  });
}

QUIRK_TEST(canary_trim_overshoots, ACanaryThatIsReplacedCountsOnce) {  // R-SCHED-175, 179
  const auto build = [] {
    SmallWorld w = with_canaries();
    w.state.allocs[0].deployment_status.emplace().canary = true;  // of the previous version
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.plans[0].deployment->task_groups.at("web")->desired_canaries, 2);
    EXPECT_EQ(w.plans[0].deployment->task_groups.at("web")->placed_canaries.size(), off ? 2U : 1U);
    EXPECT_EQ(w.placed().size(), off ? 2U : 1U);
  });
}

QUIRK_TEST(canary_trim_overshoots, TheMarkOfADisconnectedCanaryStays) {  // R-SCHED-178
  const auto build = [] {
    SmallWorld w = with_canaries();
    const auto job = w.state.jobs[0];
    model::Deployment& d = w.add_deployment(job, "running");
    d.task_groups["web"].emplace().desired_canaries = 2;
    w.state.allocs[0].job = job;
    w.state.allocs[0].deployment_id = d.id;
    w.state.allocs[0].deployment_status.emplace().canary = true;
    w.state.nodes[0].status = "disconnected";
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    std::set<std::string> unknown;
    for (const model::Allocation& alloc : w.placed())
      if (alloc.client_status == "unknown") unknown.insert(alloc.id);
    EXPECT_EQ(unknown.size(), off ? 1U : 0U);
    const auto& canaries = w.plans[0].deployment->task_groups.at("web")->placed_canaries;
    EXPECT_EQ(canaries.size(), 2U);
    EXPECT_EQ(std::count(canaries.begin(), canaries.end(), w.state.allocs[0].id), off ? 1 : 0);
  });
}

QUIRK_TEST(deployment_resubmitted, AnUnchangedDeploymentIsNoPlan) {  // R-SCHED-187, 188
  const auto build = [] {
    SmallWorld w;
    w.add_node();
    const auto job = SmallWorld::job("system", 1);
    job->task_groups[0].update.emplace().max_parallel = 1;
    w.store(job);
    model::Deployment& d = w.add_deployment(job, "running");
    d.task_groups["web"].emplace().desired_total = 1;
    w.add(job, 0, 0).deployment_id = d.id;
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.plans.size(), off ? 0U : 1U);
    EXPECT_EQ(w.updated.deployment_id, w.state.deployments[0].id);
  });
  const auto stopped = [build] {
    SmallWorld w = build();
    w.add_node();
    auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
    job->stop = true;
    w.state.jobs[0] = w.state.job_versions[0] = job;
    w.add(job, 1, 0);
    return w;
  };
  decide(quirks, stopped, "", [off](const SmallWorld& w) {
    EXPECT_EQ(w.stops().size(), 2U);
    ASSERT_EQ(w.plans[0].deployment_updates.size(), off ? 1U : 3U);  // once per node, and then successful
    EXPECT_EQ(w.plans[0].deployment_updates[0].status, "cancelled");
  });
}

QUIRK_TEST(one_blocked_per_group, EachNodeWithoutRoomHasABlockedEvaluation) {  // R-SCHED-164, R-FEAS-1705
  const auto build = [] {
    SmallWorld w;
    for (int i = 0; i < 3; ++i) w.add_node();
    const auto job = SmallWorld::job("system", 1, 0, {"web", "db"});
    for (model::TaskGroup& group : job->task_groups) group.tasks[0].resources->memory_mb = 100'000;
    w.store(job);
    return w;
  };
  decide(quirks, build, "", [off](const SmallWorld& w) {
    std::set<std::string> nodes;
    for (const model::Evaluation& eval : w.created) nodes.insert(eval.node_id);
    EXPECT_EQ(w.created.size(), off ? 3U : 2U);  // Nomad: one per group, both on the first node
    EXPECT_EQ(nodes.size(), off ? 3U : 1U);
    EXPECT_EQ(w.updated.failed_tg_allocs.at("web").coalesced_failures, 2);
  });
}

}  // namespace
}  // namespace berth::sched
