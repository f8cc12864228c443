// Quirks of the plan applier and the log, and behaviour that no setting changes.
#include <gtest/gtest.h>

#include "fsm/requests.h"
#include "model/job.h"
#include "plan/apply.h"
#include "quirks/quirk_test.h"
#include "support/cluster_objects.h"
#include "tables/export.h"

namespace berth::plan {
namespace {

constexpr std::int64_t kNow = 1'000'000 * base::kSecond;

std::string id_of(std::uint64_t kind, std::uint64_t number) { return base::to_text(base::Uuid{kind, number}); }

/// A node of 1000 MiB with a disconnected allocation of 400 MiB on it.
struct SmallState {
  model::ClusterState state;

  explicit SmallState(bool stopped = false) {
    state.index = 100;
    state.nodes.push_back(testing::make_node({.id = id_of(1, 1), .memory_mb = 1000, .disk_mb = 1000}));
    job_ = testing::make_job({.groups = {{.mhz = 0, .memory_mb = 400}}});
    job_->stop = stopped, job_->create_index = job_->modify_index = 90;
    state.jobs.push_back(job_), state.job_versions.push_back(job_);
    model::Allocation& alloc = state.allocs.emplace_back(planned(1));
    alloc.client_status = "unknown", alloc.create_index = alloc.modify_index = 95;
    alloc.alloc_states.push_back({0, "unknown", base::Time{kNow - 1}});
  }
  [[nodiscard]] model::Allocation planned(std::uint64_t number) const {
    return testing::make_alloc(
        {.id = id_of(2, number), .job = job_, .node_id = state.nodes[0].id, .client = "pending"});
  }

