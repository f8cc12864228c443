// Records that a job has besides its allocations: summaries, policies, evaluations; and requests that use or refuse
// them.
#include <gtest/gtest.h>

#include "base/json.h"
#include "fsm/request_world.h"
#include "model/job.h"

namespace berth::fsm {
namespace {

template <class Entry>
std::string submit(RequestWorld& world, Entry&& entry) {
  Hooks hooks;
  return world.log().apply(world.log().next_index(), std::forward<Entry>(entry), hooks);
}

model::Evaluation complete_eval(std::uint64_t number) {
  model::Evaluation eval;
  eval.id = request_id(4, number), eval.namespace_ = "default", eval.job_id = "j", eval.type = "service";
  eval.status = "complete", eval.create_index = eval.modify_index = 90 + number;
  return eval;
}

TEST(Records, RecountedSummariesTakeQueuedFromTheNewestEvaluation) {  // R-CTRL-725, R-API-502
  RequestWorld world([](model::Job& job, model::ClusterState& state) {
    auto other = testing::make_job({.id = "other"});
    other->create_index = 90, other->parent_id = "unknown-parent";
    state.jobs.push_back(other), state.job_versions.push_back(other);
    state.evals.push_back(complete_eval(1)), state.evals.push_back(complete_eval(2));
    state.evals.push_back(complete_eval(3));
    for (model::Evaluation& eval : state.evals) eval.job_id = "other";
    state.evals[0].queued_allocations = {{"g", 9}};
    state.evals[1].queued_allocations = {{"g", 2}, {"gone", 7}};
    for (const char* client : {"unknown", "lost", "complete"})
      state.allocs.push_back(testing::make_alloc({.id = request_id(2, state.allocs.size() + 1),
                                                  .job = std::make_shared<model::Job>(job),
                                                  .node_id = state.nodes[0].id,
                                                  .index = state.allocs.size(),
                                                  .client = client}));
    model::Allocation& gone = state.allocs.emplace_back(state.allocs[0]);
    gone.id = request_id(2, 9), gone.task_group = "gone", gone.name = "j.gone[0]";
  });
  world.log().recount_summaries(true);
  GroupSummary group = *world.log().record("default", "other")->summary->groups.find("g");
  EXPECT_EQ(group[Bin::queued], 2) << "of the newest evaluation that has it";
  JobSummary counted;
  counted.create_index = 90;
  world.log().set_summary("default", "j", counted);
  world.log().recount_summaries(false);
  GroupSummary web = *world.log().record("default", "j")->summary->groups.find("web");
  EXPECT_EQ(web[Bin::unknown], 1);
  EXPECT_EQ(web[Bin::lost], 1);
  EXPECT_EQ(web[Bin::complete], 1);
  EXPECT_EQ(world.log().table_index(Table::job_summary), world.log().record("default", "other")->summary->modify_index);
}

TEST(Records, EvaluationsCountQueuedAllocations) {  // R-CTRL-725
  RequestWorld world([](model::Job&, model::ClusterState&) {});
  JobSummary summary;
  summary.groups.add("web"), summary.groups.add("db");
  world.log().set_summary("default", "j", summary);
  const auto write = [&](std::map<std::string, std::int64_t> queued) {
    std::vector<model::Evaluation> evals = {complete_eval(1)};
    evals[0].queued_allocations = std::move(queued);
    EXPECT_EQ(submit(world, std::move(evals)), "");
    return world.log().next_index() - 1;
  };
  const auto count = [&](const char* name) {
    return (*const_cast<JobSummary&>(*world.log().record("default", "j")->summary).groups.find(name))[Bin::queued];
  };
  const std::uint64_t first = write({{"web", 3}, {"db", 1}, {"gone", 4}});
  EXPECT_EQ(count("web"), 3);
  EXPECT_EQ(count("db"), 1);
  EXPECT_EQ(world.log().record("default", "j")->summary->modify_index, first);
  write({{"web", 3}});
  EXPECT_EQ(world.log().record("default", "j")->summary->modify_index, first) << "nothing changed";
  EXPECT_EQ(world.log().table_index(Table::job_summary), first);
  const std::uint64_t third = write({{"web", 0}});
  EXPECT_EQ(count("web"), 0);
  EXPECT_EQ(world.log().record("default", "j")->summary->modify_index, third);
}

TEST(Records, ASuccessCancelsBlockedEvaluations) {  // R-CTRL-733
  RequestWorld world([](model::Job&, model::ClusterState& state) {
    for (std::uint64_t number = 1; number <= 3; ++number) state.evals.push_back(complete_eval(number));
    state.evals[0].status = state.evals[1].status = "blocked";
  });
  std::vector<model::Evaluation> evals = {complete_eval(7)};
  ASSERT_EQ(submit(world, std::move(evals)), "");
  for (const std::uint64_t number : {1, 2}) {
    EXPECT_EQ(world.log().eval(request_id(4, number))->status, "canceled");
    EXPECT_EQ(world.log().eval(request_id(4, number))->status_description,
              "evaluation \"" + request_id(4, 7) + "\" successful");
  }
  EXPECT_EQ(world.log().eval(request_id(4, 3))->status, "complete");
  EXPECT_FALSE(world.log().eval(request_id(4, 8)));
  EXPECT_FALSE(world.log().alloc("not an ID"));
  ASSERT_EQ(submit(world, std::vector<model::Evaluation>{}), "") << "an empty entry only uses up its index";
}

// ---------------------------------------------------------------- scaling policies of tasks

model::Task& with_policies(model::Job& job, std::int64_t max) {
  model::Task& task = job.task_groups[0].tasks[0];
  json::Value list = json::Value::array();
  for (const char* type : {"vertical_cpu", "vertical_mem"}) {
    json::Value block = json::Value::object();
    block.set("Type", type), block.set("Min", 1), block.set("Max", max), block.set("Enabled", true);
    list.push(std::move(block));
  }
  list.push("no block");
  task.scaling_policies = std::move(list);
  return task;
}

TEST(Records, TasksHavePoliciesOfTheirOwn) {  // R-REG-460 to 465, R-CTRL-740
  RequestWorld world(kAsItIs);
  const auto record = [&]() -> const JobRecord& { return *world.log().record("default", "j"); };
  const auto register_with = [&](std::int64_t max) {
    auto job = std::make_shared<model::Job>(*world.log().job("default", "j"));
    job->stop = false;
    with_policies(*job, max);
    RegisterJob request;
    request.job = job;
    const Answer answer = world.requests().register_job(request, kRequestNow);
    EXPECT_EQ(answer.error, "");
    return answer.job_modify_index;
  };
  const std::uint64_t first = register_with(5);
  ASSERT_EQ(record().policies.size(), 2u);
  EXPECT_EQ(record().policies[0].type, "vertical_cpu");
  EXPECT_EQ(record().policies[0].group, "web");
  EXPECT_EQ(record().policies[0].task, "t");
  EXPECT_EQ(record().policies[1].max, 5);
  EXPECT_EQ(record().policies[1].create_index, first);
  EXPECT_NE(record().policies[0].id, record().policies[1].id);
  const std::string own = record().policies[1].id;
  const std::uint64_t second = register_with(6);
  EXPECT_EQ(record().policies[1].id, own);
  EXPECT_EQ(record().policies[1].create_index, first);
  EXPECT_EQ(record().policies[1].modify_index, second);
  ASSERT_EQ(world.requests().deregister_job({"default", "j", false}, kRequestNow).error, "");
  EXPECT_FALSE(record().policies[0].enabled || record().policies[1].enabled);
  const auto stopped = record().current;
  EXPECT_FALSE(stopped->task_groups[0].tasks[0].scaling_policies.items()[0]["Enabled"].as_bool());
}

TEST(Records, PoliciesOfAnExportGetAnIdAndTheIndexesOfTheirVersion) {  // R-REG-464
  const auto load = [](bool with_indexes) {
    return std::make_unique<RequestWorld>([&](model::Job& job, model::ClusterState& state) {
      auto older = std::make_shared<model::Job>(job);
      job.version = 1;
      with_policies(*older, 5), with_policies(job, 5);
      if (with_indexes)
        for (json::Value& block : older->task_groups[0].tasks[0].scaling_policies.items())
          if (block.is_object()) block.set("CreateIndex", 70), block.set("ModifyIndex", 80);
      state.job_versions.push_back(older);
    });
  };
  for (const bool with_indexes : {false, true}) {
    const auto world = load(with_indexes);
    const auto& policies = world->log().record("default", "j")->policies;
    ASSERT_EQ(policies.size(), 2u);
    EXPECT_EQ(policies[0].create_index, with_indexes ? 70u : 90u);
    EXPECT_EQ(policies[0].modify_index, with_indexes ? 80u : 90u);
    EXPECT_EQ(policies[0].id.size(), 36u);
    EXPECT_EQ(policies[0].id, load(with_indexes)->log().record("default", "j")->policies[0].id)
        << "the same at every load";
    EXPECT_NE(policies[0].id, policies[1].id);
  }
}

TEST(Records, KeptDataIsRestored) {
  RequestWorld world(kAsItIs);
  Kept kept;
  kept.submissions.push_back(std::make_shared<const Submission>(Submission{"text", "hcl2", {}, "", 0, 90}));
  kept.scaling["web"].push_back({.message = "said"});
  world.log().set_kept("default", "j", kept);
  const JobRecord& record = *world.log().record("default", "j");
  ASSERT_TRUE(submission_of(record, 0));
  EXPECT_EQ(submission_of(record, 0)->source, "text");
  EXPECT_FALSE(submission_of(record, 1));
  EXPECT_EQ(record.scaling.at("web")[0].message, "said");
  EXPECT_TRUE(record.current) << "the job stays";
}

TEST(Records, ACurrentJobWithoutItsVersionBecomesOne) {
  model::ClusterState state;
  state.index = 100;
  auto job = testing::make_job({.version = 4}), old = testing::make_job({.version = 2});
  state.jobs = {job}, state.job_versions = {old};
  tables::StateStore store;
  StateLog log(store);
  store.load(state);
  log.load(state);
  const auto& versions = log.record("default", "j")->versions;
  ASSERT_EQ(versions.size(), 2u);
  EXPECT_EQ(versions[0]->version, 4u);
  EXPECT_EQ(versions[1]->version, 2u);
}

// ---------------------------------------------------------------- requests

TEST(Requests, RegistrationsReportAllThatMayNotChange) {  // R-CTRL-1101
  RequestWorld world(kAsItIs);
  const auto error_of = [&](auto change) {
    auto job = std::make_shared<model::Job>(*world.log().job("default", "j"));
    change(*job);
    RegisterJob request;
    request.job = job;
    return world.requests().register_job(request, kRequestNow).error;
  };
  constexpr const char* kType = "cannot update job from type \"service\" to \"batch\"";
  constexpr const char* kPeriodic = "cannot update non-periodic job to being periodic";
  EXPECT_EQ(error_of([](model::Job& job) { job.type = "batch"; }), kType);
  EXPECT_EQ(error_of([](model::Job& job) { job.type = "batch", job.periodic.emplace(); }),
            std::string("2 errors occurred:\n\t* ") + kType + "\n\t* " + kPeriodic + "\n\n");
}

TEST(Requests, AStoppedJobIsEvaluatedWithAPriority) {  // R-CTRL-211, 1106
  for (const std::int64_t stored : {0, 70})
    for (const std::int64_t asked : {0, 30}) {
      RequestWorld world([&](model::Job& job, model::ClusterState&) { job.priority = stored; });
      DeregisterJob request{"default", "j"};
      request.eval_priority = asked;
      const Answer answer = world.requests().deregister_job(request, kRequestNow);
      ASSERT_EQ(answer.error, "");
      EXPECT_EQ(world.log().eval(answer.eval_id)->priority, asked != 0 ? asked : stored != 0 ? stored : 50);
    }
  RequestWorld world(kAsItIs);
  EXPECT_TRUE(world.requests().deregister_job({"default", "nope"}, kRequestNow).entries.empty());
}

TEST(Requests, ARevertSubmitsTheSourceOfItsVersion) {  // R-CTRL-1109, R-REG-447
  RequestWorld world(kAsItIs);
  auto job = std::make_shared<model::Job>(*world.log().job("default", "j"));
  job->priority = 60;
  RegisterJob request;
  request.job = job, request.submission.emplace().source = "the text";
  ASSERT_EQ(world.requests().register_job(request, kRequestNow).error, "");
  ASSERT_EQ(world.requests().revert_job({"default", "j", 0, {}}, kRequestNow).error, "");
  EXPECT_FALSE(submission_of(*world.log().record("default", "j"), 2)) << "version 0 has none";
  ASSERT_EQ(world.requests().revert_job({"default", "j", 1, {}}, kRequestNow).error, "");
  ASSERT_TRUE(submission_of(*world.log().record("default", "j"), 3));
  EXPECT_EQ(submission_of(*world.log().record("default", "j"), 3)->source, "the text");
  EXPECT_EQ(world.requests().revert_job({"default", "nope", 1, {}}, kRequestNow).error, "job \"nope\" not found");
  ASSERT_EQ(submit(world, JobBatchDeregisterEntry{{{"default", "j"}}}), "");
  EXPECT_EQ(world.requests().revert_job({"default", "j", 1, {}}, kRequestNow).error, "job \"j\" not found");
  EXPECT_EQ(world.requests().set_stable("default", "j", 1, true).error, "job \"j\" not found");
  EXPECT_EQ(world.requests().set_stable("default", "nope", 1, true).error, "job \"nope\" not found");
  for (const char* name : {"j", "nope"}) {
    const std::string text = std::string("job \"") + name + "\"";
    EXPECT_EQ(world.requests().tag_version({"default", name, "gold", false, {}, ""}, kRequestNow).error,
              text + " version 0 not found");
    EXPECT_EQ(world.requests().tag_version({"default", name, "gold", true, {}, ""}, kRequestNow).error,
              "tag \"gold\" not found on " + text);
    EXPECT_EQ(world.requests().force_periodic("default", name).error, "job not found");
  }
}

TEST(Requests, ATagMayBeGivenToItsVersionAgain) {  // R-API-266
  RequestWorld world(kAsItIs);
  for (const char* text : {"first", "second"})
    ASSERT_EQ(world.requests().tag_version({"default", "j", "gold", false, 0, text}, kRequestNow).error, "");
  EXPECT_EQ(world.log().job("default", "j")->version_tag["Description"].as_string(), "second");
}

TEST(Requests, APeriodicChildIsNotEvaluatedAtItsDispatch) {  // R-CTRL-214, 1110
  RequestWorld world([](model::Job& job, model::ClusterState&) {
    job.type = "batch";
    job.parameterized_job.emplace().payload = "optional";
    job.periodic.emplace().enabled = true;
  });
  const Answer answer = world.requests().dispatch_job({"default", "j", {}, {}, 0, {}, {}}, kRequestNow);
  ASSERT_EQ(answer.error, "");
  EXPECT_TRUE(world.log().job("default", answer.dispatched_job_id));
  EXPECT_EQ(answer.eval_id, "");
  EXPECT_EQ(answer.eval_create_index, 0u);
}

/// One allocation with this client status; `shape` modifies it for the test.
template <class Shape>
std::unique_ptr<RequestWorld> world_with(const char* client, Shape shape) {
  return std::make_unique<RequestWorld>([&](model::Job& job, model::ClusterState& state) {
    state.nodes[0].status = "ready", state.nodes[0].scheduling_eligibility = "eligible";
    state.allocs.push_back(testing::make_alloc({.id = request_id(2, 1),
                                                .job = std::make_shared<model::Job>(job),
                                                .node_id = state.nodes[0].id,
                                                .client = client}));
    shape(job, state.allocs[0]);
  });
}

/// Trigger of the evaluation that the report makes; "" for none.
std::string trigger_of(RequestWorld& world, const char* status, std::uint64_t number = 1) {
  model::Allocation report;
  report.id = request_id(2, number), report.node_id = request_id(1, 1), report.client_status = status;
  ClientUpdateEntry batch;
  EXPECT_EQ(world.requests().receive_reports({report}, kRequestNow, batch), "");
  return batch.evals.empty() ? std::string() : std::string(batch.evals[0].triggered_by);
}

TEST(Requests, ReportsMakeEvaluations) {  // R-CTRL-760 to 765
  const auto nothing = [](model::Job&, model::Allocation&) {};
  EXPECT_EQ(trigger_of(*world_with("running", nothing), "failed"), "alloc-failure");
  EXPECT_EQ(trigger_of(*world_with("running", nothing), "running"), "");
  EXPECT_EQ(trigger_of(*world_with("running", nothing), "complete"), "");
  EXPECT_EQ(trigger_of(*world_with("running", nothing), "failed", 9), "") << "an unknown allocation";
  EXPECT_EQ(trigger_of(*world_with("unknown", nothing), "running"), "reconnect");
  EXPECT_EQ(trigger_of(*world_with("unknown", nothing), "failed"), "reconnect");
  const auto gone = [](model::Job&, model::Allocation& alloc) { alloc.task_group = "gone", alloc.name = "j.gone[0]"; };
  EXPECT_EQ(trigger_of(*world_with("unknown", gone), "failed"), "") << "its group is gone";
  EXPECT_EQ(trigger_of(*world_with("unknown", gone), "running"), "reconnect");
  const auto waits = [](model::Job&, model::Allocation& alloc) { alloc.followup_eval_id = request_id(4, 9); };
  EXPECT_EQ(trigger_of(*world_with("running", waits), "failed"), "") << "it has a follow-up";
  const auto never = [](model::Job& job, model::Allocation&) { job.task_groups[0].reschedule_policy.reset(); };
  EXPECT_EQ(trigger_of(*world_with("running", never), "failed"), "") << "no policy";
}

TEST(Requests, ReportsOfUnusableNodesAreRefused) {  // R-CTRL-746
  const auto world = world_with("running", [](model::Job&, model::Allocation&) {});
  model::Allocation report;
  report.id = request_id(2, 1), report.client_status = "running";
  const auto error_of = [&](std::vector<model::Allocation> reports) {
    ClientUpdateEntry batch;
    return world->requests().receive_reports(std::move(reports), kRequestNow, batch);
  };
  EXPECT_EQ(error_of({}), "must update at least one allocation");
  EXPECT_EQ(error_of({report}), "missing node ID");
  report.node_id = request_id(1, 7);
  EXPECT_EQ(error_of({report}), "node " + report.node_id + " not found");
  report.node_id = request_id(1, 1);
  EXPECT_EQ(error_of({report}), "");
  const tables::NodeRow row = world->log().store().find_node(report.node_id);
  EXPECT_TRUE(world->requests().takes_reports(row));
  ASSERT_EQ(submit(*world, NodeDeregisterEntry{{report.node_id}}), "");
  EXPECT_EQ(error_of({report}), "node " + report.node_id + " not found");
  EXPECT_FALSE(world->requests().takes_reports(row));
  EXPECT_EQ(world->requests().why_no_reports(row), "node not found");
}

TEST(Requests, ReportsFromRemovedNodesUnblockNothing) {  // R-CTRL-769, 770
  const auto world = world_with("running", [](model::Job&, model::Allocation&) {});
  model::Allocation report;
  report.id = request_id(2, 1), report.node_id = request_id(1, 1), report.client_status = "complete";
  ClientUpdateEntry batch;
  ASSERT_EQ(world->requests().receive_reports({report}, kRequestNow, batch), "");
  report.node_id = "", report.id = request_id(2, 9);
  batch.add(report);  // of no node and no allocation
  ASSERT_EQ(submit(*world, NodeDeregisterEntry{{request_id(1, 1)}}), "");
  Answer answer;
  world->requests().write_reports(batch, kRequestNow, answer);
  EXPECT_EQ(world->log().alloc(request_id(2, 1))->client_status, "complete");
  EXPECT_TRUE(answer.hooks.empty());
  EXPECT_TRUE(batch.empty());
}

TEST(Requests, AFollowupIsCancelledWhenNoOtherAllocationNeedsIt) {  // R-CTRL-766, 771
  for (const bool shared : {false, true})
    for (const char* name_space : {"default", ""})
      for (const char* eval_status : {"pending", "complete", "none"}) {
        SCOPED_TRACE(std::string(shared ? "shared " : "") + name_space + " " + eval_status);
        const auto world = std::make_unique<RequestWorld>([&](model::Job& job, model::ClusterState& state) {
          for (std::uint64_t number = 1; number <= 3; ++number) {
            model::Allocation& alloc =
                state.allocs.emplace_back(testing::make_alloc({.id = request_id(2, number),
                                                               .job = std::make_shared<model::Job>(job),
                                                               .node_id = state.nodes[0].id,
                                                               .index = number,
                                                               .client = number == 3 ? "failed" : "unknown"}));
            alloc.followup_eval_id = request_id(4, number == 2 && !shared ? 8 : 1);
            alloc.alloc_states.push_back({0, "unknown", base::Time{5}});
          }
          if (eval_status != std::string_view("none"))
            state.evals.push_back(complete_eval(1)), state.evals[0].status = eval_status;
        });
        ClientUpdateEntry entry;
        model::Allocation report;
        report.id = request_id(2, 1), report.node_id = request_id(1, 1), report.namespace_ = name_space;
        report.client_status = "running";
        entry.add(report);
        Hooks hooks;
        ASSERT_EQ(world->log().apply(world->log().next_index(), entry, hooks), "");
        EXPECT_EQ(world->log().alloc(request_id(2, 1))->followup_eval_id, "");
        EXPECT_EQ(world->log().alloc(request_id(2, 2))->followup_eval_id, request_id(4, shared ? 1 : 8));
        // Without a namespace no sibling is found (R-CTRL-1534).
        const bool cancels = eval_status != std::string_view("none") && (!shared || *name_space == 0);
        const auto eval = world->log().eval(request_id(4, 1));
        EXPECT_EQ(eval ? eval->status : "none", cancels ? "canceled" : eval_status);
        EXPECT_EQ(eval && eval->status_description == "allocs reconnected", cancels);
        EXPECT_EQ(hooks.size(), cancels && eval_status == std::string_view("pending") ? 1u : 0u);
        for (const Hook& hook : hooks) EXPECT_EQ(hook.kind, HookKind::drop_waiting);
      }
}

}  // namespace
}  // namespace berth::fsm
