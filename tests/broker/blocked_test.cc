// The tracker of blocked evaluations: cases by hand. Recorded scripts (tests/golden/control/blocked) check its
// releases.
#include "broker/blocked.h"

#include <gtest/gtest.h>

namespace berth::broker {
namespace {

BlockedEval blocked_of(std::uint32_t row, std::uint32_t job, std::uint64_t snapshot_index = 5) {
  BlockedEval out;
  out.eval.row = static_cast<EvalRow>(row), out.eval.job = static_cast<JobKeyRow>(job), out.eval.job_id = job;
  out.eval.create_index = 10 + row;
  out.snapshot_index = snapshot_index;
  return out;
}

std::vector<std::uint32_t> rows_of(const std::vector<Eval>& evals) {
  std::vector<std::uint32_t> out;
  for (const Eval& eval : evals) out.push_back(static_cast<std::uint32_t>(eval.row));
  return out;
}

class BlockedTracking : public ::testing::Test {
 protected:
  BlockedTracking() { tracker_.enable(0); }
  tables::SymbolTable symbols_;
  BlockedTracker tracker_{symbols_, model::Quirks::none()};
  std::vector<Eval> released_;
};
using BlockedDeathTest = BlockedTracking;

TEST_F(BlockedDeathTest, EvaluationsInBothSetsAbort) {  // it would be released twice
  tracker_.block(blocked_of(0, 1), 0, released_);
  BlockedEval escaped = blocked_of(0, 2);  // the same evaluation, of another job
  escaped.escaped = true;
  EXPECT_EXIT(tracker_.block(escaped, 0, released_), ::testing::KilledBySignal(SIGABRT), "contains\\(row\\)");
}

TEST_F(BlockedTracking, ClassesReleaseInOrderOfCreation) {  // R-CTRL-814, 320
  const Symbol small = symbols_.intern("small"), large = symbols_.intern("large");
  for (const std::uint32_t row : {2U, 0U, 1U}) {
    BlockedEval blocked = blocked_of(row, row);
    blocked.classes.push_back({small, row == 1});
    tracker_.block(blocked, 0, released_);
  }
  tracker_.unblock_class(small, 6, 1, released_);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{1});
  tracker_.unblock_class(large, 7, 2, released_);  // none has seen it
  EXPECT_EQ(rows_of(released_), (std::vector<std::uint32_t>{1, 0, 2}));
  EXPECT_EQ(tracker_.stats().blocked, 0);
}

TEST_F(BlockedTracking, MissedUnblocksReleaseAtOnce) {  // R-CTRL-805, 810, 813
  const Symbol small = symbols_.intern("small");
  tracker_.unblock_class(small, 6, 0, released_);
  tracker_.block(blocked_of(0, 0, 6), 0, released_);  // it saw index 6
  EXPECT_TRUE(released_.empty());
  tracker_.block(blocked_of(1, 1, 5), 0, released_);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{1});
  constexpr std::int64_t kMinute = 60'000'000'000;
  EXPECT_EQ(tracker_.next_deadline(), 5 * kMinute);
  tracker_.advance(20 * kMinute);  // older than 15 minutes: forgotten
  EXPECT_EQ(tracker_.next_deadline(), 25 * kMinute);
  tracker_.block(blocked_of(2, 2, 5), 0, released_);
  EXPECT_EQ(released_.size(), 1u);
}

TEST_F(BlockedTracking, ARowThatAnotherJobTookIsNotTheJobsOwn) {  // R-CTRL-804 keeps the entry of a released evaluation
  for (const bool escaped : {false, true}) {
    BlockedTracker tracker(symbols_, model::Quirks());
    tracker.enable(0);
    const Symbol small = symbols_.intern("small");
    BlockedEval first = blocked_of(0, 1);
    first.classes.push_back({small, false});
    tracker.block(first, 0, released_);
    tracker.unblock_class(small, 6, 0, released_);
    EXPECT_TRUE(released_.empty());
    tracker.block(blocked_of(1, 1), 0, released_);  // replaces `first`, and is released at once
    EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{1});
    released_.clear();
    std::vector<EvalRow> duplicates;
    tracker.take_duplicates(duplicates);
    EXPECT_EQ(duplicates, std::vector<EvalRow>{EvalRow{0}});
    BlockedEval other = blocked_of(0, 2, 7);  // the row is free, and job 2 gets it
    other.escaped = escaped;
    tracker.block(other, 0, released_);
    std::vector<EvalRow> taken;
    tracker.untrack(static_cast<JobKeyRow>(1), 0, taken);
    EXPECT_TRUE(taken.empty());
    EXPECT_EQ(tracker.stats().blocked, 1);
    tracker.block(blocked_of(2, 1, 7), 0, released_);
    duplicates.clear();
    tracker.take_duplicates(duplicates);
    EXPECT_TRUE(duplicates.empty());
    EXPECT_EQ(tracker.stats().blocked, 2);
  }
}

