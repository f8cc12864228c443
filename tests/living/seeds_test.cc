// Five scenarios from user questions, each driven by events and compared with the specification.
#include "living/small_world.h"
#include "model/job.h"
#include "server/lane.h"

namespace berth::living {
namespace {

using tables::Client;
using tables::Desired;

// ---------------------------------------------------------------- batch-drain

/// A batch job of two allocations that run for `run_s`, both on node 1, which then drains; node 2 has room.
struct BatchOnDrainingNode : SmallWorld {
  explicit BatchOnDrainingNode(std::int64_t run_s, std::int64_t deadline_s) : SmallWorld(2) {
    apply(NodeEligibility{node_id(2), false});
    apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = {.run_ns = run_s * kSecond}});
    this->run(small_job("work", "batch", 2));
    run_for(5);
    apply(NodeEligibility{node_id(2), true});
    EXPECT_EQ(show("work"), "run running@1, run running@1");
    apply(NodeDrain{.node_id = node_id(1), .deadline = deadline_s * kSecond});
  }
};

TEST(BatchDrain, WithoutADeadlineBatchWorkFinishesFirst) {  // R-RECON-244, 245, R-CTRL-1012
  BatchOnDrainingNode w(300, 0);
  w.run_for(200);
  EXPECT_EQ(w.show("work"), "run running@1, run running@1");
  EXPECT_TRUE(w.drains.empty());
  w.run_for(120);
  EXPECT_EQ(w.show("work"), "run complete@1, run complete@1");
  EXPECT_EQ(w.drains, std::vector<std::string>{"complete after 295 s"});
  EXPECT_FALSE(w.state().nodes.ready(w.node(1))) << "it stays ineligible";
}

TEST(BatchDrain, AtItsDeadlineBatchWorkIsStoppedAndNotReplaced) {  // R-CTRL-1014, 1030 ff., example 9 of section 18
  BatchOnDrainingNode w(300, 1);
  w.run_for(30);
  EXPECT_EQ(w.show("work"), "stop complete@1, stop complete@1");
  EXPECT_EQ(w.drains, std::vector<std::string>{"complete after 2 s"});
  w.run_for(600);
  EXPECT_EQ(w.allocs("work").size(), 2U) << "never replaced: " << w.show("work");
}

TEST(BatchDrain, OtherServicesAreReplaced) {  // example 9 of section 18
  SmallWorld w(2);
  w.apply(NodeEligibility{node_id(2), false});
  w.run(small_job("web", "service", 1));
  w.run(small_job("work", "batch", 1));
  w.run_for(5);
  w.apply(NodeEligibility{node_id(2), true});
  w.apply(NodeDrain{.node_id = node_id(1), .deadline = -1});
  w.run_for(30);
  EXPECT_EQ(w.show("web"), "stop complete@1, run running@2");
  EXPECT_EQ(w.show("work"), "stop complete@1");
}

TEST(BatchDrain, AStoppedBatchAllocationMovesOrIsRescheduledByPolicy) {  // R-RECON-246 to 250, R-CTRL-1120
  for (const bool reschedule : {false, true}) {
    SmallWorld w(1);
    w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = {.run_ns = 600 * kSecond}});
    w.run(small_job("work", "batch", 2,
                    R"("ReschedulePolicy":{"Attempts":1,"Interval":86400000000000,)"
                    R"("Delay":20000000000,"DelayFunction":"constant"})"));
    w.run_for(5);
    w.apply(AllocStop{.alloc_id = w.alloc_id(w.allocs("work")[0]), .reschedule = reschedule});
    w.run_for(5);
    EXPECT_EQ(w.running("work"), reschedule ? 1U : 2U) << "by policy it comes back later: " << w.show("work");
    EXPECT_EQ(w.alloc(w.allocs("work")[0]).desired_description, "alloc is being migrated");
    w.run_for(30);
    EXPECT_EQ(w.show("work"), "stop complete@1, run running@1, run running@1");
    EXPECT_EQ(w.triggers("work"), reschedule ? "job-register alloc-stop alloc-reschedule" : "job-register alloc-stop");
  }
}

