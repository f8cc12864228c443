// Plans, stores of runs in a folder, job files, and the results of an analysis.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

#include "compare/choices.h"
#include "io/files.h"
#include "io/json_parse.h"
#include "model/job.h"
#include "run/measures.h"
#include "study/analysis.h"
#include "study/backends.h"
#include "study/measures.h"
#include "study/sweep.h"

namespace berth::study {
namespace {

namespace fs = std::filesystem;

class SweepFolder : public ::testing::Test {
 protected:
  SweepFolder() : folder_(fs::temp_directory_path() / ("berth-sweep-" + std::to_string(getpid()))) {
    fs::create_directories(folder_);
    write("small.toml",
          "name = \"small\"\nlabels = [\"full\", \"tiny\"]\n[cluster]\nnodes = 20\n[[cluster.shapes]]\nname = "
          "\"std\"\n[jobs]\n"
          "count = 10\n[[jobs.mix]]\nname = \"web\"\ncount = 3\n[label.tiny]\njobs.count = 2\n");
  }
  ~SweepFolder() override { fs::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_ / name) << text; }
  [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }
  [[nodiscard]] Result<Plan> plan_of(const std::string& text) const { return parse_plan(text, path("plan.toml")); }
  [[nodiscard]] Sweep sweep_of(const std::string& text) const {
    Sweep sweep = *Sweep::open(*plan_of(text), path("out"));
    EXPECT_TRUE(sweep.make_folder());
    return sweep;
  }
  /// The store that was begun last.
  [[nodiscard]] std::string newest_file() const {
    std::set<std::string> files;
    for (const auto& entry : fs::directory_iterator(path("out/runs"))) files.insert(entry.path().string());
    return *files.rbegin();
  }
  [[nodiscard]] static LocalOptions quiet(std::size_t processes) {
    LocalOptions out;
    out.processes = processes, out.quiet = true;
    return out;
  }

