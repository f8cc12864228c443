// Rules of part 05 that no recorded decision covers: each case fails if its rule is inverted.
#include <gtest/gtest.h>

#include "model/job.h"
#include "reconcile/group_world.h"
#include "reconcile/reconnect.h"
#include "reconcile/reschedule.h"

namespace berth::reconcile {
namespace {

constexpr std::int64_t kRulesNow = kWorldNow;
constexpr std::int64_t kPast = kRulesNow - 3600 * base::kSecond;  // before any delay used here

model::Deployment& with_deployment(GroupWorld& w, const char* status) {
  model::Deployment& d = w.deployment.emplace();
  d.id = "d";
  d.job_version = w.job->version;
  d.status = status;
  return d;
}

TEST(ReconcilerRules, AnyOtherVersionOrIncarnationSupersedesADeployment) {  // R-RECON-71
  struct Case {
    const char* name;
    std::uint64_t version, create_index;
    const char* status;
    const char* description;
  };
  for (const Case& c : {Case{"older", 1, 7, "running", "Cancelled due to newer version of job"},
                        Case{"newer than the job", 3, 7, "running", "Cancelled due to newer version of job"},
                        Case{"of an earlier job of that name", 2, 6, "paused", "Cancelled due to newer version of job"},
                        Case{"of a later one", 2, 8, "running", "Cancelled due to newer version of job"},
                        Case{"older, but over", 1, 7, "failed", nullptr}, Case{"its own", 2, 7, "running", nullptr}}) {
    SCOPED_TRACE(c.name);
    GroupWorld w("service", 1);
    w.job->create_index = w.old_job->create_index = 7;
    w.add(0);
    model::Deployment& d = with_deployment(w, c.status);
    d.job_version = c.version, d.job_create_index = c.create_index;
    d.task_groups["web"].emplace().desired_total = 5;  // so that it is not complete
    EXPECT_EQ(w.run(), "Ignore 1");
    ASSERT_EQ(w.result.deployment_updates.size(), c.description ? 1U : 0U);
    if (c.description) {
      EXPECT_EQ(w.result.deployment_updates[0].status_description, c.description);
    }
  }
}

TEST(ReconcilerRules,
     OnlyStoppedBatchAllocsStayVisible) {  // R-RECON-91: the allocation's own job decides, not the scheduler
  struct Case {
    const char* name;
    const char* own_type;
    bool is_batch;
    const char* desired;
    bool reschedule;
    const char* done;
  };
  for (const Case& c : {Case{"batch", "batch", true, "stop", false, "place [0]; Ignore 1; Place 1"},
                        Case{"batch, evicted", "batch", true, "evict", false, "place [0]; Ignore 1; Place 1"},
                        Case{"batch, to be rescheduled", "batch", true, "stop", true, "place [0]; Place 1"},
                        Case{"was batch, is service", "batch", false, "stop", false, "place [0]; Ignore 1; Place 1"},
                        Case{"service", "service", false, "stop", false, "place [0]; Place 1"},
                        Case{"was service, is batch", "service", true, "stop", false, "place [0]; Place 1"}}) {
    SCOPED_TRACE(c.name);
    GroupWorld w("service", 1);
    auto own = std::make_shared<model::Job>(*w.job);
    own->type = c.own_type;
    w.is_batch = c.is_batch;
    model::Allocation& alloc = w.add(0, "complete", NodeTaint::none, own);
    alloc.desired_status = c.desired;
    if (c.reschedule) alloc.desired_transition.reschedule = true;
    EXPECT_EQ(w.run(), c.done);
  }
}

TEST(ReconcilerRules, BatchIgnoresAllocsThatEndedInAnOlderVersion) {  // R-RECON-99
  struct Case {
    const char* name;
    bool is_batch;
    const char* client;
    std::uint64_t version, create_index;
    const char* done;
  };
  for (const Case& c : {Case{"older version", true, "failed", 1, 7, "place [0]; Ignore 1; Place 1"},
                        Case{"older incarnation", true, "complete", 2, 6, "place [0]; Ignore 1; Place 1"},
                        Case{"this version", true, "complete", 2, 7, "Ignore 1"},
                        Case{"newer version", true, "complete", 3, 8, "Ignore 1"},
                        Case{"still running", true, "running", 1, 7, "Ignore 1"},
                        Case{"batch job in the service scheduler", false, "failed", 1, 7, "Ignore 1"}}) {
    SCOPED_TRACE(c.name);
    GroupWorld w("batch", 1);
    w.is_batch = c.is_batch;
    w.job->create_index = 7;
    auto own = std::make_shared<model::Job>(*w.job);
    own->version = c.version, own->create_index = c.create_index;
    w.add(0, c.client, NodeTaint::none, own);
    EXPECT_EQ(w.run(), c.done);
  }
}

TEST(ReconcilerRules, CanariesOfAnEarlierDeploymentAreStopped) {  // R-RECON-100, 101
  GroupWorld w("service", 2);
  for (std::uint64_t i = 0; i < 2; ++i) w.add(i);
  w.add(1, "running", NodeTaint::none, w.old_job);
  w.add(0, "failed", NodeTaint::none, w.old_job);
  w.add(0, "running", NodeTaint::none, w.old_job).desired_status = "stop";
  model::Deployment& d = with_deployment(w, "failed");
  d.job_version = 1;
  d.task_groups["web"].emplace().placed_canaries = {w.allocs[2].id, w.allocs[3].id, w.allocs[4].id, "gone"};
  // In order K, although another one is stopped.
  EXPECT_EQ(w.run(), "stop [0] unneeded; stop [1] unneeded; Ignore 2; Stop 2");
  d.task_groups["web"]->promoted = true;
  EXPECT_EQ(w.run(), "stop [1] unneeded; stop [1] unneeded; Ignore 2; Stop 2");  // by name, as surplus
  d.task_groups["web"]->promoted = false;
  d.job_version = 2;  // the current one, and it failed
  EXPECT_EQ(w.run(), "stop [0] unneeded; stop [1] unneeded; Ignore 2; Stop 2");
  d.status = "paused";
  w.job->task_groups[0].count = 4;
  EXPECT_EQ(w.run(), "Ignore 4");
}

AllocFacts facts_of(const model::Allocation& alloc) { return read_facts(alloc, 0, NodeTaint::none, ""); }

/// An allocation of the group `web` of a job that reschedules at once.
model::Allocation alloc_of(const char* client, const char* desired) {
  GroupWorld w("service", 1);
  w.reschedules("constant", 30);
  model::Allocation alloc = w.add(0, client);
  alloc.desired_status = desired;
  alloc.modify_time = kPast;
  return alloc;
}

TEST(ReconcilerRules, AnUnknownAllocDoesNotDisconnectAgain) {  // R-RECON-112 cases 1 and 2
  using When = RescheduleAnswer::When;
  const RescheduleContext context{kRulesNow, "e", false, false};
  const auto when = [&](const model::Allocation& alloc, bool disconnecting) {
    return judge_reschedule(facts_of(alloc), context, disconnecting).when;
  };
  EXPECT_EQ(when(alloc_of("unknown", "run"), true), When::dropped);
  EXPECT_EQ(when(alloc_of("unknown", "run"), false), When::kept);
  EXPECT_EQ(when(alloc_of("running", "run"), true), When::later);
  model::Allocation replaced = alloc_of("failed", "run");
  EXPECT_EQ(when(replaced, false), When::now);
  replaced.next_allocation = "n";
  EXPECT_EQ(when(replaced, false), When::dropped);
  replaced.client_status = "running";
  EXPECT_EQ(when(replaced, false), When::kept);
}

TEST(ReconcilerRules, RescheduleVerdictsFollowTheTable) {  // R-RECON-113, 114
  enum Extra { nothing, stays, again, ran, ran_badly, no_node };
  struct Case {
    const char* client;
    const char* desired;
    Extra extra;
    Verdict batch, service;
  };
  constexpr Verdict keep = Verdict::keep, drop = Verdict::drop, candidate = Verdict::candidate;
  for (const Case& c :
       {Case{"running", "run", nothing, keep, candidate}, Case{"failed", "run", nothing, candidate, candidate},
        Case{"complete", "run", nothing, keep, drop}, Case{"lost", "run", nothing, keep, drop},
        Case{"unknown", "run", nothing, keep, candidate}, Case{"failed", "run", stays, keep, candidate},
        Case{"complete", "run", again, candidate, drop}, Case{"complete", "stop", nothing, drop, drop},
        Case{"complete", "stop", ran, keep, drop}, Case{"failed", "stop", ran_badly, drop, drop},
        Case{"failed", "stop", no_node, candidate, candidate}, Case{"complete", "stop", stays, keep, drop},
        Case{"complete", "stop", again, candidate, drop}, Case{"failed", "evict", nothing, drop, drop},
        Case{"failed", "evict", ran, drop, drop}, Case{"failed", "evict", no_node, drop, candidate},
        Case{"failed", "evict", stays, keep, drop}}) {
    SCOPED_TRACE(std::string(c.client) + " " + c.desired + " " + std::to_string(c.extra));
    model::Allocation alloc = alloc_of(c.client, c.desired);
    alloc.desired_transition.migrate_disable_placement = c.extra == stays;
    alloc.desired_transition.reschedule = c.extra == again;
    if (c.extra == ran || c.extra == ran_badly) {
      auto& state = alloc.task_states["t"].emplace();
      state.state = "dead";
      state.failed = c.extra == ran_badly;
    }
    if (c.extra == no_node) alloc.reschedule_tracker.emplace().last_reschedule = "no placement";
    EXPECT_EQ(verdict_on(facts_of(alloc), true), c.batch);
    EXPECT_EQ(verdict_on(facts_of(alloc), false), c.service);
  }
}

/// An original that reconnects, and its chain of replacements: [0] -> [1] -> [2], by default all running.
GroupWorld chain(const char* type) {
  GroupWorld w(type, 3);
  w.reschedules("constant", 30);
  w.each_group([](model::TaskGroup& g) {
    g.disconnect.emplace().lost_after = 300 * base::kSecond;
    g.disconnect->reconcile = "keep_original";
  });
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i).modify_time = kPast;
  w.allocs[0].alloc_states = {{0, "unknown", base::Time{kRulesNow - 1}}};
  w.allocs[0].next_allocation = w.allocs[1].id;
  w.allocs[1].next_allocation = w.allocs[2].id;
  return w;
}

TEST(ReconcilerRules, ChainsOfReplacementsEndAtInvisibleAllocs) {  // R-RECON-122
  GroupWorld w = chain("service");
  EXPECT_EQ(w.run(),
            "stop [1] superfluous; stop [2] superfluous; place [1]; place [2]; reconnect [0]; Ignore 1; Place 2; "
            "Stop 2; Reconnect 1");
  w.allocs[1].desired_status = "stop";  // not in ALL: allocations behind it are missed
  EXPECT_EQ(w.run(), "place [1]; reconnect [0]; Ignore 2; Place 1; Reconnect 1");
  w = chain("batch");
  w.allocs[1].desired_status = "stop";  // in ALL: the chain continues, but it is no replacement
  EXPECT_EQ(w.run(),
            "stop [2] superfluous; place [1]; place [2]; reconnect [0]; Ignore 2; Place 2; Stop 1; Reconnect 1");
}

TEST(ReconcilerRules, AFailedReplacementIsStoppedAndReplaced) {  // R-RECON-124: NOW does not lose STOP
  GroupWorld w = chain("service");
  w.allocs[0].next_allocation = w.allocs[2].id;
  w.allocs[2].client_status = "failed";
  EXPECT_EQ(w.run(),
            "stop [2] superfluous; stop [2] failed; place [2] again min 2 previous; reconnect [0]; Ignore 2; Place 1; "
            "Stop 2; Reconnect 1");
}

TEST(ReconcilerRules, AStoppedReplacementIsRemovedFromOtherSets) {  // R-RECON-124: M, L and D do
  GroupWorld w = chain("service");
  w.allocs[0].next_allocation = w.allocs[2].id;
  w.allocs[2].desired_transition.migrate = true;
  const char* const expected = "stop [2] superfluous; place [2]; reconnect [0]; Ignore 2; Place 1; Stop 1; Reconnect 1";
  EXPECT_EQ(w.run(), expected);
  w.allocs[2].desired_transition.migrate = false;
  w.taints[2] = NodeTaint::down;
  EXPECT_EQ(w.run(), expected);
  w.taints[2] = NodeTaint::disconnected;
  EXPECT_EQ(w.run(), expected);
}

/// A pair for prefers_replacement: scores, statuses and task starts to be set.
struct Pair {
  std::shared_ptr<model::Job> job = std::make_shared<model::Job>();
  model::Allocation original, replacement;
  Pair() {
    model::TaskGroup& group = job->task_groups.emplace_back();
    group.name = "web";
    group.tasks.resize(2);
    group.tasks[0].name = "a", group.tasks[1].name = "b";
    job->version = 3, job->create_index = 9;
    for (model::Allocation* alloc : {&original, &replacement}) {
      alloc->job = job;
      alloc->task_group = "web";
      alloc->client_status = "running";
    }
  }
  static void score(model::Allocation& alloc, double first, double second = 0) {
    auto& list = alloc.metrics.emplace().score_meta_data;
    list.resize(2);
    list[0].norm_score = first, list[1].norm_score = second;
  }
  static void started(model::Allocation& alloc, const char* task, std::int64_t ago) {
    alloc.task_states[task].emplace().started_at = base::Time{kRulesNow - ago};
  }
  [[nodiscard]] bool replaced(const char* strategy) const {
    return prefers_replacement(original, replacement, strategy, kRulesNow);
  }
};

TEST(ReconcilerRules, ANewerReplacementWinsUnderEveryStrategy) {  // R-RECON-128
  for (const char* strategy : {"keep_original", "longest_running", "best_score", ""}) {
    SCOPED_TRACE(strategy);
    Pair p;
    Pair::score(p.original, 1);
    Pair::started(p.original, "a", 100);
    EXPECT_FALSE(p.replaced(strategy));
    auto newer = std::make_shared<model::Job>(*p.job);
    newer->version = 4;
    p.replacement.job = newer;
    EXPECT_TRUE(p.replaced(strategy));
    newer->version = 2, newer->create_index = 10;  // either suffices
    EXPECT_TRUE(p.replaced(strategy));
    newer->create_index = 9;
    EXPECT_FALSE(p.replaced(strategy));
  }
}

TEST(ReconcilerRules, BestScorePrefersRunningAllocs) {  // R-RECON-129, 130
  struct Case {
    const char* name;
    double original, replacement;  // negative: none
    const char *original_is, *replacement_is;
    bool replaced;
  };
  for (const Case& c :
       {Case{"better", 0.5, 0.6, "running", "running", true}, Case{"equal", 0.5, 0.5, "running", "running", false},
        Case{"worse", 0.6, 0.5, "running", "running", false},
        Case{"only the replacement has one", -1, 0.1, "running", "running", true},
        Case{"only the original has one", 0.1, -1, "running", "running", false},
        Case{"neither", -1, -1, "running", "running", false},
        Case{"better but not running", 0.5, 0.6, "running", "pending", false},
        Case{"better, none runs", 0.5, 0.6, "unknown", "pending", true},
        Case{"worse, original does not run", 0.6, 0.5, "unknown", "running", false}}) {
    SCOPED_TRACE(c.name);
    Pair p;
    if (c.original >= 0) Pair::score(p.original, c.original, 9);  // only the first entry counts
    if (c.replacement >= 0) Pair::score(p.replacement, c.replacement, -9);
    p.original.client_status = c.original_is, p.replacement.client_status = c.replacement_is;
    EXPECT_EQ(p.replaced("best_score"), c.replaced);
    EXPECT_EQ(p.replaced(""), c.replaced);
  }
}

TEST(ReconcilerRules, LongestRunningComparesTaskStarts) {  // R-RECON-132, 133
  struct Case {
    const char* name;
    std::int64_t original_a, original_b, replacement_a, replacement_b;  // seconds since the start; 0: not started
    bool leader;                                                        // `b` is the leader
    bool replaced;
  };
  for (const Case& c :
       {Case{"original longer", 20, 0, 10, 0, false, false}, Case{"replacement longer", 10, 0, 20, 0, false, true},
        Case{"equal", 10, 0, 10, 0, false, true}, Case{"only the replacement started", 0, 0, 10, 0, false, true},
        Case{"only the original started", 10, 0, 0, 0, false, false},
        Case{"neither: by score", 0, 0, 0, 0, false, true},
        Case{"the smallest over the tasks", 5, 30, 20, 10, false, false},
        Case{"a start in the future does not count", -5, 0, 10, 0, false, true},
        Case{"the leader decides", 30, 10, 5, 20, true, true},
        Case{"the leader has not started", 30, 0, 5, 5, true, true},
        Case{"no leader has: by score", 30, 0, 40, 0, true, true}}) {
    SCOPED_TRACE(c.name);
    Pair p;
    Pair::score(p.original, 0.1), Pair::score(p.replacement, 0.2);
    p.job->task_groups[0].tasks[1].leader = c.leader;
    if (c.original_a) Pair::started(p.original, "a", c.original_a);
    if (c.original_b) Pair::started(p.original, "b", c.original_b);
    if (c.replacement_a) Pair::started(p.replacement, "a", c.replacement_a);
    if (c.replacement_b) Pair::started(p.replacement, "b", c.replacement_b);
    EXPECT_EQ(p.replaced("longest_running"), c.replaced);
  }
  Pair p;  // the replacement is judged by the tasks of the original's job
  auto other = std::make_shared<model::Job>(*p.job);
  other->task_groups[0].tasks.resize(1);
  p.replacement.job = other;
  Pair::started(p.original, "a", 20);
  Pair::started(p.replacement, "a", 10), Pair::started(p.replacement, "b", 30);
  EXPECT_TRUE(p.replaced("longest_running"));
  p.original.job = other;
  EXPECT_FALSE(p.replaced("longest_running"));
  p.original.task_group = "gone";  // without a group no start counts
  EXPECT_TRUE(p.replaced("longest_running"));
  p.replacement.task_group = "gone";
  EXPECT_FALSE(p.replaced("longest_running"));
}

TEST(ReconcilerRules, KillTimeoutIsAtLeastFiveSeconds) {  // R-RECON-144
  struct Case {
    std::int64_t kill_s, other_kill_s, lost_ago_s;  // lost_ago_s < 0: never marked lost
    const char* wait;
  };
  for (const Case& c : {Case{0, 0, -1, "1m5s"}, Case{4, 3, -1, "1m5s"}, Case{4, 20, -1, "1m20s"},
                        Case{6, 2, -1, "1m6s"}, Case{0, 0, 10, "55s"}, Case{20, 0, 10, "1m10s"}}) {
    GroupWorld w("service", 1);
    w.each_group([&](model::TaskGroup& g) {
      g.disconnect.emplace().stop_on_client_after = 60 * base::kSecond;
      g.tasks.resize(2);
      g.tasks[0].kill_timeout = c.kill_s * base::kSecond;
      g.tasks[1].kill_timeout = c.other_kill_s * base::kSecond;
    });
    model::Allocation& alloc = w.add(0, "running", NodeTaint::down);
    if (c.lost_ago_s >= 0)
      alloc.alloc_states = {{0, "running", base::Time{kRulesNow - 99 * base::kSecond}},
                            {0, "lost", base::Time{kRulesNow - c.lost_ago_s * base::kSecond}},
                            {0, "lost", base::Time{kRulesNow}}};  // the first one counts
    EXPECT_EQ(w.run(), std::string("stop [0] lost f0; f0 alloc-failure +") + c.wait + "; Stop 1");
  }
}

TEST(ReconcilerRules, StoppedBatchAllocsAreCountedButNeverChosen) {  // R-RECON-167, 168
  GroupWorld w("batch", 2);
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i);
  w.allocs[2].desired_status = "stop";  // by a drain that reached its deadline: it holds its slot (R-RECON-245)
  w.allocs[2].desired_transition.migrate_disable_placement = true;
  EXPECT_EQ(w.run(), "stop [1] unneeded; Ignore 2; Stop 1");
  w = GroupWorld("service", 1);  // and an unknown one is not counted but may be chosen
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * base::kSecond; });
  w.add(0), w.add(1);
  w.add(2, "unknown", NodeTaint::disconnected).alloc_states = {{0, "unknown", base::Time{kRulesNow - 1}}};
  EXPECT_EQ(w.run(), "stop [2] unneeded; Ignore 2; Stop 1");
}

