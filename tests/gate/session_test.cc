// Whole sessions of the gate with simulated repetitions. Nothing depends on the speed of the machine.
#include "gate/session.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "gate/output.h"
#include "gate/simulated.h"

namespace berth::gate {
namespace {

Session hold(Simulation& simulation, const SessionOptions& options = {}) {
  const auto session = run_session(kOneCase, options, simulation.world());
  EXPECT_TRUE(session) << session.error().error.line();
  return session.value_or(Session{});
}

TEST(GateSession, EqualProgramsPass) {
  Simulation simulation(1);
  const Session session = hold(simulation);
  EXPECT_EQ(session.verdict.exit_code(), kPass);
  EXPECT_EQ(session.verdict.count(Judgement::regression) + session.verdict.count(Judgement::inconclusive), 0U);
  EXPECT_FALSE(session.out_of_time);
  EXPECT_EQ(session.cases[0].base.repetitions(), session.cases[0].head.repetitions());
}

TEST(GateSession, TenPercentMoreInOneStageFailsAndNamesIt) {
  for (const std::uint64_t seed : {1, 2, 3, 4, 5}) {
    Simulation simulation(seed);
    simulation.noise = 0.02;
    simulation.head.schedule_factor = 1.10;
    const Session session = hold(simulation);
    EXPECT_EQ(session.verdict.exit_code(), kRegression) << "seed " << seed;
    EXPECT_EQ(slower_stage(session.verdict, "quickstart/smoke").substr(0, 10), "schedule (") << "seed " << seed;
    const std::string text = to_terminal({"base", "head", &session, {}, seed});
    EXPECT_NE(text.find("quickstart/smoke schedule_ns.mean: got "), std::string::npos) << text;
    EXPECT_NE(text.find("the slower stage is schedule (+"), std::string::npos) << text;
  }
}

TEST(GateSession, TenPercentMoreInAStageInsideScheduleFailsAndNamesIt) {
  // 10 % of rank are 5 % of the total, which is below the tested effect: only the stage's own time shows it.
  for (const std::uint64_t seed : {1, 2, 3}) {
    Simulation simulation(seed);
    simulation.base.rank_factor = 1, simulation.head.rank_factor = 1.10;
    SessionOptions options;
    options.rules.stages = true;
    const Session session = hold(simulation, options);
    EXPECT_EQ(session.verdict.exit_code(), kRegression) << "seed " << seed;
    EXPECT_EQ(session.verdict.count(Judgement::regression), 1U) << "seed " << seed;
    EXPECT_EQ(slower_stage(session.verdict, "quickstart/smoke").substr(0, 6), "rank (") << "seed " << seed;
    // A stage with a hundredth of the time is shown but not judged. The finer stages replace schedule and commit.
    ASSERT_EQ(session.verdict.stages.size(), 4U);
    EXPECT_EQ(session.verdict.stages[0].stage, "order");
    for (const Finding& finding : session.verdict.findings) EXPECT_NE(finding.metric, "stage.order");
    simulation.head.rank_factor = 1;
    EXPECT_EQ(hold(simulation, options).verdict.exit_code(), kPass) << "seed " << seed;
  }
}

TEST(GateSession, QualityLossAloneFails) {
  Simulation simulation(2);
  simulation.head.fragmentation = 0.37;
  const Session session = hold(simulation);
  EXPECT_EQ(session.verdict.exit_code(), kRegression);
  EXPECT_EQ(session.verdict.count(Judgement::regression), 1U);
}

TEST(GateSession, BusyMachinesAreInconclusiveOrPass) {
  int inconclusive = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Simulation simulation(seed);
    simulation.noise = 0.05;
    simulation.disturbed = 0.5;
    const Session session = hold(simulation);
    EXPECT_NE(session.verdict.exit_code(), kRegression) << "seed " << seed;
    inconclusive += session.verdict.exit_code() == kInconclusive;
  }
  EXPECT_GT(inconclusive, 5) << "half of the repetitions are up to twice as slow: that is more noise than 5 %";
}

TEST(GateSession, FiftyAaTrialsWithoutAFalseRegression) {
  int passed = 0;
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Simulation simulation(seed);
    simulation.noise = 0.002 * static_cast<double>(1 + seed % 10);  // 0.2 % to 2 %
    simulation.disturbed = seed % 3 == 0 ? 0.2 : 0;
    simulation.drift = seed % 4 == 0 ? 0.001 : 0;
    SessionOptions options;
    options.seed = seed;
    const Session session = hold(simulation, options);
    EXPECT_NE(session.verdict.exit_code(), kRegression) << "seed " << seed << "\n"
                                                        << to_terminal({"a", "a", &session, options.rules, seed});
    passed += session.verdict.exit_code() == kPass;
  }
  EXPECT_GT(passed, 25);
}

TEST(GateSession, DriftOfTheMachineHitsBothSides) {
  // By the end the machine is 10 % slower than at the start; the order of runs removes that from the comparison.
  Simulation simulation(9);
  simulation.drift = 0.005;
  EXPECT_NE(hold(simulation).verdict.exit_code(), kRegression);
}