 private:
  fs::path folder_;
};

std::vector<std::string> settings_of(const Plan& plan) {
  std::vector<std::string> out;
  for (const Task& task : plan.tasks)
    out.push_back(fs::path(task.workload).stem().string() + "/" + task.label + " " + sim::to_text(task.changes) + " #" +
                  std::to_string(task.repetition));
  return out;
}

TEST_F(SweepFolder, PlansCrossZipAndDraw) {
  const auto crossed_plan = plan_of(
      "[[runs]]\nworkloads = [\"small.toml\"]\nlabels = [\"full\", \"tiny\"]\nrepetitions = 2\n[runs.vary]\nseed = "
      "\"1..2\"\ncluster.nodes = [5]\n");
  ASSERT_TRUE(crossed_plan) << crossed_plan.error().line();
  EXPECT_EQ(
      settings_of(*crossed_plan),
      (std::vector<std::string>{"small/full seed=1, cluster.nodes=5 #0", "small/full seed=1, cluster.nodes=5 #1",
                                "small/full seed=2, cluster.nodes=5 #0", "small/full seed=2, cluster.nodes=5 #1",
                                "small/tiny seed=1, cluster.nodes=5 #0", "small/tiny seed=1, cluster.nodes=5 #1",
                                "small/tiny seed=2, cluster.nodes=5 #0", "small/tiny seed=2, cluster.nodes=5 #1"}));
  const auto zipped_plan = plan_of(
      "[[runs]]\nworkloads = \"small.toml\"\ncombine = \"zip\"\n[runs.vary]\nseed = [1, 2]\nstrategy = [\"nomad\", "
      "\"best-fit\"]\n");
  ASSERT_TRUE(zipped_plan) << zipped_plan.error().line();
  EXPECT_EQ(settings_of(*zipped_plan), (std::vector<std::string>{"small/full seed=1, strategy=nomad #0",
                                                                 "small/full seed=2, strategy=best-fit #0"}));
  const char* const kDrawn =
      "[[runs]]\nworkloads = \"small.toml\"\ncombine = \"random\"\ncount = 7\nseed = 3\n[runs.vary]\nseed = "
      "\"1..10\"\nworkers = [1, 2]\n";
  const auto drawn_plan = plan_of(kDrawn);
  ASSERT_TRUE(drawn_plan) << drawn_plan.error().line();
  const auto drawn_settings = settings_of(*drawn_plan);
  EXPECT_EQ(std::set<std::string>(drawn_settings.begin(), drawn_settings.end()).size(), 7U) << "none twice";
  EXPECT_EQ(settings_of(*plan_of(kDrawn)), drawn_settings) << "the same seed draws the same";
}

struct BadPlan {
  const char *text, *says;
};
class RefusedSweeps : public SweepFolder, public ::testing::WithParamInterface<BadPlan> {};
TEST_P(RefusedSweeps, AreReportedInOneLine) {
  const auto plan = plan_of(GetParam().text);
  ASSERT_FALSE(plan);
  EXPECT_NE(plan.error().line().find(GetParam().says), std::string::npos) << plan.error().line();
  EXPECT_EQ(plan.error().line().find('\n'), std::string::npos);
}
INSTANTIATE_TEST_SUITE_P(
    Bad, RefusedSweeps,
    ::testing::Values(
        BadPlan{"", "the plan has no [[runs]]"}, BadPlan{"runs = 3", "'runs' is not a list of tables"},
        BadPlan{"[[runs]]\n", "no 'workloads' are named"}, BadPlan{"x = [", "not TOML"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\nlabel = \"full\"", "did you mean 'labels'"},
        BadPlan{"[[runs]]\nworkloads = \"none.toml\"", "none.toml"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\nlabels = \"huge\"", "there is no label 'huge'"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\nrepetitions = 0", "'repetitions' is 0"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\ncombine = \"mix\"", "use one of: cross, zip, random"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\ncombine = \"random\"", "go together"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\ncombine = \"zip\"\n[runs.vary]\nseed = [1, 2]\nworkers = [1]",
                "different lengths"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = [1, 1]", "has the value 1 twice"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = []", "has no values"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = \"9..1\"", "has no values"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.preemtion = [\"nomad\"]",
                "compare.preemtion: there is no such choice; did you mean 'preemption'"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.preemption = [\"nomat\"]",
                "there is no such rule; did you mean 'nomad'"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.rebalance = [\"cosin\"]",
                "there is no rule 'cosin'; did you mean 'cosine'"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.strategy = [\"best\"]",
                "there is no such strategy"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.budget = [1]",
                "compare.budget: says nothing without compare.preemption"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.preemption = \"nomad\"\ncompare.budget = "
                "[-1]",
                "compare.budget: '-1' is no budget"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.preemption = \"nomad\"\ncompare.eligible "
                "= \"all\"",
                "compare.eligible: there is no 'all'"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.rebalance = \"cosine\"\ncompare.ratio = "
                "[2]",
                "compare.ratio: is not a part"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.rebalance = \"cosine\"\ncompare.preemption "
                "= \"nomad\"",
                "compare.rebalance are varied at once"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncompare.preemption = \"nomad\"\nstrategy = "
                "\"best-fit\"",
                "'strategy' are varied at once"},
        BadPlan{"[[runs]]\nworkloads = \"recover-lost\"\n[runs.vary]\ncompare.preemption = \"nomad\"",
                "has a life, which evicts as its servers do"},
        BadPlan{"[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\ncluster.nodez = [1]", "did you mean 'nodes'"}));

constexpr const char* kTwelve =
    "[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = \"1..6\"\nstrategy = [\"nomad\", \"worst-fit\"]\n";

TEST_F(SweepFolder, TasksRunOnceInAnyOrderWithTheSameDigest) {
  const Sweep one = sweep_of(kTwelve);
  EXPECT_EQ(one.missing(false).size(), 12U);
  const auto done = run_local(one, one.missing(false), quiet(3));
  ASSERT_TRUE(done) << done.error().line();
  EXPECT_EQ(done->ran, 12U);
  EXPECT_TRUE(one.missing(false).empty());
  const Gathered all = gather(one);
  EXPECT_EQ(all.records.size(), 12U);
  EXPECT_EQ(all.missing, 0U);
  // Backwards, one at a time, with some lost and repeated: the same digest.
  fs::remove_all(path("out"));
  const Sweep other = sweep_of(kTwelve);
  for (std::size_t i = 12; i-- > 0;) {
    const Sweep process = sweep_of(kTwelve);  // each has a file of its own
    ASSERT_TRUE(run_local(process, {i}, quiet(1)));
    if (i == 9) fs::remove(newest_file());
  }
  EXPECT_EQ(other.missing(false), std::vector<std::size_t>{9});
  EXPECT_NE(gather(other).digest, all.digest) << "one is missing";
  ASSERT_TRUE(run_local(other, other.missing(false), quiet(2)));
  EXPECT_EQ(gather(other).digest, all.digest);
}

TEST_F(SweepFolder, PreemptionRulesAreAFactorAndAgreeWithCompare) {
  write("full.toml",
        "name = \"full\"\n[cluster]\nnodes = 4\n[[cluster.shapes]]\nname = \"std\"\ncores = 4\nmhz_per_core = "
        "2000\n[cluster.load]\npercent = 90\npriority = [10, 20]\n[jobs]\ncount = 40\n"
        "[[jobs.mix]]\nname = \"web\"\ncount = 3\ncpu_mhz = 1500\npriority = 20\n"
        "[[jobs.mix]]\nname = \"urgent\"\ncount = 2\ncpu_mhz = 2500\npriority = 80\n");
  const Sweep sweep = sweep_of(
      "[[runs]]\nworkloads = \"full.toml\"\n[runs.vary]\nseed = [1, 2]\ncompare.strategy = "
      "\"best-fit\"\ncompare.preemption = [\"nomad\", \"exact-fewest\"]\n");
  ASSERT_TRUE(run_local(sweep, sweep.missing(false), quiet(2)));
  const Gathered all = gather(sweep);
  ASSERT_EQ(all.records.size(), 4U);

  compare::GridOptions options;
  options.seeds = {1, 2}, options.quiet = true;
  for (const char* rule : {"nomad", "exact-fewest"}) {
    options.strategies.push_back({rule, *strategy::registry().parse("best-fit")});
    ASSERT_TRUE(compare::find_preemption(rule, options.strategies.back()));
  }
  const auto grid = compare::run_grid(*sim::read_workload(path("full.toml"), "full", {}), "", options);
  ASSERT_TRUE(grid);
  double victims = 0;
  for (std::size_t seed = 0; seed < 2; ++seed)
    for (std::size_t rule = 0; rule < 2; ++rule) {
      const Record& record = all.records[2 * seed + rule];
      EXPECT_EQ(record.status, "ok") << record.message;
      const compare::Measured& measured = grid->run(rule, seed).measured;
      EXPECT_EQ(record.digest, measured.digest);
      for (std::size_t m = 0; m < grid->set->all.size(); ++m)
        if (!grid->set->all[m].speed) {
          EXPECT_EQ(record.value(grid->set->all[m].name), measured.values[m]) << grid->set->all[m].name;
        }
      victims += record.value("victims");
    }
  EXPECT_GT(victims, 0) << "nobody was evicted: the test says nothing";
  const Analysis analysis = analyse(all.records);
  ASSERT_EQ(analysis.factors.size(), 1U);
  EXPECT_EQ(analysis.factors[0].name, "compare.preemption");
  EXPECT_TRUE(std::any_of(analysis.effects.begin(), analysis.effects.end(), [](const Effect& effect) {
    return run::name_of(measures()[effect.measure]) == "victims" && effect.test.pairs == 2;
  }));
  EXPECT_NE(to_csv(all.records).find(",victims,"), std::string::npos);
}

TEST(SweepMeasures, HaveUniqueNamesAndThoseOfARunComeFirst) {
  std::set<std::string> names;
  for (const run::Measure& measure : measures()) EXPECT_TRUE(names.insert(run::name_of(measure)).second);
  ASSERT_GT(measures().size(), run::measures().size());
  for (std::size_t i = 0; i < run::measures().size(); ++i) EXPECT_EQ(measures()[i].path, run::measures()[i].path);
}

TEST_F(SweepFolder, ResultsAreKeyedByTheContentOfATask) {
  const Sweep one = sweep_of("[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = [1, 2, 3]\n");
  ASSERT_TRUE(run_local(one, one.missing(false), quiet(2)));
  // Half of a changed plan is done already: other numbers and order, the same content.
  const Sweep changed = sweep_of("[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = [9, 3, 2]\n");
  EXPECT_EQ(changed.missing(false), std::vector<std::size_t>{0});
  EXPECT_NE(changed.plan_digest(), one.plan_digest());
  // A run that a plan lists twice is made once.
  EXPECT_EQ(sweep_of("[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = [1]\n[[runs]]\nworkloads = "
                     "\"small.toml\"\n[runs.vary]\nseed = [1, 2]\n")
                .keys()
                .size(),
            2U);
}

TEST_F(SweepFolder, InvalidStoresAreReportedAndTheirTasksRepeated) {
  const char* const kFour = "[[runs]]\nworkloads = \"small.toml\"\n[runs.vary]\nseed = \"1..4\"\n";
  for (std::size_t i = 0; i < 4; ++i) {
    const Sweep sweep = sweep_of(kFour);
    ASSERT_TRUE(run_local(sweep, {i}, quiet(1)));
    if (i == 1) std::ofstream(newest_file(), std::ios::trunc) << "not a database, but a text";
    if (i == 2) fs::resize_file(newest_file(), fs::file_size(newest_file()) / 2);
  }
  const Sweep sweep = sweep_of(kFour);
  const Gathered all = gather(sweep);
  EXPECT_EQ(all.records.size(), 2U);
  ASSERT_EQ(all.problems.size(), 2U);
  EXPECT_NE(all.problems[0].find("is no file of runs of berth"), std::string::npos) << all.problems[0];
  EXPECT_EQ(sweep.missing(false), (std::vector<std::size_t>{1, 2}));
}

TEST_F(SweepFolder, RunsOfAnOlderBerthAreRefused) {
  fs::create_directories(path("out/records"));
  const Sweep sweep = *Sweep::open(*plan_of(kTwelve), path("out"));
  const auto made = sweep.make_folder();
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().line().find("runs of an older berth"), std::string::npos) << made.error().line();
}

TEST_F(SweepFolder, FailuresAreStoredWithTheirMessageAndRetriedOnRequest) {
  write("files.toml",
        "name = \"files\"\n[cluster]\ngenerator = \"files\"\nfile = \"nodes.json\"\n[jobs]\ngenerator = "
        "\"files\"\nfile = \"jobs.json\"\n");
  write("nodes.json", "[{\"ID\": \"x\"}]");
  write("jobs.json", "[]");
  const Sweep sweep = sweep_of("[[runs]]\nworkloads = [\"files.toml\", \"small.toml\"]\n");
  const auto done = run_local(sweep, sweep.missing(false), quiet(2));
  ASSERT_TRUE(done);
  EXPECT_EQ(done->failed, 1U);
  const Gathered all = gather(sweep);
  ASSERT_EQ(all.failed.size(), 1U);
  EXPECT_NE(all.failed[0].message.find("nodes.json:/0/ID"), std::string::npos) << all.failed[0].message;
  EXPECT_TRUE(sweep.missing(false).empty());
  EXPECT_EQ(sweep.missing(true), std::vector<std::size_t>{0});
  // A failure does not replace a run that is fine.
  const Record killed = sweep.failure_of(1, "the process of the run was killed by signal 9 (Killed)");
  EXPECT_EQ(killed.key, sweep.keys()[1]);
  ASSERT_TRUE(sweep.keep(std::span(&killed, 1)));
  EXPECT_EQ(sweep.missing(true), std::vector<std::size_t>{0});
}

TEST_F(SweepFolder, AnEstimateStoresNothing) {
  const Sweep sweep = sweep_of(kTwelve);
  const auto guess = estimate(sweep, quiet(2));
  ASSERT_TRUE(guess);
  EXPECT_EQ(guess->runs, 12U);
  EXPECT_EQ(guess->samples, 3U);
  EXPECT_GT(guess->seconds_all, 0);
  EXPECT_GT(guess->peak_bytes, 0U);
  EXPECT_EQ(sweep.missing(false).size(), 12U);
}

TEST(JobFiles, QuoteTextsForTheShell) {
  ArrayJob job{.name = "My plan!",
               .program = "/opt/berth",
               .plan = "/a b/it's.toml",
               .folder = "/out",
               .plan_digest = "0123",
               .elements = 7,
               .at_once = 3};
  EXPECT_EQ(shell_word("/a b/it's.toml"), "'/a b/it'\\''s.toml'");
  const std::string slurm = slurm_script(job);
  EXPECT_NE(slurm.find("#SBATCH --array=1-7%3\n"), std::string::npos) << slurm;
  EXPECT_NE(slurm.find("#SBATCH --job-name=berth-my-plan\n"), std::string::npos) << slurm;
  EXPECT_NE(slurm.find("--requeue"), std::string::npos);
  EXPECT_NE(slurm.find("exec /opt/berth sweep '/a b/it'\\''s.toml' --output /out --plan-digest 0123 --quiet --element "
                       "\"$SLURM_ARRAY_TASK_ID\"/7\n"),
            std::string::npos)
      << slurm;
  const auto nomad = io::parse_json(nomad_job(job));
  ASSERT_TRUE(nomad);
  EXPECT_EQ((*nomad)["Job"]["TaskGroups"][0]["Count"].as_int(), 7);
  EXPECT_EQ((*nomad)["Job"]["Type"].as_string(), "batch");
  const auto kubernetes = io::parse_json(kubernetes_job(job));
  ASSERT_TRUE(kubernetes);
  EXPECT_EQ((*kubernetes)["spec"]["completionMode"].as_string(), "Indexed");
  EXPECT_EQ((*kubernetes)["spec"]["parallelism"].as_int(), 3);
}

Record run_of(const std::string& a, const std::string& b, int seed, double throughput, double latency = 1) {
  Record out;
  out.workload = "w", out.label = "full", out.status = "ok";
  out.changes = {{"seed", std::to_string(seed)}, {"a", a}, {"b", b}};
  out.results = {{"placements_per_second", throughput}, {"latency_ns_p50", latency}};
  return out;
}

TEST(SweepAnalyses, EffectsAndInteractionsArePairedBySeed) {
  // y = 100 seed + 10 [a = 2] + 5 [b = 2] + 7 [both] + noise: the seeds differ by far more than the levels.
  std::mt19937 random(1);
  std::normal_distribution<double> noise(0, 0.1);
  std::vector<Record> records;
  for (int seed = 1; seed <= 8; ++seed)
    for (const int a : {1, 2})
      for (const int b : {1, 2})
        records.push_back(run_of(std::to_string(a), std::to_string(b), seed,
                                 100 * seed + 10 * (a == 2) + 5 * (b == 2) + 7 * (a == 2 && b == 2) + noise(random)));
  records.push_back(run_of("1", "1", 99, 1e9));
  records.back().status = "failed";
  const Analysis all = analyse(records);
  EXPECT_EQ(all.runs, 32U);
  EXPECT_EQ(all.left_out, 1U);
  EXPECT_EQ(all.replicates, 8U);
  ASSERT_EQ(all.factors.size(), 2U) << "the seed is none";
  ASSERT_EQ(all.effects.size(), 2U) << "a latency that is the same everywhere is not looked at";
  EXPECT_NEAR(all.effects[0].test.difference, 10 + 3.5, 0.2);
  EXPECT_NEAR(all.effects[1].test.difference, 5 + 3.5, 0.2);
  ASSERT_EQ(all.interactions.size(), 1U);
  EXPECT_NEAR(all.interactions[0].test.difference, 7, 0.3);
  for (const auto* list : {&all.effects, &all.interactions})
    for (const Effect& effect : *list) {
      EXPECT_TRUE(effect.test.shown);
      EXPECT_GE(effect.test.p_adjusted, effect.test.p);
      EXPECT_LT(effect.test.low, effect.test.difference);
      EXPECT_EQ(effect.test.pairs, 8U);
    }
  EXPECT_EQ(all.tests, 3U);
  const auto order = ranking(all, 0);
  EXPECT_EQ(all.settings[order[0]].levels, (std::vector<std::size_t>{1, 1})) << "both at 2 is the best";
}

TEST(SweepAnalyses, NoiseShowsNoEffects) {
  std::mt19937 random(2);
  std::normal_distribution<double> noise(0, 1);
  int shown = 0;
  for (int round = 0; round < 40; ++round) {
    std::vector<Record> records;
    for (int seed = 1; seed <= 6; ++seed)
      for (const char* a : {"1", "2", "3"})
        for (const char* b : {"1", "2"}) records.push_back(run_of(a, b, seed, noise(random), noise(random)));
    const Analysis all = analyse(records);
    bool any = false;
    for (const auto* list : {&all.effects, &all.interactions})
      for (const Effect& effect : *list) any = any || effect.test.shown;
    shown += any;
  }
  EXPECT_LE(shown, 6) << "of 40 families of tests at 5 % each, more than 6 have a false one once in 70";
}

TEST(SweepAnalyses, TheFrontListsUndominatedSettings) {
  std::vector<Record> records;
  const std::vector<std::pair<double, double>> points = {{10, 5}, {8, 3}, {7, 4}, {12, 9}};  // throughput, latency
  for (std::size_t i = 0; i < points.size(); ++i)
    records.push_back(run_of(std::to_string(i), "x", 1, points[i].first, points[i].second));
  const Analysis all = analyse(records);
  std::vector<bool> front;
  for (const SettingMeans& setting : all.settings) front.push_back(setting.front);
  EXPECT_EQ(front, (std::vector<bool>{true, true, false, true})) << "7/s at 4 ns is beaten by 8/s at 3 ns";
  EXPECT_EQ(all.effects[0].test.pairs, 1U) << "one seed: a difference, and no test";
  EXPECT_FALSE(all.effects[0].test.shown);
}

TEST(SweepAnalyses, MissingRunsAndNoFactorsAreAccepted) {
  EXPECT_TRUE(analyse({}).settings.empty());
  const Analysis same = analyse({run_of("1", "1", 1, 5), run_of("1", "1", 2, 6)});
  EXPECT_TRUE(same.factors.empty());
  EXPECT_EQ(same.settings.size(), 1U);
  const Analysis holes = analyse({run_of("1", "1", 1, 5), run_of("2", "2", 2, 6), run_of("2", "1", 3, 7)});
  for (const Effect& effect : holes.effects) EXPECT_FALSE(effect.test.shown);
}

}  // namespace
}  // namespace berth::study
