// Each event of R-CTRL-E1 to E19 on a few nodes. Only configuration, seed and events decide the result.
#include <algorithm>
#include <set>

#include "living/small_world.h"
#include "model/job.h"
#include "support/heap_count.h"

namespace berth::living {
namespace {

TEST(Living, AJobRunsWhereThereIsRoom) {  // R-CTRL-E1, E8, R-CTRL-1490, 1491
  SmallWorld w(2);
  EXPECT_EQ(w.node_status(1), "ready");
  w.run(small_job("web", "service", 12));
  w.run_for(2);
  EXPECT_EQ(w.running("web"), 12U);
  EXPECT_EQ(w.triggers("web"), "job-register");
}

TEST(Living, ALostNodeIsReplaced) {  // R-CTRL-E2, E3, R-CTRL-1493, 918
  SmallWorld w(2);
  w.run(small_job("web", "service", 4));
  w.run_for(5);
  ASSERT_EQ(w.running("web"), 4U);
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(60);
  EXPECT_EQ(w.node_status(1), "down");
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
  for (const AllocRow row : w.allocs("web"))
    EXPECT_EQ(w.state().allocs.node[row] == w.node(1), w.state().allocs.client[row] == tables::Client::lost);
  w.apply(NodeReachable{node_id(1)});
  w.run_for(60);
  EXPECT_EQ(w.node_status(1), "ready");
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
}

TEST(Living, ABatchJobEnds) {  // R-CTRL-1710
  SmallWorld w(1);
  w.run(small_job("work", "batch", 3));
  w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .alloc_index = 1, .outcome = {.run_ns = 5 * kSecond}});
  w.run_for(10);
  EXPECT_EQ(w.running("work"), 2U) << w.show("work");
  w.run_for(60);
  EXPECT_EQ(w.show("work"), "run complete@1, run complete@1, run complete@1");
}

TEST(Living, MaxRunDurationEndsWhatRunsTooLong) {  // R-CTRL-1519, R-REG-480 to 484
  // Tasks would run for 60 s. The time of placement must be known even for allocations without an API object.
  SmallWorld w(1);
  w.run(small_job("short", "batch", 1, R"("MaxRunDuration":30000000000)"));
  w.run(small_job("sweep", "sysbatch", 1, R"("MaxRunDuration":20000000000)"));
  w.run(small_job("long", "batch", 1, R"("MaxRunDuration":3600000000000)"));
  w.run(small_job("endless", "batch", 1, R"("MaxRunDuration":9223372036854775807)"));
  w.run_for(15);
  for (const char* job : {"short", "sweep", "long", "endless"}) {
    EXPECT_EQ(w.show(job), "run running@1") << job;
    EXPECT_FALSE(w.state().allocs.cold[w.allocs(job).front()]) << job;
  }
  w.run_for(8);
  EXPECT_EQ(w.show("sweep"), "run complete@1");
  EXPECT_EQ(w.show("short"), "run running@1");
  w.run_for(10);
  EXPECT_EQ(w.show("short"), "run complete@1");
  EXPECT_EQ(w.alloc(w.allocs("short").front()).client_description, "allocation exceeded max_run_duration");
  EXPECT_EQ(w.show("long"), "run running@1");
  EXPECT_EQ(w.show("endless"), "run running@1");
  w.run_for(60);
  EXPECT_EQ(w.show("long"), "run complete@1");
  EXPECT_EQ(w.show("endless"), "run complete@1");
  EXPECT_EQ(w.alloc(w.allocs("endless").front()).client_description, "All tasks have completed");
  EXPECT_EQ(w.triggers("short"), "job-register");
}

TEST(Living, MaxRunDurationFollowsTheJob) {  // R-REG-481, 485
  SmallWorld w(1);
  const auto limit = [&](const char* job, std::int64_t seconds) {
    w.run(small_job(job, "batch", 1, seconds == 0 ? "" : fmt::format(R"("MaxRunDuration":{})", seconds * kSecond)));
  };
  for (const char* job : {"longer", "shorter", "none", "new"}) limit(job, job == std::string("new") ? 0 : 20);
  w.run_for(10);
  limit("longer", 40), limit("shorter", 5), limit("none", 0), limit("new", 30);
  w.run_for(2);
  EXPECT_EQ(w.show("shorter"), "run complete@1") << "its deadline had passed";
  w.run_for(13);
  EXPECT_EQ(w.show("longer"), "run running@1");
  EXPECT_EQ(w.show("none"), "run running@1");
  EXPECT_EQ(w.show("new"), "run running@1");
  w.run_for(7);
  EXPECT_EQ(w.show("new"), "run complete@1") << "counted from its placement";
  w.run_for(10);
  EXPECT_EQ(w.show("longer"), "run complete@1");
  EXPECT_EQ(w.show("none"), "run running@1");
}

