#include "rank/known.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace berth::rank {
namespace {

TEST(Known, TagsAreNeverResultsOfArithmetic) {
  volatile double zero = 0.0, infinite = std::numeric_limits<double>::infinity();
  for (const double value : {zero / zero, -(zero / zero), infinite - infinite, infinite, -infinite, -0.0, 1.0})
    EXPECT_TRUE(Known::is_component(std::bit_cast<std::uint64_t>(value))) << value;
  const std::uint64_t lacks = Known::kShort | 12;
  for (const std::uint64_t tag : {Known::kFails, lacks, Known::kPasses, Known::kUnknown}) {
    EXPECT_FALSE(Known::is_component(tag));
    EXPECT_EQ(Known::fails(tag), tag == Known::kFails);
    EXPECT_EQ(Known::is_short(tag), tag == lacks);
    EXPECT_EQ(Known::may_have_room(tag), tag == Known::kPasses || tag == Known::kUnknown);
  }
  EXPECT_TRUE(Known::may_have_room(std::bit_cast<std::uint64_t>(0.5)));
  EXPECT_EQ(Known::detail(lacks), 12U);
}

}  // namespace
}  // namespace berth::rank
