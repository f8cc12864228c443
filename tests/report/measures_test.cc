// The one table of measures: a made-up measure, which is a row of the table and a value of the run and nothing else, is
// in every output and is judged, stored, compared, shown and checked.
#include <gtest/gtest.h>

#include <set>

#include "base/text.h"
#include "gate/samples.h"
#include "gate/verdict.h"
#include "report/document.h"
#include "report/input.h"
#include "report/kinds.h"
#include "report/schema.h"
#include "run/export.h"
#include "run/measures.h"
#include "run/report.h"
#include "run/runner.h"
#include "study/analysis.h"
#include "study/benchstat.h"
#include "study/measures.h"
#include "study/study_report.h"
#include "study/sweep.h"

namespace berth::report {
namespace {

constexpr run::Measure kMadeUp = {"teapots", "packing/teapots", "teapots filled", "", -1, run::MeasureKind::counter,
                                  {0.1},     run::kTested};
// Before main: the lists that are made of the table have it, too.
const bool kAdded = (run::add_measure(kMadeUp), true);

run::RunResult result_with(double teapots) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/quickstart.toml", "smoke");
  EXPECT_TRUE(workload) << workload.error().line();
  auto result = run::run_workload(*workload, {.quiet = true});
  EXPECT_TRUE(result) << result.error().line();
  result->further["packing/teapots"] = teapots;
  return *result;
}
json::Value report_with(double teapots) { return run::to_json(result_with(teapots)); }

bool has(const std::string& text, const std::string& what) { return text.find(what) != std::string::npos; }

class Measures : public ::testing::Test {
 protected:
  const run::RunResult result_ = result_with(418);
};

TEST_F(Measures, ANewOneIsInEveryOutputOfARun) {
  EXPECT_TRUE(has(run::to_table(result_), "teapots filled 418\n")) << run::to_table(result_);
  EXPECT_EQ(run::to_json(result_)["packing"]["teapots"], json::Value(418));
  EXPECT_TRUE(has(run::to_csv(result_), ",teapots,"));
  EXPECT_TRUE(has(run::to_csv(result_), ",418,"));
  const std::string prometheus = run::to_prometheus(result_);
  EXPECT_TRUE(has(prometheus, "# HELP berth_run_teapots teapots filled\n# TYPE berth_run_teapots gauge\n"));
  EXPECT_TRUE(has(prometheus, "\"} 418\n"));
  EXPECT_EQ(run::to_google_benchmark(result_)["benchmarks"][0]["teapots"].as_double(), 418);
  EXPECT_TRUE(has(json::to_text(run::to_data_items(result_)), "\"teapots\""));
}

TEST_F(Measures, ANewOneIsJudgedByTheGate) {
  gate::CasePair pair{{"quickstart", "smoke"}, {}, {}};
  ASSERT_TRUE(gate::add_report(run::to_json(result_), "base", pair.base));
  ASSERT_TRUE(gate::add_report(report_with(500), "head", pair.head));
  const gate::Verdict verdict = gate::judge({pair}, {.counters_only = true});
  std::set<std::string> worse;
  for (const gate::Finding& finding : verdict.findings)
    if (finding.result == gate::Judgement::regression) worse.insert(finding.metric);
  EXPECT_EQ(worse, std::set<std::string>{"teapots"}) << "a fifth more, and a tenth is allowed";
}

TEST_F(Measures, ANewOneIsInStudiesAndSweeps) {
  study::Study study{{.workload = "quickstart", .label = "smoke"}, "quickstart", {}, false, 1};
  std::vector<study::Record> records;
  for (const double teapots : {418.0, 500.0}) {
    const json::Value report = report_with(teapots);
    study::Setting& setting = study.settings.emplace_back();
    setting.changes = {{"teapots", std::to_string(teapots)}};
    setting.records = {study::record_of({"quickstart", "smoke", setting.changes, 0}, result_, report)};
    records.push_back(setting.records[0]);
  }
  EXPECT_TRUE(has(study::to_csv(records), "packing_teapots"));
  EXPECT_TRUE(has(study::to_benchstat(records), "Unit teapots_filled better=lower\n"));
  const json::Value shown = study::to_json(study);
  EXPECT_EQ(shown["settings"][1]["summary"]["packing_teapots"]["median"].as_double(), 500);
  const auto stored = study::measures();
  EXPECT_TRUE(std::any_of(stored.begin(), stored.end(), [](const auto& one) { return one.name == "teapots"; }));
}

TEST_F(Measures, ANewOneIsInThePageAndItsValueIsChecked) {
  const auto input = as_input(run::to_json(result_), "a run");
  ASSERT_TRUE(input) << input.error().line();
  EXPECT_TRUE(has(json::to_text(to_json(make_document({*input}))), "teapots filled"));
  json::Value bad = run::to_json(result_);
  bad.find("packing")->set("teapots", "many");
  const auto refused = check_schema(bad, "berth-run", "run.json");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "/packing/teapots");
  EXPECT_FALSE(check_schema(report_with(-1), "berth-run", "run.json"));
}

TEST(MeasureTable, NamesAreUniqueInEveryFormat) {
  std::set<std::string> names, columns, stored, samples;
  for (const run::Measure& measure : run::measures()) {
    const run::Sample sample = run::sample_of(measure);
    EXPECT_TRUE(names.insert(std::string(measure.name)).second) << measure.name;
    EXPECT_TRUE(columns.insert(run::column_of(measure)).second) << measure.name;
    EXPECT_TRUE(stored.insert(run::name_of(measure)).second) << measure.name;
    EXPECT_TRUE(samples.insert(sample.series + sample.label).second) << measure.name;
    EXPECT_TRUE(!measure.is_gated() || measure.direction != 0) << measure.name << ": a gate must know what is worse";
  }
}

}  // namespace
}  // namespace berth::report
