// Factors, the order of runs, and the statistics of a study.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>

#include "model/job.h"
#include "run/interrupt.h"
#include "run/measures.h"
#include "stats/rank_test.h"
#include "study/benchstat.h"
#include "study/study.h"
#include "study/study_report.h"

namespace berth::study {
namespace {

using Texts = std::vector<std::string>;

TEST(Factors, AcceptValuesAndRanges) {
  const auto values = [](const char* text) { return parse_factor(text, "x")->values; };
  EXPECT_EQ(parse_factor(" workers =1,2", "x")->key, "workers");
  EXPECT_EQ(values("k=a,b,c"), (Texts{"a", "b", "c"}));
  EXPECT_EQ(values("k=1..3"), (Texts{"1", "2", "3"}));
  EXPECT_EQ(values("k=10..50..20,7"), (Texts{"10", "30", "50", "7"}));
  EXPECT_EQ(values("k=10..55..20"), (Texts{"10", "30", "50"})) << "the last step may not reach the end";
  EXPECT_EQ(values("k=[1, 2],[3, 4]"), (Texts{"[1, 2]", "[3, 4]"})) << "commas in brackets do not separate";
  EXPECT_EQ(values("k={ values = [1, 2] },\"a,b\""), (Texts{"{ values = [1, 2] }", "a,b"}));
  EXPECT_EQ(values("k=0.5..1"), (Texts{"0.5..1"})) << "no range of whole numbers: a text";
  EXPECT_EQ(values("k=best-fit:a=1"), (Texts{"best-fit:a=1"})) << "the first = separates";
  for (const char* bad :
       {"workers", "=1", "k=", "k=1,,2", "k=1,2,1", "k=a,\"a\"", "k=3..1", "k=1..5..0", "k=1..1000000"})
    EXPECT_FALSE(parse_factor(bad, "x")) << bad;
}

TEST(Factors, AreCombinedWithTheLastChangingFastest) {
  const auto settings = crossed({{"a", {"1", "2"}}, {"b", {"x", "y"}}});
  Texts texts;
  for (const auto& setting : settings) texts.push_back(sim::to_text(setting));
  EXPECT_EQ(texts, (Texts{"a=1, b=x", "a=1, b=y", "a=2, b=x", "a=2, b=y"}));
  EXPECT_EQ(crossed({}).size(), 1u);
}

TEST(RunOrder, EveryRoundHasAllSettingsAndEveryOtherIsReversed) {
  EXPECT_EQ(round_order(3, 0), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_EQ(round_order(3, 1), (std::vector<std::size_t>{2, 1, 0}));
}

class SmallStudy : public ::testing::Test {
 protected:
  SmallStudy() : folder_(std::filesystem::temp_directory_path() / ("berth-study-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(folder_);
    std::ofstream(path()) << "name = \"small\"\n[cluster]\nnodes = 20\n[[cluster.shapes]]\nname = \"std\"\n[jobs]\n"
                             "count = 10\n[[jobs.mix]]\nname = \"web\"\ncount = 3\n";
  }
  ~SmallStudy() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path() const { return (folder_ / "small.toml").string(); }

 private:
  const run::InterruptGuard guard_;  // forgets signals of other tests
  std::filesystem::path folder_;
};

TEST_F(SmallStudy, EverySettingIsRepeatedWithTheSameDecisions) {
  StudySpec spec{"berth run", path(), "full", {{"seed", "3"}}, {{"jobs.count", {"5", "10"}}}, 3, 1};
  run::RunOptions options;
  options.quiet = true;
  const auto study = run_study(spec, options);
  ASSERT_TRUE(study) << study.error().line();
  ASSERT_EQ(study->settings.size(), 2u);
  std::set<std::string> keys;
  for (const Setting& setting : study->settings) {
    ASSERT_EQ(setting.records.size(), 3u);
    for (const Record& record : setting.records) {
      EXPECT_EQ(record.status, "ok");
      EXPECT_EQ(record.digest, setting.records[0].digest);
      EXPECT_EQ(sim::to_text(record.changes), "seed=3, " + sim::to_text(setting.changes));
      EXPECT_EQ(record.value("placed_share"), 1);
      keys.insert(record.key);
    }
  }
  EXPECT_EQ(keys.size(), 6u);
  EXPECT_NE(study->settings[0].records[0].digest, study->settings[1].records[0].digest);
  EXPECT_EQ(study->settings[0].records[2].repetition, 2);
}

TEST_F(SmallStudy, BadSettingsAreRefusedBeforeAnythingRuns) {
  StudySpec spec{"berth run", path(), "full", {{"seed", "3"}}, {{"seed", {"5", "10"}}}, 1, 0};
  EXPECT_EQ(run_study(spec, {}).error().problem, "'seed' is set twice");
  spec.factors = {{"cluster.nodes", {"5", "0"}}};
  EXPECT_EQ(run_study(spec, {}).error().place, "with seed=3, cluster.nodes=0");
}

TEST_F(SmallStudy, TheKeyDependsOnTheContentAlone) {
  const Task task{path(), "full", {{"seed", "1"}}, 0};
  TaskKeys keys;
  const std::string key = *keys.of(task);
  EXPECT_EQ(key.size(), 32u);
  EXPECT_EQ(*keys.of(task), key);
  for (const Task& other : {Task{path(), "full", {{"seed", "2"}}, 0}, Task{path(), "full", {}, 0},
                            Task{path(), "full", {{"seed", "1"}}, 1}})
    EXPECT_NE(*keys.of(other), key);
  std::ofstream(path(), std::ios::app) << "ports = 1\n";
  EXPECT_NE(*TaskKeys().of(task), key) << "a changed file makes other tasks";
}

TEST(StudyRecords, RoundTrip) {
  Record record{
      std::string(32, 'a'),   "w", "full", {{"seed", "1"}}, 4, "partial", "interrupted", "d", "c", "b", "m", 1.5, 2.5,
      {{"placed_share", 0.1}}};
  record.processor_s = 0.25;
  const auto again = store::parse_record(store::to_text(record), "x");
  ASSERT_TRUE(again);
  EXPECT_EQ(store::to_text(*again), store::to_text(record));
  EXPECT_FALSE(store::parse_record("{", "x"));
  EXPECT_FALSE(store::parse_record("[]", "x"));
}

TEST(Benchstat, HasALinePerSuccessfulRun) {
  Record one;
  one.workload = "a b/c", one.label = "full", one.status = "ok";
  one.commit = "c1", one.build = "GNU 12.2.0 Release", one.machine = "m";
  one.changes = {{"workers", "2"}, {"name", "x/ y"}};
  one.results = {{"placements_per_second", 1500.5}, {"latency_ns_p50", 12000}, {"placed_share", 0.5}, {"failed", 3}};
  Record other = one;
  other.results = {{"peak_rss_bytes", 4096}};
  Record partial = one;
  partial.status = "partial";
  EXPECT_EQ(to_benchstat(std::vector{one, partial, other}),
            "Unit failed better=lower\nUnit throughput/s better=higher\nUnit placement_p50-ns better=lower\n"
            "Unit peak_memory-B better=lower\nUnit placed-% better=higher\n"
            "commit: c1\nbuild: GNU 12.2.0 Release\nmachine: m\n"
            "BenchmarkRun/workload=a_b_c/label=full/workers=2/name=x__y 1 3 failed 1500.5 throughput/s "
            "12000 placement_p50-ns 50 placed-%\n"
            "BenchmarkRun/workload=a_b_c/label=full/workers=2/name=x__y 1 4096 peak_memory-B\n");
  other.commit = "c2";
  const std::string text = to_benchstat(std::vector{one, other});
  EXPECT_NE(text.find("\ncommit: c2\n"), std::string::npos);
  EXPECT_EQ(to_benchstat(std::vector{partial}), "");
}

/// A study of given throughputs, one list per setting.
Study study_of(const std::vector<std::vector<double>>& values) {
  Study out;
  for (const auto& of_setting : values) {
    Setting& setting = out.settings.emplace_back();
    for (const double value : of_setting)
      setting.records.push_back(
          {.results = {{"placements_per_second", value}, {"failed", value}, {"placed_share", 1}}});
  }
  return out;
}

TEST(Comparisons, HaveMediansIntervalsAndTests) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, b = {11, 12, 13, 14, 15, 16, 17, 18, 19, 20};
  const Comparison c = compare_settings(study_of({a, b, a}));
  ASSERT_EQ(c.measures.size(), 3u);
  const auto& throughput = c.cells[1];
  EXPECT_EQ(run::name_of(run::measures()[c.measures[1]]), "placements_per_second");
  EXPECT_EQ(throughput[0].median.median, 5.5);
  // Ten values: the second smallest and the second largest, 1 - 2 (1 + 10) / 1024.
  EXPECT_EQ(throughput[0].median.low, 2);
  EXPECT_EQ(throughput[0].median.high, 9);
  EXPECT_DOUBLE_EQ(throughput[0].median.coverage, 1 - 22.0 / 1024);
  EXPECT_DOUBLE_EQ(throughput[1].ratio, 15.5 / 5.5);
  EXPECT_DOUBLE_EQ(*throughput[1].p, stats::rank_test(a, b).p_two_sided);
  EXPECT_DOUBLE_EQ(*throughput[1].p_adjusted, 2 * *throughput[1].p) << "two tests: throughput of both other settings";
  EXPECT_TRUE(throughput[1].shown());
  EXPECT_FALSE(throughput[2].shown());
  EXPECT_EQ(c.tests, 2u) << "the share placed is the same everywhere, and failures are not tested";
  EXPECT_DOUBLE_EQ(c.smallest_p, 2 * stats::smallest_p(10) * 2);
}

TEST(Comparisons, SingleRunsShowNoDifference) {
  const Comparison c = compare_settings(study_of({{1}, {100}}));
  EXPECT_EQ(c.tests, 0u);
  EXPECT_FALSE(c.cells[0][1].shown());
  EXPECT_EQ(c.cells[0][1].median.coverage, 0);
}

}  // namespace
}  // namespace berth::study
