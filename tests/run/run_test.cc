// The runner and its reports: small workloads whose results can be counted by hand, or hold on every machine.
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <map>
#include <numeric>
#include <sstream>
#include <thread>

#include "base/build_info.h"
#include "base/text.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "io/output.h"
#include "run/export.h"
#include "run/interrupt.h"
#include "run/others_run.h"
#include "run/report.h"
#include "run/runner.h"
#include "run/server_settings.h"
#include "server/lane.h"
#include "server/shadow.h"
#include "sim/datasets.h"
#include "sim/load_store.h"
#include "support/scratch_folder.h"

namespace berth::run {
namespace {

// 4 nodes of 2,000 MHz and 4,000 MiB; jobs of 3 allocations of 1,000 MHz and 1,000 MiB: 8 allocations fit.
const std::string kSmall = R"(
name = "small"
[cluster]
nodes = 4
[[cluster.shapes]]
name = "std"
cores = 2
mhz_per_core = 1000
memory_mb = 4000
[jobs]
count = 4
[[jobs.mix]]
name = "web"
count = 3
cpu_mhz = 1000
memory_mb = 1000
run_time_s = 10
)";

RunResult run(const std::string& text, std::int64_t seed = -1) {
  auto workload = sim::parse_workload(text, "small.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  if (seed >= 0) workload->seed = static_cast<std::uint64_t>(seed);
  auto result = run_workload(*workload, {.quiet = true});
  EXPECT_TRUE(result) << result.error().line();
  return *result;
}

/// Keys before the first table of kSmall.
std::string with_top(const std::string& keys) {
  std::string text = kSmall;
  return text.insert(text.find("[cluster]"), keys + "\n");
}

RunResult run_smoke(const char* name, const sched::EnabledSources& sources,
                    server::Listener* extra_listener = nullptr) {
  const auto path = sim::find_workload(name);
  EXPECT_TRUE(path);
  auto workload = sim::read_workload(*path, "smoke");
  EXPECT_TRUE(workload) << workload.error().line();
  workload->sources = sources;
  RunOptions options{.quiet = true};
  options.extra_listener = extra_listener;
  auto result = run_workload(*workload, options);
  EXPECT_TRUE(result) << result.error().line();
  return std::move(*result);
}

TEST(Sources, DecideTheSameWhicheverIsSwitchedOff) {
  using sched::SourceKind, sched::Switch;
  static const std::map<Switch, std::vector<SourceKind>> kSwitchedOff = {
      {Switch::index, {SourceKind::index}},     {Switch::full, {SourceKind::full}},
      {Switch::bounds, {SourceKind::bounds}},   {Switch::table, {SourceKind::none_fits, SourceKind::few_fit}},
      {Switch::columns, {SourceKind::columns}}, {Switch::failed_attempt, {SourceKind::failed_attempt}}};
  for (const char* name : {"quickstart", "mixed-real", "saturated", "openb-like"}) {
    const std::string digest = run_smoke(name, {}).decisions_digest;
    for (std::size_t off = 0; off <= sched::kSwitchNames.size(); ++off) {
      sched::EnabledSources sources;
      if (off < sched::kSwitchNames.size())
        sources.set(static_cast<sched::Switch>(off), false);
      else
        sources.mix(1);
      const RunResult result = run_smoke(name, sources);
      EXPECT_EQ(result.decisions_digest, digest) << name << " --sources " << sources.text();
      if (const auto of = kSwitchedOff.find(static_cast<Switch>(off)); of != kSwitchedOff.end())
        for (const SourceKind kind : of->second) {
          const auto at = static_cast<std::size_t>(kind);
          EXPECT_EQ(result.work.sources.selects[at], 0U) << sched::kSourceNames[at];
        }
    }
  }
}

/// Plants stale verdicts of node kinds in the run worker's cache.
struct Planter final : server::Listener {
  server::Shadow& shadow;
  bool plants;
  std::uint64_t decisions = 0;
  Planter(server::Shadow& to, bool plant) : shadow(to), plants(plant) {}
  void lane_made(server::Lane& lane) override { shadow.lane_made(lane); }
  void decided(server::Lane& lane) override {
    shadow.decided(lane);
    if (!plants || ++decisions != 5) return;
    for (std::uint32_t ask = 0; ask < 12; ++ask)
      for (std::uint32_t kind = 0; kind < 64; ++kind)
        lane.scratch.by_content.kind_verdicts.of(ask, kind) =
            lane.scratch.by_content.kind_verdicts.of_class(lane.result.state->nodes, ask, kind) = sched::kReasonDrivers;
  }
};

TEST(ShadowOfARun, FindsAStaleFactThatIsPlanted) {
  for (const bool plants : {false, true}) {
    const auto path = sim::find_workload("quickstart");
    ASSERT_TRUE(path);
    const auto workload = sim::read_workload(*path, "smoke");
    ASSERT_TRUE(workload);
    std::vector<std::string> problems;
    server::Shadow shadow(server_settings(*workload), plants ? 10 : 20,
                          [&](std::string text) { problems.push_back(std::move(text)); });
    Planter planter(shadow, plants);
    run_smoke("quickstart", {}, &planter);
    EXPECT_GE(shadow.checked(), 4U);
    EXPECT_EQ(shadow.different() > 0, plants) << (problems.empty() ? "" : problems.front());
  }
}

TEST(NomadTimes, AreShownIfTheDecisionsAreTheSame) {
  namespace fs = std::filesystem;
  const testing::ScratchFolder scratch;
  const fs::path& folder = scratch.path();
  fs::create_directories(folder / "datasets");
  const std::string file = (folder / "datasets" / "nomad-small.csv.gz").string();  // an uncompressed file is accepted
  const std::string decisions = run(kSmall).decisions_digest;
  const auto beside = [&](const std::string& digest, const std::string& last) {
    const std::string text =
        "decisions," + digest +
        "\nevaluation,job,spread,placed,nodes_evaluated,schedule_ns_1,schedule_ns_2,check_ns_1,check_ns_2,apply_ns_1,"
        "apply_ns_2\n1,web-0,0,3,4,50,40,7,9,2,1\n2,web-1,1,3,4,60,70,1,1,1,1\n3,web-2,0,2,4,10,20,5,4,5,5\n" +
        last;
    EXPECT_TRUE(io::write_output(file, text));
    return *sim::parse_workload(kSmall, (folder / "small.toml").string());
  };
  const sim::Workload workload = beside(decisions, "4,web-3,0,0,4,1,1,1,1,1,1\n");
  const auto result = run_workload(workload, {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  ASSERT_TRUE(result->nomad);
  ASSERT_EQ(result->nomad->kinds.size(), 2U);
  const NomadTimes::Kind& web = result->nomad->kinds[0];
  EXPECT_EQ(web.name, "web");
  EXPECT_EQ(result->nomad->kinds[1].name, "web with spread");
  EXPECT_EQ(web.nomad.evaluations, 3U);
  EXPECT_EQ(web.nomad.placed, 5U);
  EXPECT_EQ(web.nomad.schedule_ns, 40 + 10 + 1);
  EXPECT_EQ(web.nomad.apply_ns, 9 + 9 + 2);
  EXPECT_EQ(web.berth.evaluations, 3U);
  EXPECT_EQ(web.berth.placed, 5U);
  EXPECT_GT(web.berth.schedule_ns, 0);
  EXPECT_NE(to_table(*result).find("web with spread"), std::string::npos);
  // How each was driven: Nomad back to back on another machine, berth back to back or with its arrivals.
  EXPECT_NE(to_table(*result).find("Nomad: 2.0.6-dev, commit aa026cc99c, back to back, recorded on another machine"),
            std::string::npos);
  EXPECT_NE(to_table(*result).find("berth: this run, back to back as well"), std::string::npos);
  EXPECT_EQ(to_json(*result)["nomad_driven"]["berth"].as_string(), "back to back");
  EXPECT_FALSE(to_json(*result)["nomad_driven"]["same_machine"].as_bool(true));
  RunResult paced = *result;
  paced.workload.arrivals.clock = sim::Clock::wait;
  EXPECT_NE(to_table(paced).find("berth: this run, waiting for the arrivals of the workload in real time"),
            std::string::npos);
  EXPECT_EQ(to_json(paced)["nomad_driven"]["berth"].as_string(), "arrivals");
  EXPECT_EQ(to_json(*result)["nomad"].items().size(), 3U);

  const auto other = run_workload(beside("0123456789abcdef", "4,web-3,0,0,4,1,1,1,1,1,1\n"), {.quiet = true});
  ASSERT_TRUE(other && other->nomad);
  EXPECT_NE(to_table(*other).find("other decisions"), std::string::npos);
  EXPECT_FALSE(to_json(*other).has("nomad"));
  EXPECT_FALSE(run_workload(beside(decisions, ""), {.quiet = true})->nomad);  // not the whole workload
  const auto bad = run_workload(beside(decisions, "4,web-3,0,0,4,1,1,x,1,1,1\n"), {.quiet = true});
  ASSERT_FALSE(bad);
  EXPECT_NE(bad.error().line().find("6"), std::string::npos) << bad.error().line();
}

TEST(Run, FillsTheClusterAndCountsUnplacedJobs) {
  const RunResult result = run(kSmall);
  EXPECT_EQ(result.jobs, 4U);
  EXPECT_EQ(result.asked, 12U);
  EXPECT_EQ(result.placed, 8U);
  EXPECT_EQ(result.failed, 4U);
  EXPECT_EQ(result.refused, 0U);
  // 3 + 3 + 2 of 3 + 0 of 3.
  EXPECT_EQ(result.blocked_evaluations, 2U);
  EXPECT_EQ(result.blocked_at_end, 2U);
  EXPECT_EQ(result.failed_reasons, (std::map<std::string, std::uint64_t>{{"exhausted: cpu", 4}}));
  EXPECT_EQ(result.packing.nodes, 4U);
  EXPECT_EQ(result.packing.nodes_used, 4U);
  EXPECT_DOUBLE_EQ(result.packing.cpu_utilisation(), 1.0);
  EXPECT_DOUBLE_EQ(result.packing.memory_utilisation(), 0.5);
  EXPECT_EQ(result.packing.stranded.memory_mb, 8000);
  EXPECT_EQ(result.latency.total.count(), 8U);
  EXPECT_EQ(result.evaluation_latency.count(), 4U);
  EXPECT_EQ(result.ended, "complete");
  EXPECT_FALSE(result.partial);
}

TEST(Run, CountsTheWorkOfDeciding) {
  // Two candidates per Select (R-RANK-902), no constraint. Job 1 visits 2 nodes per allocation; the number for later
  // jobs depends on the order. But every visited node is filtered, exhausted or scored, and a failed placement visits
  // all four.
  const RunResult result = run(kSmall);
  const Work& work = result.work;
  EXPECT_EQ(work.snapshots, result.evaluations);
  EXPECT_EQ(work.nodes_filtered, 0U);
  EXPECT_EQ(work.constraint_evaluations, 0U);
  EXPECT_EQ(work.nodes_evaluated, work.nodes_exhausted + work.nodes_scored);
  EXPECT_GE(work.nodes_scored, result.placed);
  EXPECT_LE(work.nodes_scored, 2 * result.placed);
  EXPECT_GE(work.nodes_exhausted, 2U * 4U);
  EXPECT_EQ(work.preempted_allocs, 0U);
  EXPECT_FALSE(result.allocations);  // tests do not count them
  EXPECT_FALSE(to_json(result)["work"].has("allocations"));
  // One constraint, one distinct value of the class on four nodes: evaluated once, then cached.
  const RunResult asked = run(kSmall + R"(constraints = [{ attribute = "${node.class}", value = "std" }])");
  EXPECT_EQ(asked.placed, 8U);
  EXPECT_EQ(asked.work.constraint_evaluations, 1U);
}

TEST(Run, CountsPreemptedWork) {
  // Eight allocations of priority 20 fill the cluster; a job of priority 90 evicts three of them.
  std::string text = with_top("[preemption]\nservice = true");
  text = text.replace(text.find("count = 4"), 9, "count = 40");
  text = text.replace(text.find("run_time_s"), 0, "priority = { values = [20, 90], weights = [9, 1] }\n");
  const RunResult result = run(text + "[arrivals]\nprocess = \"fixed\"\nrate_per_s = 10\n");
  EXPECT_GT(result.work.preempted_allocs, 0U);
  EXPECT_EQ(result.work.preempted_cpu_mhz, static_cast<std::int64_t>(1000 * result.work.preempted_allocs));
  EXPECT_EQ(result.work.preempted_memory_mb, static_cast<std::int64_t>(1000 * result.work.preempted_allocs));
}

TEST(Run, DeparturesMakeRoomForBlockedJobs) {
  // One allocation per job, 10 jobs at once, 8 fit; after 10 s the first leave and the two blocked ones run.
  std::string text = with_top("departures = true");
  text.replace(text.find("count = 4"), 9, "count = 10");
  text.replace(text.find("count = 3"), 9, "count = 1");
  const RunResult result = run(text);
  EXPECT_EQ(result.asked, 10U);
  EXPECT_EQ(result.placed, 10U);
  EXPECT_EQ(result.failed, 0U);
  EXPECT_EQ(result.blocked_evaluations, 2U);
  EXPECT_EQ(result.retries, 2U);
  EXPECT_EQ(result.blocked_at_end, 0U);
  EXPECT_EQ(result.departed, 8U);
  EXPECT_GE(result.virtual_s, 10);
  EXPECT_LT(result.elapsed_s, 5);
  // All eight leave within one batch of reports, which is what unblocks the two (R-CTRL-749, 814).
  EXPECT_EQ(result.blocked.unblocked[static_cast<std::size_t>(server::Cause::node_class)], 2U);
  EXPECT_EQ(result.blocked.batches, 1U);
  EXPECT_EQ(result.blocked.reblocked, 0U);
  EXPECT_NE(to_table(result).find("unblocked   2 by a node class; 0 blocked again, 1 batches"), std::string::npos);
  EXPECT_EQ(to_table(result).find("WARNING     "), to_table(result).find("WARNING     a debug"));
  EXPECT_EQ(json::to_text(to_json(result)["unblocked"]["class"]), "2");
}

/// 300 jobs of one allocation for 8 places, which become free every 10 s: each batch of reports makes every waiting job
/// run again, and eight of them find room.
TEST(Run, WarnsIfRetriesDominate) {
  std::string text = with_top("departures = true");
  text.replace(text.find("count = 3"), 9, "count = 1");
  text.replace(text.find("count = 4"), 9, "count = 300");
  const RunResult result = run(text);
  EXPECT_EQ(result.placed, 300U);
  EXPECT_EQ(result.blocked_evaluations, 292U);
  EXPECT_EQ(result.blocked_at_end, 0U);
  EXPECT_EQ(result.retries, result.blocked.reblocked + 292U);
  EXPECT_EQ(result.retries, 37U * 292U - 8U * (36U * 37U / 2U));  // 292, 284, ... 4
  EXPECT_EQ(result.evaluations, 300 + result.retries);
  EXPECT_NE(to_table(result).find("% of the evaluations were retries of blocked ones"), std::string::npos);
}

TEST(Run, DecisionsDependOnTheSeedOnly) {
  const auto smoke = sim::find_workload(BERTH_SOURCE_DIR "/bench/macro/quickstart.toml");
  ASSERT_TRUE(smoke);
  auto workload = sim::read_workload(*smoke, "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto first = run_workload(*workload, {.quiet = true}), second = run_workload(*workload, {.quiet = true});
  workload->seed = 99;
  const auto third = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(first && second && third);
  EXPECT_GT(first->placed, 100U);
  EXPECT_EQ(first->decisions_digest, second->decisions_digest);
  EXPECT_NE(first->decisions_digest, third->decisions_digest);
  EXPECT_EQ(first->placed, second->placed);
  EXPECT_EQ(json::to_text(to_json(*first)["work"]), json::to_text(to_json(*second)["work"]));
  EXPECT_GT(first->work.nodes_scored, 1000U);
  EXPECT_GT(first->work.constraint_evaluations, 0U);
  EXPECT_EQ(first->workload_sha256.size(), 64U);
  EXPECT_EQ(first->data_sha256, "");
  EXPECT_EQ(first->refused, 0U);
}

TEST(Run, SystemJobsTakeOneAllocationPerNode) {
  // 20 nodes of 2,000 MHz, 3 system and 2 sysbatch jobs of 500 MHz: the fifth finds every node full.
  std::string text = kSmall;
  text.replace(text.find("nodes = 4"), 9, "nodes = 20");
  text = text.substr(0, text.find("[jobs]")) + R"([jobs]
count = 5
[[jobs.mix]]
name = "agent"
type = "system"
templates = 1
cpu_mhz = 500
memory_mb = 100
[[jobs.mix]]
name = "sweep"
type = "sysbatch"
templates = 1
cpu_mhz = 500
memory_mb = 100
)";
  const RunResult one = run(text);
  EXPECT_TRUE(one.unsupported_reasons.empty());
  EXPECT_EQ(one.asked, 100U);
  EXPECT_EQ(one.placed, 80U);
  EXPECT_EQ(one.failed, 20U);
  EXPECT_EQ(one.refused, 0U);
  EXPECT_EQ(one.failed_reasons.at("exhausted: cpu"), 20U);
  for (const char* workers : {"2", "3"}) {
    std::string more = text;
    more.insert(more.find("[cluster]"), std::string("workers = ") + workers + "\n");
    const RunResult several = run(more);
    EXPECT_EQ(several.decisions_digest, one.decisions_digest);
    EXPECT_EQ(several.asked, 100U);
    EXPECT_EQ(several.placed, 80U);
  }
}

// ---------------------------------------------------------------- stopped and evicted allocations

/// No report shows more than 100 % in use.
void expect_no_use_above_all(const RunResult& result, const std::string& what) {
  const sim::Packing& p = result.packing;
  std::vector<double> shares = {p.cpu_utilisation(), p.memory_utilisation(), p.disk_utilisation(),
                                p.device_utilisation()};
  for (const ClusterSample& sample : result.over_time)
    shares.insert(shares.end(), {sample.cpu, sample.memory, sample.disk, sample.devices});
  shares.insert(shares.end(), result.map.use.begin(), result.map.use.end());
  EXPECT_LE(*std::max_element(shares.begin(), shares.end()), 1.0) << what;
}

// 4 nodes, whose 8 places are taken by allocations of priority 20; a job of priority 80 arrives every ten seconds.
const std::string kEvicting = R"(
name = "evicting"
[preemption]
service = true
[cluster]
nodes = 4
[[cluster.shapes]]
name = "std"
cores = 2
mhz_per_core = 1000
memory_mb = 4000
[cluster.load]
percent = 100
cpu_mhz = 1000
memory_mb = 100
priority = 20
[arrivals]
process = "fixed"
rate_per_s = 0.1
[jobs]
count = 8
[[jobs.mix]]
name = "high"
priority = 80
cpu_mhz = 1000
memory_mb = 100
)";

TEST(Run, EvictedAllocationsEndAndMakeRoom) {  // R-CTRL-1516, 1517, R-MODEL-402
  const RunResult result = run(kEvicting);
  EXPECT_EQ(result.placed, 8U);
  EXPECT_EQ(result.failed, 0U);
  EXPECT_EQ(result.work.preempted_allocs, 8U);
  EXPECT_EQ(result.packing.used.cpu_mhz, 8000) << "those of high priority alone";
  EXPECT_EQ(result.departed, 0U);
  expect_no_use_above_all(result, "evicting");
  for (const char* workers : {"2", "3"}) {
    std::string more = kEvicting;
    more.insert(more.find("[preemption]"), std::string("workers = ") + workers + "\n");
    EXPECT_EQ(run(more).decisions_digest, result.decisions_digest) << workers;
  }
}

TEST(Run, EvictedAllocationsEndAfterTheLastArrival) {  // R-CTRL-1516
  // Everything is due at once, and nothing waits: evicted allocations still end 5 s later.
  std::string text = kEvicting;
  const auto from = text.find("[arrivals]");
  text.erase(from, text.find("[jobs]") - from);
  const RunResult result = run(text);
  EXPECT_EQ(result.placed, 8U);
  EXPECT_EQ(result.packing.used.cpu_mhz, 8000);
  EXPECT_GE(result.virtual_s, 5);
  expect_no_use_above_all(result, "evicting at once");
}

TEST(Run, ReplacedVersionsEndAndMakeRoom) {  // R-CTRL-1516
  // One job of four allocations, which occupy half of the cluster, and six new versions of it.
  std::string text = kEvicting;
  const auto from = text.find("[cluster.load]");
  text.erase(from, text.find("[arrivals]") - from);
  text.replace(text.find("count = 8"), 9, "count = 7");
  const RunResult result = run(text + "count = 4\nupdate_percent = 100\ntemplates = 1\n");
  EXPECT_EQ(result.placed, 28U);
  EXPECT_EQ(result.failed, 0U);
  EXPECT_EQ(result.packing.used.cpu_mhz, 4000) << "the last version alone";
  expect_no_use_above_all(result, "updates");
}

TEST(Run, UseNeverExceedsTheCluster) {
  // Small nodes, evictions, new versions, devices, joining nodes, and runs that are cut short.
  const std::string text = R"(
name = "crowded"
departures = true
[preemption]
service = true
batch = true
sysbatch = true
[cluster]
nodes = 12
joins = { nodes = 3, start_s = 20, rate_per_s = 0.1 }
[[cluster.shapes]]
name = "gpu"
cores = 8
mhz_per_core = 1000
memory_mb = 16000
disk_mb = 4000
devices = [{ name = "nvidia/gpu/t4", count = 4 }]
[cluster.load]
percent = [0, 100]
cpu_mhz = [500, 3000]
memory_mb = [500, 6000]
priority = [10, 40]
[arrivals]
process = "poisson"
rate_per_s = 2
[jobs]
count = 120
[[jobs.mix]]
name = "low"
priority = [10, 30]
count = [1, 6]
cpu_mhz = [200, 2000]
memory_mb = [200, 3000]
devices = [{ name = "nvidia/gpu", count = [1, 2], percent = 60 }]
update_percent = 40
[[jobs.mix]]
name = "high"
type = "batch"
priority = [60, 90]
count = [1, 4]
cpu_mhz = [500, 4000]
memory_mb = [200, 6000]
disk_mb = [110, 1500]
devices = [{ name = "nvidia/gpu", count = [1, 4], percent = 70 }]
run_time_s = [1, 60]
[[jobs.mix]]
name = "agent"
type = "system"
weight = 0.05
priority = 95
cpu_mhz = 700
memory_mb = 500
)";
  std::uint64_t evicted = 0;
  for (std::int64_t seed = 0; seed < 20; ++seed) {
    std::string varied = text;
    if (seed % 4 == 1) varied.insert(varied.find("[preemption]"), "workers = 2\n");
    if (seed % 4 == 2) varied.insert(varied.find("[preemption]"), "workers = 2\ncommits = \"free\"\n");
    if (seed % 4 == 3) varied.insert(varied.find("[preemption]"), "limits = { placements = 90 }\n");
    const RunResult result = run(varied, seed);
    evicted += result.work.preempted_allocs;
    expect_no_use_above_all(result, "seed " + std::to_string(seed));
  }
  EXPECT_GT(evicted, 100U);
}

TEST(Run, DecisionsDoNotDependOnTheNumberOfWorkers) {
  for (const char* name : {"quickstart", "openb-like", "contention", "storm"}) {
    auto workload = sim::read_workload(std::string(BERTH_SOURCE_DIR "/bench/macro/") + name + ".toml", "smoke");
    ASSERT_TRUE(workload) << workload.error().line();
    workload->commits = sim::CommitOrder::deterministic;
    std::string digest;
    std::map<std::string, std::uint64_t> reasons;
    for (const std::int64_t workers : {1, 2, 3, 8}) {
      workload->workers = workers;
      const auto result = run_workload(*workload, {.quiet = true});
      ASSERT_TRUE(result) << result.error().line();
      EXPECT_GT(result->placed, 50U);
      EXPECT_EQ(result->refused, 0U);
      if (workers == 1) digest = result->decisions_digest, reasons = result->failed_reasons;
      EXPECT_EQ(result->decisions_digest, digest) << name << ", " << workers << " workers";
      // The reasons exist although the workers that found them no longer do.
      EXPECT_EQ(result->failed_reasons, reasons) << name << ", " << workers << " workers";
    }
  }
}

TEST(Run, FreeCommitsAccountForEveryEvaluation) {
  for (const char* name : {"quickstart", "contention", "storm"})
    for (const std::int64_t workers : {1, 3}) {
      auto workload = sim::read_workload(std::string(BERTH_SOURCE_DIR "/bench/macro/") + name + ".toml", "smoke");
      ASSERT_TRUE(workload) << workload.error().line();
      workload->commits = sim::CommitOrder::free;
      workload->workers = workers;
      const auto result = run_workload(*workload, {.quiet = true});
      ASSERT_TRUE(result) << result.error().line();
      const ParallelResult& p = result->parallel;
      EXPECT_EQ(p.lost, 0) << name;
      EXPECT_EQ(p.left, 0U);
      EXPECT_EQ(p.exceptions + p.plan_errors + p.failed, 0U);
      EXPECT_EQ(result->evaluations, result->jobs + result->retries);
      EXPECT_EQ(p.busy_ns.size(), static_cast<std::size_t>(workers));
      if (workers == 1) {
        EXPECT_EQ(p.conflicts, 0U) << name;
      }
      EXPECT_NE(to_table(*result).find("applier"), std::string::npos);
    }
}

/// Workers that decide on states which others have changed meanwhile, as on a machine with other work: plans are
/// refused until the attempts of an evaluation are used up.
struct SlowAttempts final : server::Listener {
  void attempt(server::Lane&) override { std::this_thread::sleep_for(std::chrono::microseconds(500)); }
};

/// Everything is due at once: many versions are replaced before all their allocations are placed.
TEST(Run, ReplacedVersionsAreNotCountedAsFailed) {
  std::uint64_t gave_up = 0;
  for (const std::int64_t workers : {1, 3, 8}) {
    auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/mixed-real.toml", "smoke");
    ASSERT_TRUE(workload) << workload.error().line();
    workload->arrivals.process = sim::Process::backlog;
    workload->commits = sim::CommitOrder::free;
    workload->workers = workers;
    RunOptions options{.quiet = true};
    SlowAttempts slow;
    if (workers > 3) options.extra_listener = &slow;
    const auto result = run_workload(*workload, options);
    ASSERT_TRUE(result) << result.error().line();
    EXPECT_EQ(result->parallel.lost, 0);  // no cancelled evaluations either
    EXPECT_EQ(result->parallel.left, 0U);
    EXPECT_EQ(result->failed_reasons.count("given up after refused plans"), 0U);
    EXPECT_EQ(result->placed + result->failed, result->asked);
    EXPECT_GT(result->replaced, 0U);
    gave_up += result->parallel.gave_up;
  }
  EXPECT_GT(gave_up, 0U) << "no attempts were used up";
}

TEST(Run, FailuresAndTheirReasonsAgree) {
  for (const char* name : {"quickstart", "openb-like", "contention", "storm", "saturated"}) {
    const auto workload = sim::read_workload(std::string(BERTH_SOURCE_DIR "/bench/macro/") + name + ".toml", "smoke");
    ASSERT_TRUE(workload) << workload.error().line();
    const auto result = run_workload(*workload, {.quiet = true});
    ASSERT_TRUE(result) << result.error().line();
    std::uint64_t reasons = 0;
    for (const auto& [reason, count] : result->failed_reasons) reasons += count;
    EXPECT_EQ(reasons, result->failed) << name;
    EXPECT_GE(result->placed + result->failed, result->asked) << name << ": every one that was asked has an answer";
    // Placements that fail at first but find room when nodes join are not counted.
    if (std::string_view(name) == "storm") {
      EXPECT_GT(result->retries, 0U);
      EXPECT_EQ(result->placed + result->failed, result->asked);
    }
  }
}

TEST(Run, SamplingContinuesAfterTheLastArrival) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/storm.toml", "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  workload->commits = sim::CommitOrder::deterministic;  // free workers may finish before a sample is taken
  const auto result = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  // All jobs arrive at once, nodes join from the first second on: at least half of the samples are after that.
  std::size_t after = 0;
  for (const ClusterSample& sample : result->over_time) after += sample.workload_seconds >= 1;
  EXPECT_GE(2 * after, result->over_time.size());
  EXPECT_GE(result->over_time.size(), 8U);
  EXPECT_LE(result->over_time.size(), 66U);
}

TEST(ClusterSamples, StayEvenlySpacedWithManyEvents) {
  const tables::StateStore store;
  for (const std::size_t things : {0, 1, 10, 1000}) {
    for (const std::size_t times : {1, 3, 50}) {
      ClusterSampler sampler(store.current(), {}, things);
      const std::size_t all = std::max<std::size_t>(1, things) * times;
      for (std::size_t happened = 0; happened <= all; ++happened)
        if (sampler.due(happened)) sampler.look(store.current(), 0, static_cast<double>(happened), 0, 0, happened);
      const auto& samples = sampler.samples();
      ASSERT_LE(samples.size(), 66U);
      EXPECT_EQ(samples.front().workload_seconds, 0) << "the first look stays";
      if (samples.size() < 4) continue;
      // The last gaps equal the first ones up to rounding.
      const double first = samples[1].workload_seconds - samples[0].workload_seconds;
      for (std::size_t i = 2; i < samples.size(); ++i)
        EXPECT_NEAR(samples[i].workload_seconds - samples[i - 1].workload_seconds, first, 1 + 0.05 * first)
            << things << " x " << times << ", look " << i;
      EXPECT_GE(samples.back().workload_seconds, static_cast<double>(all) - 2 * first - 2) << "to the end";
    }
  }
}

/// A sample is what one pass over all nodes gives, after placements, ends, nodes that fail and nodes that join.
TEST(ClusterSamples, FollowTheLogsOfTheState) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/contention.toml", "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto from = state_at(*workload, -1), to = state_at(*workload, INT64_MAX - 1);
  ASSERT_TRUE(from && to);
  tables::StateStore store;
  store.load(*from);
  const sim::Amounts reference{.cpu_mhz = 500, .memory_mb = 256};
  ClusterSampler sampler(store.current(), reference, 1000);
  std::size_t happened = 0;
  const auto look = [&] {
    sampler.look(store.current(), 0, 0, 0, 0, ++happened);
    const ClusterSample& sample = sampler.samples().back();
    const sim::Packing packing = sim::measure_packing(store.current(), reference);
    EXPECT_EQ(sample.cpu, packing.cpu_utilisation());
    EXPECT_EQ(sample.memory, packing.memory_utilisation());
    EXPECT_EQ(sample.disk, packing.disk_utilisation());
    EXPECT_EQ(sample.fragmentation, packing.fragmentation);
    EXPECT_EQ(sample.nodes_used, packing.nodes_used);
    EXPECT_EQ(std::accumulate(sample.nodes_by_use.begin(), sample.nodes_by_use.end(), 0U), packing.nodes);
  };
  look();
  const std::size_t nodes = store.current().nodes.size();
  std::uint64_t changed = 0;
  for (const model::Allocation& alloc : to->allocs) {
    if (store.find_alloc(*base::parse_uuid(alloc.id)) != tables::kNoRow) continue;
    store.begin_commit().insert_alloc(alloc);
    if (++changed % 7 != 0) continue;
    const auto row = static_cast<tables::AllocRow>(changed % store.current().allocs.size());
    store.set_client_status(row, tables::Client::complete, store.index() + 1);
    const tables::NodeRow node(changed % nodes);
    const bool down = changed % 3 == 0;
    store.set_node_state(node, down ? tables::NodeStatus::down : tables::NodeStatus::ready, true, false,
                         store.index() + 1);
    look();
  }
  EXPECT_GT(happened, 10U);
}