TEST(Living, WaitsBeyondTheLastTimeAreCapped) {  // durations up to 2^63 - 1 ns, as job files may say
  SmallWorld w(2);
  const char* longest = "9223372036854775807";
  w.run(small_job("web", "service", 2,
                  fmt::format(R"("RestartPolicy":{{"Attempts":2,"Interval":{0},"Delay":{0},"Mode":"delay"}},)"
                              R"("Disconnect":{{"StopOnClientAfter":{0}}})",
                              longest)));
  w.apply(TaskOutcome{.name_space = "default", .job_id = "web", .alloc_index = 0, .outcome = {.run_ns = kSecond}});
  w.run_for(30);
  EXPECT_EQ(w.show("web").substr(0, 3), "run");
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(300);
  w.apply(NodeDrain{.node_id = node_id(2), .deadline = 9'223'372'036'854'775'807});
  w.run_for(300);
  auto updated = small_job("slow", "service", 1,
                           fmt::format(R"("Update":{{"MaxParallel":1,"HealthyDeadline":1000000000000,)"
                                       R"("ProgressDeadline":{}}})",
                                       longest));
  w.run(updated);
  w.run_for(300);
}

// ---------------------------------------------------------------- nodes and their clients

TEST(Living, AChangedNodeRegistersAgain) {  // R-CTRL-E1, 1543, 823
  SmallWorld w(1);
  w.run(small_job("web", "service", 12));
  w.run_for(5);
  EXPECT_EQ(w.running("web"), 10U);
  w.join(1, 2000);  // its machine now has twice the capacity
  w.run_for(4);
  EXPECT_EQ(w.running("web"), 10U) << "the client tells so after 5 to 10 s";
  w.run_for(8);
  EXPECT_EQ(w.running("web"), 12U);
}

TEST(Living, AJoiningNodeTakesBlockedWork) {  // R-CTRL-E1, 801, 823
  SmallWorld w(1);
  w.run(small_job("web", "service", 12));
  w.run_for(5);
  ASSERT_EQ(w.running("web"), 10U);
  w.join(2);
  w.run_for(15);
  EXPECT_EQ(w.running("web"), 12U);
  EXPECT_EQ(w.triggers("web").substr(0, 24), "job-register queued-allo") << w.triggers("web");
}

TEST(Living, ARestartedClientFindsItsTasks) {  // R-CTRL-E4, 1562 to 1564
  SmallWorld w(1);
  w.run(small_job("web", "service", 2));
  w.run_for(5);
  w.apply(ClientRestart{node_id(1), 2 * kSecond, client::Recovery::all});
  w.run_for(30);
  EXPECT_EQ(w.show("web"), "run running@1, run running@1");
  // The node's drivers were detected again (R-CTRL-908), which causes an evaluation without changes.
  EXPECT_EQ(w.triggers("web"), "job-register node-update deployment-watcher");
}

TEST(Living, AReturningNodeIsReadyWithItsReport) {  // R-CTRL-922, 924, 931
  SmallWorld w(2);
  w.run(small_job("web", "service", 4, R"("Disconnect":{"LostAfter":600000000000})"));
  w.run_for(5);
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(60);
  ASSERT_EQ(w.node_status(1), "disconnected");
  w.apply(NodeReachable{node_id(1)});
  const auto wait_for = [&](const std::string& status) {
    double waited = 0;
    for (; w.node_status(1) != status && waited < 120; waited += 0.05) w.run_for(0.05);
    return waited;
  };
  ASSERT_LT(wait_for("initializing"), 60);
  std::size_t entries = w.entries.size();
  const auto reported = [&] {
    return std::any_of(w.entries.begin() + static_cast<std::ptrdiff_t>(entries), w.entries.end(),
                       [](const char* kind) { return std::string_view(kind) == "alloc_client_update"; });
  };
  for (int i = 0; i < 2400 && !reported(); ++i) w.run_for(0.05);
  EXPECT_LT(wait_for("ready"), 0.2) << "with the report, not with the next heartbeat";
  // The evaluation that the report made found the node not ready (R-CTRL-610), so a blocked one did its work.
  EXPECT_NE(w.triggers("web").find(" reconnect max-plan-attempts node-update"), std::string::npos) << w.triggers("web");
}

TEST(Living, ARestartedClientReportsAtOnce) {  // as recorded, unlike R-CTRL-1540
  SmallWorld w(2);
  w.run(small_job("web", "service", 4, R"("Disconnect":{"LostAfter":600000000000})"));
  w.run_for(5);
  w.apply(ClientRestart{node_id(1), 60 * kSecond, client::Recovery::all});
  w.run_for(59);
  ASSERT_EQ(w.node_status(1), "disconnected");
  w.run_for(1.02);
  EXPECT_EQ(w.node_status(1), "initializing") << "its first heartbeat follows the registration";
  w.run_for(1.5);
  EXPECT_EQ(w.node_status(1), "ready");
}