 private:
  std::shared_ptr<model::Job> job_;
};

/// The state with a log over it.
struct LoggedState {
  tables::StateStore store;
  fsm::StateLog log;
  LoggedState(const SmallState& s, const model::Quirks& quirks) : log(store, quirks) {
    store.load(s.state);
    log.load(s.state);
    log.set_table_index(fsm::Table::nodes, 80);
  }
  [[nodiscard]] model::Allocation stored() {
    return tables::to_alloc(store.current(), store.find_alloc(base::Uuid{2, 1}));
  }
  /// Plans an allocation of group 0 for node 0, as the scheduler does.
  void add_placement(PlanRows& plan) {
    plan.job = 0;
    PlannedAlloc& alloc = plan.allocs.emplace_back();
    alloc.id = base::Uuid{2, 2};
    alloc.node = 0, alloc.first_on_node = true;
    alloc.shape = store.current().jobs.versions[0]->groups[0].shape;
    alloc.held = alloc.shape.get();
  }
};

QUIRK_TEST(stop_erases_states, AStopKeepsAllocStates) {  // R-CTRL-702
  const SmallState s;
  std::vector<std::string> expected;
  if (off) expected = {"unknown", "lost"};
  const auto states_of = [](const model::Allocation& alloc) {
    std::vector<std::string> out;
    for (const model::AllocState& entry : alloc.alloc_states) out.push_back(entry.value);
    return out;
  };
  LoggedState rows(s, quirks);
  PlanRows plan;
  plan.job = 0;
  plan.stops.push_back({.alloc = 0, .description = tables::Description::lost, .client = tables::Client::lost});
  ApplyResult applied;
  apply(rows.store, plan, 101, false, applied, quirks);
  EXPECT_EQ(rows.stored().client_status, "lost");
  EXPECT_EQ(states_of(rows.stored()), expected);

  LoggedState objects(s, quirks);
  auto stop = std::make_shared<model::Allocation>(s.state.allocs[0]);
  stop->client_status = "lost";
  stop->alloc_states.clear();  // the form in which the worker submits it
  if (off) stop->alloc_states = {{0, "unknown", base::Time{kNow - 1}}, {0, "lost", base::Time{kNow}}};
  plan.clear();
  plan.job = 0;
  plan.given.push_back(stop);
  plan.stops.push_back({.alloc = 0, .given = 0});
  apply(objects.store, plan, 101, false, applied, quirks);
  EXPECT_EQ(objects.stored().client_status, "lost");
  EXPECT_EQ(states_of(objects.stored()), expected);
}

QUIRK_TEST(placement_of_stopped_vanishes, PlacementsOfAStoppedJobAreRefused) {  // R-CTRL-712
  const SmallState s(true);
  LoggedState rows(s, quirks);
  PlanRows plan;
  rows.add_placement(plan);
  ApplyResult applied;
  apply(rows.store, plan, 101, false, applied, quirks);
  EXPECT_EQ(applied.committed, off ? 0U : 1U);
  EXPECT_EQ(applied.refused, off ? 1U : 0U);
  EXPECT_EQ(applied.full(), !off);
  EXPECT_EQ(applied.partial(), off);
  EXPECT_EQ(applied.refresh_index, off ? 100U : 0U);
  EXPECT_EQ(rows.store.find_alloc(base::Uuid{2, 2}), tables::kNoRow);  // in both cases

  LoggedState objects(s, quirks);
  plan.clear();
  plan.job = 0;
  auto given = std::make_shared<model::Allocation>(s.planned(2));
  given->job = s.state.jobs[0];
  plan.given.push_back(given);
  plan.allocs.push_back({.id = base::Uuid{2, 2}, .node = 0, .given = 0, .first_on_node = true});
  apply(objects.store, plan, 101, false, applied, quirks);
  EXPECT_EQ(applied.error, "");
  EXPECT_EQ(applied.committed, off ? 0U : 1U);
  EXPECT_EQ(applied.refresh_index != 0, off);
  EXPECT_EQ(objects.store.find_alloc(base::Uuid{2, 2}), tables::kNoRow);
}

TEST(PlanApplyWithoutQuirks, KeepsRulesThatAreNoQuirks) {  // R-MODEL-196, R-CTRL-610 row 5, R-CTRL-615
  for (const model::Quirks& quirks : kAllAndNone) {
    SmallState s;
    s.state.nodes[0].node_resources->memory.memory_mb = 300;  // less than what runs there
    s.state.nodes[0].scheduling_eligibility = "ineligible";
    LoggedState in_place(s, quirks);
    PlanRows plan;
    plan.job = 0;
    plan.updates.push_back({.alloc = 0});
    ApplyResult applied;
    apply(in_place.store, plan, 101, false, applied, quirks);
    EXPECT_EQ(applied.committed, 1U);  // neither room nor eligibility is checked

    LoggedState rejected(s, quirks);
    plan.clear();
    rejected.add_placement(plan);
    plan.stops.push_back({.alloc = 0, .description = tables::Description::not_needed});
    apply(rejected.store, plan, 101, false, applied, quirks);
    EXPECT_EQ(applied.reasons, std::vector<std::string>{"node is not eligible"});
    EXPECT_EQ(rejected.stored().desired_status, "run");  // the stop went with the placement

    plan.clear();
    plan.stops.push_back({.alloc = 0, .evict = true});
    EXPECT_TRUE(plan.is_no_op());
  }
}

QUIRK_TEST(deregistration_is_service, ADeregistrationIsEvaluatedByTheJobsType) {  // R-CTRL-211, 1106
  SmallState s;
  auto job = std::make_shared<model::Job>(*s.state.jobs[0]);
  job->type = "system";
  s.state.jobs[0] = s.state.job_versions[0] = job;
  LoggedState run(s, quirks);
  fsm::Requests requests(run.log, [] { return id_of(9, 1); });
  const fsm::Answer answer = requests.deregister_job({.name_space = "default", .job_id = "j"}, kNow);
  EXPECT_EQ(run.log.eval(answer.eval_id)->type, off ? "system" : "service");
}

model::Evaluation eval_of(std::uint64_t number, const char* job, const char* status) {
  model::Evaluation out;
  out.id = id_of(9, number);
  out.namespace_ = "default", out.job_id = job, out.status = status, out.type = "service";
  return out;
}

TEST(SeedLog, StrictReadyUpdatesTakeReportsOfReadyNodesOnly) {  // R-SEED-50, 53, R-CTRL-746
  for (const bool strict : {false, true})
    for (const char* status : {"ready", "initializing", "down"}) {
      SmallState s;
      s.state.nodes[0].status = status;
      LoggedState run(s, {});
      fsm::Requests requests(
          run.log, [] { return id_of(9, 1); }, strict);
      model::Allocation report;
      report.id = s.state.allocs[0].id, report.node_id = s.state.nodes[0].id, report.client_status = "running";
      const std::string error = requests.update_allocs({report}, kNow, kNow).error;
      const std::string node = "node " + report.node_id + " is ", how = status;
      const std::string refused =
          strict ? node + how + ", not ready" : node + "not allowed to update allocs while in status " + how;
      EXPECT_EQ(error, how == "ready" || (how == "initializing" && !strict) ? "" : refused);
      EXPECT_EQ(run.log.alloc(report.id)->client_status, error.empty() ? "running" : "unknown");
    }
}

QUIRK_TEST(cancelled_evals_linger, CancellationComparesJobIdsExactly) {  // R-CTRL-105, 733
  const SmallState s;
  LoggedState run(s, quirks);
  fsm::Hooks hooks;
  const std::vector<model::Evaluation> blocked = {eval_of(1, "j", "blocked"), eval_of(2, "J", "blocked")};
  ASSERT_EQ(run.log.apply(101, blocked, hooks), "");
  const std::vector<model::Evaluation> complete = {eval_of(3, "j", "complete")};
  ASSERT_EQ(run.log.apply(102, complete, hooks), "");
  EXPECT_EQ(run.log.eval(blocked[0].id)->status, "canceled");
  EXPECT_EQ(run.log.eval(blocked[1].id)->status, off ? "blocked" : "canceled");
}

QUIRK_TEST(cancelled_evals_linger, APurgeTakesItsEvaluationsFromTheBroker) {  // R-CTRL-742
  const SmallState s;
  LoggedState run(s, quirks);
  fsm::Hooks hooks;
  const std::vector<model::Evaluation> pending = {eval_of(1, "j", "pending")};
  ASSERT_EQ(run.log.apply(101, pending, hooks), "");
  hooks.clear();
  ASSERT_EQ(run.log.apply(102, fsm::JobDeregisterEntry{.name_space = "default", .job_id = "j", .purge = true}, hooks),
            "");
  EXPECT_EQ(run.log.eval(pending[0].id)->status, "complete");
  ASSERT_EQ(hooks.size(), off ? 1U : 0U);
  if (!off) return;
  EXPECT_EQ(hooks[0].kind, fsm::HookKind::drop);
  EXPECT_EQ(hooks[0].eval, run.store.find_eval(pending[0].id));
}

}  // namespace
}  // namespace berth::plan
