// Deployments: batches, deadlines, failures with and without rollback, promotion (section 12 of part 07).
#include <gtest/gtest.h>

#include "lifecycle/small_cluster.h"
#include "model/job.h"

namespace berth::lifecycle {
namespace {

class DeploymentWatch : public ::testing::Test {
 protected:
  void start(const std::function<void(model::Job&, model::DeploymentState&)>& shape = [](auto&, auto&) {}) {
    model::DeploymentState& group = cluster.add_deployment();
    model::Job& job = cluster.job(0);
    job.task_groups[0].reschedule_policy.emplace().attempts = 1;
    job.task_groups[0].reschedule_policy->interval = 3600 * kS;
    shape(job, group);
    cluster.start();
  }
  std::string description() { return cluster.log().deployment(deployment_id(1))->status_description; }
  SmallCluster cluster;
};

TEST_F(DeploymentWatch, HealthIsEvaluatedAfterBothBatches) {  // R-CTRL-1201, 1202, 1207
  start();
  cluster.run_until(10);
  cluster.report(1, 1, "running", true);
  cluster.run_until(30);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"11250 alloc_transition"});
  ASSERT_EQ(cluster.out.hooks.size(), 1u);
  const auto eval = cluster.store().current().eval(cluster.out.hooks[0].eval);
  EXPECT_EQ(eval->triggered_by, "deployment-watcher");
  EXPECT_EQ(eval->priority, 70);  // R-CTRL-222
  EXPECT_EQ(eval->create_time, 11 * kS);
}

TEST_F(DeploymentWatch, UnhealthyAllocationsMayBeReplacedWhileThePolicyAllows) {  // R-CTRL-1204, 1206
  start();
  cluster.report(1, 1, "running", false);
  cluster.run_until(5);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"1250 alloc_transition"});
  EXPECT_EQ(cluster.log().alloc(alloc_id(1))->desired_transition.reschedule, true);
  EXPECT_FALSE(cluster.log().alloc(alloc_id(2))->desired_transition.reschedule.has_value());
}

TEST_F(DeploymentWatch, FailsTheDeploymentAtOnceWithoutAReschedulePolicy) {
  start([](model::Job& job, auto&) { job.task_groups[0].reschedule_policy.reset(); });
  cluster.report(1, 1, "running", false);
  cluster.run_until(5);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"0 deployment_status"});
  EXPECT_EQ(description(), "Failed due to unhealthy allocations");
  EXPECT_EQ(cluster.watchers().deployments().watched(), 0u);
}

TEST_F(DeploymentWatch, FailsADeploymentThatMissesItsProgressDeadline) {  // R-CTRL-1208, 1210
  start();
  cluster.run_until(59);
  EXPECT_TRUE(cluster.written().empty());
  cluster.run_until(61);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"60000 deployment_status"});
  EXPECT_EQ(description(), "Failed due to progress deadline");
}

TEST_F(DeploymentWatch, APausedDeploymentHasNoDeadline) {
  start();
  EXPECT_EQ(cluster.watchers().deployments().pause(deployment_id(1), true, kS).error, "");
  cluster.run_until(200);
  EXPECT_TRUE(cluster.written().empty());
  EXPECT_EQ(description(), "Deployment is paused");
}

TEST_F(DeploymentWatch, RollsBackToTheNewestStableVersion) {  // R-CTRL-1211, 1213
  start([this](model::Job& job, model::DeploymentState& group) {
    group.auto_revert = true;
    auto stable = std::make_shared<model::Job>(job);
    stable->version = 1, stable->stable = true, stable->meta["v"] = "old";
    cluster.state.job_versions.push_back(stable);
  });
  const fsm::Answer answer = cluster.watchers().deployments().fail(deployment_id(1), kS);
  EXPECT_EQ(answer.error, "");
  EXPECT_EQ(description(), "Deployment marked as failed - rolling back to job version 1");
  const auto job = cluster.log().job("default", "app");
  EXPECT_EQ(job->version, 4u);
  EXPECT_EQ(job->meta.at("v"), "old");
  EXPECT_TRUE(job->stable);
}

TEST_F(DeploymentWatch, ExplainsWhyItDoesNotRollBack) {
  start([](model::Job&, model::DeploymentState& group) { group.auto_revert = true; });
  EXPECT_EQ(cluster.watchers().deployments().fail(deployment_id(1), kS).error, "");
  EXPECT_EQ(description(), "Deployment marked as failed - no stable job version to auto revert to");
  EXPECT_EQ(cluster.watchers().deployments().fail(deployment_id(1), kS).error, "can't fail terminal deployment");
}

TEST_F(DeploymentWatch, ManualHealthDoesNotMentionAMissingStableVersion) {  // R-CTRL-1216
  start([](model::Job&, model::DeploymentState& group) { group.auto_revert = true; });
  EXPECT_EQ(cluster.watchers().deployments().set_health(deployment_id(1), {}, {alloc_id(2)}, kS).error, "");
  EXPECT_EQ(description(), "Failed due to unhealthy allocations");
}

TEST_F(DeploymentWatch, AutoPromotesWithExactlyTheDesiredHealthyCanaries) {  // R-CTRL-1212
  start([this](model::Job&, model::DeploymentState& group) {
    group.auto_promote = true, group.desired_canaries = 1;
    group.placed_canaries = {alloc_id(1)};
    cluster.state.allocs[0].deployment_status.emplace().canary = true;
  });
  cluster.report(1, 1, "running", true);
  cluster.run_until(0.5);
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"0 deployment_promote"});  // once (R-CTRL-1214)
  EXPECT_TRUE(cluster.log().deployment(deployment_id(1))->task_groups.at("web")->promoted);
}

}  // namespace
}  // namespace berth::lifecycle