TEST_F(BlockedTracking, OnlyTheNewestOfAJobIsTracked) {  // R-CTRL-803, 804
  tracker_.block(blocked_of(1, 7, 5), 0, released_);
  tracker_.block(blocked_of(0, 7, 4), 0, released_);  // create index 10 < 11: older
  tracker_.block(blocked_of(2, 7, 5), 0, released_);
  std::vector<EvalRow> duplicates;
  tracker_.take_duplicates(duplicates);
  EXPECT_EQ(duplicates, (std::vector<EvalRow>{EvalRow{0}, EvalRow{1}}));
  EXPECT_EQ(tracker_.captured().size(), 1u);
  std::vector<EvalRow> taken;
  tracker_.untrack(static_cast<JobKeyRow>(7), 0, taken);
  EXPECT_EQ(taken, std::vector<EvalRow>{EvalRow{2}});
  EXPECT_EQ(tracker_.stats().blocked, 0);
}

TEST_F(BlockedTracking, NothingIsTrackedWhileDisabled) {  // R-CTRL-802
  BlockedTracker tracker(symbols_, model::Quirks::none());
  const Symbol key = symbols_.intern("key");
  const auto use = [&] {
    std::vector<EvalRow> taken;
    tracker.block(blocked_of(0, 1), 0, released_);
    tracker.unblock_class(key, 9, 0, released_), tracker.unblock_quota(key, 9, 0, released_);
    tracker.unblock_class_and_quota(key, key, 9, 0, released_), tracker.unblock_node(key, 0, released_);
    tracker.unblock_resources({&key, 1}, 9, 0, released_), tracker.unblock_failed(0, released_);
    tracker.untrack(static_cast<JobKeyRow>(1), 0, taken);
    tracker.advance(1'000'000'000'000);
    EXPECT_TRUE(released_.empty() && taken.empty() && tracker.unblocks().empty());
    EXPECT_FALSE(tracker.next_deadline());
    EXPECT_EQ(tracker.stats().blocked, 0);
  };
  use();
  tracker.enable(0);
  tracker.enable(7);  // no effect
  EXPECT_EQ(tracker.next_deadline(), 300'000'000'000);
  tracker.unblock_class(key, 4, 0, released_);
  tracker.block(blocked_of(0, 1), 0, released_);
  EXPECT_EQ(tracker.stats().blocked, 1);
  tracker.disable();
  use();
}

TEST_F(BlockedTracking, QuotasReleaseTheirOwn) {  // R-CTRL-810, 815
  const Symbol gold = symbols_.intern("gold"), tin = symbols_.intern("tin"), small = symbols_.intern("small");
  const auto block = [&](std::uint32_t row, Symbol quota, std::uint64_t snapshot = 5) {
    BlockedEval blocked = blocked_of(row, row, snapshot);
    blocked.quota = quota;
    tracker_.block(blocked, 0, released_);
  };
  block(0, gold), block(1, tin), block(2, tables::kEmptySymbol);
  EXPECT_EQ(tracker_.stats().quota_limited, 2);
  tracker_.unblock_quota(tables::kEmptySymbol, 6, 0, released_);
  EXPECT_TRUE(released_.empty());
  tracker_.unblock_quota(gold, 6, 0, released_);
  EXPECT_EQ(rows_of(released_), (std::vector<std::uint32_t>{0, 2})) << "those without a quota as well";
  released_.clear();
  tracker_.unblock_class(small, 9, 0, released_);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{1}) << "a class releases those of any quota";
  released_.clear();
  block(3, gold, 6), block(4, gold, 5), block(5, tin, 5);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{4}) << "only the unblock of its own quota counts";
  released_.clear();
  tracker_.unblock_class_and_quota(small, tin, 10, 0, released_);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{5}) << "both have to match";
  EXPECT_EQ(tracker_.stats().quota_limited, 1);
}