TEST(Run, TheStateAtATimeIsReproducible) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/contention.toml", "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto before = state_at(*workload, -1);
  ASSERT_TRUE(before) << before.error().line();
  const std::size_t load = before->allocs.size();
  const auto result = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  EXPECT_EQ(before->nodes.size(), result->nodes);
  EXPECT_EQ(load, result->load_allocs);
  const auto after = state_at(*workload, INT64_MAX - 1), again = state_at(*workload, INT64_MAX - 1);
  ASSERT_TRUE(after && again);
  EXPECT_EQ(after->allocs.size(), load + result->placed);
  EXPECT_EQ(after->jobs.size(), before->jobs.size() + result->jobs);
  ASSERT_EQ(after->allocs.size(), again->allocs.size());
  for (std::size_t i = 0; i < after->allocs.size(); ++i) {
    EXPECT_EQ(after->allocs[i].id, again->allocs[i].id);
    EXPECT_EQ(after->allocs[i].node_id, again->allocs[i].node_id);
  }
}

TEST(Run, LatencyCountsFromTheDueTime) {
  // A backlog: everything is due at 0, so the last placement waits for the whole run and the median one for half of it.
  std::string text = kSmall;
  text.replace(text.find("nodes = 4"), 9, "nodes = 500");
  text.replace(text.find("count = 4"), 9, "count = 300");
  const RunResult result = run(text);
  EXPECT_EQ(result.placed, 900U);
  const auto elapsed_ns = static_cast<std::int64_t>(result.elapsed_s * 1e9);
  // 300 evaluations of three placements, one after another: the last one waits until all others are decided.
  const double decided_ns =
      result.latency.schedule.mean() * 900 / 3 - static_cast<double>(result.latency.schedule.max());
  EXPECT_GE(static_cast<double>(result.latency.queue.max()) * 1.01, decided_ns);
  EXPECT_LE(result.latency.total.max(), elapsed_ns);
  EXPECT_LT(10 * result.latency.schedule.percentile(50), result.latency.total.percentile(50));
  EXPECT_GE(result.latency.total.max(), result.latency.queue.max());
}

