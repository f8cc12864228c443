// A real evaluation that did not end: 22,412 refused plans in 29 seconds, recorded with an export of the cluster. Each
// attempt commits the part that no node refuses, which counts as progress, so attempts never run out (R-SCHED-8, 10).
#include <gtest/gtest.h>

#include "io/export_import.h"
#include "server/lane.h"
#include "server/server.h"

namespace berth::conform {
namespace {

/// Records the refusals of each plan: "node: reason".
struct Refusals final : server::Listener {
  std::vector<std::string> told;
  void applied(server::Lane& lane) override {
    std::string& text = told.emplace_back();
    for (std::size_t i = 0; i < lane.applied.rejected_nodes.size(); ++i)
      text += lane.result.state->nodes.spec(lane.applied.rejected_nodes[i]).node.name + ": " + lane.applied.reasons[i];
  }
};

TEST(EndlessPreemption, IsRefusedAgainAndAgainUntilTheEvaluationIsReturned) {  // R-PREEMPT-403, R-CTRL-610
  auto imported = io::import_cluster(BERTH_SOURCE_DIR "/tests/conform/endless-stage-09.json.gz");
  ASSERT_TRUE(imported) << imported.error().line();
  const model::ClusterState& state = imported->state;
  const model::Evaluation* eval = nullptr;
  for (const model::Evaluation& e : state.evals)
    if (e.id.starts_with("e1eb28b4")) eval = &e;
  ASSERT_TRUE(eval);
  server::Config config;
  config.retain = true;
  config.plans_max = 25;
  server::ManualClock clock;
  clock.set(eval->wait_until.ns);
  Refusals refusals;
  server::Server server(config, clock, &refusals);
  server.load(state);
  server.take({{.kind = fsm::HookKind::enqueue, .eval = server.store().find_eval(eval->id)}});
  clock.set(eval->wait_until.ns + base::kSecond);
  server.advance();
  ASSERT_TRUE(server.step());
  EXPECT_EQ(server.lane().result.description, "25 plans of this evaluation were refused in part");
  EXPECT_EQ(server.stats().errors, 1U);
  ASSERT_EQ(refusals.told.size(), config.plans_max);
  for (const std::string& refusal : refusals.told) EXPECT_EQ(refusal, "client-3: cpu");  // as in the server's log
}

}  // namespace
}  // namespace berth::conform
