#include "rank/top_scores.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace berth::rank {
namespace {

std::string list(const std::vector<double>& scores) {  // nodes A, B, C, ... in this order
  TopScores top;
  for (std::size_t i = 0; i < scores.size(); ++i) top.push(static_cast<std::uint32_t>(i), scores[i]);
  std::string out;
  for (const ScoredNode& node : top.take()) out += static_cast<char>('A' + node.id);
  EXPECT_EQ(top.size(), 0u);
  return out;
}

TEST(TopScores, ListsExampleE12) {  // R-RANK-1006 to 1008
  EXPECT_EQ(list({1, 1, 1, 1, 1, 1}), "BCDEA");
  EXPECT_EQ(list({1, 1, 1, 1, 1}), "BCDEA");
  EXPECT_EQ(list({1, 1, 1, 1}), "BCDA");
  EXPECT_EQ(list({1, 1, 1}), "BCA");
  EXPECT_EQ(list({1, 1}), "BA");
  EXPECT_EQ(list({1}), "A");
  EXPECT_EQ(list({}), "");
  EXPECT_EQ(list({.5, .5, .7, .5, .6, .5, .65}), "CGEDB");
}

TEST(TopScores, PredictsWhetherAScoreWouldBeKept) {
  TopScores top;
  for (int i = 0; i < 4; ++i) top.push(0, 0.5);
  EXPECT_TRUE(top.would_keep(-1));
  top.push(0, 0.4);
  EXPECT_FALSE(top.would_keep(0.4));
  EXPECT_TRUE(top.would_keep(0.45));
}

}  // namespace
}  // namespace berth::rank