TEST(Run, LimitsAndSignalsEndARunEarly) {
  std::string text = kSmall;
  text.replace(text.find("nodes = 4"), 9, "nodes = 500");
  text.replace(text.find("count = 4"), 9, "count = 300");
  const RunResult limited = run(text + "[limits]\nplacements = 90\n");
  EXPECT_TRUE(limited.partial);
  EXPECT_EQ(limited.ended, "limit of placements");
  EXPECT_GE(limited.placed, 90U);
  EXPECT_LT(limited.placed, 93U);
  {
    const InterruptGuard guard;
    EXPECT_FALSE(interrupted());
    std::raise(SIGINT);
    EXPECT_TRUE(interrupted());
    const RunResult stopped = run(text);
    EXPECT_TRUE(stopped.partial);
    EXPECT_EQ(stopped.ended, "interrupted");
    EXPECT_EQ(stopped.placed, 0U);
    EXPECT_NE(to_table(stopped).find("PARTIAL: interrupted"), std::string::npos);
    EXPECT_TRUE(to_json(stopped)["partial"].as_bool());
  }
  const InterruptGuard fresh;
  EXPECT_FALSE(interrupted());
}

// R-STRAT-007: a strategy scores the fit. Nomad's own formulas as strategies change nothing, with any source.
TEST(Run, AStrategyScoresTheFit) {
  const std::string text = [] {
    std::string out = kSmall;
    const auto replace = [&](const std::string& what, const std::string& by) {
      out.replace(out.find(what), what.size(), by);
    };
    replace("nodes = 4", "nodes = 60");
    replace("count = 4", "count = 60");
    replace("cpu_mhz = 1000", "cpu_mhz = [100, 900]");
    replace("memory_mb = 1000", "memory_mb = [100, 1900]");
    return out;
  }();
  const auto with = [&](const std::string& keys) {
    std::string out = text;
    return run(out.insert(out.find("[cluster]"), keys + "\n")).decisions_digest;
  };
  for (const std::string& keys :
       {std::string(), std::string("mode = \"exhaustive\"\n"),
        std::string("mode = \"exhaustive\"\norder = \"identity\"\n"), std::string("workers = 3\n")}) {
    SCOPED_TRACE(keys);
    const std::string nomad = with(keys);
    EXPECT_EQ(with(keys + "strategy = \"nomad-binpack\""), nomad);
    EXPECT_EQ(with(keys + "strategy = \"nomad-spread\""), with(keys + "algorithm = \"spread\""));
    const std::string other = with(keys + "strategy = \"worst-fit\"");
    EXPECT_NE(other, nomad);
    EXPECT_EQ(with(keys + "strategy = \"worst-fit:norm=node\""), other);
    EXPECT_EQ(with(keys + "strategy = \"mine\"\n[strategies]\nmine = { worst-fit = 2 }\n"), other);
  }
}