TEST(GateSession, SlowdownNotConfirmedByASecondBatchIsNoRegression) {
  // Only the first batch of the head was slowed down, for example by a cold page cache.
  Simulation simulation(10);
  World world = simulation.world();
  const World plain = world;
  const std::size_t first = 1 + repetitions_needed(1, {});
  std::size_t heads = 0;
  world.measure = [&](const Case& what, Side side) -> Outcome<json::Value> {
    if (side == Side::head) simulation.head.schedule_factor = ++heads <= first ? 1.2 : 1;
    return plain.measure(what, side);
  };
  const auto session = run_session(kOneCase, {}, world);
  ASSERT_TRUE(session);
  EXPECT_NE(session->verdict.exit_code(), kRegression);
  EXPECT_GT(heads, 2 * first - 1) << "the suspect ran again";
}

TEST(GateSession, OrderIsInterleavedAndFromTheSeed) {
  for (const std::size_t n : {1U, 2U, 5U, 8U}) {
    const std::vector<Side> order = interleaved(n, 7);
    EXPECT_EQ(order.size(), 2 * n);
    EXPECT_EQ(static_cast<std::size_t>(std::count(order.begin(), order.end(), Side::base)), n);
    for (std::size_t i = 0; i + 1 < order.size(); i += 2) EXPECT_NE(order[i], order[i + 1]);
    EXPECT_EQ(order, interleaved(n, 7));
  }
  EXPECT_NE(interleaved(16, 1), interleaved(16, 2));
}

TEST(GateSession, RepetitionsGrowUntilTheResultIsClear) {
  Simulation calm(3), rough(3);
  rough.noise = 0.06;
  const Session few = hold(calm), many = hold(rough);
  EXPECT_EQ(few.batches, 1U);
  EXPECT_GT(many.batches, 1U);
  EXPECT_GT(many.cases[0].base.repetitions(), few.cases[0].base.repetitions());
  EXPECT_LE(many.cases[0].base.repetitions(), 40U);
}

TEST(GateSession, BudgetIsKept) {
  Simulation simulation(4);
  simulation.noise = 0.2;
  SessionOptions options;
  options.seconds_max = 40;
  const Session session = hold(simulation, options);
  EXPECT_TRUE(session.out_of_time);
  EXPECT_LE(session.seconds, 44);
  EXPECT_EQ(session.cases[0].base.repetitions(), session.cases[0].head.repetitions());

  Simulation slow(4);
  slow.repetition_s = 100;
  const auto too_little = run_session(kOneCase, options, slow.world());
  ASSERT_FALSE(too_little);
  EXPECT_EQ(too_little.error().exit_code, kUsage);
  EXPECT_NE(too_little.error().error.line().find("--max-time: 40 s are too little"), std::string::npos)
      << too_little.error().error.line();
  EXPECT_EQ(slow.repetitions(), 2) << "found out after one run of each side";
}

TEST(GateSession, SidesWithOtherInputsAreRefused) {
  Simulation simulation(5);
  simulation.head.workload_sha256 = "bb";
  const auto session = run_session(kOneCase, {}, simulation.world());
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().exit_code, kInconclusive);
  EXPECT_EQ(
      session.error().error.line(),
      "quickstart/smoke: base and head cannot be compared: workload_sha256: 'aa' against 'bb'; measure both alike, or "
      "name fields that may differ with --allow");
  // Two builds or two configurations, which may differ in everything else.
  Simulation paths(5);
  paths.head.isa_path = "AVX2";
  EXPECT_EQ(hold(paths).verdict.exit_code(), kPass);
}

TEST(GateSession, AFailureOfEitherSideEndsTheSession) {
  Simulation simulation(6);
  World world = simulation.world();
  int runs = 0;
  world.measure = [&](const Case& what, Side side) -> Outcome<json::Value> {
    if (++runs == 5) return fail(kOwnFailure, "head", "was killed by signal 11", "");
    return simulation.report(what, side);
  };
  const auto session = run_session(kOneCase, {}, world);
  ASSERT_FALSE(session);
  EXPECT_EQ(session.error().exit_code, kOwnFailure);
  EXPECT_EQ(runs, 5);
  world.measure = [&](const Case& what, Side side) -> Outcome<json::Value> {
    json::Value report = simulation.report(what, side);
    report.set("partial", true);
    report.set("ended", "limit of seconds");
    return report;
  };
  const auto partial = run_session(kOneCase, {}, world);
  ASSERT_FALSE(partial);
  EXPECT_NE(partial.error().error.problem.find("ended early (limit of seconds)"), std::string::npos);
}

TEST(GateSession, MarkdownAndJsonAgree) {
  Simulation simulation(7);
  simulation.head.schedule_factor = 1.3;
  const Session session = hold(simulation);
  const Described what{"old", "new", &session, {}, 1};
  const json::Value value = to_json(what);
  EXPECT_EQ(value["format"].as_string(), "berth-gate");
  EXPECT_EQ(value["result"].as_string(), "regression");
  EXPECT_EQ(value["exit_code"].as_int(), kRegression);
  EXPECT_EQ(value["findings"].size(), session.verdict.findings.size());
  EXPECT_EQ(value["cases"][0]["head_fingerprint"]["dirty"].as_string(), "yes");
  EXPECT_EQ(value["cases"][0]["slower_stage"].as_string().substr(0, 8), "schedule");
  const std::string markdown = to_markdown(what);
  EXPECT_NE(markdown.find("### berth gate: regression"), std::string::npos);
  EXPECT_NE(markdown.find("| quickstart/smoke | schedule_ns.mean | "), std::string::npos);
  EXPECT_NE(markdown.find("| quickstart/smoke | commit | "), std::string::npos) << "times by stage";
}

}  // namespace
}  // namespace berth::gate
