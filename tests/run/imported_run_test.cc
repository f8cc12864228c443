// A run of an imported cluster: it starts with the cluster's state and configuration, and repeats its decisions.
#include <gtest/gtest.h>

#include "base/json.h"
#include "run/measured_run.h"
#include "run/report.h"
#include "sim/workload.h"

namespace berth::run {
namespace {

// A real cluster of 8 nodes (tests/dryrun/README.md).
const std::string kCluster = BERTH_SOURCE_DIR "/tests/dryrun/recorded/stage-02.snap";

RunResult run_it(const std::vector<sim::Change>& changes) {
  const auto workload = sim::read_workload(kCluster, "full", changes);
  EXPECT_TRUE(workload) << workload.error().line();
  auto result = measured_run(*workload, {.quiet = true}, {.inputs = sim::make_inputs});
  EXPECT_TRUE(result) << result.error().line();
  return std::move(*result);
}

TEST(ImportedRun, PlacesCopiesOfTheJobsNextToRunningOnes) {
  const RunResult result = run_it({{"jobs.count", "60"}});
  EXPECT_EQ(result.nodes, 8u);
  EXPECT_EQ(result.load_allocs, 48u);
  EXPECT_EQ(result.jobs, 60u);
  EXPECT_GT(result.placed, 60u);
  EXPECT_GT(result.departed, 0u);
  EXPECT_EQ(result.refused, 0u);
  EXPECT_FALSE(result.estimates.empty());
  EXPECT_NE(to_table(result).find("  estimated   batch jobs: "), std::string::npos);
  ASSERT_TRUE(to_json(result).find("estimates"));
  EXPECT_EQ(to_json(result).find("estimates")->size(), result.estimates.size());
}

TEST(ImportedRun, DependsOnTheSeedAlone) {
  const std::vector<sim::Change> sixty = {{"jobs.count", "60"}};
  const std::string digest = run_it(sixty).decisions_digest;
  EXPECT_EQ(run_it(sixty).decisions_digest, digest);
  EXPECT_EQ(run_it({{"jobs.count", "60"}, {"workers", "2"}}).decisions_digest, digest);
  EXPECT_NE(run_it({{"jobs.count", "60"}, {"seed", "2"}}).decisions_digest, digest);
}

TEST(ImportedRun, TakesTheAlgorithmThatTheWorkloadGives) {
  const RunResult own = run_it({{"jobs.count", "60"}});
  EXPECT_EQ(own.workload.algorithm, sim::Algorithm::binpack);
  EXPECT_TRUE(own.workload.preemption.system);
  const RunResult spread = run_it({{"jobs.count", "60"}, {"algorithm", "spread"}});
  EXPECT_EQ(spread.workload.algorithm, sim::Algorithm::spread);
  EXPECT_NE(own.decisions_digest, spread.decisions_digest);
}

TEST(ImportedRun, TakesARateOfItsOwn) {
  const RunResult result = run_it({{"jobs.count", "200"},
                                   {"arrivals.process", "poisson"},
                                   {"arrivals.rate_per_s", "1000"},
                                   {"departures", "false"}});
  EXPECT_EQ(result.jobs, 200u);
  EXPECT_EQ(result.departed, 0u);
}

}  // namespace
}  // namespace berth::run
