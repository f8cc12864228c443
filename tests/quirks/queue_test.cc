// Quirks of the broker and the tracker of blocked evaluations.
#include <gtest/gtest.h>

#include "broker/blocked.h"
#include "broker/broker.h"
#include "quirks/quirk_test.h"

namespace berth::broker {
namespace {

Eval eval_of(std::uint32_t row, std::uint32_t job, std::int32_t priority = 50) {
  Eval out;
  out.row = static_cast<EvalRow>(row), out.job = static_cast<JobKeyRow>(job), out.job_id = job;
  out.priority = priority, out.create_index = out.modify_index = 10 + row;
  return out;
}

struct QuirkBroker : Broker {
  explicit QuirkBroker(const model::Quirks& quirks) : Broker(config(quirks)) { enable(); }
  static Config config(const model::Quirks& quirks) {
    Config out;
    out.order = ReadyOrder::exact, out.quirks = quirks, out.evals = 64, out.jobs = 16;
    return out;
  }
  void add(std::initializer_list<Eval> evals) { ASSERT_TRUE(enqueue(std::vector<Eval>(evals), 0)); }
  /// The next row dequeued, or -1.
  int next() {
    const auto got = dequeue(kSchedulers, 0);
    if (!got || !*got) return -1;
    last = **got;
    return static_cast<int>(last.row);
  }
  Delivery last{};
};

QUIRK_TEST(ready_order_skewed, ReadyOrderDistinguishesNamespaces) {  // R-CTRL-311
  QuirkBroker broker(quirks);
  Eval low = eval_of(0, 0, 10), high = eval_of(1, 1, 90);
  high.job_id = low.job_id;  // the same ID in another namespace
  broker.add({low, high});
  EXPECT_EQ(broker.next(), off ? 1 : 0);
}

QUIRK_TEST(ready_order_skewed, TheTypeIsChosenByItsFirstEvaluation) {  // R-CTRL-314
  QuirkBroker broker(quirks);
  Eval other = eval_of(3, 3, 50);
  other.type = Queue::batch;
  broker.add({eval_of(0, 0, 90), eval_of(1, 1, 10), other});  // Nomad reads the last leaf, of priority 10
  EXPECT_EQ(broker.next(), off ? 0 : 3);
}

QUIRK_TEST(dropped_eval_fires, ADroppedDelayedEvaluationDoesNotRun) {  // R-CTRL-321
  QuirkBroker broker(quirks);
  Eval delayed = eval_of(0, 0);
  delayed.wait_until_ns = 100;
  broker.add({delayed});
  broker.advance(0);
  broker.drop_waiting(delayed.row);
  broker.advance(200);
  EXPECT_EQ(broker.next(), off ? -1 : 0);
}

QUIRK_TEST(cancelled_evals_linger, CancelledEvaluationsAreForgotten) {  // R-CTRL-335
  QuirkBroker broker(quirks);
  broker.add({eval_of(0, 0), eval_of(1, 0), eval_of(2, 0)});
  ASSERT_EQ(broker.next(), 0);
  ASSERT_TRUE(broker.ack(broker.last.row, broker.last.token, 0));
  std::vector<EvalRow> cancelled;
  broker.take_cancelable(10, cancelled);
  ASSERT_EQ(cancelled.size(), 1U);
  const std::uint32_t row = static_cast<std::uint32_t>(cancelled[0]);
  broker.add({eval_of(row, 5)});
  EXPECT_EQ(broker.stats().ready, off ? 2 : 1);
}

QUIRK_TEST(queue_counts_drift, CountsAreExact) {  // R-CTRL-347
  QuirkBroker broker(quirks);
  broker.add({eval_of(0, 0)});
  broker.drop_waiting(EvalRow{0});  // it does not wait
  EXPECT_EQ(broker.stats().waiting, off ? 0 : -1);
}

TEST(QuirkBroker, EvaluationsOfPurgedJobsAreDropped) {  // R-CTRL-742; Nomad never calls drop()
  QuirkBroker broker(model::Quirks::none());
  Eval waits = eval_of(3, 3), delayed = eval_of(4, 4);
  waits.wait_ns = 100, delayed.wait_until_ns = 100;
  broker.add({eval_of(0, 0), eval_of(1, 0), eval_of(2, 1), waits, delayed});
  for (const std::uint32_t row : {0U, 3U, 4U}) broker.drop(EvalRow{row});
  broker.advance(200);
  EXPECT_EQ(broker.next(), 1);  // evaluations pending behind a dropped one are delivered
  EXPECT_EQ(broker.next(), 2);
  broker.drop(broker.last.row);  // a delivery in progress continues
  EXPECT_TRUE(broker.ack(broker.last.row, broker.last.token, 300));
  EXPECT_EQ(broker.next(), -1);
  EXPECT_EQ(broker.totals().dropped, 3U);
  EXPECT_EQ(broker.stats().ready, 0);
  EXPECT_EQ(broker.stats().waiting, 0);
  EXPECT_EQ(broker.contents().known.size(), 1U);
}

struct QuirkTracker {
  tables::SymbolTable symbols;
  BlockedTracker tracker;
  std::vector<Eval> released;
  explicit QuirkTracker(const model::Quirks& quirks) : tracker(symbols, quirks) { tracker.enable(0); }
  BlockedEval blocked(std::uint32_t row, const char* node = "") {
    BlockedEval out;
    out.eval = eval_of(row, 0);
    if (*node != 0) out.eval.type = Queue::system;
    out.snapshot_index = 100;
    out.quota = symbols.intern(""), out.node = symbols.intern(node);
    return out;
  }
  void block(const BlockedEval& eval) { tracker.block(eval, 0, released); }
  std::size_t duplicates() {
    std::vector<EvalRow> out;
    tracker.take_duplicates(out);
    return out.size();
  }
};

QUIRK_TEST(one_blocked_per_group, NodesAreTrackedSeparately) {  // R-CTRL-803, 808, 820, 821
  QuirkTracker t(quirks);
  t.block(t.blocked(0, "n1"));
  t.block(t.blocked(1, "n2"));
  EXPECT_EQ(t.duplicates(), off ? 0U : 1U);
  EXPECT_EQ(t.tracker.captured().size(), off ? 2U : 1U);
  t.block(t.blocked(2, "n2"));  // of the same node: the older one is replaced in both cases
  EXPECT_EQ(t.duplicates(), 1U);
  t.tracker.unblock_node(t.symbols.intern("n2"), 0, t.released);
  ASSERT_EQ(t.released.size(), 1U);
  EXPECT_EQ(t.released[0].row, EvalRow{2});
  EXPECT_EQ(t.tracker.captured().contains(EvalRow{2}), !off);  // Nomad releases it a second time
  std::vector<EvalRow> taken;
  t.tracker.untrack(JobKeyRow{0}, 0, taken);
  EXPECT_EQ(taken.size(), 1U);
  EXPECT_EQ(t.tracker.captured().size(), off ? 0U : 1U);
  EXPECT_EQ(t.tracker.stats().blocked, off ? 0 : -1);  // R-CTRL-831
}

QUIRK_TEST(unblock_keys_shared, ResourcesAndClassesHaveTheirOwnKeys) {  // R-CTRL-811
  QuirkTracker t(quirks);
  const Symbol volume = t.symbols.intern("csi-volume:default:v");
  t.tracker.unblock_resources({&volume, 1}, 200, 0, t.released);
  t.block(t.blocked(0));  // it requests no volume
  EXPECT_EQ(t.released.size(), off ? 0U : 1U);
  t.released.clear();
  BlockedEval asks = t.blocked(1);
  asks.missing_resources = {volume};
  t.block(asks);
  EXPECT_EQ(t.released.size(), 1U);
}

QUIRK_TEST(queue_counts_drift, CountsOfEscapedEvaluationsAreExact) {  // R-CTRL-831
  QuirkTracker t(quirks);
  BlockedEval escaped = t.blocked(0);
  escaped.escaped = true;
  t.block(escaped);
  t.block(t.blocked(1));  // replaces it
  EXPECT_EQ(t.tracker.stats().blocked, off ? 1 : 2);
  EXPECT_EQ(t.tracker.stats().escaped, 0);
}

}  // namespace
}  // namespace berth::broker