// ---------------------------------------------------------------- recover-lost

TEST(RecoverLost, RestartedClientStartsLostTasksAgain) {  // R-CTRL-1563 to 1565
  SmallWorld w(1);
  w.run(small_job("web", "service", 2));
  w.run_for(20);
  const std::string before = w.triggers("web");
  w.apply(ClientRestart{node_id(1), 3 * kSecond, client::Recovery::none});
  w.run_for(30);
  EXPECT_EQ(w.show("web"), "run running@1, run running@1") << "the same allocations";
  EXPECT_EQ(w.triggers("web"), before + " node-update") << "of its drivers, which it found anew (R-CTRL-908)";
  const model::Allocation alloc = w.alloc(w.allocs("web")[0]);
  EXPECT_EQ(alloc.task_states.at("t")->restarts, 0) << "no restart is counted";
}

TEST(RecoverLost, AShortRestartGoesUnnoticedAndALongOneLosesTasks) {  // R-CTRL-1567
  SmallWorld w(2);
  w.run(small_job("web", "service", 2));
  w.run_for(20);
  ASSERT_EQ(w.running("web"), 2U);
  const NodeRow home = w.state().allocs.node[w.allocs("web")[0]];
  const std::uint64_t n = home == w.node(1) ? 1 : 2;
  w.apply(ClientRestart{node_id(n), 120 * kSecond, client::Recovery::all});
  w.run_for(60);
  EXPECT_EQ(w.node_status(n), "down");
  EXPECT_EQ(w.running("web"), 2U) << "replaced: " << w.show("web");
  w.run_for(120);
  EXPECT_EQ(w.node_status(n), "ready");
  for (const AllocRow row : w.allocs("web"))
    if (w.state().allocs.desired[row] == Desired::stop) {
      EXPECT_EQ(w.state().allocs.client[row], Client::complete)
          << "the client found its tasks, was told to stop them and said so (R-CTRL-1497)";
    }
  EXPECT_EQ(w.cluster.clients().counts().tasks, 2U);
}

TEST(RecoverLost, OnlyAllocationsOfALostClientAreReplaced) {  // R-CTRL-918, 1493, R-MODEL-44
  SmallWorld w(3);
  w.run(small_job("web", "service", 6, R"("Spreads":[{"Attribute":"${node.unique.id}","Weight":100}])"));
  w.run(small_job("other", "service", 1));
  w.run_for(20);
  ASSERT_EQ(w.running("web"), 6U);
  const std::vector<AllocRow> first = w.allocs("web");
  w.apply(NodeDeregister{{node_id(1)}});
  w.run_for(30);
  EXPECT_EQ(w.running("web"), 6U) << w.show("web");
  for (const AllocRow row : first) {
    const bool was_there = w.state().allocs.node[row] == w.node(1);
    EXPECT_EQ(w.state().allocs.desired[row] == Desired::stop, was_there);
    if (!was_there) continue;
    EXPECT_EQ(w.state().allocs.client[row], Client::lost);
    EXPECT_EQ(w.alloc(row).desired_description, "alloc is lost since its node is down");
  }
}

// ---------------------------------------------------------------- system-rolling

const char* const kRolling =
    R"("Update":{"MaxParallel":1,"MinHealthyTime":5000000000,"HealthyDeadline":60000000000,"ProgressDeadline":600000000000})";

/// Number of allocations of the job's newest version that should run on existing nodes.
std::size_t of_newest(SmallWorld& w, const std::string& job) {
  std::size_t count = 0;
  const auto stored = w.cluster.server().log().job("default", job);
  for (const AllocRow row : w.allocs(job))
    count += w.state().allocs.desired[row] == Desired::run && w.alloc(row).job->version == stored->version &&
             w.state().nodes.exists(w.state().allocs.node[row]);
  return count;
}