TEST(ReconcilerRules, DestructiveUpdatesAreLimited) {  // R-RECON-183
  struct Case {
    const char* name;
    const char* status;  // of the deployment; null: none
    std::int64_t max_parallel, healthy, pending, unhealthy, canaries;
    std::uint64_t updated;  // of six allocations of the older version
  };
  for (const Case& c :
       {Case{"no strategy", nullptr, 0, 0, 0, 0, 0, 6}, Case{"no deployment", nullptr, 2, 0, 2, 1, 0, 2},
        Case{"running", "running", 3, 0, 0, 0, 0, 3}, Case{"healthy ones cost nothing", "running", 3, 2, 0, 0, 0, 3},
        Case{"pending ones cost one each", "running", 3, 1, 2, 0, 0, 1},
        Case{"never below none", "running", 2, 0, 3, 0, 0, 0},
        Case{"an unhealthy one stops all", "running", 3, 1, 0, 1, 0, 0}, Case{"paused", "paused", 3, 0, 0, 0, 0, 0},
        Case{"pending", "pending", 3, 0, 0, 0, 0, 0}, Case{"failed", "failed", 3, 0, 0, 0, 0, 0},
        Case{"canaries are out", "running", 3, 0, 0, 0, 1, 0}}) {
    SCOPED_TRACE(c.name);
    GroupWorld w("service", 6 + c.healthy + c.pending + c.unhealthy);
    w.updates(c.max_parallel, c.canaries);
    for (std::uint64_t i = 0; i < 6; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
    if (c.status) {
      auto& state = with_deployment(w, c.status).task_groups["web"].emplace();
      state.desired_total = 20, state.desired_canaries = c.canaries;
    }
    for (std::int64_t i = 0; i < c.healthy + c.pending + c.unhealthy; ++i) {
      model::Allocation& alloc = w.add(static_cast<std::uint64_t>(6 + i));
      alloc.deployment_id = "d";
      if (i < c.healthy + c.unhealthy) alloc.deployment_status.emplace().healthy = i < c.healthy;
    }
    w.run();
    EXPECT_EQ(w.result.groups[0].updates.destructive_update, c.updated);
    EXPECT_EQ(w.result.destructive_update.size(), c.updated);
  }
}

/// Two groups: `web` and another one, with the allocations of the other one.
GroupWorld two_groups(const char* name, std::int64_t count) {
  GroupWorld w("service", count);
  for (const auto& job : {w.job, w.old_job})
    job->task_groups.push_back(job->task_groups[0]), job->task_groups[1].name = name;
  return w;
}
void move_to(model::Allocation& alloc, const char* group, std::uint64_t index) {
  alloc.task_group = group;
  alloc.name = "j." + alloc.task_group + "[" + std::to_string(index) + "]";
}

TEST(ReconcilerRules, GroupsOfTheJobComeFirst) {  // R-RECON-9, 67
  GroupWorld w = two_groups("new", 1);
  w.names = {"zzz", "web", "non", "aaa"};  // no allocation is in `non`
  move_to(w.add(0), "zzz", 0);
  w.add(0);
  move_to(w.add(0), "aaa", 0);
  EXPECT_EQ(w.run(), "stop [0] unneeded; stop [0] unneeded; place [0]; Ignore 1");
  std::vector<std::string> order;
  for (const auto& group : w.result.groups) order.push_back(group.name);
  EXPECT_EQ(order, (std::vector<std::string>{"web", "new", "aaa", "zzz"}));
  EXPECT_EQ(w.allocs[w.result.stop[0].row].task_group, "aaa");
}

TEST(ReconcilerRules, ADeploymentOfThisRunIsCurrentForLaterGroups) {  // R-RECON-90, 183
  GroupWorld w = two_groups("api", 3);
  w.names = {"web", "api"};
  w.destructive_below = 2;
  for (model::TaskGroup& group : w.job->task_groups) group.update.emplace().max_parallel = 2;
  for (std::uint64_t i = 0; i < 3; ++i) {
    model::Allocation& alloc = w.add(i, "running", NodeTaint::none, i == 0 ? w.job : w.old_job);
    move_to(alloc, "api", i);
    alloc.deployment_id = "d";  // which is not the deployment of this run: it costs nothing that [0] is not healthy
  }
  w.add(0, "running", NodeTaint::none, w.old_job);
  with_deployment(w, "running").job_version = 1;
  EXPECT_EQ(w.run(),
            "place [1]; place [2]; destroy [1]; destroy [2]; deploy total 2 canaries 0; deploy total 3 canaries 0; "
            "Ignore 1; Place 2");
  EXPECT_EQ(w.result.groups[1].updates.destructive_update, 2U);
}

TEST(ReconcilerRules, ADeploymentIsMadeIfAllAllocsAreOfAnEarlierJob) {  // R-RECON-206, 207
  GroupWorld w("service", 1);
  w.updates(1);
  w.job->create_index = 9;
  auto own = std::make_shared<model::Job>(*w.job);
  model::Allocation& alloc = w.add(0, "failed", NodeTaint::none, own);
  alloc.modify_time = kPast;
  EXPECT_EQ(w.run(), "Ignore 1");  // not rescheduled, since there is no policy
  w.job->task_groups[0].count = 2;
  EXPECT_EQ(w.run(), "place [1]; Ignore 1; Place 1");
  own->create_index = 8;
  EXPECT_EQ(w.run(), "place [1]; deploy total 1 canaries 0; Ignore 1; Place 1");
  own->create_index = 9, own->version = 3;
  EXPECT_EQ(w.run(), "place [1]; deploy total 1 canaries 0; Ignore 1; Place 1");
}

TEST(ReconcilerRules, CanariesWithAnotherNameLeaveAllNamesFree) {  // R-RECON-164
  GroupWorld w("service", 3);
  w.updates(1, 2);
  for (std::uint64_t i = 0; i < 3; ++i) w.add(i, "running", NodeTaint::none, w.old_job);
  model::Allocation& canary = w.add(0);
  model::Deployment& d = with_deployment(w, "running");
  auto& state = d.task_groups["web"].emplace();
  state.desired_canaries = 2, state.desired_total = 3, state.placed_canaries = {canary.id};
  EXPECT_EQ(w.run(), "place [1] canary; Ignore 4; Canary 1");
  canary.name = "j.old[0]";
  EXPECT_EQ(w.run(), "place [0] canary; Ignore 4; Canary 1");
}

TEST(ReconcilerRules, APausedDeploymentReplacesADisconnectingAllocWithoutAStop) {  // R-RECON-139, 194
  GroupWorld w("service", 2);
  w.updates(1);
  w.reschedules("constant", 0);
  w.each_group([](model::TaskGroup& g) { g.disconnect.emplace().lost_after = 300 * base::kSecond; });
  w.add(0), w.add(1, "running", NodeTaint::disconnected);
  with_deployment(w, "paused").task_groups["web"].emplace().desired_total = 2;
  EXPECT_EQ(w.run(),
            "place [1] again min 2 previous; disconnect [1] f0; f0 max-disconnect-timeout +5m0s; Ignore 1; Place 1; "
            "Disconnect 1; RescheduleNow 1");
}

TEST(ReconcilerRules, APeerRegionIsAwaitedOnce) {  // R-RECON-83 to 85
  struct Case {
    const char* status;
    bool multiregion;
    const char* becomes;
  };
  for (const Case& c :
       {Case{"running", true, "blocked"}, Case{"unblocking", true, ""}, Case{"blocked", true, "blocked"},
        Case{"successful", true, ""}, Case{"initializing", true, "blocked pending"},
        Case{"unblocking", false, "successful"}, Case{"failed", false, "successful"}}) {
    SCOPED_TRACE(c.status);
    GroupWorld w("service", 1);
    w.add(0);
    if (c.multiregion) w.job->multiregion = json::Value(json::Value::object());
    with_deployment(w, c.status);
    w.run();
    std::string becomes;
    for (const auto& update : w.result.deployment_updates) becomes += (becomes.empty() ? "" : " ") + update.status;
    EXPECT_EQ(becomes, c.becomes);
  }
}

TEST(ReconcilerRules, ADeploymentIsCompleteWhenBothNumbersAreHealthy) {  // R-RECON-213, 214
  struct Case {
    std::int64_t total, canaries, healthy;
    bool promoted, has_state, complete;
  };
  for (const Case& c :
       {Case{2, 0, 2, false, true, true}, Case{2, 0, 1, false, true, false}, Case{2, 3, 2, true, true, false},
        Case{2, 3, 3, true, true, true}, Case{2, 1, 2, false, true, false}, Case{2, 1, 2, true, true, true},
        Case{0, 0, 0, false, false, true}}) {
    SCOPED_TRACE(std::to_string(c.total) + " " + std::to_string(c.canaries) + " " + std::to_string(c.healthy));
    GroupWorld w("service", 1);
    w.add(0);
    model::Deployment& d = with_deployment(w, "running");
    if (c.has_state) {
      auto& state = d.task_groups["web"].emplace();
      state.desired_total = c.total, state.desired_canaries = c.canaries, state.healthy_allocs = c.healthy;
      state.promoted = c.promoted;
    }
    w.run();
    ASSERT_EQ(w.result.deployment_updates.size(), c.complete ? 1U : 0U);
    if (c.complete) {
      EXPECT_EQ(w.result.deployment_updates[0].status, "successful");
    }
  }
}

}  // namespace
}  // namespace berth::reconcile
