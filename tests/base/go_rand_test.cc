#include "base/go_rand.h"

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <numeric>
#include <string>
#include <vector>

namespace berth::base {
namespace {

constexpr std::uint64_t kConstants[607] = {
#include "base/go_rand_table.inc"
};

/// R-FEAS-205 read aloud: one step at a time, tap and feed walking backwards.
class PlainGoRand {
 public:
  explicit PlainGoRand(std::int64_t seed) {
    constexpr std::int64_t kModulus = (std::int64_t{1} << 31) - 1;
    std::int64_t s = seed % kModulus;
    if (s < 0) s += kModulus;
    if (s == 0) s = 89482311;
    const auto step = [&] { return static_cast<std::uint64_t>(s = s * 48271 % kModulus); };
    for (int i = 0; i < 20; ++i) step();
    for (int k = 0; k < 607; ++k) {
      const std::uint64_t x1 = step(), x2 = step(), x3 = step();
      word_[k] = (x1 << 40) ^ (x2 << 20) ^ x3 ^ kConstants[k];
    }
  }
  std::uint64_t next() {
    tap_ = (tap_ + 606) % 607, feed_ = (feed_ + 606) % 607;
    return word_[feed_] += word_[tap_];
  }
  std::uint32_t bounded(std::uint32_t m) {
    const auto d = [&] { return static_cast<std::uint32_t>((next() & (UINT64_MAX >> 1)) >> 32); };
    if ((m & (m - 1)) == 0) return d() & (m - 1);
    const std::uint32_t max = (1u << 31) - 1 - (1u << 31) % m;
    for (;; ++rejected_) {
      const std::uint32_t v = d();
      if (v <= max) return v % m;
    }
  }
  void shuffle(std::vector<std::uint32_t>& items) {
    for (std::size_t i = items.size(); i-- > 1;) std::swap(items[i], items[bounded(static_cast<std::uint32_t>(i + 1))]);
  }
  int rejected_ = 0;

 private:
  std::uint64_t word_[607];
  int tap_ = 0, feed_ = 334;
};

std::vector<std::uint32_t> ascending(std::size_t n) {
  std::vector<std::uint32_t> out(n);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

/// Runs the body once per instruction set of this machine and build.
class GoRandOnEveryTarget : public ::testing::Test {
 protected:
  template <class Body>
  void on_each(const Body& body) {
    for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
      hwy::SetSupportedTargetsForTest(target);
      SCOPED_TRACE(hwy::TargetName(target));
      body();
    }
    hwy::SetSupportedTargetsForTest(0);
  }
};

TEST_F(GoRandOnEveryTarget, GivesTheCheckValues) {  // R-FEAS-205
  on_each([] {
    GoRand rand(1);
    EXPECT_EQ(rand.next(), 5577006791947779410u);
    EXPECT_EQ(rand.next(), 8674665223082153551u);
    EXPECT_EQ(rand.next(), 15352856648520921629u);
  });
}

TEST_F(GoRandOnEveryTarget, FollowsTheStepByStepGenerator) {
  on_each([] {
    for (const std::int64_t seed :
         {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1}, std::int64_t{2147483647}, std::int64_t{-2147483647},
          std::int64_t{89482311}, INT64_MAX, INT64_MIN, std::int64_t{0x0d0d4d8dce0e58a2}}) {
      GoRand rand(seed);
      PlainGoRand plain(seed);
      for (int i = 0; i < 2000; ++i) ASSERT_EQ(rand.next(), plain.next()) << "seed " << seed << " draw " << i;
    }
  });
}

TEST_F(GoRandOnEveryTarget, ShufflesExampleE15) {  // R-RANK-302, 303
  const std::string eval_id = "8a2f3c4d-1111-2222-3333-0123456789ab";
  EXPECT_EQ(shuffle_seed(eval_id, 1000), 0x0d0d4d8dce0e58a2);
  on_each([&] {
    for (const std::uint64_t index : {1000u, 1001u}) {
      auto items = ascending(8);
      GoRand(shuffle_seed(eval_id, index)).shuffle(items);
      EXPECT_EQ(items, (std::vector<std::uint32_t>{2, 5, 4, 3, 6, 7, 0, 1}));
    }
  });
}

TEST_F(GoRandOnEveryTarget, ShufflesEverySizeAsTheRuleSays) {  // R-FEAS-203, 204
  on_each([] {
    for (std::size_t n = 0; n < 1400; n += n < 70 ? 1 : 61) {
      auto items = ascending(n), expected = items;
      GoRand rand(static_cast<std::int64_t>(n) * 7919);
      PlainGoRand plain(static_cast<std::int64_t>(n) * 7919);
      rand.shuffle(items);
      plain.shuffle(expected);
      ASSERT_EQ(items, expected) << n;
      ASSERT_EQ(rand.next(), plain.next()) << "the generator stands elsewhere after " << n << " items";
    }
  });
}

TEST_F(GoRandOnEveryTarget, SkipsRejectedDraws) {
  on_each([] {
    int rejected = 0;
    for (const std::size_t n : {65536u, 150000u, 300001u}) {
      auto items = ascending(n), expected = items;
      GoRand rand(static_cast<std::int64_t>(n));
      PlainGoRand plain(static_cast<std::int64_t>(n));
      rand.shuffle(items);
      plain.shuffle(expected);
      ASSERT_EQ(items, expected) << n;
      ASSERT_EQ(rand.bounded(1'431'655'766), plain.bounded(1'431'655'766));  // a third of the draws is rejected
      rejected += plain.rejected_;
    }
    EXPECT_GT(rejected, 3) << "the sizes no longer exercise a rejection";
  });
}

}  // namespace
}  // namespace berth::base
