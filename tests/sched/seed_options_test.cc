// Options for earlier behaviour (R-SEED-1 to 98), each compared with its default.
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/job.h"
#include "model/registration/register_job.h"
#include "plan/apply.h"
#include "sched/small_world.h"
#include "tables/export.h"

namespace berth::sched {
namespace {

TEST(SeedOptions, AreParsedAndListed) {  // R-SEED-1
  model::Options options;
  EXPECT_TRUE(model::changed_options(options).empty());
  std::string told;
  for (const char* assignment :
       {"compat=fixed", "remote_tasks=true", "remote_task_drivers=ecs,other-1", "system_rolling_update=stagger",
        "strict_ready_updates=true", "disconnect_support=false", "legacy_disconnect_fields=true",
        "keep_stop_description=true", "preemption_min_delta=0", "system_reporting=seed", "plan_id_length=8"})
    EXPECT_TRUE(model::set_option(options, assignment)) << assignment;
  for (const auto& [name, value] : model::changed_options(options)) told += name + "=" + value + " ";
  EXPECT_EQ(told,
            "compat=fixed remote_tasks=true remote_task_drivers=ecs,other-1 system_rolling_update=stagger "
            "strict_ready_updates=true disconnect_support=false "
            "legacy_disconnect_fields=true keep_stop_description=true preemption_min_delta=0 system_reporting=seed "
            "plan_id_length=8 ");
  const auto told_after = [](std::initializer_list<const char*> assignments) {
    model::Options chosen, again;
    for (const char* assignment : assignments) EXPECT_TRUE(model::set_option(chosen, assignment)) << assignment;
    std::string out;
    for (const auto& [name, value] : model::changed_options(chosen)) {
      out += name + "=" + value + " ";
      EXPECT_TRUE(model::set_option(again, name + "=" + value));
    }
    EXPECT_EQ(again, chosen);
    return out;
  };
  EXPECT_EQ(told_after({"quirk.limit_stays_raised=off"}), "quirk.limit_stays_raised=off ");
  EXPECT_EQ(told_after({"quirk.limit_stays_raised=off", "quirk.limit_stays_raised=on"}), "");
  EXPECT_EQ(told_after({"compat=fixed", "quirk.limit_stays_raised=on", "quirk.verdicts_per_class=on"}),
            "compat=fixed quirk.limit_stays_raised=on quirk.verdicts_per_class=on ");
  EXPECT_EQ(told_after({"quirk.limit_stays_raised=on", "compat=fixed"}), "compat=fixed ");
  EXPECT_EQ(told_after({"quirk.limit_stays_raised=off", "compat=nomad"}), "");
  const auto unknown = model::set_option(options, "quirk.limit_stay_raised=off");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().substr(0, unknown.error().find("; valid: compat, remote_tasks, ")),
            "option 'quirk.limit_stay_raised' is unknown (did you mean 'quirk.limit_stays_raised'?)");
  for (const char* bad :
       {"", "compat=both", "quirk.limit_stays_raised=false", "quirk.limit_stays_raised", "quirk.=off", "remote_tasks",
        "remote_tasks=", "remote_tasks=yes", "nothing=1", "remote_task_drivers=ecs,",
        "remote_task_drivers=", "remote_task_drivers=a b", "plan_id_length=0", "plan_id_length=37",
        "preemption_min_delta=-1", "preemption_min_delta=1.5", "system_reporting=both", "strict_ready_updates=no"}) {
    const model::Options before = options;
    const auto done = model::set_option(options, bad);
    ASSERT_FALSE(done) << bad;
    EXPECT_NE(done.error().find("option"), std::string::npos);
    EXPECT_EQ(options, before);
  }
}

TEST(SeedOptions, RemoteTasksMoveWithLostOrMigratingAllocs) {  // R-SEED-14 to 18, worked example 1
  struct Case {
    const char* name;
    void (*change)(SmallWorld&);
    bool handed_on;
  };
  const json::Value handle = io::parse_json(R"({"Version":1,"DriverState":"YWJj"})").value();
  for (const Case& c :
       {Case{"migrates", [](SmallWorld& w) { w.state.allocs[0].desired_transition.migrate = true; }, true},
        Case{"lost", [](SmallWorld& w) { w.state.nodes[0].status = "down"; }, true},
        Case{"failed", [](SmallWorld& w) { w.state.allocs[0].client_status = "failed"; }, false},
        Case{"failed and to migrate",
             [](SmallWorld& w) {
               w.state.allocs[0].client_status = "failed";
               w.state.allocs[0].desired_transition.migrate = true;
             },
             false}})
    for (const bool on : {true, false}) {
      SCOPED_TRACE(std::string(c.name) + (on ? " on" : " off"));
      SmallWorld w;
      w.options.remote_tasks = on;
      w.add_node(), w.add_node();
      const auto job = SmallWorld::job("service", 1);
      model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
      policy.unlimited = true;
      job->task_groups[0].tasks.push_back(job->task_groups[0].tasks[0]);
      job->task_groups[0].tasks[1].name = "log";
      w.store(job);
      model::Allocation& alloc = w.add(job, 0, 0);
      for (const char* task : {"t", "gone"}) {
        model::TaskState& state = alloc.task_states[task].emplace();
        state.state = "running", state.restarts = 3, state.task_handle = handle;
      }
      alloc.task_states["log"].emplace().state = "running";
      c.change(w);
      w.run();
      ASSERT_EQ(w.placed().size(), 1U);
      const auto states = w.placed()[0].task_states;
      ASSERT_EQ(states.size(), on && c.handed_on ? 1U : 0U);
      if (states.empty()) continue;
      const model::TaskState& state = *states.at("t");
      EXPECT_EQ(state.state, "pending");
      EXPECT_EQ(state.restarts, 0U);
      EXPECT_EQ(state.task_handle, handle);
      tables::StateStore store;
      store.load(w.state);
      plan::ApplyResult applied;
      plan::apply(store, w.result.plan, w.state.index + 1, false, applied);
      const tables::AllocRow row = store.find_alloc(*base::parse_uuid(w.placed()[0].id));
      ASSERT_NE(row, tables::kNoRow);
      EXPECT_EQ(store.current().allocs.cold[row]->task_states.at("t")->task_handle, handle);  // R-SEED-18
    }
}

/// The world of worked example 4: groups `a` and `b` on seven nodes, all to be replaced.
SmallWorld staggered_world(bool on) {
  SmallWorld w;
  w.options.staggered_system_updates = on;
  const auto before = SmallWorld::job("system", 1, 0, {"a", "b"}), after = SmallWorld::job("system", 1, 1, {"a", "b"});
  for (model::TaskGroup& group : after->task_groups) {
    group.tasks[0].resources->memory_mb = 65;
    auto& update = group.update.emplace();
    update.max_parallel = 3;
    model::Constraint& c = group.constraints.emplace_back();
    c.ltarget = "${meta.group}", c.operand = "=", c.rtarget = group.name;
  }
  after->update.own().max_parallel = 3, after->update.own().stagger = 30 * base::kSecond;
  w.store(before), w.store(after);
  for (std::size_t i = 0; i < 7; ++i) {
    const char* const group = i % 2 ? "b" : "a";
    w.add_node().meta["group"] = group;
    w.add(before, i, 0, "running", group);
  }
  w.eval.job_modify_index = 77;
  return w;
}

TEST(SeedOptions, SystemJobsAreUpdatedByStagger) {  // R-SEED-30 to 36, worked example 4
  SmallWorld w = staggered_world(true);
  w.run("NN");
  // One continuation, for any number of refusals.
  EXPECT_EQ(w.calls, (std::vector<std::string>{"create", "submit", "submit", "submit"}));
  ASSERT_EQ(w.stops().size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(w.stops()[i].id, w.state.allocs[i].id);
  EXPECT_FALSE(w.plans[0].deployment);
  for (const model::Allocation& alloc : w.placed()) EXPECT_EQ(alloc.deployment_id, "");
  ASSERT_EQ(w.created.size(), 1U);
  const model::Evaluation& next = w.created[0];
  EXPECT_EQ(next.triggered_by, "rolling-update");
  EXPECT_EQ(next.status, "pending");
  EXPECT_EQ(next.wait, 30 * base::kSecond);
  EXPECT_EQ(next.previous_eval, w.eval.id);
  EXPECT_EQ(next.job_modify_index, 77U);
  EXPECT_EQ(next.create_time, SmallWorld::kNow);
  EXPECT_EQ(w.updated.next_eval, next.id);

  w = staggered_world(true);  // a stored deployment is neither read nor changed (R-SEED-33)
  w.add_deployment(w.state.job_versions[0], "running");
  w.run();
  EXPECT_TRUE(w.plans[0].deployment_updates.empty());
  EXPECT_EQ(w.updated.deployment_id, "");

  w = staggered_world(false);
  w.run();
  EXPECT_EQ(w.calls, std::vector<std::string>{"submit"});
  EXPECT_EQ(w.stops().size(), 6U);  // three of each group
  EXPECT_TRUE(w.plans[0].deployment);

  w = staggered_world(true);  // no stagger: all at once, no continuation (R-SEED-39)
  auto job = std::make_shared<model::Job>(*w.state.jobs[0]);
  job->update.own().stagger = 0;
  w.store(job);
  w.run();
  EXPECT_EQ(w.calls, std::vector<std::string>{"submit"});
  EXPECT_EQ(w.stops().size(), 7U);
}

TEST(SeedOptions, WithoutDisconnectSupportNodesAreLost) {  // R-SEED-60 to 62, worked example 3
  for (const bool supported : {true, false}) {
    SCOPED_TRACE(supported);
    SmallWorld w;
    w.options.disconnect_support = supported;
    w.add_node().status = "disconnected";
    w.add_node();
    const auto job = SmallWorld::job("service", 1);
    job->task_groups[0].disconnect.emplace().lost_after = 300 * base::kSecond;
    w.store(job);
    model::Allocation& alloc = w.add(job, 0, 0);
    w.run();
    EXPECT_EQ(w.stops().size(), supported ? 0U : 1U);
    ASSERT_EQ(w.placed().size(), 1U);
    EXPECT_EQ(w.placed()[0].client_status, supported ? "unknown" : "pending");

    w.state.nodes[0].status = "ready";  // it returns
    alloc.alloc_states = {{0, "unknown", base::Time{SmallWorld::kNow - 1}}};
    w.run();
    EXPECT_EQ(w.updated.plan_annotations->desired_tg_updates.at("web").reconnect, supported ? 1U : 0U);

    SmallWorld s;  // a system job
    s.options.disconnect_support = supported;
    s.add_node().status = "disconnected";
    const auto system = SmallWorld::job("system", 1);
    s.store(system);
    s.add(system, 0, 0);
    s.run();
    EXPECT_EQ(s.placed().size(), supported ? 1U : 0U);  // the unknown mark; else row 9: ignored
    EXPECT_TRUE(s.stops().empty());
  }
}

TEST(SeedOptions, OlderFieldsFillTheDisconnectBlock) {  // R-SEED-70 to 72
  struct Case {
    const char* name;
    const char* type;
    const char* fields;
    const char* refused;  // null: accepted
  };
  for (const Case& c :
       {Case{"lost after", "service", R"("MaxClientDisconnect":60000000000)", nullptr},
        Case{"never replaced", "service", R"("MaxClientDisconnect":60000000000,"PreventRescheduleOnLost":true)",
             nullptr},
        Case{"never replaced, block", "service", R"("PreventRescheduleOnLost":true,"Disconnect":{"LostAfter":5})",
             nullptr},
        Case{"both ways", "service", R"("PreventRescheduleOnLost":true,"Disconnect":{"Replace":true})", "both"},
        Case{"both ways, lost after", "service", R"("MaxClientDisconnect":6,"Disconnect":{"LostAfter":5})", "both"},
        Case{"both", "service", R"("MaxClientDisconnect":6,"StopAfterClientDisconnect":5)", "exclude"},
        Case{"negative", "service", R"("MaxClientDisconnect":-6)", "negative"},
        Case{"system", "system", R"("StopAfterClientDisconnect":5)", "service and batch"}}) {
    SCOPED_TRACE(c.name);
    const std::string text = std::string(R"({"ID":"j","Datacenters":["*"],"Type":")") + c.type +
                             R"(","TaskGroups":[{"Name":"g","Tasks":[{"Name":"t","Driver":"exec"}],)" + c.fields +
                             "}]}";
    model::RegistrationRequest request;
    const auto without = model::register_job(io::parse_json(text).value(), request);
    ASSERT_TRUE(without) << without.error().line();
    if (std::string_view(c.fields).find("Disconnect\":{") == std::string_view::npos) {
      ASSERT_TRUE(without->job) << without->error;
      EXPECT_FALSE(without->job->task_groups[0].disconnect);
    }
    request.options.legacy_disconnect_fields = true;
    const auto with = model::register_job(io::parse_json(text).value(), request);
    ASSERT_TRUE(with);
    if (c.refused) {
      EXPECT_FALSE(with->job);
      EXPECT_NE(with->error.find(c.refused), std::string::npos) << with->error;
      continue;
    }
    ASSERT_TRUE(with->job) << with->error;
    const model::TaskGroup& group = with->job->task_groups[0];
    ASSERT_TRUE(group.disconnect);
    EXPECT_GT(group.disconnect->lost_after, 0);
    EXPECT_EQ(*group.disconnect->replace, std::string_view(c.name) == "lost after");
    EXPECT_EQ(group.disconnect->reconcile, "best_score");
    EXPECT_FALSE(group.max_client_disconnect);
    EXPECT_FALSE(group.prevent_reschedule_on_lost);
  }
}

TEST(SeedOptions, StopsOfReplacedAllocsKeepTheirDescription) {  // R-SEED-75, 76; R-SCHED-94
  for (const bool keeps : {true, false}) {
    SmallWorld w;
    w.options.keep_stop_description = keeps;
    w.add_node();
    const auto job = SmallWorld::job("service", 1);
    model::ReschedulePolicy& policy = job->task_groups[0].reschedule_policy.emplace();
    policy.unlimited = true;
    w.store(job);
    w.add(job, 0, 0, "failed");
    w.run();
    ASSERT_EQ(w.stops().size(), 1U);
    const std::string why = keeps ? "alloc was rescheduled because it failed" : "";
    EXPECT_EQ(w.stops()[0].desired_status, keeps ? "stop" : "run");
    EXPECT_EQ(w.stops()[0].desired_description, why);
    EXPECT_EQ(w.stops()[0].client_status, "failed");
    tables::StateStore store;
    store.load(w.state);
    plan::ApplyResult applied;
    plan::apply(store, w.result.plan, w.state.index + 1, false, applied);
    const model::Allocation after = tables::to_alloc(store.current(), 0);
    EXPECT_EQ(after.desired_status, "stop");
    EXPECT_EQ(after.desired_description, why);
  }
}

TEST(SeedOptions, PreemptionDeltaLimitsVictims) {  // R-SEED-80, 81
  struct Case {
    std::int64_t delta, victim;
    bool own, evicted;
  };
  for (const Case& c :
       {Case{10, 40, false, true}, Case{10, 41, false, false}, Case{11, 40, false, false}, Case{11, 39, false, true},
        Case{9, 41, false, true}, Case{0, 50, false, true}, Case{0, 51, false, false}, Case{0, 50, true, false}}) {
    SCOPED_TRACE(std::to_string(c.delta) + " " + std::to_string(c.victim));
    SmallWorld w;
    w.options.preemption_min_delta = c.delta;
    w.state.scheduler_config->preemption_config.service_scheduler_enabled = true;
    w.add_node();
    const auto job = SmallWorld::job("service", 2), other = SmallWorld::job("service", 1);
    job->task_groups[0].tasks[0].resources->memory_mb = 3000;
    other->id = other->name = "other", other->priority = c.victim;
    w.store(other), w.store(job);
    model::Allocation& victim = w.add(c.own ? job : other, 0, 0);
    victim.allocated_resources->tasks["t"].memory.memory_mb = 3000;
    w.run();
    EXPECT_EQ(w.placed().size(), c.evicted ? 1U : 0U);
    EXPECT_EQ(
        SmallWorld::entries(w.plans.empty() ? decltype(w.plans[0].node_preemptions){} : w.plans[0].node_preemptions)
            .size(),
        c.evicted ? 1U : 0U);
  }
}

TEST(SeedOptions, OlderReportsOmitFilteredNodes) {  // R-SEED-85 to 87
  for (const char* type : {"system", "sysbatch"})
    for (const bool seed : {true, false})
      for (const bool annotate : {true, false}) {
        SCOPED_TRACE(std::string(type) + (seed ? " seed" : " today") + (annotate ? " annotated" : ""));
        SmallWorld w;
        w.options.seed_system_reporting = seed;
        w.eval.annotate_plan = annotate;
        const auto job = SmallWorld::job(type, 1, 0, {"web", "db"});
        for (model::TaskGroup& group : job->task_groups) {
          model::Constraint& c = group.constraints.emplace_back();
          c.ltarget = "${meta.runs}", c.operand = "=", c.rtarget = group.name;
        }
        w.store(job);
        for (int i = 0; i < 3; ++i) w.add_node().meta["runs"] = i < 2 ? "web" : "";
        w.run();
        EXPECT_EQ(w.placed().size(), 2U);
        const auto& updates = w.updated.plan_annotations->desired_tg_updates;
        EXPECT_EQ(w.updated.failed_tg_allocs.contains("db"), !seed);
        EXPECT_EQ(updates.contains("web"), !seed || annotate);
        if (updates.contains("web")) {
          EXPECT_EQ(updates.at("web").place, 2U);
        }
        EXPECT_EQ(w.updated.queued_allocations->at("db"), 0);
        w.state.allocs.clear();
      }
  for (const bool seed : {true, false}) {  // groups without work have no queued count, as sysbatch always did
    SmallWorld w;
    w.options.seed_system_reporting = seed;
    w.add_node();
    const auto job = SmallWorld::job("system", 1, 0, {"web", "db"});
    w.store(job);
    w.add(job, 0, 0, "running", "web");
    w.run();
    EXPECT_EQ(w.updated.queued_allocations->contains("web"), !seed);
    EXPECT_TRUE(w.updated.queued_allocations->contains("db"));
  }
}

}  // namespace
}  // namespace berth::sched
