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

}  // namespace
}  // namespace berth::broker
