// Profiles of small workloads: decisions equal those of a run without profiling, and the files can be read again.
#include <gtest/gtest.h>

#include "io/json_parse.h"
#include "model/options.h"
#include "profile/flame.h"
#include "profile/load.h"
#include "profile/report.h"
#include "profile/trace.h"
#include "sim/datasets.h"

namespace berth::profile {
namespace {

sim::Workload smoke(const std::string& name) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/" + name + ".toml", "smoke");
  EXPECT_TRUE(workload) << workload.error().line();
  return *workload;
}

Profile profiled(const sim::Workload& workload, Options options = {}) {
  options.quiet = true;
  options.overhead_rounds = 0;
  auto profile = profile_workload(workload, options);
  EXPECT_TRUE(profile) << profile.error().line();
  return std::move(*profile);
}

json::Value parsed(const std::string& text) {
  auto value = io::parse_json(text, "written");
  EXPECT_TRUE(value) << value.error().line();
  return value ? *value : json::Value();
}

double shares_of(const Profile& p) {
  double sum = 0;
  for (const StageRow& row : p.stages.rows) sum += row.share;
  return sum;
}

TEST(Profile, DecidesLikeARunWithoutProfile) {
  for (const char* name : {"quickstart", "nomad-grid"}) {
    const sim::Workload workload = smoke(name);
    const auto plain = run::run_workload(workload, {.quiet = true});
    ASSERT_TRUE(plain);
    for (const std::uint32_t detail : {1U, 7U}) {
      const Profile p = profiled(workload, {.detail_every = detail});
      EXPECT_EQ(p.run.decisions_digest, plain->decisions_digest) << name;
      EXPECT_EQ(p.recorder->sums().evaluations, plain->evaluations) << name;
      EXPECT_EQ(p.recorder->sums().placed, plain->placed) << name;
      EXPECT_EQ(p.recorder->sums().evaluated, plain->work.nodes_evaluated) << name;
      EXPECT_NEAR(shares_of(p), 1, 1e-9) << name;
      EXPECT_EQ(p.recorder->sums().detailed == p.recorder->sums().evaluations, detail == 1);
      EXPECT_GT(p.stages.engine_ns, 0);
    }
  }
}

TEST(Profile, SeveralWorkersDecideLikeARunWithoutProfile) {
  sim::Workload workload = smoke("quickstart");
  const auto plain = run::run_workload(workload, {.quiet = true});
  workload.workers = 2;
  const Profile in_turn = profiled(workload);
  EXPECT_EQ(in_turn.run.decisions_digest, plain->decisions_digest);
  EXPECT_EQ(in_turn.recorder->sums().evaluations, plain->evaluations);
  workload.commits = sim::CommitOrder::free;
  const Profile free = profiled(workload, {.keep_samples = true});
  EXPECT_EQ(free.run.placed + free.run.failed, free.run.asked);
  EXPECT_EQ(free.recorder->sums().placed, free.run.placed);
  EXPECT_EQ(free.recorder->clocks(), 3U);  // the run's thread and two workers
  // Check and commit belong to the evaluation, whichever thread applied it, and nothing is counted twice.
  for (const Sample& s : free.recorder->samples()) {
    EXPECT_LT(static_cast<double>(s.ns(base::Stage::commit)), 1e9);
    EXPECT_EQ(s.placed > 0, s.placed > 0 && s.ns(base::Stage::check) + s.ns(base::Stage::commit) > 0) << s.number;
  }
}

TEST(Profile, SystemJobsHaveStagesToo) {
  auto workload = sim::parse_workload(R"(
name = "agents"
[cluster]
nodes = 40
[[cluster.shapes]]
name = "std"
[jobs]
count = 5
[[jobs.mix]]
name = "agent"
type = "system"
)",
                                      "agents.toml");
  ASSERT_TRUE(workload) << workload.error().line();
  const Profile p = profiled(*workload, {.detail_every = 1});
  EXPECT_EQ(p.run.placed, 200U);
  bool reconciles = false, ranks = false;
  for (const StageRow& row : p.stages.rows)
    reconciles |= row.stage == base::Stage::reconcile, ranks |= row.stage == base::Stage::rank;
  EXPECT_TRUE(reconciles);
  EXPECT_TRUE(ranks);
}

