// Classes of allocations, rescheduling windows and the name index: the tables of the specification.
#include <gtest/gtest.h>

#include "model/job.h"
#include "reconcile/alloc_facts.h"
#include "reconcile/name_index.h"
#include "reconcile/reschedule.h"
#include "support/cluster_objects.h"

namespace berth::reconcile {
namespace {

constexpr std::int64_t kLeavesNow = 1'000'000 * base::kSecond;

/// One row of the table of R-RECON-107, one letter per column: ok, draining, initializing and draining, disconnected,
/// down, gone.
struct ClassRow {
  const char* name;
  const char* client;
  bool reconnects;
  std::int64_t lost_after_s;
  std::int64_t unknown_for_s;
  std::optional<bool> replace;
  const char* classes;
};
class AllocClasses : public ::testing::TestWithParam<ClassRow> {};
TEST_P(AllocClasses, FollowTheTable) {
  const ClassRow& row = GetParam();
  auto job = testing::make_job();
  model::TaskGroup& group = job->task_groups[0];
  group.disconnect.emplace();
  group.disconnect->lost_after = row.lost_after_s * base::kSecond;
  group.disconnect->replace = row.replace;
  model::Allocation alloc = testing::make_alloc({.job = job, .client = row.client});
  if (row.reconnects)
    alloc.alloc_states.push_back({0, "unknown", base::Time{kLeavesNow - row.unknown_for_s * base::kSecond}});
  std::string classes;
  for (const NodeTaint taint : {NodeTaint::none, NodeTaint::ready, NodeTaint::initializing, NodeTaint::disconnected,
                                NodeTaint::down, NodeTaint::gone})
    classes += "UMLDRIX"[static_cast<std::size_t>(classify(read_facts(alloc, 0, taint, ""), kLeavesNow))];
  EXPECT_EQ(classes, row.classes);
}
INSTANTIATE_TEST_SUITE_P(Table, AllocClasses,
                         ::testing::Values(ClassRow{"pending", "pending", false, 60, 0, {}, "UUULLL"},
                                           ClassRow{"running", "running", false, 60, 0, {}, "UUUDLL"},
                                           ClassRow{"running_without_lost_after", "running", false, 0, 0, {}, "UUULLL"},
                                           ClassRow{"running_not_replaced", "running", false, 60, 0, false, "UUUDDL"},
                                           ClassRow{"running_reconnects", "running", true, 60, 10, {}, "RRUDLL"},
                                           ClassRow{"unknown_reconnects", "unknown", true, 60, 10, {}, "RRUULL"},
                                           ClassRow{"unknown_not_replaced", "unknown", true, 60, 10, false, "RRUUUL"},
                                           ClassRow{"expired_to_the_nanosecond", "unknown", true, 60, 60, {}, "XXXXXX"},
                                           ClassRow{"unknown", "unknown", false, 60, 0, {}, "UUUULL"},
                                           ClassRow{"failed_reconnects", "failed", true, 60, 10, {}, "RRRRRR"},
                                           ClassRow{"failed", "failed", false, 60, 0, {}, "UUUUUU"},
                                           ClassRow{"complete", "complete", true, 60, 10, {}, "UUUUUU"}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Reschedule, TheWindowIsOneSecondInclusive) {  // R-RECON-65, 116
  auto job = testing::make_job();
  model::TaskGroup& group = job->task_groups[0];
  group.reschedule_policy.emplace();
  group.reschedule_policy->unlimited = true;
  group.reschedule_policy->delay = 30 * base::kSecond;
  group.reschedule_policy->delay_function = "constant";
  model::Allocation alloc = testing::make_alloc({.job = job, .client = "failed"});
  using When = RescheduleAnswer::When;
  const RescheduleContext context{kLeavesNow, "this-eval", false, false};
  const auto when = [&](std::int64_t failed_at) {
    alloc.modify_time = failed_at;
    return judge_reschedule(read_facts(alloc, 0, NodeTaint::none, ""), context, false).when;
  };
  EXPECT_EQ(when(kLeavesNow - 29 * base::kSecond), When::now);
  EXPECT_EQ(when(kLeavesNow - 29 * base::kSecond + 1), When::later);
  alloc.followup_eval_id = "other-eval";
  EXPECT_EQ(when(kLeavesNow - 29 * base::kSecond + 1), When::kept);  // already waits for its own evaluation
  alloc.followup_eval_id = "this-eval";
  EXPECT_EQ(when(kLeavesNow - 29 * base::kSecond + 1), When::now);
}

TEST(NameIndex, OverlapsWhenNamesRunOut) {  // worked example 6
  NameIndex index(std::vector<std::uint32_t>{0, 1, 3, 9}, 5);
  EXPECT_EQ(index.size_bits(), 16U);
  EXPECT_EQ(index.next(3), (std::vector<std::uint32_t>{2, 4, 0}));
}

TEST(NameIndex, OverlapsBeyondItsSize) {  // R-RECON-161
  NameIndex index(std::vector<std::uint32_t>{0}, 2);
  EXPECT_EQ(index.size_bits(), 8U);
  EXPECT_EQ(index.next(11), (std::vector<std::uint32_t>{1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  EXPECT_EQ(index.used().size(), 8U);  // 8 and 9 have no bit
  EXPECT_TRUE(index.is_used(7));
  EXPECT_FALSE(index.is_used(8));
}

TEST(NameIndex, DuplicatesKeepTheirOldCount) {  // worked example 6, R-RECON-162
  NameIndex index(std::vector<std::uint32_t>{0, 1, 3, 3, 3}, 5);
  EXPECT_EQ(index.size_bits(), 8U);
  EXPECT_EQ(index.duplicates().at(3), 2U);
  index.unset(3);
  EXPECT_EQ(index.duplicates().at(3), 2U);
  EXPECT_EQ(index.highest(2), (std::vector<std::uint32_t>{3, 1}));
}

TEST(NameIndex, CountsNamesOfCanaries) {  // worked example 6
  EXPECT_EQ(NameIndex(std::vector<std::uint32_t>{8}, 8).size_bits(), 16U);
  EXPECT_EQ(NameIndex({}, 0).size_bits(), 8U);
  NameIndex index(std::vector<std::uint32_t>{0, 1, 2}, 3);
  EXPECT_EQ(index.next_canaries(5, {}, std::vector<std::uint32_t>{0, 2}), (std::vector<std::uint32_t>{0, 2, 3, 4, 5}));
}

TEST(NameIndex, WorksAcrossWordBoundaries) {
  for (const std::uint32_t count : {63U, 64U, 65U, 127U, 128U, 129U}) {
    NameIndex index({}, count);
    const auto all = index.next(count);
    ASSERT_EQ(all.size(), count);
    EXPECT_EQ(all.back(), count - 1);
    EXPECT_EQ(index.highest(1), std::vector<std::uint32_t>{count - 1});
    EXPECT_EQ(index.next(1), std::vector<std::uint32_t>{count - 1});
  }
}

TEST(NameIndex, AnAbsurdIndexTakesLittleMemory) {
  EXPECT_EQ(NameIndex(std::vector<std::uint32_t>{~0U}, 1).size_bits(), NameIndex::kMaxIndex + 1);
}

}  // namespace
}  // namespace berth::reconcile
