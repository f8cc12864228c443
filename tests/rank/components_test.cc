#include "rank/components.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace berth::rank {
namespace {

TEST(AntiAffinity, DividesCollisionsPlusOneByTheCount) {  // R-RANK-711, example E9
  EXPECT_EQ(anti_affinity(1, 4), -0.5);
  EXPECT_EQ(anti_affinity(1, 1), -2);
  EXPECT_EQ(anti_affinity(2, 10), -0.29999999999999999);
  EXPECT_EQ(anti_affinity(1, 0), -INFINITY);
}

TEST(ScoreRow, GivesExampleE7InAnyOrderOfAppending) {
  AffinitySum affinity;
  affinity.add(50, true);
  affinity.add(25, false);
  EXPECT_EQ(affinity.component(), 0.66666666666666663);
  ScoreRow row;
  row.append(Component::spread, 0.33333333333333331);
  row.append(Component::affinity, affinity.component());
  row.append(Component::penalty, kReschedulePenalty);
  row.append(Component::anti_affinity, anti_affinity(1, 4));
  row.append(Component::binpack, 0.48915161761752862);
  EXPECT_EQ(row.mean(), -0.0021696764764942977);
}

TEST(ScoreRow, CountsAnAffinityThatDoesNotMatch) {  // example E8
  AffinitySum affinity;
  affinity.add(-50, false);
  ScoreRow row;
  row.append(Component::binpack, 0.48915161761752862);
  EXPECT_EQ(row.mean(), 0.48915161761752862);
  row.append(Component::affinity, affinity.component());
  EXPECT_EQ(row.mean(), 0.24457580880876431);
  row.set(Component::affinity, 0, false);
  EXPECT_EQ(row.mean(), 0.48915161761752862);
}

TEST(PreemptionScore, IsOneHalfAt2048) {  // R-PREEMPT-701, 702
  EXPECT_EQ(preemption_score(2048), 0.5);
  EXPECT_EQ(net_priority(std::vector<std::int64_t>{60, 50, 10}), 62);
  EXPECT_GT(preemption_score(62), 0.9998);
  EXPECT_LT(preemption_score(5000), 1e-5);
}

}  // namespace
}  // namespace berth::rank