TEST(Living, ANodeChangesItsPool) {  // R-CTRL-907, 908, 822, R-CTRL-1543
  SmallWorld w(2);
  model::Node moved = small_node(1);
  moved.node_pool = "gpu";
  w.run(small_job("here", "service", 4));
  w.run(small_job("agent", "system", 1));
  w.run_for(5);
  ASSERT_EQ(w.running("here"), 4U);
  ASSERT_EQ(w.running("agent"), 2U);
  w.apply(NodeRegister{moved});
  w.run_for(15);
  // A change of the pool alone creates no evaluation; it is stored, and blocked evaluations of its class are released.
  EXPECT_EQ(w.triggers("here"), "job-register deployment-watcher");
  w.run(small_job("there", "service", 3, "", R"("NodePool":"gpu")"));
  w.run(small_job("agents", "system", 1, "", R"("NodePool":"gpu")"));
  w.run_for(15);
  EXPECT_EQ(w.show("there"), "run running@1, run running@1, run running@1");
  EXPECT_EQ(w.show("agents"), "run running@1");
  w.run(small_job("here", "service", 8));  // placed on the node that is still in its pool
  w.run_for(30);
  EXPECT_EQ(w.running("here"), 8U) << w.show("here");
  w.apply(JobEvaluate{"default", "agent"});
  w.run_for(5);
  EXPECT_EQ(w.running("agent"), 1U) << w.show("agent");
}

TEST(Living, ReplacementsTakeOtherPortsThanThoseThatStop) {  // R-RANK-503, 607, R-MODEL-490, R-CTRL-612
  SmallWorld w;
  model::Node node = small_node(1);
  model::NodeNetworkResource& network = node.node_resources->node_networks.emplace().emplace_back();
  network.mode = "host", network.device = "eth0";
  network.addresses.push_back({.family = "ipv4", .alias = "default", .address = "10.0.0.1"});
  w.apply(NodeRegister{node});
  w.run_for(15);
  const char* ports = R"("Networks":[{"Mode":"host","DynamicPorts":[{"Label":"http"},{"Label":"grpc","To":-1}]}])";
  w.run(small_job("web", "service", 4, ports));
  w.run(small_job("low", "service", 2, ports));
  w.run_for(15);
  ASSERT_EQ(w.running("web"), 4U);
  // Like `job restart -reschedule -batch-size 2`: two at once, then two more before the first have ended.
  for (const char* job : {"web", "low", "web"}) {
    const auto rows = w.allocs(job);
    for (std::size_t i = 0; i < 2; ++i)
      w.apply(AllocStop{.alloc_id = w.alloc_id(rows[rows.size() - 1 - i]), .reschedule = true});
    w.run_for(0.05);
  }
  w.run(small_job("web", "service", 4, ports, R"("Meta":{"a":"1"})", 110));  // a new version replaces all at once
  w.run_for(60);
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
  EXPECT_EQ(w.running("low"), 2U) << w.show("low");
  std::set<std::int64_t> held;
  for (const char* job : {"web", "low"})
    for (const AllocRow row : w.allocs(job)) {
      if (w.state().allocs.terminal(row)) continue;
      const model::Allocation alloc = tables::to_alloc(w.state(), row);
      for (const auto& port : alloc.allocated_resources->shared.ports) {
        EXPECT_TRUE(held.insert(port.value).second) << port.value;
        if (port.label == "grpc") {
          EXPECT_EQ(port.to, port.value);
        }
      }
    }
  EXPECT_EQ(held.size(), 12U);
  for (const char* job : {"web", "low"}) EXPECT_EQ(w.triggers(job).find("queued-allocs"), std::string::npos) << job;
}

TEST(Living, ADeregisteredNodeComesBackWithItsClient) {  // R-CTRL-E5, 963, 1541
  SmallWorld w(2);
  w.run(small_job("web", "service", 4));
  w.run_for(5);
  w.apply(NodeDeregister{{node_id(1)}, false});
  w.run_for(1);
  EXPECT_FALSE(w.state().nodes.exists(w.node(1)));
  w.run_for(40);
  EXPECT_TRUE(w.state().nodes.exists(w.node(1)));
  EXPECT_EQ(w.node_status(1), "ready");
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
}

TEST(Living, AMachineThatIsGoneStaysAway) {  // R-CTRL-E5
  SmallWorld w(2);
  w.run(small_job("web", "service", 4));
  w.run_for(5);
  w.apply(NodeDeregister{{node_id(1)}});
  w.run_for(120);
  EXPECT_FALSE(w.state().nodes.exists(w.node(1)));
  EXPECT_EQ(w.running("web"), 4U) << w.show("web");
  w.join(1);
  w.run_for(20);
  EXPECT_EQ(w.node_status(1), "ready");
}

TEST(Living, AnIneligibleNodeKeepsItsAllocations) {  // R-CTRL-E6, 960, 961
  SmallWorld w(1);
  w.run(small_job("web", "service", 2));
  w.run_for(5);
  w.apply(NodeEligibility{node_id(1), false});
  w.run(small_job("more", "service", 2));
  w.run_for(5);
  EXPECT_EQ(w.running("web"), 2U);
  EXPECT_EQ(w.running("more"), 0U);
  w.apply(NodeEligibility{node_id(1), true});
  w.run_for(5);
  EXPECT_EQ(w.running("more"), 2U);
}