TEST(Profile, OnlyRepeatableCausesOfSlowEvaluationsAreNamed) {
  const auto done = profile_workload(smoke("quickstart"), {.quiet = true, .slowest = 5, .overhead_rounds = 1});
  ASSERT_TRUE(done) << done.error().line();
  const Profile& all = *done;
  ASSERT_EQ(all.recorder->slowest().size(), 5U);
  for (const Sample& s : all.recorder->slowest()) {
    const Sample* const again = repeated(all, s);
    ASSERT_NE(again, nullptr);
    EXPECT_EQ(again->evaluated, s.evaluated);
    EXPECT_EQ(again->placed, s.placed);
  }
  Sample noisy = all.recorder->slowest().front(), again = noisy;
  noisy.stage_ns.fill(0), again.stage_ns.fill(0);
  noisy.stage_ns[static_cast<std::size_t>(base::Stage::rank)] = 1e9F;
  noisy.done_ns = noisy.started_ns + 1'000'000'000;
  again.stage_ns[static_cast<std::size_t>(base::Stage::filter)] = 1e6F;
  again.done_ns = again.started_ns + 1'000'000;
  EXPECT_TRUE(slow_words(noisy, *all.recorder).starts_with("rank 100 %"));
  const std::string words = slow_words(noisy, *all.recorder, &again);
  EXPECT_TRUE(words.starts_with("filter 100 %")) << words;
  EXPECT_NE(words.find("noise of the machine"), std::string::npos) << words;
}

TEST(Profile, ProfilesOneEvaluationAlone) {
  const sim::Workload workload = smoke("quickstart");
  const Profile all = profiled(workload, {.slowest = 100});
  const Sample* wanted = nullptr;
  for (const Sample& s : all.recorder->slowest())
    if (s.number == 60) wanted = &s;
  ASSERT_NE(wanted, nullptr);
  const Profile one = profiled(workload, {.only = std::pair(60, wanted->round)});
  ASSERT_EQ(one.recorder->slowest().size(), 1U);
  const Sample& again = one.recorder->slowest().front();
  // The same evaluation: it meets the same nodes and places the same.
  EXPECT_EQ(again.number, 60U);
  EXPECT_EQ(again.evaluated, wanted->evaluated);
  EXPECT_EQ(again.filtered, wanted->filtered);
  EXPECT_EQ(again.placed, wanted->placed);
  EXPECT_TRUE(again.detailed);
  EXPECT_LE(one.run.evaluations, all.run.evaluations);
  EXPECT_NE(reproduce_words(again, workload).find("profile quickstart --label smoke --seed 1 --only 60."),
            std::string::npos);
  const auto none = profile_workload(workload, {.quiet = true, .only = std::pair(1'000'000, 0)});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().line().find("has no evaluation 1000000.0"), std::string::npos);
}

TEST(Profile, ReproducesWithTheOptionsOfTheRun) {
  sim::Workload workload = smoke("quickstart");
  workload.seed = 7;
  ASSERT_TRUE(model::set_option(workload.options, "compat=fixed"));
  ASSERT_TRUE(model::set_option(workload.options, "preemption_min_delta=3"));
  Sample sample;
  sample.number = 4, sample.round = 2;
  EXPECT_EQ(reproduce_words(sample, workload),
            "berth profile quickstart --label smoke --seed 7 --option compat=fixed --option preemption_min_delta=3 "
            "--only 4.2");
}

TEST(Profile, TraceIsJsonWithTracksAndCounts) {
  const Profile p = profiled(smoke("quickstart"), {.keep_samples = true});
  const json::Value trace = parsed(to_trace(p));
  std::size_t evaluations = 0, plans = 0, counters = 0, names = 0;
  for (const json::Value& event : trace["traceEvents"].items()) {
    const std::string kind = event["ph"].as_string();
    if (kind == "C") ++counters;
    if (kind == "M") ++names;
    if (kind != "X") continue;
    EXPECT_GE(event["dur"].as_double(), 0);
    evaluations += event["cat"].as_string() == "evaluation";
    plans += event["cat"].as_string() == "plan";
  }
  EXPECT_EQ(evaluations, p.run.evaluations);
  EXPECT_GT(plans, 0U);
  EXPECT_GT(counters, 0U);
  EXPECT_EQ(names, 3U);  // process, the run's thread, applier
}

TEST(ProfileTrace, CountsWaitingEvaluations) {
  std::vector<Sample> samples(3);
  samples[0].due_ns = 0, samples[0].done_ns = 10;
  samples[1].due_ns = 5, samples[1].done_ns = 20;
  samples[2].due_ns = 10, samples[2].done_ns = 12;  // due when the first ends
  using Points = std::vector<std::pair<std::int64_t, std::int64_t>>;
  EXPECT_EQ(waiting_over_time(samples), (Points{{0, 1}, {5, 2}, {10, 2}, {12, 1}, {20, 0}}));
}

