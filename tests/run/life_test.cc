// Workloads with a `[life]` section: those of bench/macro run as their files describe, and the same seed gives the same
// simulation.
#include <gtest/gtest.h>

#include <csignal>

#include "run/interrupt.h"
#include "run/report.h"
#include "run/runner.h"

namespace berth::run {
namespace {

RunResult live(const sim::Workload& workload) {
  auto result = run_workload(workload, {.quiet = true});
  EXPECT_TRUE(result) << result.error().line();
  return std::move(*result);
}

RunResult live(const std::string& name, const std::string& label = "smoke") {
  const auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/" + name + ".toml", label);
  EXPECT_TRUE(workload) << workload.error().line();
  return live(*workload);
}

RunResult live_text(const std::string& text) {
  const auto workload = sim::parse_workload(text, "life.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  return live(*workload);
}

/// Time at which the log first contains the text, from `from_s` on; < 0: never.
double told(const RunResult& result, const std::string& subject, const std::string& what, double from_s = 0) {
  for (const StoryLine& line : result.life->story)
    if (line.at_s >= from_s && line.subject == subject && line.what.find(what) != std::string::npos) return line.at_s;
  return -1;
}

const Outage& outage(const RunResult& result, const std::string& kind) {
  for (const Outage& one : result.life->kinds)
    if (one.name == kind) return one;
  ADD_FAILURE() << "no kind " << kind;
  return result.life->kinds.front();
}

TEST(SimulatedScenarios, BatchDrainEndsAsDescribed) {  // R-RECON-244, 247, 248
  const RunResult result = live("batch-drain");
  const LifeResult& life = *result.life;
  // Without a deadline the drain waits for the work; with one it stops the work, which is not started again.
  EXPECT_NEAR(told(result, "patient[0]", "is done on"), 241, 1.5);
  ASSERT_EQ(life.drains.size(), 2U);
  EXPECT_NEAR(life.drains[0].length_s, 180, 2);
  EXPECT_NEAR(life.drains[1].length_s, 61, 1.5);
  EXPECT_NEAR(told(result, "cut[0]", "has stopped on"), 421, 1.5);
  EXPECT_EQ(told(result, "cut[0]", "is placed", 301), -1);
  EXPECT_EQ(outage(result, "cut").missing_at_end, 1);
  // Stopped by an operator: the delay of 30 s counts from the last event, which for index 0 was its start.
  EXPECT_NEAR(told(result, "stopped[0]", "is placed", 511), 531, 1.5);
  EXPECT_EQ(told(result, "stopped[1]", "is replaced: ", 501), 600);
  EXPECT_GT(told(result, "stopped[1]", "is done on"), 799);
  EXPECT_GT(life.lost_s, 120);
}

TEST(SimulatedScenarios, RecoverLostEndsAsDescribed) {  // R-SEED: R-CTRL-1562 to 1567
  const RunResult result = live("recover-lost");
  const LifeResult& life = *result.life;
  ASSERT_EQ(life.faults.size(), 3U);
  EXPECT_EQ(life.faults[0].unharmed, 1U);   // found running again: unaffected
  EXPECT_EQ(life.faults[1].recovered, 1U);  // started again on the same node
  EXPECT_NEAR(static_cast<double>(life.faults[1].recovery().max()) / 1e9, 3.6, 0.5);
  EXPECT_EQ(told(result, "restarted[0]", "in place of"), -1);
  EXPECT_EQ(life.faults[2].recovered, 1U);  // a heartbeat is missed after TTL and grace of 10 s each, with jitter
  EXPECT_GT(told(result, "lost[0]", "is lost on"), 190);
  EXPECT_LT(told(result, "lost[0]", "is lost on"), 215);
  EXPECT_EQ(life.lost, 1U);
  EXPECT_EQ(outage(result, "lost").missing_at_end, 0);
}

TEST(SimulatedScenarios, SystemRollingEndsAsDescribed) {
  const RunResult result = live("system-rolling");
  // One node at a time, each healthy for 10 s. The node that joins receives the new version; the one that leaves,
  // nothing.
  std::vector<double> stops;
  for (const StoryLine& line : result.life->story)
    if (line.subject == "agent" && line.what.find("being updated") != std::string::npos) {
      EXPECT_EQ(line.where.size(), 1U);
      if (!stops.empty()) {
        EXPECT_GE(line.at_s - stops.back(), 10);
      }
      stops.push_back(line.at_s);
    }
  EXPECT_GE(stops.size(), 3U);
  EXPECT_NE(told(result, "agent", "is placed on", 160), -1);
  EXPECT_EQ(told(result, "agent", "is lost on"), 170);
  EXPECT_EQ(result.joined, 2U);
  EXPECT_EQ(outage(result, "agent").missing_at_end, 0);
  // sysbatch: runs once on the four existing nodes and on those that join later.
  EXPECT_GE(result.life->completed, 4U);
}

TEST(SimulatedScenarios, PreemptionCascadeEndsAsDescribed) {
  const RunResult result = live("preemption-cascade");
  EXPECT_EQ(result.life->evicted, 3U);
  EXPECT_EQ(told(result, "low[1]", "is evicted") + told(result, "low[0]", "is evicted"), 60 + 120);
  EXPECT_EQ(told(result, "middle[0]", "is evicted") + told(result, "middle[1]", "is evicted"), 120 - 1);
  EXPECT_EQ(told(result, "high[0]", "is evicted"), -1);
  EXPECT_EQ(told(result, "middle:", "no room for 1"), 120);
  // The job of highest priority stops: the middle one is placed again first, then one of the lowest.
  EXPECT_NE(told(result, "middle[0]", "is placed on", 300), -1);
  EXPECT_NE(told(result, "low[0]", "is placed on", 300), -1);
  EXPECT_LT(outage(result, "high").missing_s, 5);
  // Too little is evicted (R-PREEMPT-403), so all these plans are refused and nothing is evicted. The waiting
  // allocations are placed when others end.
  EXPECT_EQ(told(result, "grows:", "of the plan refused"), 480);
  EXPECT_EQ(told(result, "fills", "is evicted"), -1);
  EXPECT_NEAR(told(result, "grows[3]", "is placed on"), 600, 1.5);
  EXPECT_EQ(outage(result, "grows").missing_at_end, 0);
}

TEST(SimulatedScenarios, DisconnectsEndAsDescribed) {
  const RunResult result = live("disconnects");
  const double back = 360;  // when the partition ends
  EXPECT_NE(told(result, "original[0]", "is found running again", back), -1);
  EXPECT_EQ(told(result, "replacement[0]", "is found running again", back), -1);
  EXPECT_NE(told(result, "replacement[0]", "is to stop", back), -1);
  EXPECT_NE(told(result, "score[0]", "is found running again", back), -1);  // it prefers this rack
  EXPECT_NE(told(result, "longest[0]", "is found running again", back), -1);
  EXPECT_EQ(told(result, "waits[0]", "in place of"), -1);
  EXPECT_GT(outage(result, "waits").missing_s, 200);
  EXPECT_LT(outage(result, "plain").missing_s, 5);  // replaced as soon as its node is down
  // Its client stops it 30 s after losing contact to the servers; they wait for that before replacing it.
  EXPECT_GT(told(result, "stops[0]", "is placed on", 1) - told(result, "stops[0]", "is lost on"), 29);
  for (const Outage& kind : result.life->kinds) EXPECT_EQ(kind.missing_at_end, 0) << kind.name;
}

// ---------------------------------------------------------------- any simulation

const std::string kSmallLife = R"(
name = "small"
[life]
duration_s = 600
[cluster]
nodes = 6
racks = 3
[[cluster.shapes]]
name = "std"
cores = 4
mhz_per_core = 1000
memory_mb = 4000
[jobs]
count = 8
[[jobs.mix]]
name = "web"
weight = 1
count = 2
cpu_mhz = 500
update = { max_parallel = 1, min_healthy_s = 5 }
[[jobs.mix]]
name = "work"
type = "batch"
weight = 1
count = 3
cpu_mhz = 500
run_time_ms = [200, 90000]
[arrivals]
process = "fixed"
rate_per_s = 0.1
)";

TEST(SimulatedRun, DigestDependsOnTheSeed) {
  const std::string faults = "[[faults]]\ntimes = 4\ndo = \"loss\"\nsome = 1\nfor_s = [20, 100]\n";
  auto workload = sim::parse_workload(kSmallLife + faults, "life.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  const RunResult one = live(*workload), again = live(*workload);
  EXPECT_EQ(one.decisions_digest, again.decisions_digest);
  EXPECT_EQ(one.life->evaluations, again.life->evaluations);
  EXPECT_EQ(one.life->missing, again.life->missing);
  workload->seed = 2;
  EXPECT_NE(live(*workload).decisions_digest, one.decisions_digest);
}

TEST(SimulatedRun, WhatHappensLongAfterAFaultIsNotCountedAsItsHarm) {
  const RunResult result = live_text(R"(
name = "later"
life = { duration_s = 3000 }
cluster = { nodes = 2, shapes = [{ name = "std" }] }
[[jobs.mix]]
name = "web"
named = true
count = 4
[[events]]
at_s = 1500
do = "update"
job = "web"
[[faults]]
at_s = [100, 2500]
do = "partition"
node_of = "web"
index = 0
for_s = 5
[[faults]]
at_s = 2000
do = "loss"
node_of = "web"
index = 0
)");
  ASSERT_EQ(result.life->faults.size(), 3U);
  const FaultResult &brief = result.life->faults[0], &loss = result.life->faults[1], &last = result.life->faults[2];
  EXPECT_EQ(brief.hit, 2U);
  EXPECT_EQ(brief.unharmed, 2U);  // the update of 1500 s replaces them, and is no recovery
  EXPECT_EQ(loss.hit, 2U);
  EXPECT_EQ(loss.recovered, 2U);
  EXPECT_LT(loss.recovery().max() / 1'000'000'000, 60);
  EXPECT_EQ(last.hit, 4U);  // the other node is lost
  EXPECT_EQ(last.unharmed, 4U);
}

TEST(SimulatedRun, FaultsCountUnharmedRecoveredEndedAndMissingAllocations) {
  const RunResult result = live_text(kSmallLife + R"([[faults]]
at_s = [100, 200, 300]
do = "loss"
some = 1
whole_racks = true
for_s = 50
[[faults]]
at_s = 400
do = "partition"
percent = 40
for_s = 5
[[faults]]
at_s = 420
do = "flapping"
some = 1
down_s = 30
up_s = 20
for_s = 100
[[faults]]
at_s = 450
do = "slow-clients"
percent = 50
lag_s = 3
for_s = 60
)");
  ASSERT_EQ(result.life->faults.size(), 6U);
  std::uint64_t hit = 0, recovered = 0;
  for (const FaultResult& fault : result.life->faults) {
    EXPECT_EQ(fault.hit, fault.unharmed + fault.recovered + fault.ended + fault.away) << fault.what;
    EXPECT_EQ(fault.recovery_ns.size(), fault.recovered);
    hit += fault.hit, recovered += fault.recovered;
  }
  EXPECT_GT(hit, 5U);
  EXPECT_GT(recovered, 3U);
  EXPECT_EQ(result.life->recovery_ns.count(), recovered);
  // A partition shorter than any heartbeat's grace has no effect.
  EXPECT_EQ(result.life->faults[3].recovered + result.life->faults[3].away, 0U);
}

TEST(SimulatedRun, UnavailabilityAgreesWithValuesComputedByHand) {  // one allocation, lost at 100 s, running again when
                                                                    // its node is back at 200 s
  const RunResult result = live_text(R"(
name = "one"
[life]
duration_s = 300
[cluster]
nodes = 1
[[cluster.shapes]]
name = "std"
[jobs]
[[jobs.mix]]
name = "web"
named = true
[[faults]]
at_s = 100
do = "loss"
nodes = "node-0"
for_s = 100
)");
  const Outage& web = result.life->kinds.front();
  EXPECT_NEAR(web.wanted_s, 300, 0.1);
  const double starting = 1;  // until the servers know that it runs
  const double recovery = static_cast<double>(result.life->recovery_ns.max()) / 1e9;
  EXPECT_GE(recovery, 100);
  EXPECT_LE(recovery, 135);  // its client registers again, and its servers place it again
  EXPECT_NEAR(web.missing_s, starting + recovery, 0.5);
  EXPECT_EQ(web.worst, 1);
  double missing = 0;
  for (const double mean : result.life->missing) missing += mean * result.life->bucket_s;
  EXPECT_NEAR(missing, web.missing_s, 0.01);
}

TEST(SimulatedRun, RepeatedWorkIsCountedByJob) {  // even if the row of a hit allocation belongs to another job by then
  const RunResult result = live_text(R"(
name = "again"
[life]
duration_s = 600
[cluster]
nodes = 2
[[cluster.shapes]]
name = "std"
[jobs]
[[jobs.mix]]
name = "keep"
named = true
type = "batch"
run_time_s = 5000
[[jobs.mix]]
name = "work"
named = true
type = "batch"
count = 2
run_time_s = 5000
[[jobs.mix]]
name = "other"
named = true
at_s = 200
type = "batch"
run_time_s = 5000
[[faults]]
at_s = 50
do = "partition"
percent = 100
for_s = 1
[[events]]
at_s = 100
do = "scale"
job = "work"
count = 1
[[events]]
at_s = [150, 160]
do = "gc"
[[faults]]
at_s = 300
do = "loss"
node_of = "other"
[[events]]
at_s = 310
do = "scale"
job = "work"
count = 2
)");
  const LifeResult& life = *result.life;
  ASSERT_EQ(life.faults.size(), 2U);
  EXPECT_EQ(life.faults[0].hit, 3U);
  EXPECT_EQ(life.faults[1].hit, 1U);  // other, in the row that work[1] had; the rest were hit before
  EXPECT_EQ(life.faults[1].recovered, 1U);
  // keep and work[0] are lost after 300 s, other after 100 s, and all three start again. work[1] is stopped after 100
  // s, and the later allocation with its name does not continue its work.
  EXPECT_EQ(life.lost_runs, 4U);
  EXPECT_NEAR(life.lost_s, 800, 10);
  EXPECT_NEAR(life.repeated_s, 700, 10);
  EXPECT_GT(life.faults[1].recovery_ns.front(), 20 * base::kSecond);  // other is placed when heartbeats are missed
}

TEST(SimulatedRun, MemoryDoesNotGrowOverTwoHours) {
  LifeResult life;
  life.duration_s = 3 * LifeResult::kHour, life.bucket_s = 1800;
  EXPECT_EQ(life.memory_when_settled(), 0U);  // ended before a measurement
  life.memory_bytes = {1, 2, 3};
  EXPECT_EQ(life.memory_when_settled(), 0U);
  life.memory_bytes = {1, 2, 3, 4, 5, 6};
  EXPECT_EQ(life.memory_when_settled(), 4U);
  life.bucket_s = 7000;  // the bucket that contains the moment
  EXPECT_EQ(life.memory_when_settled(), 2U);
  life.bucket_s = 1800, life.duration_s = 2 * LifeResult::kHour;
  EXPECT_EQ(life.memory_when_settled(), 0U);  // the simulation has ended by then
}

TEST(SimulatedRun, AnEmptyClusterBlocks) {  // like Nomad's: evaluations wait, without an error
  const RunResult result = live_text(kSmallLife + "[[faults]]\nat_s = 60\ndo = \"loss\"\npercent = 100\n");
  EXPECT_EQ(result.ended, "complete");
  EXPECT_GT(result.blocked_at_end, 0U);
  EXPECT_GT(result.life->faults.front().away, 0U);
  EXPECT_TRUE(result.unsupported_reasons.empty());
}

TEST(SimulatedRun, UpdatesRollOutAndFail) {
  const std::string named = R"(
name = "roll"
[life]
duration_s = 1500
[cluster]
nodes = 3
[[cluster.shapes]]
name = "std"
[jobs]
[[jobs.mix]]
name = "web"
named = true
count = 3
update = { max_parallel = 1, min_healthy_s = 5, healthy_deadline_s = 30, progress_deadline_s = 60, canary = 1, auto_revert = true }
[[events]]
at_s = 100
do = "update"
job = "web"
[[events]]
at_s = 130
do = "promote"
job = "web"
[[events]]
at_s = 400
do = "update"
job = "web"
health = "never"
[[events]]
at_s = 1000
do = "scale"
job = "web"
count = 5
)";
  const RunResult result = live_text(named);
  std::vector<std::string> ends;
  for (const DeploymentResult& deployment : result.life->deployments)
    if (deployment.at_s < 900) ends.push_back(deployment.status);
  ASSERT_GE(ends.size(), 3U);
  EXPECT_EQ(ends[0], "successful");  // the first version
  EXPECT_EQ(ends[1], "successful");
  EXPECT_EQ(ends[2], "failed");  // its canary never becomes healthy
  EXPECT_NE(result.life->deployments[2].description.find("rolling back to job version 1"), std::string::npos)
      << result.life->deployments[2].description;
  EXPECT_EQ(result.life->kinds.front().missing_at_end, 0);
  EXPECT_EQ(result.life->refused_count, 0U);
}

TEST(SimulatedRun, TasksFailByTraceAndByChance) {
  const std::string base = R"(
name = "tasks"
[life]
duration_s = 300
[cluster]
nodes = 2
[[cluster.shapes]]
name = "std"
[jobs]
[[jobs.mix]]
name = "work"
named = true
type = "batch"
count = 4
run_time_s = 20
restart = { attempts = 0 }
reschedule = { attempts = 0, unlimited = false }
)";
  EXPECT_EQ(live_text(base).life->failed, 0U);
  const std::string trace = "[[tasks]]\njob = \"work\"\nindex = 2\nrun_s = 3\nexit_code = 1\n";
  const RunResult traced = live_text(base + trace);
  EXPECT_EQ(traced.life->failed, 1U);
  EXPECT_NEAR(told(traced, "work[2]", "has failed"), 3.2, 1);
  const std::string fault = "[[faults]]\nat_s = 0\ndo = \"task-failures\"\njob = \"work\"\nafter_s = 1\nfor_s = 10\n";
  EXPECT_EQ(live_text(base + fault).life->failed, 4U);
}

TEST(SimulatedRun, ReportsPartialResultsWhenCutShort) {
  const InterruptGuard guard;
  std::raise(SIGINT);
  const RunResult result = live_text(kSmallLife + "[[faults]]\nat_s = 300\ndo = \"loss\"\nsome = 1\n");
  EXPECT_TRUE(result.partial);
  EXPECT_TRUE(result.life->faults.empty());  // ended before the first fault
  EXPECT_EQ(result.ended, "interrupted");
  EXPECT_NE(to_table(result).find("PARTIAL"), std::string::npos);
  const InterruptGuard for_the_next_test;
}

TEST(SimulatedRun, NothingRunsWhenTheFileIsWrong) {
  const auto workload =
      sim::parse_workload(kSmallLife + "[[events]]\nat_s = 5\ndo = \"drain\"\nnodes = \"node-9\"\n", "life.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto result = run_workload(*workload, {.quiet = true});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().place, "31");
}

TEST(SimulatedRun, RunsASmallDay) {
  const RunResult result = live("day");
  const LifeResult& life = *result.life;
  EXPECT_GT(life.allocs, 1000U);
  EXPECT_GT(life.faults.size(), 100U);
  EXPECT_GT(life.drains_completed, 20U);
  EXPECT_FALSE(life.deployments_by_status.empty());
  EXPECT_TRUE(life.story.empty());  // too large for a log
  double share = 0;
  for (const Outage& kind : life.kinds)
    if (kind.name == "service") share = kind.missing_s / kind.wanted_s;
  EXPECT_GT(share, 0);
  EXPECT_LT(share, 0.01);
}

}  // namespace
}  // namespace berth::run