TEST(Run, StrategiesThatCannotScoreTheFitAreRefused) {
  struct Case {
    const char *strategy, *says;
  };
  for (const Case& c : {Case{"bestfit", "did you mean 'best-fit'?"}, Case{"best-fit:nrom=max", "did you mean 'norm'?"},
                        Case{"mien", "in the workload: mine; or nomad"}}) {
    const auto workload = sim::parse_workload(
        with_top(std::string("strategy = \"") + c.strategy + "\"\n[strategies]\nmine = { cosine = 1 }"), "small.toml");
    ASSERT_FALSE(workload) << c.strategy;
    EXPECT_EQ(workload.error().path, "small.toml");
    EXPECT_EQ(workload.error().place, "3");
    EXPECT_NE(workload.error().remedy.find(c.says), std::string::npos) << workload.error().line();
  }
  for (const char* strategy :
       {"random", "next-fit", "power-of-k", "nomad-limit", "kubernetes-sampling", "sum:cosine=1:rescale=yes"}) {
    const auto workload = sim::parse_workload(with_top(std::string("strategy = \"") + strategy + "\""), "small.toml");
    ASSERT_TRUE(workload) << workload.error().line();
    const auto result = run_workload(*workload, {.quiet = true});
    ASSERT_FALSE(result) << strategy;
    EXPECT_EQ(result.error().problem, "is not a score of each node for itself") << strategy;
  }
}