TEST_F(BlockedTracking, ResourcesReleaseEscapedEvaluationsThatLackThem) {  // R-CTRL-810, 817
  for (const bool shared : {false, true}) {                                // one map of keys, or one for resources
    SCOPED_TRACE(shared);
    model::Quirks quirks = model::Quirks::none();
    quirks.unblock_keys_shared = shared;
    BlockedTracker tracker(symbols_, quirks);
    tracker.enable(0);
    released_.clear();
    const std::vector<Symbol> disks = {symbols_.intern("csi-volume:a"), symbols_.intern("csi-volume:b")};
    const Symbol other = symbols_.intern("csi-volume:c");
    const auto block = [&](std::uint32_t row, bool escaped, Symbol missing, std::uint64_t snapshot = 5) {
      BlockedEval blocked = blocked_of(row, row, snapshot);
      blocked.escaped = escaped, blocked.missing_resources = {missing};
      tracker.block(blocked, 0, released_);
    };
    block(0, true, disks[1]), block(1, true, other), block(2, false, disks[0]);
    tracker.unblock_resources(disks, 6, 0, released_);
    EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{0});
    EXPECT_EQ(tracker.unblocks().size(), shared ? 2u : 0u);
    released_.clear();
    block(3, false, disks[0], 5), block(4, false, disks[0], 6), block(5, false, other, 5);
    // With one map a key that is not lacked counts as an unknown class (R-CTRL-811).
    EXPECT_EQ(rows_of(released_), shared ? (std::vector<std::uint32_t>{3, 5}) : std::vector<std::uint32_t>{3});
  }
}

TEST_F(BlockedTracking, ExhaustedAttemptsAreReleasedFromBothSets) {  // R-CTRL-819
  for (std::uint32_t row = 0; row < 4; ++row) {
    BlockedEval blocked = blocked_of(row, row);
    blocked.escaped = row >= 2, blocked.max_plan_attempts = row % 2 == 1;
    tracker_.block(blocked, 0, released_);
  }
  tracker_.unblock_failed(0, released_);
  EXPECT_EQ(rows_of(released_), (std::vector<std::uint32_t>{1, 3}));
  EXPECT_EQ(tracker_.stats().blocked, 2);
  EXPECT_EQ(tracker_.stats().escaped, 1);
}

TEST_F(BlockedTracking, LacksAreBookedAndPruned) {  // R-CTRL-813, 830
  constexpr std::int64_t kMinute = 60'000'000'000;
  BlockedEval blocked = blocked_of(0, 1);
  blocked.cpu_mhz = 500, blocked.memory_mb = 256;
  const Symbol dc = symbols_.intern("dc1"), small = symbols_.intern("small");
  blocked.lacks = {{dc, small, dc, 500, 256}};
  BlockedEval other = blocked_of(1, 2);
  other.cpu_mhz = 100;
  tracker_.block(blocked, kMinute, released_), tracker_.block(other, kMinute, released_);
  const JobKeyRow first{1}, second{2};
  EXPECT_EQ(tracker_.booked_by_job().find(first)->second.cpu_mhz, 500);
  EXPECT_EQ(tracker_.booked_by_class().begin()->second.memory_mb, 256);
  std::vector<EvalRow> taken;
  tracker_.untrack(first, 2 * kMinute, taken);
  EXPECT_EQ(taken, std::vector<EvalRow>{EvalRow{0}});
  EXPECT_EQ(tracker_.booked_by_job().find(first)->second.cpu_mhz, 0);
  tracker_.advance(15 * kMinute);
  EXPECT_EQ(tracker_.booked_by_class().size(), 1u) << "not older than 15 minutes";
  tracker_.advance(20 * kMinute);
  EXPECT_TRUE(tracker_.booked_by_class().empty());
  EXPECT_FALSE(tracker_.booked_by_job().contains(first));
  EXPECT_EQ(tracker_.booked_by_job().find(second)->second.cpu_mhz, 100) << "what is tracked stays";
}

/// A system evaluation of a node.
BlockedEval on_node(std::uint32_t row, std::uint32_t job, Symbol node, bool escaped = false) {
  BlockedEval out = blocked_of(row, job);
  out.eval.type = Queue::system, out.node = node, out.escaped = escaped;
  return out;
}

TEST_F(BlockedTracking, SystemJobsAreTrackedByNode) {  // R-CTRL-803, 808, 816, 820 without one_blocked_per_group
  const Symbol a = symbols_.intern("node-a"), b = symbols_.intern("node-b");
  tracker_.block(on_node(0, 7, a), 0, released_), tracker_.block(on_node(1, 7, b, true), 0, released_);
  tracker_.block(on_node(2, 8, a), 0, released_), tracker_.block(blocked_of(3, 7), 0, released_);
  EXPECT_EQ(tracker_.stats().blocked, 4);
  tracker_.block(on_node(4, 7, a), 0, released_);  // newer
  tracker_.block(on_node(5, 7, b), 0, released_);  // newer than the escaped one
  std::vector<EvalRow> duplicates;
  tracker_.take_duplicates(duplicates);
  EXPECT_EQ(duplicates, (std::vector<EvalRow>{EvalRow{0}, EvalRow{1}}));
  tracker_.block(on_node(4, 7, a), 0, released_);  // blocked again after a release of its own
  duplicates.clear();
  tracker_.take_duplicates(duplicates);
  EXPECT_TRUE(duplicates.empty()) << "it is no duplicate of itself";
  EXPECT_EQ(tracker_.stats().blocked, 4);
  tracker_.unblock_node(symbols_.intern("node-c"), 0, released_);
  EXPECT_TRUE(released_.empty());
  tracker_.unblock_node(a, 0, released_);
  EXPECT_EQ(rows_of(released_), (std::vector<std::uint32_t>{2, 4}));
  std::vector<EvalRow> taken;
  tracker_.untrack(static_cast<JobKeyRow>(7), 0, taken);
  std::sort(taken.begin(), taken.end());
  EXPECT_EQ(taken, (std::vector<EvalRow>{EvalRow{3}, EvalRow{5}}));
  EXPECT_EQ(tracker_.stats().blocked, 0);
  EXPECT_TRUE(tracker_.system_by_node().empty() && tracker_.system_by_job().empty());
}

