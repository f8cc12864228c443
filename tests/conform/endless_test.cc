// A real evaluation that did not end: 22,412 refused plans in 29 seconds, recorded with a cluster's export. Each
// attempt commits what one node does not refuse, which counts as progress, so that attempts never run out (R-SCHED-8,
// 10).
#include <gtest/gtest.h>

#include "io/export_import.h"
#include "plan/apply.h"
#include "sched/generic.h"
#include "sched/to_model.h"

namespace berth::conform {
namespace {

constexpr std::size_t kPlansMax = 25;

/// Hands plans to the applier, and gives up after so many.
struct Patient final : sched::Planner {
  fsm::StateLog& log;
  const model::Evaluation& eval;
  const sched::Scratch& scratch;
  std::int64_t now;
  plan::Applier applier;
  plan::ApplyResult applied;
  std::vector<tables::SnapshotRef> states;
  std::vector<std::string> refusals;  ///< "node: reason" of each plan

  Patient(fsm::StateLog& l, const model::Evaluation& e, const sched::Scratch& s, std::int64_t n)
      : log(l), eval(e), scratch(s), now(n), applier(l.store()) {
    applier.keep_records(l);
  }
  sched::Submission submit(const sched::EvalResult& result) override {
    sched::Submission out;
    if (refusals.size() == kPlansMax) {
      out.error = "no end in sight";
      return out;
    }
    const auto deployment = sched::planned_deployment({*result.state, scratch}, result, eval, now);
    plan::CommitFacts facts;
    facts.index = log.next_index();
    facts.now_ns = now;
    facts.eval = *base::parse_uuid(eval.id);
    facts.deployment = deployment ? &*deployment : nullptr;
    applier.apply(result.plan, facts, applied);
    out.error = applied.error;
    std::string& told = refusals.emplace_back();
    for (std::size_t i = 0; i < applied.rejected_nodes.size(); ++i)
      told += log.store().current().nodes.spec(applied.rejected_nodes[i]).node.name + ": " + applied.reasons[i];
    if (applied.rejected_nodes.empty()) return out;
    out.refused_nodes = applied.rejected_nodes;
    out.refreshed = &*states.emplace_back(log.store().snapshot());
    return out;
  }
  std::string create(const sched::EvalResult&, const sched::CreatedEval&) override { return {}; }
};

TEST(Endless, APreemptionThatForgetsItsOwnJobIsRefusedForEver) {  // R-PREEMPT-403, R-CTRL-610
  auto imported = io::import_cluster(BERTH_SOURCE_DIR "/tests/conform/endless-stage-09.json.gz");
  ASSERT_TRUE(imported) << imported.error().line();
  const model::ClusterState& state = imported->state;
  const model::Evaluation* eval = nullptr;
  for (const model::Evaluation& e : state.evals)
    if (e.id.starts_with("e1eb28b4")) eval = &e;
  ASSERT_TRUE(eval);
  tables::StateStore store;
  store.load(state);
  fsm::StateLog log(store);
  log.load(state);
  const sched::EvalFacts facts =
      sched::facts_of(*eval, store.job_key(eval->namespace_, eval->job_id), eval->wait_until.ns + base::kSecond);
  sched::Scratch scratch;
  sched::GenericScheduler scheduler(scratch);
  sched::IdStream ids(1);
  sched::EvalResult result;
  Patient planner(log, *eval, scratch, facts.now_ns);
  const tables::SnapshotRef before = store.snapshot();
  scheduler.process(*before, facts, rank::OrderProvider::nomad, ids, planner, result);
  EXPECT_EQ(result.description, "no end in sight");
  ASSERT_EQ(planner.refusals.size(), kPlansMax);
  for (const std::string& refusal : planner.refusals)
    EXPECT_EQ(refusal, "client-3: cpu");  // as the server's log has it
}

}  // namespace
}  // namespace berth::conform