TEST(Run, ErrorsOfMissingDataNameTheCommand) {
  const auto path = sim::fetched_data("", "no-such-dataset", "file.csv");
  ASSERT_FALSE(path);
  EXPECT_EQ(path.error().line(),
            "datasets/data/no-such-dataset/file.csv: is not there; run datasets/fetch.sh no-such-dataset");
}

TEST(Run, TheFirstCellsOfTheGridDecideLikeNomad) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/nomad-grid.toml", "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto result = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(result) << result.error().line();
  ASSERT_EQ(result->cells.size(), 20U);
  for (const CellResult& cell : result->cells) {
    EXPECT_TRUE(cell.decisions_equal) << "cell " << cell.cell << ": " << cell.difference;
    EXPECT_GT(cell.berth_ns, 0);
    EXPECT_GT(cell.berth_first_ns, 0);
    EXPECT_GT(cell.berth_new_worker_ns, 0);
  }
  for (const std::int64_t workers : {2, 3, 8}) {  // cells in parallel: the same results in the same order
    workload->workers = workers;
    const auto again = run_workload(*workload, {.quiet = true});
    ASSERT_TRUE(again) << again.error().line();
    EXPECT_EQ(again->decisions_digest, result->decisions_digest) << workers << " workers";
    ASSERT_EQ(again->cells.size(), 20U);
    for (std::size_t c = 0; c < 20; ++c) EXPECT_EQ(again->cells[c].cell, result->cells[c].cell);
  }
}

