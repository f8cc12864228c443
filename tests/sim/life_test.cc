// Reading and planning of the `[life]` section of workloads: valid contents, and what is refused.
#include <gtest/gtest.h>

#include <algorithm>

#include "model/job.h"
#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/job_generator.h"
#include "sim/life_plan.h"

namespace berth::sim {
namespace {

const std::string kLife = R"(name = "small-life"
seed = 7
[life]
duration_s = 600
collapsed = true
start_ms = [100, 300]
[cluster]
nodes = 10
racks = 5
[[cluster.shapes]]
name = "std"
[cluster.joins]
nodes = 2
start_s = 100
[jobs]
count = 20
[[jobs.mix]]
name = "bulk"
type = "batch"
run_time_ms = [50, 900]
[[jobs.mix]]
name = "web"
named = true
at_s = 10
count = 3
update = { max_parallel = 1, canary = 1, min_healthy_s = 5 }
migrate = { max_parallel = 2 }
disconnect = { lost_after_s = 30, reconcile = "keep_original" }
[[jobs.mix]]
name = "night"
named = true
type = "sysbatch"
run_time_s = 5
periodic = { cron = "*/5 * * * *" }
[[jobs.mix]]
name = "wave"
type = "batch"
run_time_s = 1
rate = [[0, 0.0], [100, 2.0], [200, 0.0]]
[[events]]
at_s = 60
do = "drain"
nodes = "node-3"
deadline_s = 30
[[events]]
at_s = 200
do = "update"
job = "web"
cpu_mhz = 200
[[faults]]
times = 3
from_s = 100
until_s = 300
do = "loss"
some = 1
whole_racks = true
for_s = [20, 40]
[[tasks]]
job = "web"
index = 1
run = 0
run_s = 2
exit_code = 1
)";

struct Planned {
  Workload workload;
  JobStream jobs;
  LifePlan plan;
};

Result<Planned> plan_of(const std::string& text, std::uint64_t seed = 7) {
  auto workload = parse_workload(text, "w.toml");
  if (!workload) return tl::unexpected(workload.error());
  workload->seed = seed;
  Planned out;
  const GeneratedCluster cluster = generate_cluster(workload->cluster, workload->seed);
  out.jobs = generate_jobs(workload->jobs, workload->seed);
  set_due_times(out.jobs, workload->arrivals, workload->seed);
  if (workload->life) add_life_arrivals(out.jobs, *workload);
  if (workload->life) {
    auto plan = plan_life(*workload, cluster, out.jobs);
    if (!plan) return tl::unexpected(plan.error());
    out.plan = std::move(*plan);
  }
  out.workload = std::move(*workload);
  return out;
}

const model::Job* job_named(const JobStream& jobs, const std::string& id) {
  for (const auto& job : jobs.templates)
    if (job->id == id) return job.get();
  return nullptr;
}

TEST(SimulationFile, ReadsEveryPart) {
  const auto planned = plan_of(kLife);
  ASSERT_TRUE(planned) << planned.error().line();
  const LifeSpec& life = *planned->workload.life;
  EXPECT_EQ(life.duration_ns, 600'000'000'000);
  EXPECT_TRUE(life.collapsed);
  ASSERT_EQ(life.steps.size(), 3U);
  EXPECT_EQ(life.steps[0].deadline_ns, 30'000'000'000);
  EXPECT_TRUE(life.steps[2].fault);
  EXPECT_EQ(life.tasks.at(0).exit_code, 1);
  const model::Job* web = job_named(planned->jobs, "web");
  ASSERT_NE(web, nullptr);
  EXPECT_EQ(web->task_groups[0].update->canary, 1);
  EXPECT_EQ(web->task_groups[0].migrate->max_parallel, 2);
  EXPECT_EQ(web->task_groups[0].disconnect->reconcile, "keep_original");
  EXPECT_TRUE(job_named(planned->jobs, "night")->periodic->enabled);
}

TEST(SimulationFile, RunTimesMayBeBelowASecond) {
  const auto planned = plan_of(kLife);
  ASSERT_TRUE(planned) << planned.error().line();
  for (std::size_t i = 0; i < 20; ++i) {
    EXPECT_GE(planned->jobs.arrivals[i].run_time_ns, 50'000'000);
    EXPECT_LE(planned->jobs.arrivals[i].run_time_ns, 900'000'000);
  }
}

TEST(SimulationFile,
     ArrivalsFollowACurve) {  // 0 to 2/s and back over 200 s: 200 arrivals on average, most in the middle
  std::size_t all = 0, middle = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto planned = plan_of(kLife, seed);
    ASSERT_TRUE(planned) << planned.error().line();
    std::int64_t last = 0;
    for (const JobArrival& arrival : planned->jobs.arrivals) {
      if (!planned->jobs.templates[arrival.template_index]->id.starts_with("wave-")) continue;
      EXPECT_GE(arrival.due_ns, last);
      EXPECT_LE(arrival.due_ns, 200'000'000'000);
      last = arrival.due_ns;
      ++all;
      middle += arrival.due_ns >= 50'000'000'000 && arrival.due_ns < 150'000'000'000;
    }
  }
  EXPECT_NEAR(static_cast<double>(all) / 20, 200, 15);                              // deviation of the mean: 3.2
  EXPECT_NEAR(static_cast<double>(middle) / static_cast<double>(all), 0.75, 0.03);  // the area of the middle half
}

TEST(SimulationFile, FaultsAreDrawnFromTheSeed) {
  const auto one = plan_of(kLife, 1), again = plan_of(kLife, 1), other = plan_of(kLife, 2);
  ASSERT_TRUE(one && again && other);
  const auto times = [](const Planned& p) {
    std::vector<std::int64_t> out;
    for (const Happening& h : p.plan.happenings) out.push_back(h.at_ns);
    return out;
  };
  EXPECT_EQ(times(*one), times(*again));
  EXPECT_NE(times(*one), times(*other));
  ASSERT_EQ(one->plan.faults.size(), 4U);  // the drain and three racks
  for (const PlannedFault& fault : one->plan.faults) {
    if (fault.step == 0) continue;
    EXPECT_GE(fault.at_ns, 100'000'000'000);
    EXPECT_LT(fault.at_ns, 300'000'000'000);
    EXPECT_LE(fault.nodes, 2U);  // a rack has two nodes, of which one may join later
    EXPECT_GE(fault.until_ns - fault.at_ns, 20'000'000'000);
    EXPECT_LE(fault.until_ns - fault.at_ns, 40'000'000'000);
  }
  EXPECT_TRUE(std::is_sorted(one->plan.happenings.begin(), one->plan.happenings.end(),
                             [](const auto& a, const auto& b) { return a.at_ns < b.at_ns; }));
}

TEST(SimulationFile, ARollingRebootGoesBatchByBatch) {
  const auto planned = plan_of(kLife + R"(
[[faults]]
at_s = 300
do = "rolling-reboot"
nodes = ["node-0", "node-1", "node-2"]
batch = 2
down_s = 20
pause_s = 10
)");
  ASSERT_TRUE(planned) << planned.error().line();
  std::vector<std::pair<std::int64_t, std::vector<std::uint32_t>>> reboots;
  for (const Happening& h : planned->plan.happenings)
    if (h.step == 3) reboots.emplace_back(h.at_ns / 1'000'000'000, h.nodes);
  ASSERT_EQ(reboots.size(), 2U);
  EXPECT_EQ(reboots[0], std::pair(std::int64_t{300}, std::vector<std::uint32_t>{0, 1}));
  EXPECT_EQ(reboots[1], std::pair(std::int64_t{330}, std::vector<std::uint32_t>{2}));
}

TEST(SimulationFile, APartitionLargerThanTheClusterTakesAllNodes) {
  const auto planned = plan_of(kLife + "[[faults]]\nat_s = 350\ndo = \"partition\"\npercent = 100\nfor_s = 60\n");
  ASSERT_TRUE(planned) << planned.error().line();
  EXPECT_EQ(planned->plan.faults.back().nodes, 10U);
}

TEST(SimulationFile, MayBeginAtAnyTimeUpTo2100) {
  const auto at = [](const std::string& start) {
    std::string text = kLife;
    return plan_of(text.insert(text.find("collapsed"), "start_unix_s = " + start + "\n"));
  };
  for (const char* start : {"1", "978307200", "1767225600", "4070908800"}) {
    const auto planned = at(start);
    ASSERT_TRUE(planned) << planned.error().line();
    EXPECT_EQ(planned->workload.life->start_unix_ns, std::stoll(start) * 1'000'000'000);
  }
  for (const char* start : {"0", "4102444801", "9223372036854775807", "nan"}) {
    const auto planned = at(start);
    ASSERT_FALSE(planned) << start;
    EXPECT_EQ(planned.error().place, "5") << planned.error().line();
  }
}

TEST(Life, MoreArrivalsThanFitAreRefused) {  // before any is drawn
  std::string text = kLife;
  text.replace(text.find("duration_s = 600"), 16, "duration_s = 1000000000");
  text += "\n[[jobs.mix]]\nname = \"many\"\nrate = [[0, 0.0], [10, 1000.0]]\n";
  const auto planned = plan_of(text);
  ASSERT_FALSE(planned);
  EXPECT_NE(planned.error().problem.find("about 1e+12 jobs would arrive"), std::string::npos) << planned.error().line();
}

struct BadLife {
  const char *name, *added;  ///< at the end of the file
  const char* problem;       ///< part of the message; the line is that of the last table
};
class BadSimulationFiles : public ::testing::TestWithParam<BadLife> {};

TEST_P(BadSimulationFiles, NameLineProblemAndRemedy) {
  const std::string text = kLife + "\n" + GetParam().added;
  const auto planned = plan_of(text);
  ASSERT_FALSE(planned) << text;
  const std::string shown = planned.error().line();
  EXPECT_NE(planned.error().problem.find(GetParam().problem), std::string::npos) << shown;
  EXPECT_FALSE(planned.error().remedy.empty()) << shown;
  EXPECT_EQ(shown.find('\n'), std::string::npos);
  const auto line_of = [&](std::size_t at) {
    return 1 + std::count(text.begin(), text.begin() + static_cast<long>(at), '\n');
  };
  const auto last = line_of(text.rfind("\n[[") + 1);
  EXPECT_GE(std::stol(planned.error().place), last) << shown;
}
INSTANTIATE_TEST_SUITE_P(
    Table, BadSimulationFiles,
    ::testing::Values(
        BadLife{"Cron", "[[jobs.mix]]\nname = \"n\"\nnamed = true\ntype = \"batch\"\nperiodic = { cron = \"x\" }",
                "'cron' cannot be read"},
        BadLife{"CronNever",
                "[[jobs.mix]]\nname = \"n\"\nnamed = true\ntype = \"batch\"\nperiodic = { cron = \"0 0 30 2 *\" }",
                "'cron' never comes"},
        BadLife{"TimeZone",
                "[[jobs.mix]]\nname = \"n\"\nnamed = true\ntype = \"batch\"\nperiodic = { cron = \"* * * * *\", "
                "time_zone = \"Mars/Base\" }",
                "no time zone 'Mars/Base'"},
        BadLife{"RefusedByNomad",
                "[[jobs.mix]]\nname = \"n\"\nnamed = true\nreschedule = { attempts = 3, unlimited = true }",
                "Nomad refuses jobs of the kind 'n'"},
        BadLife{"RackTwice", "[[faults]]\nat_s = 310\ndo = \"loss\"\nracks = [\"r1\", \"r1\"]", "named twice"},
        BadLife{"TooMuchInAll", "[[events]]\ntimes = 600000\ndo = \"gc\"\n[[events]]\ntimes = 600000\ndo = \"gc\"",
                "more than 1,000,000 times"},
        BadLife{"FlapsForEver",
                "[[faults]]\ntimes = 1000\ndo = \"flapping\"\npercent = 100\ndown_s = 0.001\nup_s = "
                "0.001\nfor_s = 1000000000",
                "more than 512 MiB"},
        BadLife{"NoAction", "[[events]]\nat_s = 1\n", "not said what happens"},
        BadLife{"UnknownAction", "[[events]]\nat_s = 1\ndo = \"explode\"", "'do' is 'explode'"},
        BadLife{"FaultAsEvent", "[[events]]\nat_s = 1\ndo = \"loss\"\nsome = 1", "'do' is 'loss'"},
        BadLife{"InnerAction", "[[faults]]\nat_s = 1\ndo = \"report-lag\"\nsome = 1", "'do' is 'report-lag'"},
        BadLife{"NoTime", "[[events]]\ndo = \"gc\"", "when it happens"},
        BadLife{"TwoTimes", "[[events]]\nat_s = 1\nevery_s = 2\ndo = \"gc\"", "more than one of 'at_s'"},
        BadLife{"AfterTheEnd", "[[events]]\nat_s = 601\ndo = \"gc\"", "'at_s' is 601"},
        BadLife{"TimeNan", "[[events]]\nat_s = nan\ndo = \"gc\"", "'at_s' is nan"},
        BadLife{"TimeList", "[[events]]\nat_s = [1, -1]\ndo = \"gc\"", "'at_s' holds"},
        BadLife{"TooOften", "[[events]]\nevery_s = 0.0001\ndo = \"gc\"", "'every_s' is"},
        BadLife{"Backwards", "[[events]]\nevery_s = 10\nfrom_s = 20\nuntil_s = 10\ndo = \"gc\"",
                "comes before 'from_s'"},
        BadLife{"UnknownKey", "[[events]]\nat_s = 1\ndo = \"gc\"\nnode = \"x\"", "unknown key 'node'"},
        BadLife{"KeyOfAnother", "[[events]]\nat_s = 20\ndo = \"stop\"\njob = \"web\"\ncount = 2",
                "unknown key 'count'"},
        BadLife{"NoNodes", "[[events]]\nat_s = 1\ndo = \"drain\"", "names no nodes"},
        BadLife{"NoSuchNode", "[[events]]\nat_s = 1\ndo = \"drain\"\nnodes = \"node-10\"", "no node 'node-10'"},
        BadLife{"NoSuchRack", "[[faults]]\nat_s = 1\ndo = \"loss\"\nracks = \"r5\"", "no rack 'r5'"},
        BadLife{"NodeTwice", "[[events]]\nat_s = 1\ndo = \"drain\"\nnodes = [\"node-1\", \"node-1\"]", "named twice"},
        BadLife{"NodeNotYet", "[[events]]\nat_s = 99\ndo = \"drain\"\nnodes = \"node-9\"", "joins at 101 s only"},
        BadLife{"NotUnreachable", "[[events]]\nat_s = 1\ndo = \"reachable\"\nnodes = \"node-1\"", "not unreachable"},
        BadLife{"NotDrained", "[[events]]\nat_s = 1\ndo = \"drain\"\nclear = true\nnodes = \"node-3\"",
                "not drained at 1 s"},
        BadLife{
            "LostTwice",
            "[[faults]]\nat_s = 310\ndo = \"loss\"\nnodes = \"node-1\"\n[[faults]]\nat_s = 320\ndo = \"loss\"\nnodes = "
            "\"node-1\"",
            "is away at 320 s"},
        BadLife{"Gone",
                "[[events]]\nat_s = 310\ndo = \"deregister\"\nnodes = \"node-1\"\n[[events]]\nat_s = 320\ndo = "
                "\"drain\"\nnodes = \"node-1\"",
                "was deregistered before"},
        BadLife{"TwoWills",
                "[[events]]\nat_s = 310\ndo = \"eligibility\"\neligible = true\nnodes = \"node-1\"\n[[events]]\nat_s = "
                "310\ndo = \"eligibility\"\neligible = false\nnodes = \"node-1\"",
                "contradicts line"},
        BadLife{"CutOffAndBack",
                "[[events]]\nat_s = 310\ndo = \"unreachable\"\nnodes = \"node-1\"\n[[events]]\nat_s = 310\ndo = "
                "\"reachable\"\nnodes = \"node-1\"",
                "contradicts line"},
        BadLife{"DrainedAndGone",
                "[[events]]\nat_s = 310\ndo = \"drain\"\nnodes = \"node-1\"\n[[events]]\nat_s = 310\ndo = "
                "\"deregister\"\nnodes = \"node-1\"",
                "contradicts line"},
        BadLife{"PromotedAndFailed",
                "[[events]]\nat_s = 20\ndo = \"promote\"\njob = \"web\"\n[[events]]\nat_s = 20\ndo = "
                "\"fail\"\njob = \"web\"",
                "contradicts line"},
        BadLife{"PausedAndStopped",
                "[[events]]\nat_s = 20\ndo = \"pause\"\njob = \"web\"\n[[events]]\nat_s = 20\ndo = "
                "\"stop\"\njob = \"web\"",
                "contradicts line"},
        BadLife{"TwoSettings",
                "[[events]]\nat_s = 20\ndo = \"configure\"\nalgorithm = \"spread\"\n[[events]]\nat_s = 20\ndo = "
                "\"configure\"\nalgorithm = \"binpack\"",
                "the same setting"},
        BadLife{"NoSuchJob", "[[events]]\nat_s = 20\ndo = \"stop\"\njob = \"wob\"", "no job 'wob'"},
        BadLife{"NoSuchKind", "[[events]]\nat_s = 20\ndo = \"stop\"\nkind = \"wob\"", "no kind of job 'wob'"},
        BadLife{"JobNotYet", "[[events]]\nat_s = 9\ndo = \"evaluate\"\njob = \"web\"", "registered at 10 s only"},
        BadLife{"JobStopped",
                "[[events]]\nat_s = 20\ndo = \"stop\"\njob = \"web\"\n[[events]]\nat_s = 30\ndo = \"scale\"\njob = "
                "\"web\"\ncount = 2",
                "is stopped at"},
        BadLife{"RegisteredTwice", "[[events]]\nat_s = 20\ndo = \"register\"\njob = \"web\"",
                "registered at 20 s already"},
        BadLife{"StopAndScale",
                "[[events]]\nat_s = 300\ndo = \"scale\"\njob = \"web\"\ncount = 2\n[[events]]\nat_s = 300\ndo = "
                "\"stop\"\njob = \"web\"",
                "contradicts line"},
        BadLife{"NotDispatched", "[[events]]\nat_s = 20\ndo = \"dispatch\"\njob = \"web\"", "no 'parameterized'"},
        BadLife{"NotPeriodic", "[[events]]\nat_s = 20\ndo = \"force-periodic\"\njob = \"web\"", "no 'periodic'"},
        BadLife{"NoCanary", "[[events]]\nat_s = 20\ndo = \"promote\"\njob = \"night\"", "no 'canary'"},
        BadLife{"NoRollOut", "[[events]]\nat_s = 20\ndo = \"pause\"\njob = \"night\"", "no 'update'"},
        BadLife{"NoAlloc", "[[events]]\nat_s = 20\ndo = \"alloc-stop\"\njob = \"web\"\nindex = 3", "no allocation 3"},
        BadLife{"NoGroup", "[[events]]\nat_s = 20\ndo = \"scale\"\njob = \"web\"\ngroup = \"g1\"\ncount = 1",
                "no group 'g1'"},
        BadLife{"SystemScale", "[[events]]\nat_s = 20\ndo = \"scale\"\njob = \"night\"\ncount = 1",
                "once on every node"},
        BadLife{"NoEnd", "[[faults]]\nat_s = 1\ndo = \"partition\"\nsome = 1", "how long it lasts"},
        BadLife{"Curve", "[[faults]]\nat_s = 20\ndo = \"scale-curve\"\njob = \"web\"\ncurve = [[10, 1], [5, 2]]",
                "'curve' is not"},
        BadLife{"TraceNoJob", "[[tasks]]\njob = \"wob\"", "no job 'wob'"},
        BadLife{"TraceNoTask", "[[tasks]]\njob = \"web\"\ntask = 1", "has 1 tasks"},
        BadLife{"TraceNoEnd", "[[tasks]]\njob = \"web\"\nexit_code = 1", "never ends"}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(SimulationFile, SeveralEventsAtOneTimeNeedNotContradict) {
  const auto planned =
      plan_of(kLife +
              "\n[[events]]\nat_s = 20\ndo = \"configure\"\nalgorithm = \"spread\"\n[[events]]\nat_s = 20\ndo = "
              "\"configure\"\npreempt_batch = true\n[[events]]\nat_s = [20, 21]\ndo = \"pause\"\njob = \"web\"\n"
              "[[events]]\nat_s = 310\ndo = \"unreachable\"\nnodes = \"node-1\"\n[[events]]\nat_s = 310\ndo = "
              "\"drain\"\nnodes = \"node-1\"\n[[events]]\nat_s = 311\ndo = \"reachable\"\nnodes = \"node-1\"\n");
  EXPECT_TRUE(planned) << planned.error().line();
}

TEST(SimulationFile,
     GarbageCollectionDefaultsAreThoseOfAnAgent) {  // R-CTRL-1401 to 1404: Nomad's defaults, each settable
  const auto with = [](const std::string& keys) {
    std::string text = kLife;
    text.insert(text.find("duration_s = 600"), keys);
    return plan_of(text);
  };
  const auto plain = with("");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->workload.life->job_age_ns, 14'400'000'000'000);
  EXPECT_EQ(plain->workload.life->deployment_age_ns, 3'600'000'000'000);
  EXPECT_EQ(plain->workload.life->node_age_ns, 86'400'000'000'000);
  const auto planned = with(
      "gc_interval_s = 30\neval_age_s = 1\nbatch_eval_age_s = 2\njob_age_s = 3\ndeployment_age_s = 4.5\n"
      "node_age_s = 5\n");
  ASSERT_TRUE(planned) << planned.error().line();
  const LifeSpec& life = *planned->workload.life;
  EXPECT_EQ(life.gc_interval_ns, 30'000'000'000);
  EXPECT_EQ(life.eval_age_ns, 1'000'000'000);
  EXPECT_EQ(life.batch_eval_age_ns, 2'000'000'000);
  EXPECT_EQ(life.job_age_ns, 3'000'000'000);
  EXPECT_EQ(life.deployment_age_ns, 4'500'000'000);
  EXPECT_EQ(life.node_age_ns, 5'000'000'000);
  for (const char* wrong : {"node_age_s = -1\n", "deployment_age_s = nan\n", "deployment_age_s = \"1h\"\n"}) {
    const auto refused = with(wrong);
    ASSERT_FALSE(refused) << wrong;
    EXPECT_NE(refused.error().problem.find(std::string(wrong).substr(0, 8)), std::string::npos)
        << refused.error().line();
    EXPECT_FALSE(refused.error().place.empty());
  }
}

TEST(SimulationFile, NeedsItsOwnTable) {
  for (const char* changed : {"[life]\nduration_s = 600\ncollapsed = true\nstart_ms = [100, 300]\n"}) {
    std::string text = kLife;
    text.replace(text.find(changed), std::string(changed).size(), "");
    const auto planned = plan_of(text);
    ASSERT_FALSE(planned);
    EXPECT_FALSE(planned.error().place.empty());
  }
}

TEST(SimulationFile,
     DamagedFilesAreRefusedOrPlanned) {  // bytes changed, cut and doubled: an error or a plan, never a crash
  base::Random random(1, "damage");
  std::size_t refused = 0;
  for (int round = 0; round < 600; ++round) {
    std::string text = kLife;
    const auto at = [&] { return static_cast<std::size_t>(random.below(text.size())); };
    switch (random.below(4)) {
      case 0:
        text[at()] = static_cast<char>(32 + random.below(95));
        break;
      case 1:
        text.erase(at(), random.below(20));
        break;
      case 2:
        text.insert(at(), text.substr(at(), random.below(30)));
        break;
      default: {  // replace a number
        const auto digit = text.find_first_of("0123456789", at());
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + random.below(10));
      }
    }
    const auto planned = plan_of(text);
    if (planned) continue;
    ++refused;
    EXPECT_EQ(planned.error().line().find('\n'), std::string::npos);
    EXPECT_FALSE(planned.error().remedy.empty()) << planned.error().line();
  }
  EXPECT_GT(refused, 100U);
}

}  // namespace
}  // namespace berth::sim
