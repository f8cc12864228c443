// The number of nodes that Selects visited is recorded by request, and separately for requests with host volumes.
#include "sched/source/visits_per_option.h"

#include <gtest/gtest.h>

namespace berth::sched {
namespace {

TEST(VisitsPerOption, KeepsTheLastByChecksAndVolumes) {
  VisitsPerOption visits;
  tables::CompiledGroup plain, with_volumes, of_more;
  plain.checks = with_volumes.checks = 3;
  with_volumes.has_host_volumes = true;
  const double unknown = visits.of(plain);
  EXPECT_GT(unknown, 1);
  visits.note(plain, 28, 14);
  EXPECT_EQ(visits.of(plain), 2);
  EXPECT_EQ(visits.of(with_volumes), unknown);
  visits.note(with_volumes, 140, 14);
  visits.note(plain, 14, 14);
  visits.note(plain, 5, 0);  // no Select
  EXPECT_EQ(visits.of(plain), 1);
  EXPECT_EQ(visits.of(with_volumes), 10);
  visits.note(of_more, 50, 5);  // checks without a number
  EXPECT_EQ(visits.of(of_more), unknown);
}

}  // namespace
}  // namespace berth::sched