/// The kind of a JSON value, or "missing".
std::string kind_at(const json::Value& value, const std::string& key) {
  const json::Value* found = value.find(key);
  return found ? found->kind() : "missing";
}

/// Compares only decisions; times depend on the machine.
TEST(NomadBenchmarks, DecideLikeNomad) {
  const std::vector<OtherCase> cases = run_others(true);
  std::string decided;
  for (const OtherCase& c : cases) {
    EXPECT_TRUE(c.as_nomad) << c.name;
    EXPECT_GT(c.nomad_ns, 0) << c.name;
    decided += c.name.substr(0, c.name.find(',')) + ": " + c.answer.substr(0, c.answer.find(", longest")) + "\n";
  }
  EXPECT_EQ(decided,
            "preemption: 40 placed, 40 victims (Nomad 40)\n"
            "preemption: 40 placed, 120 victims (Nomad 121)\n"
            "preemption: 40 placed, 280 victims (Nomad 281)\n"
            "system job: 1000 placed\n"
            "system job: no plan\n"
            "service job of 1000: 1000 placed\n"
            "service job of 1000: no plan\n"
            "service job of 1000: 1 lost, 1 placed\n"
            "service job of 1000: 1000 placed\n");
  EXPECT_EQ(to_json(cases)["cases"].size(), cases.size());
}

