// The rules of a verdict, with samples made by hand.
#include "gate/verdict.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "gate/output.h"
#include "gate/simulated.h"

namespace berth::gate {
namespace {

/// `n` noiseless repetitions of both sides.
CasePair pair_of(Simulation& simulation, std::size_t n) {
  CasePair out{kOneCase.front(), {}, {}};
  for (std::size_t i = 0; i < n; ++i)
    for (const Side side : {Side::base, Side::head}) {
      const auto added =
          add_report(simulation.report(out.what, side), "simulation", side == Side::base ? out.base : out.head);
      EXPECT_TRUE(added) << added.error().error.line();
    }
  return out;
}

const Finding& finding_of(const Verdict& verdict, std::string_view metric) {
  static const Finding none;
  for (const Finding& finding : verdict.findings)
    if (finding.metric == metric) return finding;
  ADD_FAILURE() << "no finding for " << metric;
  return none;
}

TEST(GateVerdict, CountersNeedNoStatistics) {
  Simulation simulation(1);
  simulation.head.nodes_scored = 26'001;
  simulation.head.allocations = 114'895 * 1.009;  // the limit is 1 %
  const Verdict verdict = judge({pair_of(simulation, 3)}, {});
  EXPECT_EQ(verdict.exit_code(), kRegression);
  EXPECT_EQ(verdict.count(Judgement::regression), 1U);
  const Finding& scored = finding_of(verdict, "nodes_scored");
  EXPECT_EQ(finding_line(scored),
            "quickstart/smoke nodes_scored: got 26,001, want ≤ 26,000 (base 26,000, +0.0 %, noise 0, n = 3)");
  EXPECT_EQ(finding_of(verdict, "allocations").result, Judgement::pass);
  // One run per side is enough for them; fewer are an improvement.
  simulation.head.nodes_scored = 20'000;
  const Verdict single = judge({pair_of(simulation, 1)}, {});
  EXPECT_EQ(finding_of(single, "nodes_scored").result, Judgement::improved);
  EXPECT_EQ(finding_of(single, kDigest).result, Judgement::pass);
  EXPECT_EQ(single.exit_code(), kInconclusive) << "times of one run each say nothing";
}

// ---------------------------------------------------------------- every metric of the table

/// `n` repetitions of a whole report, with one metric multiplied by `factor`; times have a noise of a thousandth.
Samples samples_with(const Metric* changed, double factor, double difference, bool grid, std::size_t n) {
  Samples out;
  for (std::size_t i = 0; i < n; ++i) {
    json::Value report = whole_report(kOneCase.front(), grid);
    for (const Metric& metric : metrics()) {
      if (!is_required(metric, grid) && metric.gate.in != In::measured && metric.gate.in != In::stages) continue;
      double value = metric.is_share() ? 0.5 : 1e6;
      if (&metric == changed) value = metric.is_share() ? value + difference : value * factor;
      if (metric.kind == Kind::time) value *= 1 + 0.001 * static_cast<double>(i * 7 % 5) / 5;
      constexpr std::string_view kCells = "cells/*/";
      if (metric.path.starts_with(kCells))
        for (json::Value& cell : report.find("cells")->items()) cell.set(metric.path.substr(kCells.size()), value);
      else
        set_at(report, place_of(metric.path), value);
    }
    const auto added = add_report(report, "report", out);
    EXPECT_TRUE(added) << added.error().error.line();
  }
  return out;
}

TEST(GateVerdict, EveryMetricFailsBeyondItsLimitAndOnlyThere) {
  constexpr std::size_t kRepetitions = 20;
  Rules rules;
  rules.stages = rules.instructions = true;
  for (const Metric& metric : metrics()) {
    const bool grid = metric.gate.in == In::grids;
    const Samples base = samples_with(nullptr, 1, 0, grid, kRepetitions);
    const double limit = metric.kind == Kind::time ? metric.gate.limit * rules.effect : metric.gate.limit;
    const double sign = is_lower_better(metric) ? 1 : -1;
    for (const bool worse : {true, false}) {
      const double change = sign * (worse ? 1 : -1) * (1.6 * limit + 1e-6);
      const CasePair pair{kOneCase.front(), base, samples_with(&metric, 1 + change, change, grid, kRepetitions)};
      ASSERT_TRUE(check_sides({pair}, rules, "base", "head"));
      const Verdict verdict = judge({pair}, rules);
      const Finding& finding = finding_of(verdict, metric.name);
      EXPECT_EQ(finding.result, worse ? Judgement::regression : Judgement::improved) << finding_line(finding);
      EXPECT_EQ(verdict.exit_code(), worse ? kRegression : kPass) << metric.name;
      EXPECT_EQ(verdict.count(Judgement::regression), worse ? 1U : 0U) << metric.name;
    }
    if (limit == 0) continue;
    const double within = sign * 0.4 * limit;
    const CasePair pair{kOneCase.front(), base, samples_with(&metric, 1 + within, within, grid, kRepetitions)};
    EXPECT_EQ(finding_of(judge({pair}, rules), metric.name).result, Judgement::pass) << metric.name;
  }
}

TEST(GateVerdict, MetricMissingOnOneSideIsNeverAPass) {
  for (const Metric& metric : metrics()) {
    const bool grid = metric.gate.in == In::grids;
    Rules rules;
    rules.stages = rules.instructions = true;
    for (const Side lacks : {Side::base, Side::head}) {
      CasePair pair{kOneCase.front(), samples_with(nullptr, 1, 0, grid, 6), samples_with(nullptr, 1, 0, grid, 6)};
      (lacks == Side::base ? pair.base : pair.head).values.erase(std::string(metric.name));
      const auto refused = check_sides({pair}, rules, "BASE", "HEAD");
      ASSERT_FALSE(refused) << metric.name;
      EXPECT_EQ(refused.error().exit_code, kUsage);
      EXPECT_EQ(refused.error().error.path, lacks == Side::base ? "BASE" : "HEAD");
      EXPECT_NE(refused.error().error.problem.find("does not report " + std::string(metric.name)), std::string::npos);
      EXPECT_EQ(finding_of(judge({pair}, rules), metric.name).result, Judgement::inconclusive) << metric.name;
      Rules let = rules;
      ASSERT_TRUE(parse_limit(std::string(metric.name) + "=any", let.limits));
      EXPECT_TRUE(check_sides({pair}, let, "BASE", "HEAD")) << metric.name;
    }
  }
  Rules rules;
  rules.only = {"stage.rank"};
  const CasePair pair{kOneCase.front(), samples_with(nullptr, 1, 0, false, 3), samples_with(nullptr, 1, 0, false, 3)};
  EXPECT_TRUE(check_sides({pair}, rules, "BASE", "HEAD"));
  rules.only = {"cell_ns"};
  EXPECT_EQ(check_sides({pair}, rules, "BASE", "HEAD").error().error.problem, "no case reports cell_ns");
}

TEST(GateVerdict, OtherDecisionsAreARegressionUnlessAllowed) {
  Simulation simulation(1);
  simulation.head.digest = "0000000000000000";
  const CasePair pair = pair_of(simulation, 8);
  const Verdict verdict = judge({pair}, {});
  EXPECT_EQ(verdict.exit_code(), kRegression);
  EXPECT_EQ(
      finding_line(finding_of(verdict, kDigest)),
      "quickstart/smoke decisions_digest: got 0000000000000000, want 28189347284f1fe1 (n = 8): decisions changed");
  Rules rules;
  ASSERT_TRUE(parse_limit("decisions_digest=any", rules.limits));
  EXPECT_EQ(judge({pair}, rules).count(Judgement::regression), 0U);
}

TEST(GateVerdict, QualityLossFailsWithoutASlowdown) {
  Simulation simulation(2);
  simulation.head.fragmentation = 0.36;
  simulation.head.placed = 990;
  const Verdict verdict = judge({pair_of(simulation, 8)}, {});
  EXPECT_EQ(verdict.exit_code(), kRegression);
  EXPECT_EQ(verdict.count(Judgement::regression), 3U);  // placements, placed_share, fragmentation
  EXPECT_EQ(finding_line(finding_of(verdict, "fragmentation")),
            "quickstart/smoke fragmentation: got 36.00 %, want ≤ 35.50 % (base 35.00 %, +1.00 points, noise 0, n = 8)");
  EXPECT_EQ(finding_line(finding_of(verdict, "placed_share")),
            "quickstart/smoke placed_share: got 99.00 %, want ≥ 99.90 % (base 100.00 %, -1.00 points, noise 0, n = 8)");
  Rules rules;
  for (const char* limit : {"fragmentation=0.01", "placed_share=any", "placements=1%"})
    ASSERT_TRUE(parse_limit(limit, rules.limits));
  EXPECT_EQ(judge({pair_of(simulation, 8)}, rules).count(Judgement::regression), 0U);
}

TEST(GateVerdict, CountersOfRacingWorkersAreNotGated) {
  Simulation simulation(3);
  simulation.commits = "free";
  simulation.workers = 8;
  // Constant on both sides by chance: a rare race need not occur in every session.
  simulation.head.nodes_scored = 27'000;
  simulation.head.digest = "0000000000000000";
  simulation.head.fragmentation = 0.37;
  const Verdict verdict = judge({pair_of(simulation, 10)}, {});
  EXPECT_EQ(verdict.count(Judgement::regression), 1U);
  EXPECT_EQ(finding_of(verdict, "fragmentation").result, Judgement::regression) << "quality is tested as times are";
  EXPECT_FALSE(finding_of(verdict, "fragmentation").exact);
  ASSERT_EQ(verdict.notes.size(), 1U);
  EXPECT_NE(verdict.notes[0].find("workers race"), std::string::npos) << verdict.notes[0];
  // Workers that commit in turn decide like one worker; their work counts differ.
  simulation.commits = "deterministic";
  const Verdict in_turn = judge({pair_of(simulation, 10)}, {});
  EXPECT_EQ(finding_of(in_turn, kDigest).result, Judgement::regression);
  EXPECT_EQ(in_turn.count(Judgement::regression), 2U);
}

TEST(GateVerdict, CountersThatVaryInTheBaseAreInconclusive) {
  Simulation simulation(3);
  simulation.base.allocations_vary = simulation.head.allocations_vary = true;
  simulation.base.digest_varies = true;
  const Verdict verdict = judge({pair_of(simulation, 10)}, {});
  EXPECT_EQ(verdict.count(Judgement::regression), 0U);
  EXPECT_EQ(finding_of(verdict, kDigest).result, Judgement::inconclusive);
  EXPECT_EQ(finding_of(verdict, kDigest).note, "decisions of the base vary from run to run");
  EXPECT_EQ(finding_of(verdict, "allocations").result, Judgement::inconclusive);
  EXPECT_EQ(verdict.exit_code(), kInconclusive);
}

TEST(GateVerdict, CounterThatVariesInTheHeadOnlyIsARegression) {
  Simulation simulation(3);
  simulation.head.digest_varies = simulation.head.allocations_vary = true;
  const Verdict verdict = judge({pair_of(simulation, 10)}, {});
  EXPECT_EQ(finding_of(verdict, kDigest).note, "decisions vary from run to run");
  EXPECT_EQ(finding_of(verdict, kDigest).result, Judgement::regression);
  EXPECT_EQ(finding_of(verdict, "allocations").result, Judgement::regression);  // 4 % more at worst
}

TEST(GateVerdict, ASlowerStageFailsAndIsNamed) {
  Simulation simulation(4);
  simulation.head.commit_factor = 1.10;
  const Verdict verdict = judge({pair_of(simulation, 12)}, {});
  EXPECT_EQ(verdict.exit_code(), kRegression);
  const Finding& commit = finding_of(verdict, "commit_ns.mean");
  EXPECT_EQ(commit.result, Judgement::regression);
  EXPECT_NEAR(commit.change, 0.10, 0.02);
  EXPECT_LT(commit.noise, 0.03);
  EXPECT_LE(commit.p, 0.01);
  EXPECT_EQ(finding_of(verdict, "schedule_ns.mean").result, Judgement::pass);
  EXPECT_EQ(slower_stage(verdict, "quickstart/smoke").substr(0, 8), "commit (");
  // The reverse is an improvement, and no stage is blamed.
  CasePair turned = pair_of(simulation, 12);
  std::swap(turned.base, turned.head);
  const Verdict better = judge({turned}, {});
  EXPECT_EQ(finding_of(better, "commit_ns.mean").result, Judgement::improved);
  EXPECT_EQ(better.exit_code(), kPass);
  EXPECT_EQ(slower_stage(better, "quickstart/smoke"), "");
}

TEST(GateVerdict, NoiseAboveTheEffectIsNeverAPass) {
  Simulation simulation(5);
  simulation.noise = 0.3;
  const Verdict verdict = judge({pair_of(simulation, 8)}, {});
  const Finding& schedule = finding_of(verdict, "schedule_ns.mean");
  EXPECT_GT(schedule.noise, 0.05);
  EXPECT_NE(schedule.result, Judgement::pass);
  EXPECT_NE(schedule.result, Judgement::regression);
  EXPECT_EQ(verdict.exit_code(), kInconclusive);
  // A change far above the noise is still found.
  simulation.head.schedule_factor = 4;
  EXPECT_EQ(finding_of(judge({pair_of(simulation, 12)}, {}), "schedule_ns.mean").result, Judgement::regression);
}

TEST(GateVerdict, RegressionsMustBeSeenTwice) {
  Simulation slow(6), same(7);
  slow.head.schedule_factor = 1.2;
  const Verdict first = judge({pair_of(slow, 12)}, {});
  ASSERT_EQ(finding_of(first, "schedule_ns.mean").result, Judgement::regression);
  EXPECT_EQ(confirmed(first, judge({pair_of(slow, 12)}, {})).exit_code(), kRegression);
  const Verdict once = confirmed(first, judge({pair_of(same, 12)}, {}));
  EXPECT_EQ(finding_of(once, "schedule_ns.mean").result, Judgement::inconclusive);
  EXPECT_EQ(once.exit_code(), kInconclusive);
}

TEST(GateVerdict, TooFewRepetitionsForTheCorrectionAreRefused) {
  Rules rules;
  rules.only = {"busy_seconds"};
  EXPECT_EQ(repetitions_needed(1, rules), 5U);   // 1 / 252 <= 0.01
  EXPECT_EQ(repetitions_needed(10, rules), 7U);  // 1 / 3432 <= 0.001
  EXPECT_GT(repetitions_needed(10, {}), repetitions_needed(1, {}));
  rules.alpha = 0.2;
  EXPECT_EQ(repetitions_needed(1, rules), 3U);
}

TEST(GateMetrics, LimitsAreChecked) {
  Limits limits;
  ASSERT_TRUE(parse_limit("schedule_ns.p99=10%", limits));
  ASSERT_TRUE(parse_limit("fragmentation = 0.01", limits).error().error.problem.find("no metric") != std::string::npos);
  EXPECT_DOUBLE_EQ(limits["schedule_ns.p99"].change, 0.1);
  for (const auto& [text, words] :
       {std::pair("schedule_ns.p9=1%", "did you mean 'schedule_ns.p99'? "),
        std::pair("alocations=1%", "did you mean 'allocations'? "),
        std::pair("decision_digest=any", "did you mean 'decisions_digest'? "), std::pair("allocations", "has no '='"),
        std::pair("allocations=-1%", "is no limit"), std::pair("allocations=nan", "is no limit"),
        std::pair("decisions_digest=5%", "accepts other decisions")}) {
    const auto parsed = parse_limit(text, limits);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().exit_code, kUsage);
    EXPECT_NE(parsed.error().error.line().find(words), std::string::npos) << parsed.error().error.line();
  }
  EXPECT_EQ(parse_share(" 5 % "), 0.05);
  EXPECT_EQ(parse_share("0.05"), 0.05);
  EXPECT_FALSE(parse_share("five"));
}

TEST(GateMetrics, TextsHaveUnits) {
  for (const auto& [value, unit, text] :
       {std::tuple(812.0, "ns", "812 ns"), std::tuple(1234.0, "ns", "1.23 us"), std::tuple(0.0045, "s", "4.50 ms"),
        std::tuple(1234567.0, "", "1,234,567"), std::tuple(-1234.0, "", "-1,234"), std::tuple(2.5, "", "2.5"),
        std::tuple(3145728.0, "bytes", "3.00 MiB"), std::tuple(0.353, "%", "35.30 %")})
    EXPECT_EQ(run::with_unit(value, unit), text);
}

}  // namespace
}  // namespace berth::gate
