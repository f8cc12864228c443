// Periodic jobs: launches at their times, overlap, force, a change of leader (section 13 of part 07).
#include <gtest/gtest.h>

#include "lifecycle/small_cluster.h"
#include "model/job.h"

namespace berth::lifecycle {
namespace {

class PeriodicJobs : public ::testing::Test {
 protected:
  void start(const std::string& spec, bool prohibit_overlap) {
    model::PeriodicConfig& periodic = cluster.add_job("p", "batch", 1).periodic.emplace();
    periodic.enabled = true, periodic.spec_type = "cron", periodic.spec = spec, periodic.time_zone = "UTC";
    periodic.prohibit_overlap = prohibit_overlap;
    cluster.start();
  }
  bool launched(int second) { return cluster.log().job("default", "p/periodic-" + std::to_string(second)) != nullptr; }
  SmallCluster cluster;
};

TEST_F(PeriodicJobs, ChildrenAreNamedByTheirLaunchTime) {  // R-CTRL-1305
  start("*/10 * * * *", false);
  cluster.run_until(1300);
  EXPECT_EQ(cluster.written(), (std::vector<std::string>{"600000 job_register", "1200000 job_register"}));
  ASSERT_TRUE(launched(600) && launched(1200));
  const auto child = cluster.log().job("default", "p/periodic-600");
  EXPECT_EQ(child->parent_id, "p");
  EXPECT_FALSE(child->periodic.has_value());
  EXPECT_EQ(cluster.store().current().eval(cluster.out.hooks.at(0).eval)->triggered_by, "periodic-job");
}

TEST_F(PeriodicJobs, OverlapIsSkippedUntilTheChildHasEnded) {  // R-CTRL-1304
  start("*/10 * * * *", true);
  cluster.run_until(1300);
  EXPECT_TRUE(launched(600));
  EXPECT_FALSE(launched(1200));
  model::Evaluation done = *cluster.store().current().eval(cluster.out.hooks.at(0).eval);
  done.status = "complete";
  fsm::Hooks hooks;
  EXPECT_EQ(cluster.log().apply(cluster.log().next_index(), std::vector<model::Evaluation>{done}, hooks), "");
  cluster.run_until(1900);
  EXPECT_TRUE(launched(1800));
}

TEST_F(PeriodicJobs, ForceIgnoresOverlapAndRefusesUntrackedJobs) {  // R-CTRL-1307
  start("*/10 * * * *", true);
  cluster.run_until(700);
  EXPECT_EQ(cluster.watchers().periodic().force("default", "p", 700 * kS).error, "");
  EXPECT_TRUE(launched(700));
  EXPECT_EQ(cluster.watchers().periodic().force("default", "q", 700 * kS).error, "job not found");
  EXPECT_EQ(cluster.watchers().periodic().force("default", "p/periodic-700", 700 * kS).error,
            "can't force launch non-periodic job");
}

TEST_F(PeriodicJobs, ANewLeaderLaunchesMissedJobsOnce) {  // R-CTRL-1308
  start("*/10 * * * *", false);
  cluster.watchers().periodic().become_leader(2000 * kS, cluster.out);  // due at 600, 1200 and 1800
  EXPECT_EQ(cluster.written(), std::vector<std::string>{"2000000 job_register"});
  EXPECT_TRUE(launched(2000));
}

TEST_F(PeriodicJobs, ASpecificationWithoutAMatchNeverLaunches) {
  start("0 0 30 2 *", false);
  EXPECT_EQ(cluster.watchers().periodic().tracked(), 1u);
  EXPECT_EQ(cluster.watchers().periodic().next_deadline(), kNever);
}

}  // namespace
}  // namespace berth::lifecycle