TEST(Report, JsonHasTheDocumentedKeys) {
  const json::Value report = to_json(run(kSmall));
  auto again = io::parse_json(json::to_text(report, 2));
  ASSERT_TRUE(again) << again.error().line();
  EXPECT_EQ((*again)["format"].as_string(), "berth-run");
  EXPECT_EQ((*again)["version"].as_int(), 1);
  for (const char* key : {"evaluations", "asked", "placed", "failed", "peak_rss_bytes"})
    EXPECT_TRUE((*again)[key].is_int()) << key << " is " << kind_at(*again, key);
  for (const char* key : {"placements_per_second", "evaluations_per_second", "placed_share"})
    EXPECT_TRUE((*again)[key].is_number()) << key;
  for (const char* key : {"latency_ns", "queue_ns", "schedule_ns", "commit_ns"})
    for (const char* part : {"p50", "p90", "p99", "p999", "max"})
      EXPECT_TRUE((*again)[key][part].is_int()) << key << "/" << part;
  EXPECT_EQ((*again)["placed"].as_int(), 8);
  EXPECT_EQ((*again)["failed_reasons"]["exhausted: cpu"].as_int(), 4);
  EXPECT_EQ((*again)["decisions_digest"].as_string().size(), 16U);
  EXPECT_GT((*again)["peak_rss_bytes"].as_int(), 1 << 20);
  EXPECT_FALSE(again->has("cells"));
  for (const char* key : {"commit", "compiler", "isa_path", "build_type"})
    EXPECT_FALSE((*again)["build"][key].as_string().empty()) << key;
}

TEST(Run, DecidesTheSameOnEveryInstructionSetPath) {
  for (const char* name : {"quickstart", "openb-like"}) {
    for (const char* mode : {"sampled", "exhaustive"}) {
      auto workload = sim::read_workload(std::string(BERTH_SOURCE_DIR "/bench/macro/") + name + ".toml", "smoke");
      ASSERT_TRUE(workload) << workload.error().line();
      workload->mode = std::string_view(mode) == "sampled" ? sim::Mode::sampled : sim::Mode::exhaustive;
      workload->jobs.count = std::min<std::int64_t>(workload->jobs.count, 60);
      std::string first;
      for (const std::string& path : base::isa_paths_usable()) {
        ASSERT_TRUE(base::use_isa_path(path));
        EXPECT_EQ(base::isa_path_used(), path);
        const auto result = run_workload(*workload, {.quiet = true});
        ASSERT_TRUE(result) << result.error().line();
        EXPECT_GT(result->placed, 0U);
        const std::string digest = to_json(*result)["decisions_digest"].as_string();
        if (first.empty()) first = digest;
        EXPECT_EQ(digest, first) << name << ", " << mode << ", " << path;
      }
      EXPECT_TRUE(base::use_isa_path(""));
    }
  }
  EXPECT_FALSE(base::use_isa_path("Z80"));
}

TEST(Export, PrometheusLinesAreWellFormed) {
  RunResult result = run(kSmall);
  result.workload.label = "a \"b\" \\ c";
  std::istringstream in(to_prometheus(result));
  std::string family;
  int samples = 0;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("# HELP ")) continue;
    if (line.starts_with("# TYPE ")) {
      family = std::string(base::split(line, ' ')[2]);
      continue;
    }
    // name{labels} value: of the family announced last, in labels no bare quote, a number at the end.
    const std::size_t brace = line.find('{'), end = line.rfind("} ");
    ASSERT_TRUE(brace != std::string::npos && end != std::string::npos) << line;
    const std::string name = line.substr(0, brace);
    EXPECT_TRUE(name == family || name == family + "_sum" || name == family + "_count") << line;
    EXPECT_NE(line.find(R"(label="a \"b\" \\ c")"), std::string::npos) << line;
    EXPECT_TRUE(base::parse_double(line.substr(end + 2))) << line;
    ++samples;
  }
  EXPECT_GT(samples, 40);
  const std::string text = to_prometheus(run(kSmall));
  const auto has = [&](const std::string& what) { return text.find(what) != std::string::npos; };
  EXPECT_TRUE(has("outcome=\"placed\"} 8\n"));
  EXPECT_TRUE(has("outcome=\"failed\"} 4\n"));
  EXPECT_TRUE(has("resource=\"cpu\"} 1\n"));
  EXPECT_TRUE(has("stage=\"total\"} 8\n")) << "the summary's count";
}

TEST(Export, GoogleBenchmarkHasWhatItsToolsRead) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/nomad-grid.toml", "smoke");
  ASSERT_TRUE(workload);
  workload->grid.last_cell = 3;
  const auto grid = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(grid);
  const json::Value small = to_google_benchmark(run(kSmall)), cells = to_google_benchmark(*grid);
  for (const json::Value* report : {&small, &cells}) {
    EXPECT_TRUE((*report)["context"]["date"].is_string());
    EXPECT_TRUE((*report)["context"]["num_cpus"].is_int());
    for (const json::Value& one : (*report)["benchmarks"].items()) {
      for (const char* key : {"name", "run_name", "run_type", "time_unit"}) EXPECT_TRUE(one[key].is_string()) << key;
      for (const char* key : {"real_time", "cpu_time"}) EXPECT_TRUE(one[key].is_double()) << key;
      EXPECT_TRUE(one["iterations"].is_int());
    }
  }
  EXPECT_EQ(small["benchmarks"][0]["name"].as_string(), "small/full/placement");
  EXPECT_EQ(small["benchmarks"][0]["iterations"].as_int(), 8);
  EXPECT_EQ(small["benchmarks"].size(), 1U + 5 * 5);
  ASSERT_EQ(cells["benchmarks"].size(), 3U);
  EXPECT_EQ(cells["benchmarks"][0]["real_time"].as_double(), static_cast<double>(grid->cells[0].berth_ns));
}

