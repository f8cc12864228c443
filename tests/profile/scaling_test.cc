// What workers share: mean value analysis against values computed by hand, the split of stages by locks, and the counts
// of written cache lines.
#include <gtest/gtest.h>

#include "profile/report.h"
#include "profile/scaling.h"
#include "profile/session.h"
#include "sim/datasets.h"
#include "tables/commit.h"

namespace berth::profile {
namespace {

using base::Locks;
using base::Stage;

std::size_t place_of(Stage stage) { return static_cast<std::size_t>(stage); }
std::size_t place_of(Locks locks) { return static_cast<std::size_t>(locks); }

TEST(ClosedQueue, AgreesWithMeanValueAnalysisComputedByHand) {
  // Thinking 3, service 1. One customer: 1 / 4. Two: the second finds 1/4 of a customer, so R = 5/4 and X = 2 / (17/4)
  // = 8/17, with 8/17 * 5/4 = 10/17 at the server. Three: R = 27/17, X = 3 / (78/17) = 51/78.
  const double rates[] = {1.0 / 4, 8.0 / 17, 51.0 / 78};
  const double waits[] = {0, 1.0 / 4, 10.0 / 17};
  for (int workers = 1; workers <= 3; ++workers) {
    const QueueRate rate = closed_queue(3, 1, workers);
    EXPECT_NEAR(rate.per_ns, rates[workers - 1], 1e-12);
    EXPECT_NEAR(rate.wait_ns, waits[workers - 1], 1e-12);
    EXPECT_NEAR(rate.busy, rates[workers - 1], 1e-12);
  }
  // Nothing serial: every worker adds its whole rate. Everything serial: no worker adds anything.
  EXPECT_NEAR(closed_queue(4, 0, 8).per_ns, 2, 1e-12);
  EXPECT_NEAR(closed_queue(0, 5, 8).per_ns, 0.2, 1e-12);
  // Many workers: never faster than the serial part.
  EXPECT_LE(closed_queue(90, 10, 64).per_ns, 0.1 + 1e-12);
  EXPECT_NEAR(closed_queue(90, 10, 64).per_ns, 0.1, 1e-6);
}

SharedTimes times(int workers, double work, double turn, double views, double attempts) {
  SharedTimes out;
  out.workers = workers, out.attempts = attempts, out.evaluations = 1, out.per_s = 1;
  out.ns[place_of(Locks::none)][place_of(Stage::place)] = work;
  out.ns[place_of(Locks::none)][place_of(Stage::wait)] = 1e9;  // waiting is no work
  out.ns[place_of(Locks::turn)][place_of(Stage::commit)] = turn;
  out.ns[place_of(Locks::turn_table_wait)][place_of(Stage::commit)] = 1e9;
  out.ns[place_of(Locks::tables)][place_of(Stage::snapshot)] = views;
  out.arrival_turn_ns = 5;
  return out;
}

TEST(ScalingModel, ExtrapolatesCostsThatGrowWithEveryWorker) {
  const auto rows = model_rows(times(1, 80, 15, 2, 1), times(2, 100, 20, 3, 1.1), {4});
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_DOUBLE_EQ(rows[0].work_ns, 80);
  EXPECT_DOUBLE_EQ(rows[0].serial_ns, 15 + 2 + 5);
  EXPECT_DOUBLE_EQ(rows[0].per_s, 1e9 / (80 + 22));
  EXPECT_DOUBLE_EQ(rows[0].measured_s, 1);
  EXPECT_DOUBLE_EQ(rows[1].serial_ns, 20 + 3 + 5);
  // Four workers: 1.3 attempts instead of 1.1, and 5 ns of updates of views instead of 3.
  EXPECT_EQ(rows[2].workers, 4);
  EXPECT_DOUBLE_EQ(rows[2].measured_s, 0);
  EXPECT_NEAR(rows[2].work_ns, 100 * 1.3 / 1.1, 1e-9);
  EXPECT_NEAR(rows[2].serial_ns, 20 * 1.3 / 1.1 + 5 + 5, 1e-9);
}

TEST(StageClock, TimeWithLocksIsAPartOfItsStage) {
  base::StageClock clock;
  const base::UseStageClock marks(&clock);
  clock.start(Stage::place);
  EXPECT_EQ(clock.set_locks(Locks::turn), Locks::none);
  {
    const base::StageScope committing(Stage::commit);
    const base::LocksScope waiting(Locks::turn_table_wait);
  }
  EXPECT_EQ(clock.locks(), Locks::turn);
  EXPECT_EQ(clock.set_locks(Locks::none), Locks::turn);
  clock.flush();
  // place: once before the Turn, then in it before and after the commit, then without it.
  EXPECT_EQ(clock.marks()[place_of(Stage::place)], 4U);
  EXPECT_EQ(clock.locked_marks(Locks::turn)[place_of(Stage::place)], 2U);
  // commit: before, during and after the wait.
  EXPECT_EQ(clock.marks()[place_of(Stage::commit)], 3U);
  EXPECT_EQ(clock.locked_marks(Locks::turn)[place_of(Stage::commit)], 2U);
  EXPECT_EQ(clock.locked_marks(Locks::turn_table_wait)[place_of(Stage::commit)], 1U);
  for (std::size_t l = 0; l < base::kLocks; ++l)
    for (std::size_t s = 0; s < base::kStages; ++s)
      EXPECT_LE(clock.locked_ticks(static_cast<Locks>(l))[s], clock.ticks()[s]);
}

TEST(Scaling, MeasuresBothNumbersOfWorkersAndPredictsTheRest) {
  auto workload = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/quickstart.toml", "smoke");
  ASSERT_TRUE(workload) << workload.error().line();
  const auto scaling = measure_scaling(*workload);
  ASSERT_TRUE(scaling) << scaling.error().line();
  for (const SharedTimes* run : {&scaling->one, &scaling->two}) {
    EXPECT_GT(run->evaluations, 0U);
    EXPECT_GE(run->attempts, 1);
    EXPECT_GT(run->per_s, 0);
    EXPECT_GT(run->work_ns(), 0);
    EXPECT_GT(run->turn_ns(), 0);
    EXPECT_GT(run->view_ns(), 0);
    EXPECT_GT(run->arrival_turn_ns, 0);
    EXPECT_GT(run->ns[place_of(Locks::turn)][place_of(Stage::commit)], 0);
    EXPECT_EQ(run->ns[place_of(Locks::turn)][place_of(Stage::place)], 0);  // decisions need no Turn
  }
  ASSERT_EQ(scaling->model.size(), 4U);
  EXPECT_EQ(scaling->model[3].workers, 64);
  EXPECT_EQ(scaling->model[3].measured_s, 0);
  EXPECT_LE(scaling->model[3].busy, 1 + 1e-9);  // a product of a rate and a time, each rounded
  // A plan writes its allocations and the use of their nodes; its evaluation's status is written afterwards.
  EXPECT_GT(scaling->counted, 0U);
  EXPECT_GT(scaling->by_plans.allocs.lines, scaling->counted);
  EXPECT_GT(scaling->by_plans.nodes.lines, scaling->counted);
  EXPECT_GT(scaling->by_others.evals.lines, 0U);
  EXPECT_NE(scaling_lines(*scaling).find("predicted: "), std::string::npos);

  const auto grid = sim::read_workload(BERTH_SOURCE_DIR "/bench/macro/nomad-grid.toml", "smoke");
  ASSERT_TRUE(grid);
  EXPECT_FALSE(check_scaling(*grid));
  EXPECT_FALSE(profile_workload(*grid, {.quiet = true, .scaling = true}));
}

}  // namespace
}  // namespace berth::profile
