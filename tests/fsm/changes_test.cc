// Entries on deployments, jobs and finished objects, and the rows that a listener gets (R-CTRL-716, 734 to 745, 1214 to
// 1217).
#include <gtest/gtest.h>

#include "base/json.h"
#include "fsm/request_world.h"
#include "model/job.h"

namespace berth::fsm {
namespace {

const std::string kRollout = request_id(3, 1), kMissing = request_id(3, 9);
constexpr std::int64_t kDeadline = 600 * base::kSecond;

model::Allocation& add_alloc(model::Job& job, model::ClusterState& state, const char* group, const char* client) {
  const std::uint64_t number = state.allocs.size() + 1;
  model::Allocation& alloc = state.allocs.emplace_back(testing::make_alloc({.id = request_id(2, number),
                                                                            .job = std::make_shared<model::Job>(job),
                                                                            .node_id = state.nodes[0].id,
                                                                            .index = number,
                                                                            .client = client,
                                                                            .group = group}));
  alloc.create_index = alloc.modify_index = alloc.alloc_modify_index = 95;
  return alloc;
}

model::Evaluation eval_of(std::uint64_t number) {
  model::Evaluation eval;
  eval.id = request_id(4, number), eval.namespace_ = "default", eval.job_id = "j", eval.type = "service";
  eval.status = "pending";
  return eval;
}

/// Job "j" with a running deployment of both groups; "web" wants two canaries.
class DeploymentWorld : public RequestWorld {
 public:
  template <class Shape>
  explicit DeploymentWorld(Shape shape)
      : RequestWorld([&](model::Job& job, model::ClusterState& state) {
          model::Deployment& deployment = state.deployments.emplace_back();
          deployment.id = kRollout, deployment.namespace_ = "default", deployment.job_id = "j";
          deployment.status = "running", deployment.create_index = deployment.modify_index = 90;
          deployment.status_description = "Deployment is running but requires manual promotion";
          model::DeploymentState& web = deployment.task_groups["web"].emplace();
          web.desired_canaries = 2, web.progress_deadline = kDeadline, web.require_progress_by = base::Time{5};
          deployment.task_groups["db"].emplace();
          deployment.task_groups["gone"];  // a null entry (R-SCHED-140)
          shape(job, state);
        }) {}