TEST(Living, ADrainMovesAServiceStepByStep) {  // R-CTRL-E7, 1011, 1020, 1570
  SmallWorld w(2);
  w.apply(NodeEligibility{node_id(2), false});
  w.run(small_job("web", "service", 3));
  w.run_for(5);
  ASSERT_EQ(w.show("web"), "run running@1, run running@1, run running@1");
  w.apply(NodeEligibility{node_id(2), true});
  w.apply(NodeDrain{.node_id = node_id(1), .deadline = 3600 * kSecond});
  w.run_for(5);
  EXPECT_EQ(w.running("web"), 3U) << "one at a time: " << w.show("web");
  w.run_for(120);
  EXPECT_EQ(w.running("web"), 3U);
  ASSERT_EQ(w.drains.size(), 1U);
  EXPECT_EQ(w.drains[0].substr(0, 8), "complete");
  for (const AllocRow row : w.allocs("web"))
    EXPECT_EQ(w.state().allocs.node[row] == w.node(1), w.state().allocs.desired[row] == tables::Desired::stop);
}

TEST(Living, ReportsOfASlowClientComeLater) {
  SmallWorld w(1);
  w.apply(ReportLag{node_id(1), 5 * kSecond});
  w.run(small_job("web", "service", 1));
  w.run_for(4);
  EXPECT_EQ(w.show("web"), "run pending@1");
  w.run_for(4);
  EXPECT_EQ(w.show("web"), "run running@1");
}

// ---------------------------------------------------------------- jobs

TEST(Living, AJobIsScaledAndStopped) {  // R-CTRL-E9, E10
  SmallWorld w(1);
  w.run(small_job("web", "service", 2));
  w.run_for(20);  // until its deployment has ended (R-CTRL-1108)
  w.apply(JobScale{"default", "web", "g", 4});
  w.run_for(5);
  EXPECT_EQ(w.running("web"), 4U);
  w.apply(JobDeregister{"default", "web"});
  w.run_for(10);
  EXPECT_EQ(w.show("web"), "stop complete@1, stop complete@1, stop complete@1, stop complete@1");
}

TEST(Living, APurgedJobIsGoneAndItsTasksEnd) {  // R-CTRL-E9, 742, 1502
  SmallWorld w(1);
  w.run(small_job("web", "service", 10));
  w.run_for(5);
  w.apply(JobDeregister{.name_space = "default", .job_id = "web", .purge = true});
  EXPECT_TRUE(w.allocs("web").empty());
  w.run_for(10);
  EXPECT_EQ(w.cluster.clients().counts().tasks, 0U);
  w.run(small_job("other", "service", 10));
  w.run_for(5);
  EXPECT_EQ(w.running("other"), 10U);
}

TEST(Living, AForcedEvaluationReplacesWhatFailed) {  // R-CTRL-E11, 1107, E18, 1711
  SmallWorld w(1);
  const std::string policy =
      R"("RestartPolicy":{"Attempts":0,"Interval":60000000000,"Delay":1000000000,"Mode":"fail"},)"
      R"("ReschedulePolicy":{"Unlimited":true,"Delay":3600000000000,"DelayFunction":"constant"})";
  w.apply(
      TaskOutcome{.name_space = "default", .job_id = "web", .run = 0, .outcome = {.run_ns = kSecond, .exit_code = 1}});
  w.run(small_job("web", "service", 1, policy));
  w.run_for(10);
  EXPECT_EQ(w.show("web"), "run failed@1");
  w.apply(TaskOutcome{.name_space = "default", .job_id = "web", .outcome = {}});
  w.apply(JobEvaluate{"default", "web", true});
  w.run_for(10);
  EXPECT_EQ(w.running("web"), 1U) << w.show("web");
}

TEST(Living, AFailedTaskIsRestartedAndThenRescheduled) {  // R-CTRL-1522, 763, E18 by run number
  SmallWorld w(2);
  const std::string policy =
      R"("RestartPolicy":{"Attempts":1,"Interval":60000000000,"Delay":1000000000,"Mode":"fail"},)"
      R"("ReschedulePolicy":{"Unlimited":true,"Delay":10000000000,"DelayFunction":"constant"})";
  for (const std::uint32_t run : {0U, 1U})
    w.apply(TaskOutcome{.name_space = "default",
                        .job_id = "web",
                        .group = "g",
                        .task = "t",
                        .alloc_index = 0,
                        .run = run,
                        .outcome = {.run_ns = 2 * kSecond, .exit_code = 1}});
  w.run(small_job("web", "service", 2, policy));
  w.run_for(8);
  EXPECT_EQ(w.running("web"), 1U) << w.show("web");
  EXPECT_EQ(w.triggers("web").substr(0, 26), "job-register alloc-failure");
  w.run_for(9);
  ASSERT_EQ(w.allocs("web").size(), 3U) << "the follow-up comes 10 s after the failure";
  EXPECT_EQ(w.alloc(w.allocs("web")[2]).previous_allocation.empty(), false);
}