TEST(SystemRolling, NodesJoinAndOneLeavesDuringAnUpdate) {  // R-SCHED-1xx: a system deployment goes node by node
  SmallWorld w(4);
  w.run(small_job("agent", "system", 1, kRolling));
  w.run_for(60);
  ASSERT_EQ(w.running("agent"), 4U) << w.show("agent");
  w.run(small_job("agent", "system", 1, kRolling, "", 50));
  w.run_for(3);
  EXPECT_EQ(of_newest(w, "agent"), 1U) << "one at a time: " << w.show("agent");
  w.join(5), w.join(6);
  w.run_for(4);
  w.apply(NodeDeregister{{node_id(2)}});
  w.run_for(300);
  EXPECT_EQ(of_newest(w, "agent"), 5U) << w.show("agent");
  EXPECT_EQ(w.running("agent"), 5U) << w.show("agent");
  ASSERT_FALSE(w.deployments.empty());
  EXPECT_EQ(w.deployments.back(), "agent successful: Deployment completed successfully");
}

TEST(SystemRolling, SysbatchRunsOnceOnEveryNode) {  // R-SCHED-1xx
  SmallWorld w(3);
  w.apply(TaskOutcome{.name_space = "default", .job_id = "night", .outcome = {.run_ns = 20 * kSecond}});
  w.run(small_job("night", "sysbatch", 1));
  w.run_for(5);
  EXPECT_EQ(w.running("night"), 3U);
  w.join(4);
  w.run_for(15);
  EXPECT_EQ(w.allocs("night").size(), 3U) << "a node that joins asks for no evaluation of a sysbatch job (R-CTRL-951)";
  w.apply(JobEvaluate{"default", "night", false});
  w.run_for(5);
  EXPECT_EQ(w.allocs("night").size(), 4U) << "what is done is not done again";
  w.apply(NodeDeregister{{node_id(4)}});
  w.run_for(60);
  EXPECT_EQ(w.allocs("night").size(), 4U) << "what was lost with its node has no other place";
  std::size_t complete = 0;
  for (const AllocRow row : w.allocs("night")) complete += w.state().allocs.client[row] == Client::complete;
  EXPECT_EQ(complete, 3U) << w.show("night");
  w.apply(JobEvaluate{"default", "night", false});
  w.run_for(5);
  EXPECT_EQ(w.allocs("night").size(), 4U);
}

// ---------------------------------------------------------------- preemption-cascade

TEST(PreemptionCascade, EachPriorityEvictsTheNextLower) {  // R-PREEMPT-103, R-CTRL-627, 709
  SmallWorld w(2);
  SetSchedulerConfig event;
  event.configuration.scheduler_algorithm = "binpack";
  event.configuration.preemption_config.service_scheduler_enabled = true;
  w.apply(event);
  w.run(small_job("low", "service", 10, "", R"("Priority":20)"));
  w.run(small_job("middle", "service", 10, "", R"("Priority":50)"));
  w.run_for(20);
  ASSERT_EQ(w.running("low") + w.running("middle"), 20U);
  w.run(small_job("high", "service", 10, "", R"("Priority":80)"));
  w.run_for(60);
  EXPECT_EQ(w.running("high"), 10U);
  EXPECT_EQ(w.running("middle"), 10U) << "ten of priority 20 were cheaper to evict: " << w.show("middle");
  EXPECT_EQ(w.running("low"), 0U);
  w.run(small_job("top", "service", 5, "", R"("Priority":100)"));
  w.run_for(60);
  EXPECT_EQ(w.running("top"), 5U);
  EXPECT_EQ(w.running("high"), 10U);
  EXPECT_EQ(w.running("middle"), 5U);
  EXPECT_NE(w.triggers("low").find("preemption"), std::string::npos) << "who is evicted is evaluated";
  EXPECT_NE(w.triggers("middle").find("preemption"), std::string::npos);
  for (const AllocRow row : w.allocs("low"))
    if (w.state().allocs.desired[row] == Desired::evict) {
      EXPECT_FALSE(w.alloc(row).preempted_by_allocation.empty());
    }
  w.apply(JobDeregister{"default", "top"});  // evicted allocations are placed again where there is room
  w.run_for(60);
  EXPECT_EQ(w.running("middle"), 10U);
}

