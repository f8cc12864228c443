#include "rank/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace berth::rank {
namespace {

constexpr std::string_view kEval = "8a2f3c4d-1111-2222-3333-0123456789ab";

std::string letters(VisitingOrder& order) {
  std::string out;
  for (std::size_t k = 0; k < order.size(); ++k) out += static_cast<char>('a' + order.at(k));
  return out;
}

std::string letters(OrderProvider provider, std::uint64_t index) {
  VisitingOrder order;
  EXPECT_TRUE(order.set(provider, kEval, index, 8));
  return letters(order);
}

TEST(VisitingOrder, GivesExamplesE14AndE15) {
  EXPECT_EQ(letters(OrderProvider::mix, 1000), "bdacghfe");
  EXPECT_EQ(letters(OrderProvider::mix, 1001), "cfbaehgd");
  EXPECT_EQ(letters(OrderProvider::lazy, 1000), "egbhcfad");
  EXPECT_EQ(letters(OrderProvider::lazy, 1001), "dhfbegca");
  EXPECT_EQ(letters(OrderProvider::nomad, 1000), "cfedghab");
  EXPECT_EQ(letters(OrderProvider::nomad, 1001), "cfedghab");  // R-RANK-303
  EXPECT_EQ(letters(OrderProvider::identity, 1000), "abcdefgh");
}

TEST(VisitingOrder, LazyShuffleIsIndependentOfEarlierOrders) {
  VisitingOrder order;
  for (std::uint64_t index = 0; index < 200; ++index) {
    const std::size_t n = 1 + index * 37 % 70;
    ASSERT_TRUE(order.set(OrderProvider::lazy, kEval, index, n));
    for (std::size_t k = 0; k < index % 5 && k < n; ++k) static_cast<void>(order.at(k));
    VisitingOrder fresh;
    ASSERT_TRUE(fresh.set(OrderProvider::lazy, kEval, index, n));
    const auto a = order.all(), b = fresh.all();
    ASSERT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end())) << "index " << index;
    std::vector<std::uint32_t> sorted(a.begin(), a.end());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(sorted[k], k) << "not a permutation";
  }
}

TEST(VisitingOrder, EntriesComputedStepByStepEqualTheWholeShuffle) {  // R-FEAS-203, R-RANK-307
  VisitingOrder order, whole;
  std::uint64_t index = 0;
  for (const OrderProvider provider : {OrderProvider::nomad, OrderProvider::mix})
    for (const std::size_t n : {20U, 2'047U, 2'048U, 2'053U, 10'000U, 16'384U, 16'385U, 30'001U})
      for (const std::size_t expected : {0U, 2U, 14U, 64U, 128U})
        for (int round = 0; round < 4; ++round) {
          index += 4;
          ASSERT_TRUE(whole.set(provider, kEval, index, n, n));
          ASSERT_TRUE(order.set(provider, kEval, index, n, expected));
          EXPECT_GE(order.fix_expected(), std::min(n, expected));
          const std::size_t traced = std::min(n, std::size_t{140});
          for (std::size_t k = 0; k < traced; ++k)
            ASSERT_EQ(order.at(k), whole.at(k)) << "entry " << k << " of " << n << ", index " << index;
          if (round % 2 != 0) continue;  // otherwise the next order follows an incomplete one
          for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(order.at(k), whole.at(k)) << "entry " << k << " of " << n;
        }
}

TEST(VisitingOrder, EntriesComputedAheadEqualTheWholeShuffle) {  // R-FEAS-203, R-RANK-307
  VisitingOrder order, whole;
  std::uint64_t index = 0;
  for (const OrderProvider provider : {OrderProvider::nomad, OrderProvider::mix})
    for (const std::size_t n : {std::size_t{2'047}, std::size_t{2'048}, std::size_t{5'001}, std::size_t{10'000}})
      for (const std::size_t expected : {std::size_t{21}, n / 7, n / 2, n / 2 + 1, n}) {
        index += 4;
        ASSERT_TRUE(whole.set(provider, kEval, index, n, n));
        ASSERT_TRUE(order.set(provider, kEval, index, n, expected));
        for (std::size_t k = 0; k < expected; ++k)
          ASSERT_EQ(order.at(k), whole.at(k)) << "entry " << k << " of " << n << ", expected " << expected;
        EXPECT_EQ(order.fixed(), expected <= n / 2 && n >= 2'048 ? expected : n);
        if (index % 8 != 0) continue;  // otherwise the next order follows an incomplete one
        for (std::size_t k = 0; k < n; ++k) ASSERT_EQ(order.at(k), whole.at(k)) << "entry " << k << " of " << n;
      }
}

TEST(VisitingOrder, SwitchesProvidersOnOneObject) {
  VisitingOrder order;
  for (int round = 0; round < 2; ++round) {
    ASSERT_TRUE(order.set(OrderProvider::nomad, kEval, 1000, 8));
    EXPECT_EQ(letters(order), "cfedghab");
    ASSERT_TRUE(order.set(OrderProvider::lazy, kEval, 1000, 8));
    EXPECT_EQ(letters(order), "egbhcfad");
    ASSERT_TRUE(order.set(OrderProvider::lazy, kEval, 1000, 8));  // the same order again
    EXPECT_EQ(letters(order), "egbhcfad");
    ASSERT_TRUE(order.set(OrderProvider::identity, kEval, 0, 3));
    EXPECT_EQ(letters(order), "abc");
    ASSERT_TRUE(order.set(OrderProvider::mix, kEval, 1000, 8));
    EXPECT_EQ(letters(order), "bdacghfe");
  }
}

TEST(VisitingOrder, RefusesShortIdsOnlyForNomad) {  // R-RANK-306, 307
  VisitingOrder order;
  EXPECT_FALSE(order.set(OrderProvider::nomad, "1234567", 1, 3));
  EXPECT_TRUE(order.set(OrderProvider::mix, "1234567", 1, 3));
  EXPECT_TRUE(order.set(OrderProvider::lazy, "", 1, 0));
}

}  // namespace
}  // namespace berth::rank