TEST(Living, ADispatchedJobRuns) {  // R-CTRL-E12
  SmallWorld w(1);
  w.run(small_job("work", "batch", 1, "", R"("ParameterizedJob":{"Payload":"optional"})"));
  const fsm::Answer answer = w.apply(JobDispatch{.name_space = "default", .job_id = "work"});
  w.run_for(5);
  EXPECT_EQ(w.show(answer.dispatched_job_id), "run running@1");
  EXPECT_TRUE(w.allocs("work").empty());
}

TEST(Living, APeriodicJobIsLaunchedByTheClockAndByForce) {  // R-CTRL-E13, 1301, 1307
  SmallWorld w(1);
  w.run(small_job("work", "batch", 1, "", R"("Periodic":{"Enabled":true,"SpecType":"cron","Spec":"*/10 * * * *"})"));
  w.apply(PeriodicForce{"default", "work"});
  w.run_for(2);
  const auto children = [&] {
    std::size_t count = 0;
    for (const auto& [job, triggers] : w.evaluated) count += job.starts_with("work/periodic-");
    return count;
  };
  EXPECT_EQ(children(), 1U);
  w.run_for(1200);
  EXPECT_EQ(children(), 3U);
}

TEST(Living, AStoppedAllocationIsReplaced) {  // R-CTRL-E14
  SmallWorld w(1);
  w.run(small_job("web", "service", 2));
  w.run_for(5);
  w.apply(AllocStop{w.alloc_id(w.allocs("web")[0])});
  w.run_for(10);
  EXPECT_EQ(w.show("web"), "stop complete@1, run running@1, run running@1");
}

// ---------------------------------------------------------------- deployments

const char* const kUpdate =
    R"("Update":{"MaxParallel":1,"MinHealthyTime":5000000000,"HealthyDeadline":60000000000,"ProgressDeadline":120000000000)";

TEST(Living, ADeploymentSucceeds) {  // R-CTRL-1201 ff., 1574
  SmallWorld w(1);
  const std::string update = std::string(kUpdate) + "}";
  w.run(small_job("web", "service", 3, update));
  w.run_for(30);
  EXPECT_EQ(w.deployments, std::vector<std::string>{"web successful: Deployment completed successfully"});
  w.run(small_job("web", "service", 3, update, "", 50));
  w.run_for(15);
  EXPECT_EQ(w.deployments.size(), 1U) << "one at a time: " << w.show("web");
  w.run_for(60);
  EXPECT_EQ(w.deployments.size(), 2U);
  EXPECT_EQ(w.running("web"), 3U);
}

TEST(Living, ACanaryWaitsForItsPromotion) {  // R-CTRL-E15, 1214
  SmallWorld w(1);
  const std::string update = std::string(kUpdate) + R"(,"Canary":1})";
  w.run(small_job("web", "service", 2, update));
  w.run_for(30);
  w.run(small_job("web", "service", 2, update, "", 50));
  w.run_for(60);
  EXPECT_EQ(w.running("web"), 3U) << w.show("web");
  const auto deployment = w.cluster.server().log().latest_deployment("default", "web");
  EXPECT_EQ(deployment->status_description, "Deployment is running but requires manual promotion");
  w.apply(DeploymentOp{.deployment_id = deployment->id, .kind = DeploymentOp::Kind::promote});
  w.run_for(60);
  EXPECT_EQ(w.running("web"), 2U) << w.show("web");
  EXPECT_EQ(w.deployments.back(), "web successful: Deployment completed successfully");
}

TEST(Living, ADeploymentIsPausedResumedAndFailed) {  // R-CTRL-E15, 1215
  SmallWorld w(1);
  const std::string update = std::string(kUpdate) + "}";
  w.run(small_job("web", "service", 4, update));
  w.run_for(40);
  w.run(small_job("web", "service", 4, update, "", 50));
  w.run_for(3);
  const std::string id = w.cluster.server().log().latest_deployment("default", "web")->id;
  w.apply(DeploymentOp{.deployment_id = id, .kind = DeploymentOp::Kind::pause});
  w.run_for(60);
  EXPECT_EQ(w.deployments.size(), 1U);
  const std::size_t paused_at = w.allocs("web").size();
  w.apply(DeploymentOp{.deployment_id = id, .kind = DeploymentOp::Kind::resume});
  w.run_for(12);
  EXPECT_GT(w.allocs("web").size(), paused_at);
  w.apply(DeploymentOp{.deployment_id = id, .kind = DeploymentOp::Kind::fail});
  w.run_for(5);
  EXPECT_EQ(w.deployments.back(), "web failed: Deployment marked as failed");
}