TEST(PreemptionCascade, RefusedPlanIsRepeatedAndItsVictimsKeepRunning) {  // R-CTRL-615, 617, R-SCHED-41 ff., trap 3
  SmallWorld w(2);
  SetSchedulerConfig event;
  event.configuration.scheduler_algorithm = "binpack";
  event.configuration.preemption_config.service_scheduler_enabled = true;
  w.apply(event);
  w.run(small_job("low", "service", 20, "", R"("Priority":20)"));
  w.run_for(20);
  ASSERT_EQ(w.running("low"), 20U);
  std::string refused;
  w.on_decided = [&](server::Lane& lane) {  // the chosen node no longer accepts allocations when the plan arrives
    if (!refused.empty() || lane.result.plan.allocs.empty()) return;
    refused = base::to_text(w.state().nodes.id(lane.result.plan.allocs[0].node));
    w.apply(NodeEligibility{refused, false});
  };
  w.run(small_job("high", "service", 3, "", R"("Priority":80)"));
  w.run_for(30);
  ASSERT_FALSE(refused.empty());
  EXPECT_GE(w.cluster.server().stats().conflicts, 1U);
  EXPECT_EQ(w.running("high"), 3U) << w.show("high");
  for (const AllocRow row : w.allocs("high"))
    EXPECT_NE(w.state().nodes.id(w.state().allocs.node[row]), *base::parse_uuid(refused));
  for (const AllocRow row : w.allocs("low"))
    if (w.state().nodes.id(w.state().allocs.node[row]) == *base::parse_uuid(refused)) {
      EXPECT_EQ(w.state().allocs.desired[row], Desired::run) << "a refused node loses its preemptions as well";
    }
}

TEST(PreemptionCascade, AnEvictorWaitsForItsVictimsToEnd) {  // R-CTRL-1510
  SmallWorld w(1);
  SetSchedulerConfig event;
  event.configuration.scheduler_algorithm = "binpack";
  event.configuration.preemption_config.service_scheduler_enabled = true;
  w.apply(event);
  w.apply(TaskOutcome{.name_space = "default", .job_id = "low", .outcome = {.kill_ns = 4 * kSecond}});
  w.run(small_job("low", "service", 10, "", R"("Priority":20)"));
  w.run_for(5);
  w.run(small_job("high", "service", 1, "", R"("Priority":80)"));
  w.run_for(3);
  EXPECT_EQ(w.show("high"), "run pending@1");
  w.run_for(5);
  EXPECT_EQ(w.show("high"), "run running@1");
}

// ---------------------------------------------------------------- disconnects

/// One service per reconnect strategy, both allocations on node 1. Then node 1 cannot be reached for two minutes, while
/// node 2 has room for replacements.
struct Disconnected : SmallWorld {
  static std::string disconnect(const std::string& fields) { return R"("Disconnect":{)" + fields + "}"; }
  explicit Disconnected(const std::string& fields) : SmallWorld(2) {
    apply(NodeEligibility{node_id(2), false});
    this->run(small_job("web", "service", 2, disconnect(fields)));
    run_for(20);
    apply(NodeEligibility{node_id(2), true});
    EXPECT_EQ(show("web"), "run running@1, run running@1");
    apply(NodeUnreachable{node_id(1)});
    run_for(120);
  }
  void come_back() {
    apply(NodeReachable{node_id(1)});
    run_for(120);
  }
};
const char* const kLostAfter = R"("LostAfter":600000000000,)";