TEST(Export, DataItemsHaveWhatPerfDashReads) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/nomad-grid.toml", "smoke");
  ASSERT_TRUE(workload);
  workload->grid.last_cell = 3;
  const auto grid = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(grid);
  RunResult result = run(kSmall);
  result.parallel.arrivals_when_idle = 0;
  result.busy_s = 2;
  const json::Value small = to_data_items(result), cells = to_data_items(*grid);
  for (const json::Value* report : {&small, &cells}) {
    EXPECT_EQ((*report)["version"].as_string(), "v1");
    for (const json::Value& item : (*report)["dataItems"].items()) {
      EXPECT_TRUE(item["unit"].is_string());
      EXPECT_TRUE(item["labels"]["Name"].is_string() && item["labels"]["Metric"].is_string());
      EXPECT_TRUE(item["data"]["Average"].is_double());
    }
  }
  ASSERT_GT(small["dataItems"].size(), 6U);
  EXPECT_EQ(small["dataItems"][0]["labels"]["Metric"].as_string(), "SchedulingThroughput");
  EXPECT_EQ(small["dataItems"][0]["unit"].as_string(), "pods/s");
  EXPECT_EQ(small["dataItems"][0]["data"]["Average"].as_double(), 4) << "8 placements in 2 s";
  const json::Value& latency = small["dataItems"][1]["data"];
  EXPECT_EQ(latency["Perc99"].as_double(), static_cast<double>(result.latency.total.percentile(99)) / 1e6);
  EXPECT_LE(latency["Perc50"].as_double(), latency["Perc90"].as_double());
  EXPECT_LE(latency["Perc95"].as_double(), latency["Perc99"].as_double());
  ASSERT_EQ(cells["dataItems"].size(), 3U);
  EXPECT_EQ(cells["dataItems"][0]["data"]["Average"].as_double(), static_cast<double>(grid->cells[0].berth_ns) / 1e6);
  result.parallel.arrivals_when_idle = result.jobs;  // the rate is that of the arrivals, not a throughput
  EXPECT_EQ(to_data_items(result)["dataItems"].size(), small["dataItems"].size() - 1);
}

TEST(Report, CsvLinesHaveTheFieldsOfTheHeader) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/nomad-grid.toml", "smoke");
  ASSERT_TRUE(workload);
  workload->grid.last_cell = 3;
  const auto grid = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(grid);
  for (const auto& [csv, lines] : {std::pair(to_csv(run(kSmall)), 2), std::pair(to_csv(*grid), 4)}) {
    std::istringstream in(csv);
    std::string line;
    std::size_t fields = 0;
    int count = 0;
    while (std::getline(in, line)) {
      const std::size_t here = base::split(line, ',').size();
      if (count++ == 0) fields = here;
      EXPECT_EQ(here, fields) << line;
    }
    EXPECT_EQ(count, lines);
  }
  const json::Value report = to_json(*grid);
  ASSERT_EQ(report["cells"].size(), 3U);
  for (const char* key : {"nodes", "racks", "allocs", "nomad_ns", "berth_ns"})
    EXPECT_TRUE(report["cells"][0][key].is_int()) << key;
  EXPECT_TRUE(report["cells"][0]["spread"].is_bool());
  EXPECT_TRUE(report["cells"][0]["decisions_equal"].is_bool());
  EXPECT_TRUE(report["cells"][0]["ratio"].is_double());
}

// Samples count devices and joining nodes incrementally: the last one must equal a count from the tables.
TEST(Run, SamplesAgreeWithTheTables) {
  const std::string devices = R"(
name = "looks"
departures = true
[cluster]
nodes = 40
[[cluster.shapes]]
name = "std"
[[cluster.shapes]]
name = "gpu"
devices = [{ name = "nvidia/gpu/t4", count = 4 }]
[cluster.joins]
nodes = 10
start_s = 1
rate_per_s = 10
[jobs]
count = 200
[[jobs.mix]]
name = "web"
count = 2
cpu_mhz = 1500
memory_mb = 700
run_time_s = [1, 20]
[[jobs.mix]]
name = "train"
type = "batch"
run_time_s = [1, 5]
devices = [{ name = "nvidia/gpu", count = 2 }]
[arrivals]
process = "fixed"
rate_per_s = 20
)";
  for (const char* commits : {"deterministic", "free"}) {
    std::string text = devices;
    text.insert(text.find("departures"), std::string("workers = 2\ncommits = \"") + commits + "\"\n");
    const RunResult result = run(text);
    ASSERT_GT(result.over_time.size(), 16U) << commits;
    ASSERT_LE(result.over_time.size(), 34U) << commits;
    EXPECT_EQ(result.over_time.front().placed, 0U);
    EXPECT_EQ(result.over_time.front().nodes_used, 0U);
    double devices_most = 0;
    std::uint32_t nodes = 0, nodes_before = 0;
    for (std::size_t i = 0; i < result.over_time.size(); ++i) {
      const ClusterSample& sample = result.over_time[i];
      nodes = 0;
      for (const std::uint32_t count : sample.nodes_by_use) nodes += count;
      EXPECT_LE(nodes_before, nodes);  // nodes join, and none leaves
      nodes_before = nodes;
      devices_most = std::max(devices_most, sample.devices);
      if (i == 0) continue;
      EXPECT_LE(result.over_time[i - 1].seconds, sample.seconds);
      EXPECT_LE(result.over_time[i - 1].workload_seconds, sample.workload_seconds);
    }
    EXPECT_EQ(nodes, result.packing.nodes);
    EXPECT_GT(devices_most, 0);
    const ClusterSample& last = result.over_time.back();
    EXPECT_EQ(last.placed, result.placed);
    EXPECT_EQ(last.refused, result.refused);
    EXPECT_DOUBLE_EQ(last.cpu, result.packing.cpu_utilisation());
    EXPECT_DOUBLE_EQ(last.memory, result.packing.memory_utilisation());
    EXPECT_DOUBLE_EQ(last.disk, result.packing.disk_utilisation());
    EXPECT_DOUBLE_EQ(last.devices, result.packing.device_utilisation());
    EXPECT_DOUBLE_EQ(last.fragmentation, result.packing.fragmentation);
    EXPECT_EQ(last.nodes_used, result.packing.nodes_used);
    EXPECT_EQ(result.map.nodes_per_cell, 1U);
    EXPECT_EQ(result.map.use.size(), 40U);
    EXPECT_EQ(result.hdr_log, "");
  }
}

}  // namespace
}  // namespace berth::run