TEST(Living, HealthIsSetByAnOperator) {  // R-CTRL-E15, 1216
  SmallWorld w(1);
  const std::string update =
      R"("Update":{"MaxParallel":2,"HealthCheck":"manual","MinHealthyTime":0,"HealthyDeadline":60000000000,"ProgressDeadline":120000000000})";
  w.run(small_job("web", "service", 2, update));
  w.run_for(30);
  EXPECT_TRUE(w.deployments.empty());
  DeploymentOp op{.deployment_id = w.cluster.server().log().latest_deployment("default", "web")->id,
                  .kind = DeploymentOp::Kind::set_health};
  for (const AllocRow row : w.allocs("web")) op.healthy.push_back(w.alloc_id(row));
  w.apply(op);
  w.run_for(5);
  EXPECT_EQ(w.deployments.size(), 1U);
}

TEST(Living, AnUnhealthyUpdateFailsAndRevertsByItself) {  // R-CTRL-1209, E18
  SmallWorld w(1);
  const std::string update = std::string(kUpdate) + R"(,"AutoRevert":true})";
  w.run(small_job("web", "service", 2, update));
  w.run_for(40);
  ASSERT_EQ(w.deployments.size(), 1U);
  w.apply(TaskOutcome{.name_space = "default", .job_id = "web", .outcome = {.run_ns = kSecond, .exit_code = 1}});
  w.run(small_job("web", "service", 2,
                  update + R"(,"RestartPolicy":{"Attempts":0,"Interval":60000000000,"Delay":0,"Mode":"fail"})", "",
                  50));
  w.run_for(115);
  EXPECT_EQ(w.deployments.size(), 1U) << "until its progress deadline it tries again";
  w.run_for(10);
  w.apply(TaskOutcome{.name_space = "default", .job_id = "web", .outcome = {}});
  w.run_for(120);
  ASSERT_EQ(w.deployments.size(), 3U);
  EXPECT_EQ(w.deployments[1], "web failed: Failed due to progress deadline - rolling back to job version 0");
  EXPECT_EQ(w.running("web"), 2U) << w.show("web");
}

// ---------------------------------------------------------------- remote tasks

/// When a batch task of 100 s ends if its node is lost after 20 s.
double end_of_remote_work(bool remote) {
  Config config = small_config();
  config.server.options.remote_tasks = remote;
  if (remote) config.server.options.remote_task_drivers = {"other", "exec"};
  SmallWorld w(2, config);
  w.apply(TaskOutcome{.name_space = "default", .job_id = "work", .outcome = {.run_ns = 100 * kSecond}});
  w.run(small_job("work", "batch", 1));
  const double began = w.seconds();
  w.run_for(20);
  const std::uint64_t home = w.state().allocs.node[w.allocs("work")[0]] == w.node(1) ? 1 : 2;
  w.apply(NodeUnreachable{node_id(home)});
  while (w.seconds() < began + 400) {
    w.run_for(1);
    const auto rows = w.allocs("work");
    if (rows.size() == 2 && w.state().allocs.client[rows[1]] == tables::Client::complete) return w.seconds() - began;
  }
  return 0;
}

TEST(Living, RemoteTasksContinueWithoutTheirNode) {  // R-SEED-11, 13, 19 to 21
  const double local = end_of_remote_work(false), remote = end_of_remote_work(true);
  EXPECT_GT(local, 120) << "begun anew where its node was replaced";
  EXPECT_GT(remote, 99);
  EXPECT_LT(remote, 103) << "taken over by another client: it ended when it would have";
}

// ---------------------------------------------------------------- the server

TEST(Living, AnotherConfigurationTakesEffectWithTheNextEvaluation) {  // R-CTRL-E16, 1603
  SmallWorld w(1);
  w.run(small_job("low", "service", 10, "", R"("Priority":20)"));
  w.run_for(5);
  w.run(small_job("high", "service", 2, "", R"("Priority":90)"));
  w.run_for(5);
  EXPECT_EQ(w.running("high"), 0U);
  SetSchedulerConfig event;
  event.configuration.scheduler_algorithm = "binpack";
  event.configuration.preemption_config.service_scheduler_enabled = true;
  w.apply(event);
  w.run_for(5);
  EXPECT_EQ(w.running("high"), 0U) << "no evaluation comes of it";
  w.apply(JobEvaluate{"default", "high", false});
  w.run_for(30);
  EXPECT_EQ(w.running("high"), 2U) << w.show("high");
  EXPECT_EQ(w.running("low"), 8U) << w.show("low");
}

TEST(Living, APausedBrokerHoldsNewEvaluations) {  // R-CTRL-346, 345
  SmallWorld w(1);
  SetSchedulerConfig event;
  event.configuration.scheduler_algorithm = "binpack";
  event.configuration.pause_eval_broker = true;
  w.apply(event);
  w.run(small_job("web", "service", 2));
  w.run_for(60);
  EXPECT_TRUE(w.allocs("web").empty());
  event.configuration.pause_eval_broker = false;
  w.apply(event);
  w.run_for(5);
  EXPECT_EQ(w.running("web"), 2U);
}

TEST(Living, GarbageIsCollectedOnRequest) {  // R-CTRL-E17, 1401, 1414
  SmallWorld w(1);
  w.run(small_job("work", "batch", 2));
  w.run_for(70);
  ASSERT_EQ(w.allocs("work").size(), 2U);
  w.apply(CollectGarbage{lifecycle::GcKind::jobs});
  EXPECT_EQ(w.allocs("work").size(), 2U) << "too young";
  w.apply(CollectGarbage{});
  EXPECT_TRUE(w.allocs("work").empty());
}

