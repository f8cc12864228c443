// Quirks of nodes, drains and deployments over time.
#include "lifecycle/job_drain.h"
#include "lifecycle/small_cluster.h"
#include "model/job.h"
#include "quirks/quirk_test.h"

namespace berth::lifecycle {
namespace {

QUIRK_TEST(finished_allocs_hold_node, EndedAllocationsDoNotHoldTheNode) {  // R-CTRL-919
  SmallCluster cluster(quirks);
  cluster.add_nodes(1);
  cluster.add_job("j", "service", 1).task_groups[0].disconnect.emplace().lost_after = 3600 * kS;
  cluster.add_alloc(1, 0, 1).client_status = "complete";
  cluster.start();
  cluster.run_until(301);
  EXPECT_EQ(cluster.log().node(node_id(1))->status, off ? "down" : "disconnected");
}

QUIRK_TEST(bad_health_moves_drains, OnlyHealthyReplacementsContinueADrain) {  // R-CTRL-1023
  SmallCluster cluster;
  cluster.add_nodes(1);
  cluster.state.nodes[0].drain_strategy.emplace();
  model::Job& job = cluster.add_job("j", "service", 2);
  for (std::uint64_t n = 1; n <= 2; ++n) cluster.add_alloc(n, 0, 1).deployment_status.emplace().healthy = n == 1;
  tables::StateStore store;
  store.load(cluster.state);
  JobDrain found;
  look_at_job(store.current(), job, store.find_job_key("default", "j"), 1, quirks, found);
  EXPECT_EQ(found.drain.size(), off ? 0u : 1u);
}

QUIRK_TEST(deadline_text_sticks, AFailureIsDescribedByItsCause) {  // R-CTRL-1210
  SmallCluster cluster(quirks);
  cluster.add_deployment();
  cluster.start();
  DeploymentWatcher& deployments = cluster.watchers().deployments();
  EXPECT_EQ(deployments.pause(deployment_id(1), true, kS).error, "");
  cluster.run_until(100);  // the deadline of 61 s was skipped
  EXPECT_EQ(deployments.pause(deployment_id(1), false, cluster.now()).error, "");
  cluster.report(1, 1, "running", false);
  cluster.run_until(101);
  EXPECT_EQ(cluster.log().deployment(deployment_id(1))->status_description,
            off ? "Failed due to unhealthy allocations" : "Failed due to progress deadline");
}

QUIRK_TEST(promotion_without_time, APromotionHasItsTime) {  // R-CTRL-1214
  SmallCluster cluster(quirks);
  model::DeploymentState& group = cluster.add_deployment();
  group.auto_promote = true, group.desired_canaries = 1, group.placed_canaries = {alloc_id(1)};
  cluster.state.allocs[0].deployment_status.emplace().canary = true;
  cluster.start();
  cluster.run_until(10);
  cluster.report(1, 1, "running", true);
  cluster.run_until(10);
  EXPECT_EQ(cluster.log().deployment(deployment_id(1))->modify_time, off ? 10 * kS : 0);
}

}  // namespace
}  // namespace berth::lifecycle