TEST_F(BlockedTracking, CountsDriftWhenAnEscapedDuplicateIsReplaced) {  // R-CTRL-831
  for (const bool one_per_group : {false, true})
    for (const bool drift : {false, true})
      for (const bool escaped : {false, true}) {
        SCOPED_TRACE(std::to_string(one_per_group) + std::to_string(drift) + std::to_string(escaped));
        model::Quirks quirks = model::Quirks::none();
        quirks.queue_counts_drift = drift, quirks.one_blocked_per_group = one_per_group;
        BlockedTracker tracker(symbols_, quirks);
        tracker.enable(0);
        BlockedEval first = blocked_of(0, 1);
        first.escaped = escaped;
        tracker.block(first, 0, released_);
        tracker.block(blocked_of(1, 1), 0, released_);
        EXPECT_EQ(tracker.stats().blocked, drift && escaped ? 2 : 1);
        EXPECT_EQ(tracker.stats().escaped, 0);
        EXPECT_EQ(tracker.captured().size() + tracker.escaped().size(), 1u);
      }
}

TEST_F(BlockedTracking, ASystemJobHasOneEvaluationAndWakesByNode) {  // R-CTRL-806, 808, 816, 820
  BlockedTracker tracker(symbols_, model::Quirks());
  tracker.enable(0);
  const Symbol a = symbols_.intern("node-a"), b = symbols_.intern("node-b");
  EXPECT_FALSE(tracker.block(on_node(0, 7, a), 0, released_));
  EXPECT_FALSE(tracker.block(on_node(1, 7, b), 0, released_));
  EXPECT_EQ(tracker.captured().size(), 1u) << "the latest";
  EXPECT_EQ(tracker.block(on_node(2, 7, a), 0, released_), EvalRow{0}) << "the earlier one of the node";
  EXPECT_FALSE(tracker.block(on_node(2, 7, a), 0, released_)) << "the same one again";
  tracker.unblock_node(b, 0, released_);
  EXPECT_EQ(rows_of(released_), std::vector<std::uint32_t>{1}) << "a duplicate is still woken";
  EXPECT_EQ(tracker.captured().size(), 1u);
  std::vector<EvalRow> taken;
  tracker.untrack(static_cast<JobKeyRow>(7), 0, taken);
  EXPECT_EQ(taken, std::vector<EvalRow>{EvalRow{2}});
  EXPECT_EQ(tracker.captured().size(), 1u) << "it is not cleaned";
  EXPECT_TRUE(tracker.system_by_job().contains(JobKeyRow{7})) << "the job was seen";
  taken.clear();
  tracker.untrack(static_cast<JobKeyRow>(7), 0, taken);
  EXPECT_TRUE(taken.empty());
  tracker.forget_job(JobKeyRow{7});
  EXPECT_FALSE(tracker.system_by_job().contains(JobKeyRow{7}));
}

TEST_F(BlockedTracking, AnOlderEvaluationIsTheDuplicate) {  // R-CTRL-803
  for (const bool escaped : {false, true}) {
    BlockedTracker tracker(symbols_, model::Quirks());
    tracker.enable(0);
    BlockedEval newer = blocked_of(3, 1);
    newer.escaped = escaped;
    tracker.block(newer, 0, released_);
    tracker.block(blocked_of(2, 1), 0, released_);
    std::vector<EvalRow> duplicates;
    tracker.take_duplicates(duplicates);
    EXPECT_EQ(duplicates, std::vector<EvalRow>{EvalRow{2}});
    EXPECT_EQ(tracker.stats().blocked, 1);
    std::vector<EvalRow> taken;
    tracker.untrack(static_cast<JobKeyRow>(1), 0, taken);
    EXPECT_EQ(taken, std::vector<EvalRow>{EvalRow{3}});
    EXPECT_EQ(tracker.stats().escaped, 0);
  }
}

}  // namespace
}  // namespace berth::broker
