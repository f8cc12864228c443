// A run without optional parts, as in the program of the main job (bench/cli/main_job.cc).
#include "run/measured_run.h"

#include <gtest/gtest.h>

#include "sim/datasets.h"

namespace berth::run {
namespace {

Result<sim::Workload> smoke(const char* name) {
  const auto path = sim::find_workload(name);
  if (!path) return tl::unexpected(path.error());
  return sim::read_workload(*path, "smoke");
}

TEST(MeasuredReplay, DecidesLikeTheWholeProgram) {
  const auto workload = smoke("quickstart");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto plain = measured_run(*workload, {.quiet = true}, {});
  const auto whole = run_workload(*workload, {.quiet = true});
  ASSERT_TRUE(plain) << plain.error().line();
  ASSERT_TRUE(whole) << whole.error().line();
  EXPECT_GT(plain->placed, 0u);
  EXPECT_EQ(plain->decisions_digest, whole->decisions_digest);
}

TEST(MeasuredReplay, RefusesUnsupportedWorkloads) {
  for (const char* name : {"openb-like", "nomad-grid", "recover-lost"}) {
    auto workload = smoke(name);
    if (!workload) workload = sim::read_workload(*sim::find_workload(name));
    ASSERT_TRUE(workload) << workload.error().line();
    const auto result = measured_run(*workload, {.quiet = true}, {});
    ASSERT_FALSE(result) << name;
    EXPECT_NE(result.error().line().find("is more than a plain replay"), std::string::npos) << result.error().line();
  }
  auto workload = smoke("quickstart");
  ASSERT_TRUE(workload) << workload.error().line();
  workload->strategy = "worst-fit";
  EXPECT_FALSE(measured_run(*workload, {.quiet = true}, {}));
}

}  // namespace
}  // namespace berth::run
