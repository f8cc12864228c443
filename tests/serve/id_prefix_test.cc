// Prefixes of UUIDs (R-API-80), with the texts of recorded answers.
#include "http/endpoints/id_prefix.h"

#include <gtest/gtest.h>

#include <random>

namespace berth::http {
namespace {

const base::Uuid kId = *base::parse_uuid("5b0f1d2a-7c3e-4a91-b6d4-0e8f2a1c9d37");

bool matches(std::string_view prefix) {
  const auto parsed = IdPrefix::parse(prefix);
  return parsed && parsed->matches(kId);
}

std::string error(std::string_view prefix) {
  const auto parsed = IdPrefix::parse(prefix);
  return parsed ? "" : parsed.error();
}

TEST(IdPrefix, MatchesBeginnings) {
  for (const char* prefix : {"", "5b", "5B0F", "5b0f1d2a", "5b0f1d2a-", "5b0f1d2a-7c3e", "5b0f1d2a7c3e4a91b6d4",
                             "5b0f1d2a-7c3e-4a91-b6d4-0e8f2a1c9d37", "5b0f1d2a7c3e4a91b6d40e8f2a1c9d37"})
    EXPECT_TRUE(matches(prefix)) << prefix;
  for (const char* prefix :
       {"5c", "5b0f1d2b", "5b0f1d2a-7c3e-4a91-b6d4-0e8f2a1c9d38", "5b0f1d2a7c3e4a91b6d40e8f2a1c9d3700"})
    EXPECT_FALSE(matches(prefix)) << prefix;
}

TEST(IdPrefix, NamesErrors) {
  EXPECT_EQ(error("zz"), "index error: Invalid UUID: encoding/hex: invalid byte: U+007A 'z'");
  EXPECT_EQ(error("5b0f1d2a-7c3e-4a91-b6d4-0e8f2a1c9d37-9"),
            "index error: Invalid UUID length. UUID have 36 characters; got 38");
  EXPECT_EQ(error("5b0"), "index error: Input (without hyphens) must be even length");
  EXPECT_EQ(error("5-b-0-f-1-d"), "index error: UUID should have maximum of 4 \"-\"; got 5");
}

TEST(IdPrefix, AgreesWithAComparisonOfTexts) {
  std::mt19937_64 random(22);
  const std::string whole = base::to_text(kId);
  for (int i = 0; i < 20'000; ++i) {
    std::string prefix;
    for (std::size_t size = 2 * (random() % 5); prefix.size() < size;)
      prefix += random() % 4 ? base::to_text(kId)[prefix.size()] : "0123456789abcdef"[random() % 16];
    EXPECT_EQ(matches(prefix), whole.starts_with(prefix)) << prefix;
  }
}

}  // namespace
}  // namespace berth::http
