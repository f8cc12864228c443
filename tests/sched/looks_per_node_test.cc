// The number of nodes that Selects visited is recorded by request, and separately for requests with host volumes.
#include "sched/source/looks_per_node.h"

#include <gtest/gtest.h>

namespace berth::sched {
namespace {

TEST(LooksPerNode, KeepsTheLastByChecksAndVolumes) {
  LooksPerNode looks;
  tables::CompiledGroup plain, with_volumes, of_more;
  plain.checks = with_volumes.checks = 3;
  with_volumes.has_host_volumes = true;
  const double unknown = looks.of(plain);
  EXPECT_GT(unknown, 1);
  looks.note(plain, 28, 14);
  EXPECT_EQ(looks.of(plain), 2);
  EXPECT_EQ(looks.of(with_volumes), unknown);
  looks.note(with_volumes, 140, 14);
  looks.note(plain, 14, 14);
  looks.note(plain, 5, 0);  // no Select
  EXPECT_EQ(looks.of(plain), 1);
  EXPECT_EQ(looks.of(with_volumes), 10);
  looks.note(of_more, 50, 5);  // checks without a number
  EXPECT_EQ(looks.of(of_more), unknown);
}

}  // namespace
}  // namespace berth::sched