TEST(Disconnects, StrategyKeepOriginal) {  // R-RECON-250 ff., R-CTRL-1494, 1560
  Disconnected w(std::string(kLostAfter) + R"("Reconcile":"keep_original")");
  EXPECT_EQ(w.node_status(1), "disconnected");
  EXPECT_EQ(w.show("web"), "run unknown@1, run unknown@1, run running@2, run running@2");
  w.come_back();
  EXPECT_EQ(w.node_status(1), "ready");
  EXPECT_EQ(w.show("web"), "run running@1, run running@1, stop complete@2, stop complete@2");
  EXPECT_NE(w.triggers("web").find("reconnect"), std::string::npos);
}

TEST(Disconnects, StrategyKeepReplacement) {
  Disconnected w(std::string(kLostAfter) + R"("Reconcile":"keep_replacement")");
  w.come_back();
  EXPECT_EQ(w.show("web"), "stop complete@1, stop complete@1, run running@2, run running@2");
}

TEST(Disconnects, StrategyBestScore) {
  Disconnected w(std::string(kLostAfter) + R"("Reconcile":"best_score")");
  w.come_back();
  EXPECT_EQ(w.running("web"), 2U) << w.show("web");
}

TEST(Disconnects, StrategyLongestRunning) {
  Disconnected w(std::string(kLostAfter) + R"("Reconcile":"longest_running")");
  w.come_back();
  EXPECT_EQ(w.show("web"), "run running@1, run running@1, stop complete@2, stop complete@2");
}

TEST(Disconnects, NoReplacementWithoutReplace) {  // disconnect.replace = false
  Disconnected w(std::string(kLostAfter) + R"("Replace":false)");
  EXPECT_EQ(w.show("web"), "run unknown@1, run unknown@1");
  w.come_back();
  EXPECT_EQ(w.show("web"), "run running@1, run running@1");
}

TEST(Disconnects, AllocationIsLostAfterLostAfter) {  // R-CTRL-1496, 226 (max-disconnect-timeout)
  Disconnected w(R"("LostAfter":60000000000,"Replace":false)");
  EXPECT_EQ(w.running("web"), 2U) << w.show("web");
  EXPECT_EQ(w.show("web"), "stop lost@1, stop lost@1, run running@2, run running@2");
  EXPECT_NE(w.triggers("web").find("max-disconnect-timeout"), std::string::npos) << w.triggers("web");
}

TEST(Disconnects, WithoutADisconnectBlockTheNodeIsDown) {
  Disconnected w("");
  EXPECT_EQ(w.node_status(1), "down");
  EXPECT_EQ(w.show("web"), "stop lost@1, stop lost@1, run running@2, run running@2");
  w.come_back();
  EXPECT_EQ(w.show("web"), "stop complete@1, stop complete@1, run running@2, run running@2");
}

TEST(Disconnects, StopOnClientAfterStopsTheAllocation) {  // R-CTRL-1550 to 1554, R-RECON-143, 144
  SmallWorld w(2);
  w.apply(NodeEligibility{node_id(2), false});
  w.run(small_job("web", "service", 1, R"("Disconnect":{"StopOnClientAfter":30000000000})"));
  w.run_for(20);
  w.apply(NodeEligibility{node_id(2), true});
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(10);
  EXPECT_EQ(w.cluster.clients().counts().tasks, 1U);
  w.run_for(35);
  EXPECT_EQ(w.cluster.clients().counts().tasks, 1U + 0U) << "stopped by its client, kept until it is reported";
  EXPECT_EQ(w.running("web"), 0U) << "the replacement waits: " << w.show("web");
  w.run_for(60);
  EXPECT_EQ(w.running("web"), 1U) << w.show("web");
  w.apply(NodeReachable{node_id(1)});
  w.run_for(60);
  EXPECT_EQ(w.show("web"), "stop complete@1, run running@2");
}

}  // namespace
}  // namespace berth::living