TEST(Living, ANewLeaderContinues) {  // R-CTRL-E19, 1601, 1602, 917
  SmallWorld w(2);
  w.run(small_job("web", "service", 12));
  w.run_for(5);
  w.run(small_job("more", "service", 12));
  w.run_for(5);
  ASSERT_EQ(w.running("web") + w.running("more"), 20U);
  w.apply(LeaderChange{10 * kSecond});
  EXPECT_FALSE(w.cluster.has_leader());
  EXPECT_EQ(w.cluster.apply(JobRegister{small_job("late", "service", 1)}).error, "No cluster leader");
  w.apply(NodeUnreachable{node_id(1)});
  w.run_for(200);
  EXPECT_EQ(w.node_status(1), "ready") << "the new leader waits for five minutes";
  w.run_for(150);
  EXPECT_EQ(w.node_status(1), "down");
  w.join(3);
  w.run_for(20);
  EXPECT_EQ(w.running("web") + w.running("more"), 20U) << "what was blocked before is known to the new leader";
}

/// Configuration for measuring the steady state: without checks and garbage collection, which allocate.
Config steady_config() {
  Config config = small_config();
  config.check = false;
  config.watchers.garbage.interval_ns = 0;
  return config;
}

/// Number of heap allocations during some seconds of a cluster.
std::uint64_t heap_taken(SmallWorld& w, std::int64_t seconds) {
  const std::int64_t until = w.cluster.now() + seconds * kSecond;
  const std::uint64_t before = testing::heap_allocations;
  w.cluster.run_until(until);
  return testing::heap_allocations - before;
}

TEST(Living, AHeartbeatAllocatesNoMemory) {
  const Config config = steady_config();
  SmallWorld w(40, config);
  w.run(small_job("web", "service", 200));
  w.run_for(600);
  const std::uint64_t beats = w.cluster.counts().heartbeats;
  EXPECT_EQ(heap_taken(w, 3600), 0U);
  EXPECT_GT(w.cluster.counts().heartbeats, beats + 5000);
}

TEST(Living, AReportAllocatesNoMemory) {  // R-CTRL-749, 766 to 770
  Config config = steady_config();
  static const client::TaskModel kRuns{nullptr,
                                       [](const void*, const client::TaskStart& start) {
                                         client::Outcome out;
                                         out.start_delay_ns = kSecond / 2,
                                         out.run_ns = (60 + 10 * std::int64_t{start.name_index}) * kSecond;
                                         return out;
                                       },
                                       nullptr};
  config.tasks = kRuns;
  SmallWorld w(40, config);
  w.run(small_job("first", "batch", 200));  // all tables reach their final size
  w.run_for(2400);
  w.run(small_job("batch", "batch", 200));
  w.run_for(600);
  const std::uint64_t reports = w.cluster.counts().reports;
  EXPECT_EQ(heap_taken(w, 1200), 0U);
  EXPECT_GT(w.cluster.counts().reports, reports + 100);
}