  template <class Entry>
  std::string apply(const Entry& entry) {
    hooks.clear();
    return log().apply(log().next_index(), entry, hooks);
  }
  model::Deployment deployment() { return *log().deployment(kRollout); }
  model::Allocation alloc(std::uint64_t number) { return *log().alloc(request_id(2, number)); }
  Hooks hooks;
};

void add_canary(model::Job& job, model::ClusterState& state, const char* group, const char* client, bool healthy) {
  model::Allocation& alloc = add_alloc(job, state, group, client);
  alloc.deployment_id = kRollout;
  alloc.deployment_status.emplace().canary = true;
  if (healthy) alloc.deployment_status->healthy = true;
}

TEST(Deployments, PromotionNeedsHealthyCanaries) {  // R-CTRL-1214
  DeploymentWorld world([](model::Job& job, model::ClusterState& state) {
    add_canary(job, state, "web", "running", true);
    add_canary(job, state, "web", "failed", true);                                       // has ended
    add_canary(job, state, "web", "running", false);                                     // not healthy yet
    add_canary(job, state, "db", "running", true);                                       // of another group
    add_alloc(job, state, "web", "running").deployment_status.emplace().healthy = true;  // of no deployment
  });
  DeploymentPromoteEntry entry;
  entry.deployment_id = kRollout, entry.all = true;
  EXPECT_EQ(world.apply(entry), "1 error occurred:\n\t* Task group \"web\" has 1/2 healthy allocations\n\n");
  EXPECT_FALSE(world.deployment().task_groups["web"]->promoted) << "an entry that fails changes nothing";
  EXPECT_TRUE(world.alloc(1).deployment_status->canary);
  entry.deployment_id = kMissing;
  EXPECT_EQ(world.apply(entry), "Deployment ID \"" + kMissing + "\" couldn't be updated as it does not exist");
}

TEST(Deployments, PromotionOfAGroupLeavesTheOthers) {  // R-CTRL-1214
  for (const bool with_eval : {false, true}) {
    DeploymentWorld world([](model::Job& job, model::ClusterState& state) {
      state.deployments[0].task_groups["db"]->desired_canaries = 1;
      for (int i = 0; i < 2; ++i) add_canary(job, state, "web", "running", true);
      add_canary(job, state, "db", "running", true);
    });
    DeploymentPromoteEntry entry;
    entry.deployment_id = kRollout, entry.groups = {"web"}, entry.now = kRequestNow, entry.promoted_at = 7;
    if (with_eval) entry.eval = eval_of(1);
    const std::uint64_t index = world.log().next_index();
    ASSERT_EQ(world.apply(entry), "");
    EXPECT_TRUE(world.deployment().task_groups["web"]->promoted);
    EXPECT_FALSE(world.deployment().task_groups["db"]->promoted);
    EXPECT_EQ(world.deployment().task_groups["web"]->require_progress_by.ns, kRequestNow + kDeadline);
    EXPECT_EQ(world.deployment().modify_time, 7);
    EXPECT_EQ(world.deployment().status_description, "Deployment is running but requires manual promotion")
        << "the other group waits";
    EXPECT_FALSE(world.alloc(1).deployment_status->canary || world.alloc(2).deployment_status->canary);
    EXPECT_EQ(world.alloc(1).deployment_status->modify_index, index);
    EXPECT_TRUE(world.alloc(3).deployment_status->canary);
    EXPECT_EQ(world.alloc(3).modify_index, 95u);
    EXPECT_EQ(world.hooks.size(), with_eval ? 1u : 0u);
    EXPECT_EQ(world.log().eval(request_id(4, 1)) != nullptr, with_eval);
    entry.groups = {"db"}, entry.eval.reset();
    ASSERT_EQ(world.apply(entry), "");
    EXPECT_EQ(world.deployment().status_description, "Deployment is running");
    EXPECT_TRUE(world.deployment().task_groups["db"]->require_progress_by.is_zero()) << "it was not set";
  }
}

TEST(Deployments, APausedOneKeepsItsTextWhenPromoted) {  // R-CTRL-1214
  DeploymentWorld world([](model::Job&, model::ClusterState& state) {
    state.deployments[0].status = "paused", state.deployments[0].status_description = "Deployment is paused";
    state.deployments[0].task_groups["web"]->desired_canaries = 0;
  });
  DeploymentPromoteEntry entry;
  entry.deployment_id = kRollout, entry.all = true;
  ASSERT_EQ(world.apply(entry), "");
  EXPECT_TRUE(world.deployment().task_groups["web"]->promoted);
  EXPECT_EQ(world.deployment().status_description, "Deployment is paused");
}

TEST(Deployments, HealthIsSetOnTheirOwnAllocations) {  // R-CTRL-1216, 1217
  DeploymentWorld world([](model::Job& job, model::ClusterState& state) {
    for (int i = 0; i < 2; ++i) add_alloc(job, state, "web", "running").deployment_id = kRollout;
    add_alloc(job, state, "web", "running");
    model::Deployment old = state.deployments[0];
    old.id = kMissing, old.status = "failed";
    state.deployments.push_back(old);
  });
  DeploymentHealthEntry entry;
  entry.deployment_id = kRollout, entry.timestamp = base::Time{kRequestNow};
  entry.healthy = {request_id(2, 1), request_id(2, 8)};
  EXPECT_EQ(world.apply(entry), "Unknown allocation \"" + request_id(2, 8) + "\"");
  entry.healthy = {request_id(2, 1)}, entry.unhealthy = {request_id(2, 3)};
  EXPECT_EQ(world.apply(entry), "alloc \"" + request_id(2, 3) + "\" is not part of deployment \"" + kRollout + "\"");
  entry.unhealthy = {request_id(2, 2)};
  entry.update.emplace();
  entry.update->deployment_id = kMissing;
  EXPECT_EQ(world.apply(entry), "Deployment \"" + kMissing + "\" has terminal status \"failed\":");
  EXPECT_FALSE(world.alloc(1).deployment_status) << "entries that fail change nothing";
  entry.update = model::DeploymentStatusUpdate{kRollout, "failed", "Failed", kRequestNow + 1};
  entry.eval = eval_of(1);
  const std::uint64_t index = world.log().next_index();
  ASSERT_EQ(world.apply(entry), "");
  EXPECT_EQ(world.alloc(1).deployment_status->healthy, true);
  EXPECT_EQ(world.alloc(2).deployment_status->healthy, false);
  EXPECT_EQ(world.alloc(2).deployment_status->modify_index, index);
  EXPECT_EQ(world.deployment().task_groups["web"]->healthy_allocs, 1);
  EXPECT_EQ(world.deployment().task_groups["web"]->unhealthy_allocs, 1);
  EXPECT_EQ(world.deployment().status, "failed");
  ASSERT_EQ(world.hooks.size(), 1u);
  EXPECT_EQ(world.hooks[0].kind, HookKind::enqueue);
  EXPECT_EQ(world.apply(entry), "Deployment \"" + kRollout + "\" has terminal status \"failed\":");
}

TEST(Deployments, ASuccessfulOneMarksItsVersionAsStable) {  // R-CTRL-730
  for (const std::uint64_t version : {0, 7}) {
    DeploymentWorld world([&](model::Job& job, model::ClusterState& state) {
      job.stable = false;
      state.deployments[0].job_version = version;
    });
    DeploymentStatusEntry entry;
    entry.update = {kRollout, "successful", "Deployment completed successfully", kRequestNow};
    const std::uint64_t index = world.log().next_index();
    ASSERT_EQ(world.apply(entry), "");
    EXPECT_EQ(world.log().job("default", "j")->stable, version == 0) << "version 7 is not stored";
    EXPECT_EQ(world.log().job("default", "j")->version, 0u);
    EXPECT_EQ(world.log().job("default", "j")->modify_index, version == 0 ? index : 90u);
  }
}

// ---------------------------------------------------------------- jobs

std::shared_ptr<model::Job> submitted(const RequestWorld& world) {
  return std::make_shared<model::Job>(*world.log().job("default", "j"));
}

TEST(JobEntries, PoolsAndNamespacesMustExist) {  // R-CTRL-737
  DeploymentWorld world([](model::Job&, model::ClusterState& state) {
    state.node_pools.emplace_back().name = "gpu", state.namespaces.emplace_back().name = "team";
  });
  const auto register_in = [&](const char* name_space, const char* pool) {
    auto job = submitted(world);
    job->namespace_ = name_space, job->node_pool = pool;
    return world.apply(JobRegisterEntry{.job = job});
  };
  EXPECT_EQ(register_in("default", "cpu"), "job \"j\" is in nonexistent node pool \"cpu\"");
  EXPECT_EQ(register_in("nope", "default"), "job \"j\" is in nonexistent namespace \"nope\"");
  EXPECT_EQ(world.log().job("default", "j")->version, 0u) << "entries that fail change nothing";
  EXPECT_EQ(register_in("default", "gpu"), "");
  EXPECT_EQ(register_in("team", "all"), "");
  EXPECT_EQ(register_in("default", ""), "");
  EXPECT_EQ(world.log().job("default", "j")->node_pool, "default");
  EXPECT_EQ(world.log().job("team", "j")->node_pool, "all");
}

TEST(JobEntries, CountsAndResourcesMayBePreserved) {  // R-CTRL-738
  for (const bool counts : {false, true})
    for (const bool resources : {false, true}) {
      DeploymentWorld world([](model::Job& job, model::ClusterState&) {
        job.task_groups[0].tasks.emplace_back(job.task_groups[0].tasks[0]).name = "old";
      });
      auto job = submitted(world);
      for (model::TaskGroup& group : job->task_groups) {
        group.count = 9;
        for (model::Task& task : group.tasks) task.resources->cpu = 777;
      }
      job->task_groups[0].tasks[1].name = "new";
      model::TaskGroup third = job->task_groups[0];
      third.name = "third";
      job->task_groups.push_back(third);
      ASSERT_EQ(world.apply(JobRegisterEntry{.job = job, .preserve_counts = counts, .preserve_resources = resources}),
                "");
      const auto stored = world.log().job("default", "j");
      EXPECT_EQ(stored->group("web")->count, counts ? 2 : 9);
      EXPECT_EQ(stored->group("third")->count, 9) << "the stored job has no such group";
      EXPECT_EQ(stored->group("web")->tasks[0].resources->cpu, resources ? 100 : 777);
      EXPECT_EQ(stored->group("web")->tasks[1].resources->cpu, 777) << "nor such a task";
    }
}

TEST(JobEntries, EntriesOnUnknownJobsChangeNothing) {
  DeploymentWorld world(kAsItIs);
  EXPECT_EQ(world.apply(ScalingEventEntry{"default", "nope", "web", {}}), "");
  EXPECT_EQ(world.apply(JobStabilityEntry{"default", "nope", 0, true}), "");
  EXPECT_EQ(world.apply(VersionTagEntry{"default", "nope", "gold"}), "job \"nope\" not found");
  EXPECT_EQ(world.apply(VersionTagEntry{"default", "j", "gold", false, 5}), "") << "no such version";
  EXPECT_TRUE(world.log().job("default", "j")->version_tag.is_null());
  EXPECT_EQ(world.apply(JobBatchDeregisterEntry{{{"default", "nope"}}}), "");
  EXPECT_FALSE(world.log().record("default", "nope"));
  ASSERT_EQ(world.apply(JobBatchDeregisterEntry{{{"default", "j"}}}), "");
  EXPECT_FALSE(world.log().job("default", "j"));
  EXPECT_EQ(world.apply(ScalingEventEntry{"default", "j", "web", {}}), "") << "it is purged";
}

TEST(JobEntries, ADeregistrationsEvaluationIsStoredWithoutTheJob) {  // R-CTRL-743
  DeploymentWorld world(kAsItIs);
  JobDeregisterEntry entry;
  entry.name_space = "default", entry.job_id = "nope";
  entry.eval = eval_of(1);
  entry.eval->job_id = "nope";
  const std::uint64_t index = world.log().next_index();
  ASSERT_EQ(world.apply(entry), "");
  ASSERT_TRUE(world.log().eval(request_id(4, 1)));
  EXPECT_EQ(world.log().eval(request_id(4, 1))->job_modify_index, index);
  EXPECT_EQ(world.hooks.size(), 1u);
}

TEST(JobEntries, TheNewestStableVersionSurvivesTheLimit) {  // R-CTRL-739
  DeploymentWorld world(kAsItIs);                           // version 0 is stable
  for (std::int64_t priority = 1; priority <= 8; ++priority) {
    auto job = submitted(world);
    job->priority = priority, job->stable = false;
    ASSERT_EQ(world.apply(JobRegisterEntry{.job = job}), "");
    const auto& versions = world.log().record("default", "j")->versions;
    EXPECT_EQ(versions.size(), static_cast<std::size_t>(std::min<std::int64_t>(priority + 1, 6)));
    EXPECT_EQ(versions.back()->version, 0u);
    EXPECT_EQ(versions.front()->version, static_cast<std::uint64_t>(priority));
  }
  EXPECT_EQ(world.log().record("default", "j")->versions[4]->version, 4u) << "the sixth newest was dropped each time";
}

TEST(JobEntries, APurgedJobMayBeRegisteredAgain) {  // R-CTRL-742
  DeploymentWorld world([](model::Job&, model::ClusterState& state) { state.evals.push_back(eval_of(1)); });
  const auto job = submitted(world);
  const tables::JobKeyRow key = world.store().find_job_key("default", "j");
  ASSERT_EQ(world.apply(JobBatchDeregisterEntry{{{"default", "j"}}}), "");
  EXPECT_TRUE(world.log().record(key)->gone) << "its evaluation keeps the row";
  EXPECT_EQ(world.log().eval(request_id(4, 1))->status, "complete");
  EXPECT_EQ(world.log().eval(request_id(4, 1))->status_description, "job j deleted");
  ASSERT_EQ(world.apply(JobRegisterEntry{.job = job}), "");
  ASSERT_EQ(world.apply(EvalDeleteEntry{{}, {world.log().store().find_eval(request_id(4, 1))}}), "");
  EXPECT_FALSE(world.log().record(key)->gone);
  EXPECT_EQ(world.store().find_job_key("default", "j"), key);
  EXPECT_EQ(world.log().job("default", "j")->create_index, 102u);
}

TEST(JobEntries, HeldRowsAreNotReused) {
  DeploymentWorld world([](model::Job&, model::ClusterState& state) { state.evals.push_back(eval_of(1)); });
  const tables::JobKeyRow key = world.store().find_job_key("default", "j");
  const tables::StoredEvalRow eval = world.log().store().find_eval(request_id(4, 1));
  world.log().hold(eval, key, true);
  ASSERT_EQ(world.apply(JobBatchDeregisterEntry{{{"default", "j"}}}), "");
  ASSERT_EQ(world.apply(EvalDeleteEntry{{}, {eval}}), "");
  EXPECT_TRUE(world.log().record(key)->gone) << "the server still uses it";
  world.log().hold(eval, key, false);
  ASSERT_EQ(world.apply(JobBatchDeregisterEntry{}), "");
  EXPECT_FALSE(world.log().record(key)->gone);
  EXPECT_EQ(world.store().find_job_key("default", "j"), tables::kNoRow);
}

TEST(Garbage, AllListedObjectsAreRemoved) {  // R-CTRL-734
  DeploymentWorld world([](model::Job& job, model::ClusterState& state) {
    for (int i = 0; i < 30; ++i) add_alloc(job, state, "web", "complete").eval_id = request_id(4, 1);
    state.evals.push_back(eval_of(1)), state.evals.back().status = "complete";
    state.evals.push_back(eval_of(2)), state.evals.back().status = "complete";
  });
  EvalDeleteEntry entry;
  for (std::uint64_t number = 30; number >= 5; --number)
    entry.allocs.push_back(world.log().store().find_alloc(request_id(2, number)));
  const tables::StoredEvalRow eval = world.log().store().find_eval(request_id(4, 1));
  entry.evals = {eval, eval};  // listed twice
  const std::uint64_t index = world.log().next_index();
  ASSERT_EQ(world.apply(entry), "");
  EXPECT_EQ(world.log().table_index(Table::allocs), index);
  EXPECT_EQ(world.log().table_index(Table::evals), index);
  const auto left = world.log().allocs_of("default", "j");
  ASSERT_EQ(left.size(), 4u);
  for (std::uint64_t number = 1; number <= 4; ++number) EXPECT_EQ(left[number - 1].id, request_id(2, number));
  EXPECT_EQ(left[0].eval_id, request_id(4, 1)) << "it still names its evaluation";
  EXPECT_FALSE(world.log().eval(request_id(4, 1)));
  EXPECT_TRUE(world.log().eval(request_id(4, 2)));
  ASSERT_EQ(world.apply(DeploymentDeleteEntry{{kMissing, kRollout}}), "");
  EXPECT_FALSE(world.log().deployment(kRollout));
  EXPECT_FALSE(world.log().latest_deployment("default", "j"));
  EXPECT_TRUE(world.log().allocs_of("default", "nope").empty());
  EXPECT_FALSE(world.log().latest_deployment("default", "nope"));
}

// ---------------------------------------------------------------- rows of an entry

struct Recorder : EntryListener {
  void entry_applied(EntryKind kind, std::uint64_t, const EntryRows& rows) override {
    kinds.push_back(kind);
    last = rows;
  }
  std::vector<EntryKind> kinds;
  EntryRows last;
};

TEST(Listener, GetsTheRowsOfEachEntryAndOfNoOther) {
  DeploymentWorld world([](model::Job& job, model::ClusterState& state) {
    for (int i = 0; i < 2; ++i) add_alloc(job, state, "web", "running");
  });
  Recorder recorder;
  world.log().set_entry_listener(&recorder);
  const auto row = [&](std::uint64_t number) { return world.log().store().find_alloc(request_id(2, number)); };
  TransitionEntry entry;
  entry.allocs.emplace_back(request_id(2, 2), model::DesiredTransition{.migrate = true});
  entry.evals.push_back(eval_of(1));
  ASSERT_EQ(world.apply(entry), "");
  EXPECT_EQ(recorder.last.allocs, std::vector<tables::AllocRow>{row(2)});
  EXPECT_EQ(recorder.last.evals, std::vector<tables::StoredEvalRow>{world.log().store().find_eval(request_id(4, 1))});
  EXPECT_TRUE(recorder.last.nodes.empty());
  model::Allocation report;
  report.id = request_id(2, 1), report.node_id = request_id(1, 1), report.client_status = "complete";
  ASSERT_EQ(world.requests().update_allocs({report}, kRequestNow, kRequestNow).error, "");
  EXPECT_EQ(recorder.last.allocs, std::vector<tables::AllocRow>{row(1)}) << "the rows of the entry before are gone";
  EXPECT_EQ(recorder.last.nodes, std::vector<tables::NodeRow>{world.store().find_node(request_id(1, 1))});
  EXPECT_TRUE(recorder.last.evals.empty());
  EXPECT_EQ(world.apply(DeploymentDeleteEntry{{kRollout}}), "");  // silent
  ASSERT_EQ(world.apply(NodeDeregisterEntry{{request_id(1, 1)}}), "");
  ASSERT_EQ(recorder.last.deleted_nodes.size(), 1u);
  EXPECT_EQ(recorder.last.deleted_nodes[0]->id, request_id(1, 1));
  ASSERT_EQ(world.apply(JobBatchDeregisterEntry{{{"default", "j"}}}), "");
  ASSERT_EQ(recorder.last.deleted_jobs.size(), 1u);
  EXPECT_EQ(recorder.last.deleted_jobs[0]->id, "j");
  EXPECT_EQ(recorder.kinds, (std::vector<EntryKind>{EntryKind::transition, EntryKind::client_update,
                                                    EntryKind::node_deregister, EntryKind::job_batch_deregister}));
  world.log().set_entry_listener(nullptr);
  model::NodePool pool;
  pool.name = "gpu";
  ASSERT_EQ(world.apply(NodePoolUpsertEntry{{pool}}), "");
  EXPECT_EQ(recorder.kinds.size(), 4u);
}

}  // namespace
}  // namespace berth::fsm
