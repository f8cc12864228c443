// The clock of stages, and the arithmetic of the recorder, of the stage table and of the overhead.
#include <gtest/gtest.h>

#include "base/stages.h"
#include "profile/overhead.h"
#include "profile/roofline.h"
#include "profile/stage_table.h"

namespace berth::profile {
namespace {

using base::Stage;

std::uint64_t sum(const base::StageClock::Counts& counts) {
  std::uint64_t out = 0;
  for (const std::uint64_t count : counts) out += count;
  return out;
}

std::size_t at(Stage stage) { return static_cast<std::size_t>(stage); }

TEST(StageClock, EveryTickBelongsToOneStage) {
  base::StageClock clock;
  const std::uint64_t before = base::read_ticks();
  clock.start(Stage::harness);
  {
    const base::UseStageClock marks(&clock);
    const base::StageScope placing(Stage::place);
    {
      const base::StageScope preempting(Stage::preempt);
      const base::StageScope nothing(nullptr, Stage::commit);  // goes nowhere
    }
    const base::StageScope checking(Stage::check);
  }
  clock.flush();
  const std::uint64_t all = base::read_ticks() - before;
  EXPECT_LE(sum(clock.ticks()), all);
  // harness, place, preempt, place, check, place, harness: one mark at each end.
  EXPECT_EQ(clock.marks()[at(Stage::harness)], 2U);
  EXPECT_EQ(clock.marks()[at(Stage::place)], 3U);
  EXPECT_EQ(clock.marks()[at(Stage::preempt)], 1U);
  EXPECT_EQ(clock.marks()[at(Stage::check)], 1U);
  EXPECT_EQ(clock.marks()[at(Stage::commit)], 0U);
  EXPECT_EQ(base::stage_clock, nullptr);  // given back
}

TEST(StageClock, WithoutItNoTimeIsTaken) {
  ASSERT_EQ(base::stage_clock, nullptr);
  const base::StageScope placing(base::placing_stage());
  EXPECT_EQ(base::detailed_clock(), nullptr);
  EXPECT_EQ(base::placing_stage(), Stage::place);
  base::StageClock clock;
  const base::UseStageClock marks(&clock);
  EXPECT_EQ(base::placing_stage(), Stage::place);
  clock.set_detailed(true);
  EXPECT_EQ(base::placing_stage(), Stage::plan);
}

TEST(StageNames, AreDistinct) {
  for (std::size_t a = 0; a < base::kStages; ++a)
    for (std::size_t b = 0; b < a; ++b)
      EXPECT_STRNE(base::to_text(static_cast<Stage>(a)), base::to_text(static_cast<Stage>(b)));
}

TEST(Calibration, MeasuresThisMachine) {
  const Calibration c = calibrate();
  EXPECT_GT(c.ns_per_tick, 0.01);
  EXPECT_LE(c.ns_per_tick, 100);
  EXPECT_GT(c.mark_ns, 0);
}

run::EvalRecord record(std::uint64_t number, std::int64_t service_ns) {
  run::EvalRecord out;
  out.number = number;
  out.due_ns = 1000, out.started_ns = 1500, out.decided_ns = 1500 + service_ns / 2, out.done_ns = 1500 + service_ns;
  out.placed = 2;
  out.candidates = 10;
  out.work.nodes_evaluated = 25, out.work.nodes_filtered = 5;
  return out;
}

TEST(StageRecorder, SubtractsTheCostOfTimeStamps) {
  Recorder recorder({.ns_per_tick = 0.5, .mark_ns = 10}, {});
  run::EvalRecord r = record(1, 100);
  r.ticks[at(Stage::order)] = 1000, r.marks[at(Stage::order)] = 3;      // 500 - 30
  r.ticks[at(Stage::snapshot)] = 10, r.marks[at(Stage::snapshot)] = 1;  // 5 - 10: nothing is left
  recorder.evaluation(r);
  recorder.finish();
  EXPECT_DOUBLE_EQ(recorder.sums().stage_ns[at(Stage::order)], 470);
  EXPECT_DOUBLE_EQ(recorder.sums().stage_ns[at(Stage::snapshot)], 0);
  EXPECT_EQ(recorder.latency(Stage::order).count(), 1U);
  EXPECT_EQ(recorder.latency(Stage::snapshot).count(), 0U);  // percentiles are of evaluations that have the stage
}

TEST(StageRecorder, PercentilesMergeOverChunks) {
  // 10,000 evaluations, more than two chunks: 1 to 10,000 us in order.
  Recorder recorder({}, {.detail_every = 1, .slowest = 3, .keep_samples = true, .only = std::nullopt});
  for (std::uint64_t i = 1; i <= 10'000; ++i) {
    run::EvalRecord r = record(i, static_cast<std::int64_t>(i) * 1000);
    r.ticks[at(Stage::commit)] = i * 1000;
    recorder.evaluation(r);
  }
  recorder.finish();
  const sim::Histogram& commit = recorder.latency(Stage::commit);
  EXPECT_EQ(commit.count(), 10'000U);
  EXPECT_NEAR(static_cast<double>(commit.percentile(50)), 5e6, 5e6 / 1000);
  EXPECT_NEAR(static_cast<double>(commit.percentile(99)), 9.9e6, 9.9e6 / 1000);
  EXPECT_EQ(recorder.samples().size(), 10'000U);
  ASSERT_EQ(recorder.slowest().size(), 3U);
  EXPECT_EQ(recorder.slowest()[0].number, 10'000U);
  EXPECT_EQ(recorder.slowest()[2].number, 9'998U);
  EXPECT_EQ(recorder.sums().reached, 10'000U * 10);        // 25 met, 10 there are
  EXPECT_EQ(recorder.sums().reached_passed, 10'000U * 8);  // one in five is filtered
}

TEST(StageRecorder, RecordsOnlyOneEvaluation) {
  Recorder recorder({}, {.detail_every = 32, .slowest = 5, .keep_samples = false, .only = std::pair(7, 1)});
  EXPECT_TRUE(recorder.detailed(7, 1));
  EXPECT_FALSE(recorder.detailed(7, 0));
  for (const std::uint32_t round : {0U, 1U, 2U}) {
    run::EvalRecord r = record(7, 100);
    r.round = round;
    recorder.evaluation(r);
    EXPECT_EQ(recorder.finished(), round > 0);
  }
  recorder.finish();
  EXPECT_EQ(recorder.sums().evaluations, 1U);
}

TEST(StageRecorder, DetailedEvaluationsAreDrawnByNumber) {
  Recorder a({}, {.detail_every = 8}), b({}, {.detail_every = 8});
  int detailed = 0;
  for (std::uint64_t i = 0; i < 8000; ++i) {
    EXPECT_EQ(a.detailed(i, 0), b.detailed(i, 0));
    detailed += a.detailed(i, 0);
  }
  EXPECT_NEAR(detailed, 1000, 150);
}

TEST(StageTable, DividesPlacingAsInTheDetailedEvaluations) {
  // Two lanes; placing takes 3,000 unmarked and 1,000 in detail, which divide 500 : 300 : 200.
  Recorder recorder({}, {});
  base::StageClock* clock = recorder.new_clock();
  // The totals are the clock's, so the clock must have run: its own ticks, whatever they are, are divided.
  const std::uint64_t began = base::read_ticks();
  clock->start(Stage::place);
  while (base::read_ticks() < began + 100'000) {
  }
  clock->enter(Stage::check);
  while (base::read_ticks() < began + 110'000) {
  }
  clock->enter(Stage::idle);
  run::EvalRecord coarse = record(1, 100), detailed = record(2, 100);
  coarse.ticks[at(Stage::place)] = 3000;
  detailed.detailed = true;
  detailed.ticks[at(Stage::filter)] = 500, detailed.ticks[at(Stage::rank)] = 300, detailed.ticks[at(Stage::plan)] = 200;
  recorder.evaluation(coarse), recorder.evaluation(detailed);
  recorder.finish();
  const StageTable table = stage_table(recorder, 2, 100, nullptr);
  ASSERT_EQ(table.rows.size(), 4U);
  EXPECT_EQ(table.rows[0].stage, Stage::filter);
  EXPECT_EQ(table.rows[1].stage, Stage::rank);
  EXPECT_EQ(table.rows[2].stage, Stage::plan);
  EXPECT_EQ(table.rows[3].stage, Stage::check);
  const double place = table.rows[0].ns + table.rows[1].ns + table.rows[2].ns;
  EXPECT_NEAR(place, static_cast<double>(clock->ticks()[at(Stage::place)]), 1);
  EXPECT_NEAR(table.rows[0].ns / place, 0.5, 1e-9);
  EXPECT_NEAR(table.rows[2].ns / place, 0.2, 1e-9);
  EXPECT_TRUE(table.rows[0].estimated);
  EXPECT_FALSE(table.rows[3].estimated);
  double shares = 0;
  for (const StageRow& row : table.rows) shares += row.share;
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(table.rows[0].count, 20U);  // nodes reached: two evaluations with 10 each
  EXPECT_EQ(table.rows[1].count, 40U);  // passed
  EXPECT_DOUBLE_EQ(table.detail_ratio, 1000.0 / 3000.0);
  EXPECT_EQ(table.rows[0].roofline_ns, 0);
}

TEST(Overhead, IsARatioOfMinimumTimes) {
  OverheadMeter meter({}, {});
  // Unmarked 100, marked 102; a disturbed round is the worse one and counts for nothing.
  for (std::size_t event = 0; event < 50; ++event)
    for (const std::int64_t disturbed : {0, 1000}) {
      meter.add(event, false, 100 + disturbed);
      meter.add(event, true, 102 + disturbed);
    }
  meter.add(50, true, 100);  // on one side only
  const Overhead o = meter.result();
  EXPECT_EQ(o.events, 50U);
  EXPECT_NEAR(o.share, 0.02, 1e-12);
  EXPECT_NEAR(o.error, 0, 1e-12);
}

TEST(Roofline, IsInterpolatedBetweenItsPoints) {
  Roofline roofline;
  roofline.points = {{1024, 100, 1, 2}, {4096, 50, 3, 10}};
  EXPECT_DOUBLE_EQ(roofline.line_ns(10), 1);
  EXPECT_DOUBLE_EQ(roofline.line_ns(1e9), 3);
  EXPECT_DOUBLE_EQ(roofline.line_ns(2048), 2);  // half way by the logarithm
  EXPECT_DOUBLE_EQ(roofline.gb_per_s(2048), 75);
  EXPECT_EQ(Roofline{}.line_ns(1), 0);
}

}  // namespace
}  // namespace berth::profile
