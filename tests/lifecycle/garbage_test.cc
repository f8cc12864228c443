// Garbage collection: which age suffices, what keeps an object, entries of bounded size (section 14 of part 07).
#include <gtest/gtest.h>

#include "lifecycle/small_cluster.h"
#include "model/job.h"

namespace berth::lifecycle {
namespace {

constexpr std::int64_t kHour = 3600 * kS, kNow = 100 * kHour;

/// A service job with one complete evaluation and one stopped allocation of it, both last changed an hour ago.
class GarbageCollection : public ::testing::Test {
 protected:
  void start() {
    cluster.add_nodes(1);
    cluster.add_job("j", job_type, 1).status = job_status;
    model::Evaluation& eval = cluster.state.evals.emplace_back();
    eval.id = eval_id(900), eval.namespace_ = "default", eval.job_id = "j", eval.type = job_type;
    eval.status = "complete", eval.modify_time = kNow - kHour;
    model::Allocation& alloc = cluster.add_alloc(1, 0, 1);
    alloc.eval_id = eval.id, alloc.modify_time = kNow - kHour;
    alloc.desired_status = "stop", alloc.client_status = "complete";
    shape(eval, alloc);
    cluster.start();
  }
  void run(GcKind kind, std::int64_t age = kHour) {
    cluster.watchers().garbage().run(kind, {age, age}, kNow, cluster.out);
  }
  bool eval_left() { return cluster.log().eval(eval_id(900)) != nullptr; }
  bool alloc_left() { return cluster.log().alloc(alloc_id(1)).has_value(); }
  std::string job_type = "service", job_status = "running";
  std::function<void(model::Evaluation&, model::Allocation&)> shape = [](auto&, auto&) {};
  SmallCluster cluster;
};

TEST_F(GarbageCollection, AnObjectExactlyAtTheThresholdIsOldEnough) {  // R-CTRL-1406
  start();
  run(GcKind::evals, kHour + 1);
  EXPECT_TRUE(eval_left() && alloc_left());
  run(GcKind::evals);
  EXPECT_FALSE(eval_left() || alloc_left());
}

TEST_F(GarbageCollection, AFailedAllocationThatMayBeRescheduledIsKept) {  // R-CTRL-1409
  shape = [this](auto&, model::Allocation& alloc) {
    alloc.desired_status = "run", alloc.client_status = "failed";
    cluster.job(0).task_groups[0].reschedule_policy.emplace().unlimited = true;
  };
  start();
  run(GcKind::evals);
  EXPECT_TRUE(eval_left() && alloc_left());
}

TEST_F(GarbageCollection, EvaluationsOfALiveBatchJobKeepItsCurrentAllocations) {  // R-CTRL-1408
  job_type = "batch";
  shape = [](auto&, model::Allocation& alloc) { alloc.modify_time -= 1; };
  start();
  run(GcKind::evals);
  EXPECT_TRUE(eval_left() && alloc_left());
}

TEST_F(GarbageCollection, ADeadBatchJobIsRemovedWithItsObjects) {  // R-CTRL-1410
  job_type = "batch", job_status = "dead";
  start();
  run(GcKind::jobs);
  EXPECT_FALSE(eval_left() || alloc_left());
  EXPECT_EQ(cluster.log().job("default", "j"), nullptr);
  EXPECT_EQ(cluster.written(), (std::vector<std::string>{"360000000 eval_delete", "360000000 job_deregister_batch"}));
}

TEST_F(GarbageCollection, EntriesHaveABoundedNumberOfIds) {  // R-CTRL-1413
  start();
  GcConfig config;
  config.ids_per_entry_max = 1;
  GarbageCollector garbage(
      cluster.log(), [] { return eval_id(1); }, config);
  garbage.run(GcKind::evals, {kHour, kHour}, kNow, cluster.out);
  EXPECT_EQ(cluster.written(), (std::vector<std::string>{"360000000 eval_delete", "360000000 eval_delete"}));
}

TEST_F(GarbageCollection, ADownNodeIsRemovedOnceItsAllocationsHaveEnded) {  // R-CTRL-1411
  start();
  EXPECT_EQ(cluster.watchers().nodes().update_status(node_id(1), "down", kNow - kHour).error, "");
  run(GcKind::nodes);
  EXPECT_FALSE(cluster.log().node(node_id(1)).has_value());
}

TEST_F(GarbageCollection, ADownNodeIsKeptWhileAVolumeOfItIsInUse) {  // R-STORE-216
  shape = [&](model::Evaluation&, model::Allocation& alloc) {
    cluster.state.nodes.push_back(testing::make_node({.id = node_id(2)}));
    model::HostVolume& volume = cluster.state.host_volumes.emplace_back();
    volume.id = test_id(8, 1), volume.namespace_ = "default", volume.name = "data", volume.node_id = node_id(1);
    model::VolumeRequest& request = cluster.job(0).task_groups[0].volumes["data"].emplace();
    request.name = request.source = "data", request.type = "host";
    alloc.client_status = "running";  // stopped, but its client has not reported the end
  };
  start();
  for (const std::uint64_t n : {1, 2})
    EXPECT_EQ(cluster.watchers().nodes().update_status(node_id(n), "down", kNow - kHour).error, "");
  run(GcKind::nodes);
  EXPECT_TRUE(cluster.log().node(node_id(1)).has_value());
  EXPECT_FALSE(cluster.log().node(node_id(2)).has_value()) << "it is collected all the same";
}

TEST_F(GarbageCollection, RunsEveryFiveMinutes) {
  start();
  EXPECT_EQ(cluster.watchers().garbage().next_deadline(), 300 * kS);
}

}  // namespace
}  // namespace berth::lifecycle
