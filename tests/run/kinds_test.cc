// Workloads of several kinds of jobs: the cost of each kind, and new versions of running jobs.
#include <gtest/gtest.h>

#include "base/json.h"
#include "run/report.h"
#include "run/runner.h"

namespace berth::run {
namespace {

const std::string kMixed = R"(
name = "mixed"
[cluster]
nodes = 40
racks = 10
[[cluster.shapes]]
name = "std"
cores = 16
host_volumes = ["data"]
devices = [{ name = "nvidia/gpu/t4", count = 4 }]
[jobs]
count = 80
[[jobs.mix]]
name = "plain"
count = 3
[[jobs.mix]]
name = "web"
count = 3
static_port = { values = [80, 443, 8080] }
ports = 1
update_percent = 50
[[jobs.mix]]
name = "database"
count = 2
host_volumes = ["data"]
cores = 1
[[jobs.mix]]
name = "racks"
count = 3
constraints = [{ attribute = "${meta.rack}", operator = "distinct_property" }]
[[jobs.mix]]
name = "several"
groups = 2
tasks = 2
update_percent = 30
devices = [{ name = "nvidia/gpu" }]
[arrivals]
process = "fixed"
rate_per_s = 10
)";

RunResult run_mixed(std::int64_t workers) {
  auto workload = sim::parse_workload(kMixed, "mixed.toml");
  EXPECT_TRUE(workload) << workload.error().line();
  workload->workers = workers;
  auto result = run_workload(*workload, {.quiet = true});
  EXPECT_TRUE(result) << result.error().line();
  return *result;
}

const KindTimes::Kind* kind(const std::vector<KindTimes::Kind>& kinds, const std::string& name) {
  for (const KindTimes::Kind& one : kinds)
    if (one.name == name) return &one;
  ADD_FAILURE() << "no kind " << name;
  return nullptr;
}

TEST(JobKinds, EachIsTimedWithNewVersionsSeparate) {
  const RunResult result = run_mixed(1);
  const auto kinds = result.kinds.kinds();
  std::uint64_t evaluations = 0, placed = 0;
  for (const KindTimes::Kind& one : kinds) evaluations += one.schedule.count(), placed += one.placed;
  EXPECT_EQ(evaluations, result.jobs) << "one per arrival";
  EXPECT_EQ(placed, result.placed);
  EXPECT_EQ(kinds.front().name, "plain");
  for (const char* name : {"plain", "web", "database", "racks", "several"})
    EXPECT_GT(kind(kinds, name)->placed, 0U) << name;
  // All allocations of a job are replaced.
  const KindTimes::Kind* const renewed = kind(kinds, "web, new version");
  EXPECT_EQ(renewed->placed, 3 * renewed->schedule.count());
  const json::Value report = to_json(result);
  ASSERT_EQ(report["kinds"].items().size(), kinds.size());
  EXPECT_EQ(report["kinds"][0]["schedule_ratio"].as_double(), 1);
  EXPECT_NE(to_table(result).find("web, new version"), std::string::npos);
}

TEST(JobKinds, NewVersionsAreDecidedInOrderByAnyNumberOfWorkers) {
  EXPECT_EQ(run_mixed(3).decisions_digest, run_mixed(1).decisions_digest);
}

}  // namespace
}  // namespace berth::run
