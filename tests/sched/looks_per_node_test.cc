// The number of nodes that Selects visited is recorded by request, and separately for requests with host volumes.
#include "sched/source/looks_per_node.h"

#include <gtest/gtest.h>

namespace berth::sched {
namespace {

TEST(LooksPerNode, KeepsTheLastByAskAndVolumes) {
  LooksPerNode looks;
  tables::CompiledGroup plain, with_volumes, of_more;
  plain.ask = with_volumes.ask = 3;
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
  looks.note(of_more, 50, 5);  // an ask that has no number
  EXPECT_EQ(looks.of(of_more), unknown);
}

}  // namespace
}  // namespace berth::sched