TEST(Profile, JsonAgreesWithTheTable) {
  Options options;
  options.slowest = 4;
  options.roofline = false;
  const Profile p = profiled(smoke("quickstart"), options);
  const json::Value value = to_json(p);
  EXPECT_EQ(value["format"].as_string(), "berth-profile");
  EXPECT_EQ(value["slowest"].items().size(), 4U);
  EXPECT_EQ(value["stages"].items().size(), p.stages.rows.size());
  EXPECT_EQ(value["decisions_digest"].as_string(), p.run.decisions_digest);
  const std::string table = to_table(p);
  EXPECT_NE(table.find("not measured: not asked for"), std::string::npos);
  for (const StageRow& row : p.stages.rows)
    EXPECT_NE(table.find(std::string("  ") + base::to_text(row.stage) + " "), std::string::npos);
}

TEST(Profile, MeasuresItsOverhead) {
  const auto p = profile_workload(smoke("quickstart"), {.quiet = true, .overhead_rounds = 1});
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->overhead);
  EXPECT_EQ(p->overhead->rounds, 1);
  EXPECT_GE(p->overhead->events, p->run.jobs);
  EXPECT_GT(p->overhead->unmarked_s, 0);
}

TEST(FlameGraph, CollapsesTheOutputOfPerf) {
  const Stacks stacks = collapse_perf_script(
      "berth \n\t  10 berth::rank::score\n\t  20 berth::run::main (inlined)\n\n"
      "berth \n\t  11 berth::rank::score\n\t  20 berth::run::main (inlined)\n\n"
      "berth \n\t  11 a;b\n\n"
      "empty \n\n");
  EXPECT_EQ(stacks, (Stacks{{"berth;berth::run::main (inlined);berth::rank::score", 2}, {"berth;a:b", 1}}));
  EXPECT_EQ(to_text(stacks), "berth;a:b 1\nberth;berth::run::main (inlined);berth::rank::score 2\n");
  EXPECT_TRUE(collapse_perf_script("").empty());
}

TEST(FlameGraph, DrawsEveryFrame) {
  const std::string svg = to_svg({{"berth;std::vector<int>", 3}, {"berth;b", 1}}, "title & more", "us");
  EXPECT_NE(svg.find("title &amp; more"), std::string::npos);
  EXPECT_NE(svg.find("<title>std::vector&lt;int&gt; (3 us, 75.00 %)</title>"), std::string::npos);
  EXPECT_NE(svg.find("<title>all (4 us, 100.00 %)</title>"), std::string::npos);
  EXPECT_EQ(to_svg({}, "none", "us").find("<g>"), std::string::npos);
}

TEST(FlameGraph, StagesAddUpToTheEnginesTime) {
  const Profile p = profiled(smoke("quickstart"));
  double us = 0;
  for (const auto& [stack, weight] : collapse_stages(p)) us += static_cast<double>(weight);
  EXPECT_NEAR(us, p.stages.engine_ns / 1e3, static_cast<double>(p.stages.rows.size()));
}

TEST(Load, TrialsAreCountedAndWritten) {
  LoadOptions options;
  options.quiet = true;
  options.workers = {1};
  options.limit_ns = 1;  // nothing is that fast
  options.trial_seconds = 0.05;
  options.search.first_rate = 4, options.search.lowest_rate = 2;
  const auto load = run_load(smoke("quickstart"), options);
  ASSERT_TRUE(load) << load.error().line();
  // 4 twice, 2 twice.
  EXPECT_EQ(load->trials.size(), 4U);
  EXPECT_TRUE(load->complete());
  ASSERT_EQ(load->knees.size(), 1U);
  EXPECT_EQ(load->knees[0].search.end, SearchEnd::lowest_not_sustained);
  for (const LoadTrial& trial : load->trials) {
    EXPECT_GE(trial.evaluations, 200U);
    EXPECT_EQ(trial.latency.count(), trial.placements.placed);
    EXPECT_TRUE(trial.why_not.starts_with("p99 "));
  }
  const json::Value value = to_json(*load);
  EXPECT_TRUE(value["knees"].items()[0]["sustained_rate_per_s"].is_null());
  EXPECT_NE(to_table(*load).find("no rate was sustained"), std::string::npos);
  EXPECT_FALSE(run_load(smoke("nomad-grid"), options));
}

TEST(Load, TimeAtTheKneeIsDividedByStage) {
  LoadOptions options;
  options.quiet = true;
  options.limit_ns = 1'000'000'000'000;
  options.trial_seconds = 0.05;
  options.search.first_rate = 1, options.search.highest_rate = 2;
  const auto load = run_load(smoke("quickstart"), options);
  ASSERT_TRUE(load);
  ASSERT_TRUE(load->knees[0].recorder);
  EXPECT_EQ(load->knees[0].search.sustained, 2);
  EXPECT_FALSE(to_json(*load)["knees"].items()[0]["stages"].items().empty());
}

}  // namespace
}  // namespace berth::profile
