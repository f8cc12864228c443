#include "rank/known.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace berth::rank {
namespace {

TEST(Known, TagsAreNoResultsOfArithmetic) {
  volatile double zero = 0.0, infinite = std::numeric_limits<double>::infinity();
  for (const double value : {zero / zero, -(zero / zero), infinite - infinite, infinite, -infinite, -0.0, 1.0})
    EXPECT_TRUE(Known::is_component(std::bit_cast<std::uint64_t>(value))) << value;
  EXPECT_FALSE(Known::is_component(Known::kFails | 7));
  EXPECT_FALSE(Known::is_component(Known::kUnknown));
  EXPECT_TRUE(Known::fails(Known::kFails | ~0U));
  EXPECT_FALSE(Known::fails(Known::kExhausted));
  EXPECT_EQ(Known::detail(Known::kExhausted | 12), 12U);
}

}  // namespace
}  // namespace berth::rank
