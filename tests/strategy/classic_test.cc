// The classic formulas by hand.
#include "strategy/classic.h"

#include <gtest/gtest.h>

#include "builders.h"

namespace berth::strategy {
namespace {

struct FormulaCase {
  const char* text;
  double score;
};
class Formula : public ::testing::TestWithParam<FormulaCase> {};
// A node of 1,000 MHz and 1,000 MiB with 600 and 400 free; the request is 100 and 150. Free afterwards: 500 and 250,
// 0.5 and 0.25; used: 0.5 and 0.75.
TEST_P(Formula, FollowsTheExample) {  // R-STRAT-704 to 725
  const std::vector<Fleet::NodeSpec> specs = {{{1000, 1000, 0, 0}, 0, 0}};
  Fleet fleet(specs);
  TaskClass filler, task;
  filler.ask = {400, 600, 0, 0}, task.ask = {100, 150, 0, 0};
  fleet.place(0, fleet.add_class(filler), 0);
  const ClassId id = fleet.add_class(task);
  const auto spec = registry().parse(GetParam().text);
  ASSERT_TRUE(spec) << spec.error().line();
  auto ranker = registry().make(*spec, testing::context_of(fleet));
  ASSERT_TRUE(ranker) << ranker.error().line();
  EXPECT_NEAR((*ranker)->scores(fleet, id)[0], GetParam().score, 1e-8);
}
INSTANTIATE_TEST_SUITE_P(
    Classic, Formula,
    ::testing::Values(FormulaCase{"best-fit", -0.375}, FormulaCase{"worst-fit", 0.375},
                      FormulaCase{"best-fit:w-cpu=1:w-memory=0", -0.5}, FormulaCase{"least-max", -0.75},
                      FormulaCase{"tetris", 0.06},               // (.1 * .6 + .15 * .4) / 2
                      FormulaCase{"cosine", 0.12 / 0.13},        // |a| |F| = sqrt(.0325 * .52) = .13
                      FormulaCase{"l2:weights=one", -0.3125},    // .25 + .0625
                      FormulaCase{"dominating-share", 18},       // 150 / 850 = .176
                      FormulaCase{"nomad-binpack", 0.83663572},  // (20 - 10^.5 - 10^.25) / 18
                      FormulaCase{"nomad-spread", 0.16336428}, FormulaCase{"least-allocated", 37},  // (50 + 25) div 2
                      FormulaCase{"most-allocated", 62}, FormulaCase{"balanced-allocation", 87},    // 1 - .25 / 2
                      FormulaCase{"requested-to-capacity", 63},  // 62.5, half away from zero
                      // At 50 and 75: 100 - 50 and 100 - 75; 100 50 / 60 and 100 - 100 15 / 40; beyond the ends the
                      // values are those of the ends.
                      FormulaCase{"requested-to-capacity:points=0-10/100-0", 38},
                      FormulaCase{"requested-to-capacity:points=0-0/60-10/100-0", 73},
                      FormulaCase{"requested-to-capacity:points=60-3/70-7", 50}, FormulaCase{"kubernetes-default", 124},
                      FormulaCase{"first-fit", 0}));

}  // namespace
}  // namespace berth::strategy