TEST(Living, AReportOfARestartAllocatesNoMemory) {  // R-CTRL-1522, 766 to 770
  Config config = steady_config();
  static const client::TaskModel kCrashes{nullptr,
                                          [](const void*, const client::TaskStart& start) {
                                            client::Outcome out;
                                            out.start_delay_ns = kSecond / 2;
                                            out.run_ns = (600 + 7 * std::int64_t{start.name_index}) * kSecond;
                                            out.exit_code = 1;
                                            return out;
                                          },
                                          nullptr};
  config.tasks = kCrashes;
  SmallWorld w(40, config);
  w.run(small_job("web", "service", 200,
                  R"("RestartPolicy":{"Attempts":3,"Interval":60000000000,"Delay":15000000000,"Mode":"delay"})"));
  w.entries.reserve(100'000);
  w.run_for(8000);  // every task was restarted, and every row has room for the event
  const auto restarts = [&] {
    std::uint64_t sum = 0;
    for (const AllocRow row : w.allocs("web")) sum += w.state().allocs.report_of(row)->restarts;
    return sum;
  };
  const std::uint64_t restarted = restarts();
  EXPECT_EQ(heap_taken(w, 3600), 0U);
  EXPECT_GT(restarts(), restarted + 300);
}

TEST(Living, AReportOfHealthAllocatesNoMemory) {  // R-CTRL-727, 768
  SmallWorld w(40, steady_config());
  w.run(small_job("web", "service", 200,
                  R"("Update":{"HealthCheck":"task_states","MinHealthyTime":7200000000000,)"
                  R"("HealthyDeadline":10800000000000,"ProgressDeadline":14400000000000})"));
  w.run_for(60);
  std::vector<AllocRow> rows = w.allocs("web");
  ASSERT_EQ(rows.size(), 200U);
  // Rows with even numbers first: each has a neighbour with room for rare fields.
  std::stable_partition(rows.begin(), rows.end(), [](AllocRow row) { return row % 2 == 0; });
  const tables::DeploymentRow deployment = w.state().allocs.links[rows[0]].deployment;
  ASSERT_NE(deployment, tables::kNoRow);
  fsm::ClientUpdateEntry batch;
  fsm::Answer answer;
  const auto report = [&](AllocRow row) {  // heap memory that the server takes for the report, without its watchers
    tables::ClientReport said;
    said.id = w.state().allocs.id[row], said.row = row, said.node = w.state().allocs.node[row];
    said.status = tables::Client::running;
    said.said = *w.state().allocs.report_of(row);
    said.health = tables::AllocLinks::kHealthy, said.said.health_at = w.cluster.now();
    const std::uint64_t before = testing::heap_allocations;
    w.cluster.server().requests().receive(said, w.cluster.now(), batch);
    w.cluster.server().requests().write_reports(batch, w.cluster.now(), answer);
    const std::uint64_t taken = testing::heap_allocations - before;
    EXPECT_EQ(answer.error, "");
    w.run_for(1);
    return taken;
  };
  const auto healthy = [&] { return w.state().deployments.object[deployment]->task_groups.at("g")->healthy_allocs; };
  const auto held = w.state().deployments.object[deployment];
  for (std::size_t i = 0; i < 100; ++i) (void)report(rows[i]);
  ASSERT_EQ(healthy(), 100);
  std::uint64_t taken = 0;
  for (std::size_t i = 100; i < 150; ++i) taken += report(rows[i]);
  EXPECT_EQ(healthy(), 150);
  EXPECT_EQ(taken, 0U);
  EXPECT_EQ(held->task_groups.at("g")->healthy_allocs, 0) << "an object that somebody has is not written again";
}

// ---------------------------------------------------------------- errors

TEST(Living, RunningInSlicesGivesTheSameSimulation) {
  const auto live = [](bool in_slices) {
    SmallWorld w(4);
    const auto go_on = [&](int seconds) {
      if (!in_slices) return w.run_for(seconds);
      const std::int64_t end = w.cluster.now() + seconds * kSecond;
      int steps = 0, slices = 0;
      while (!w.cluster.run_until(end, [&] { return ++steps % 3 == 0; })) ++slices;
      EXPECT_GT(slices, 3);
      EXPECT_EQ(w.cluster.now(), end);
    };
    w.run(small_job("web", "service", 6));
    w.run(small_job("work", "batch", 5));
    go_on(40);
    w.apply(NodeUnreachable{node_id(1)});
    go_on(300);
    return w.cluster.digest();
  };
  EXPECT_EQ(live(true), live(false));
}

TEST(Living, APlacementKeepsItsTimeAndOnRequestItsMetrics) {  // R-MODEL-560, R-API-354
  for (const bool keep : {false, true}) {
    Config config = small_config();
    config.server.keep_details = keep;
    SmallWorld w(3, config);
    w.run(small_job("web", "service", 2));
    const std::int64_t placed_at = w.cluster.now();
    w.run_for(10);
    for (const AllocRow row : w.allocs("web")) {
      ASSERT_FALSE(w.state().allocs.cold[row]);
      const model::Allocation alloc = tables::to_alloc(w.state(), row);
      EXPECT_EQ(alloc.create_time, placed_at);
      if (!keep) continue;
      ASSERT_TRUE(alloc.metrics);
      EXPECT_EQ(alloc.metrics->nodes_in_pool, 3);
      EXPECT_EQ(alloc.metrics->nodes_available, (std::map<std::string, std::int64_t>{{"dc1", 3}}));
      ASSERT_FALSE(alloc.metrics->score_meta_data.empty());
      EXPECT_TRUE(alloc.metrics->score_meta_data.front().scores.contains("binpack"));
    }
    // The API object, once created, contains them.
    const AllocRow row = w.allocs("web").front();
    w.apply(AllocStop{base::to_text(w.state().allocs.id[row])});
    w.run_for(10);
    EXPECT_EQ(tables::to_alloc(w.state(), row).create_time, placed_at);
  }
}

TEST(Living, ImpossibleEventsAreRefused) {
  SmallWorld w(1);
  const auto error = [&](const Event& event) { return w.cluster.apply(event).error; };
  EXPECT_EQ(error(NodeUnreachable{node_id(7)}), "no client runs on node " + node_id(7));
  EXPECT_EQ(error(NodeDeregister{{node_id(7)}}), "node not found");
  EXPECT_EQ(error(NodeDrain{.node_id = node_id(7)}), "node not found");
  EXPECT_EQ(error(AllocStop{node_id(7)}), "Unknown allocation \"" + node_id(7) + "\"");
  EXPECT_NE(error(JobScale{"default", "none", "g", 1}), "");
  EXPECT_NE(error(PeriodicForce{"default", "none"}), "");
  EXPECT_NE(error(DeploymentOp{.deployment_id = node_id(7)}), "");
}

}  // namespace
}  // namespace berth::living
