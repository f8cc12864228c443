#include "feasible/class_cache.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace berth::feasible {
namespace {

std::map<std::uint32_t, bool> class_map(const ClassCache& cache) {
  std::map<std::uint32_t, bool> out;
  for (const auto& verdict : cache.class_map()) out[verdict.class_id] = verdict.eligible;
  return out;
}

TEST(ClassCache, MapsClassesAsTheWorkedExample) {  // E15; classes 0 to 4 are c1 to c5, groups 0 and 1 are a and b
  ClassCache cache;
  cache.begin_attempt(5, 2);
  for (const std::uint32_t eligible : {0u, 2u, 3u}) cache.set_job(eligible, true);
  cache.set_job(1, false);
  cache.set_group(0, 0, false), cache.set_group(0, 2, false), cache.set_group(1, 2, true);
  EXPECT_EQ(class_map(cache), (std::map<std::uint32_t, bool>{{0, false}, {1, false}, {2, true}, {3, true}}));
}

TEST(ClassCache, IgnoresVerdictsWhileEscaped) {  // R-FEAS-409
  ClassCache cache;
  cache.begin_attempt(2, 2);
  cache.set_job(0, true), cache.set_group(1, 1, false);
  EXPECT_EQ(cache.job_status(0), ClassStatus::eligible);
  EXPECT_EQ(cache.group_status(1, 1), ClassStatus::ineligible);
  EXPECT_EQ(cache.group_status(0, 1), ClassStatus::unknown);
  EXPECT_FALSE(cache.has_escaped());
  cache.set_group_escapes(1, true);
  EXPECT_TRUE(cache.has_escaped());
  EXPECT_EQ(cache.group_status(1, 1), ClassStatus::escaped);
  EXPECT_EQ(cache.group_status(0, 1), ClassStatus::unknown);
  cache.set_job_escapes(true);
  EXPECT_EQ(cache.job_status(0), ClassStatus::escaped);
}

TEST(ClassCache, EachAttemptStartsEmpty) {
  std::mt19937 random(7);
  ClassCache cache;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const auto classes = 1 + static_cast<std::uint32_t>(random() % 65),
               groups = 1 + static_cast<std::uint32_t>(random() % 4);
    cache.begin_attempt(classes, groups);
    EXPECT_FALSE(cache.has_escaped());
    for (std::uint32_t c = 0; c < classes; ++c) {
      ASSERT_EQ(cache.job_status(c), ClassStatus::unknown) << "attempt " << attempt;
      for (std::uint32_t g = 0; g < groups; ++g)
        ASSERT_EQ(cache.group_status(g, c), ClassStatus::unknown) << "attempt " << attempt;
    }
    for (int i = 0; i < 10; ++i) {
      cache.set_job(static_cast<std::uint32_t>(random() % classes), random() % 2);
      cache.set_group(static_cast<std::uint32_t>(random() % groups), static_cast<std::uint32_t>(random() % classes),
                      random() % 2);
    }
    cache.set_group_escapes(static_cast<std::uint32_t>(random() % groups), true);
  }
}

}  // namespace
}  // namespace berth::feasible
