// Rows of the compatibility table that the broker and the tracker of blocked evaluations decide: what Nomad does, and
// what Compat::fixed does.
#include <gtest/gtest.h>

#include "broker/blocked.h"
#include "broker/broker.h"

namespace berth::broker {
namespace {

Eval compat_eval(std::uint32_t row, std::uint32_t job, std::int32_t priority = 50) {
  Eval out;
  out.row = static_cast<EvalRow>(row), out.job = static_cast<JobRow>(job), out.job_id = job;
  out.priority = priority, out.create_index = out.modify_index = 10 + row;
  return out;
}

struct CompatBroker : Broker {
  explicit CompatBroker(Compat compat) : Broker(config(compat)) { enable(); }
  static Config config(Compat compat) {
    Config out;
    out.order = ReadyOrder::exact, out.compat = compat, out.evals = 64, out.jobs = 16;
    return out;
  }
  void add(std::initializer_list<Eval> evals) { ASSERT_TRUE(enqueue(std::vector<Eval>(evals), 0)); }
  /// The row handed out next, or -1.
  int next() {
    const auto got = dequeue(kSchedulers, 0);
    if (!got || !*got) return -1;
    last = **got;
    return static_cast<int>(last.row);
  }
  Delivery last{};
};

TEST(CompatBroker, ReadyOrderKnowsNamespaces) {  // R-CTRL-311
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatBroker broker(compat);
    Eval low = compat_eval(0, 0, 10), high = compat_eval(1, 1, 90);
    high.job_id = low.job_id;  // the same ID in another namespace
    broker.add({low, high});
    EXPECT_EQ(broker.next(), compat == Compat::fixed ? 1 : 0);
  }
}

TEST(CompatBroker, TheTypeIsChosenByTheRoot) {  // R-CTRL-314
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatBroker broker(compat);
    Eval other = compat_eval(3, 3, 50);
    other.type = Queue::batch;
    broker.add({compat_eval(0, 0, 90), compat_eval(1, 1, 10), other});  // Nomad looks at the last leaf, of priority 10
    EXPECT_EQ(broker.next(), compat == Compat::fixed ? 0 : 3);
  }
}

TEST(CompatBroker, WhatWasTakenBackDoesNotFire) {  // R-CTRL-321
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatBroker broker(compat);
    Eval delayed = compat_eval(0, 0);
    delayed.wait_until_ns = 100;
    broker.add({delayed});
    broker.advance(0);
    broker.drop_waiting(delayed.row);
    broker.advance(200);
    EXPECT_EQ(broker.next(), compat == Compat::fixed ? -1 : 0);
  }
}

TEST(CompatBroker, CancelledEvaluationsAreForgotten) {  // R-CTRL-335
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatBroker broker(compat);
    broker.add({compat_eval(0, 0), compat_eval(1, 0), compat_eval(2, 0)});
    ASSERT_EQ(broker.next(), 0);
    ASSERT_TRUE(broker.ack(broker.last.row, broker.last.token, 0));
    std::vector<EvalRow> cancelled;
    broker.take_cancelable(10, cancelled);
    ASSERT_EQ(cancelled.size(), 1U);
    const std::uint32_t row = static_cast<std::uint32_t>(cancelled[0]);
    broker.add({compat_eval(row, 5)});
    EXPECT_EQ(broker.stats().ready, compat == Compat::fixed ? 2 : 1);
  }
}

TEST(CompatBroker, CountsAreExact) {  // R-CTRL-347
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatBroker broker(compat);
    broker.add({compat_eval(0, 0)});
    broker.drop_waiting(EvalRow{0});  // it does not wait
    EXPECT_EQ(broker.stats().waiting, compat == Compat::fixed ? 0 : -1);
  }
}

TEST(CompatBroker, EvaluationsOfPurgedJobsAreDropped) {  // R-CTRL-742; Nomad never calls drop()
  CompatBroker broker(Compat::fixed);
  Eval waits = compat_eval(3, 3), delayed = compat_eval(4, 4);
  waits.wait_ns = 100, delayed.wait_until_ns = 100;
  broker.add({compat_eval(0, 0), compat_eval(1, 0), compat_eval(2, 1), waits, delayed});
  for (const std::uint32_t row : {0U, 3U, 4U}) broker.drop(EvalRow{row});
  broker.advance(200);
  EXPECT_EQ(broker.next(), 1);  // what was pending behind a dropped one has its turn
  EXPECT_EQ(broker.next(), 2);
  broker.drop(broker.last.row);  // under way: it goes on
  EXPECT_TRUE(broker.ack(broker.last.row, broker.last.token, 300));
  EXPECT_EQ(broker.next(), -1);
  EXPECT_EQ(broker.totals().dropped, 3U);
  EXPECT_EQ(broker.stats().ready, 0);
  EXPECT_EQ(broker.stats().waiting, 0);
  EXPECT_EQ(broker.contents().known.size(), 1U);
}

struct CompatTracker {
  tables::SymbolTable symbols;
  BlockedTracker tracker;
  std::vector<Eval> released;
  explicit CompatTracker(Compat compat) : tracker(symbols, compat) { tracker.enable(0); }
  BlockedEval blocked(std::uint32_t row, const char* node = "") {
    BlockedEval out;
    out.eval = compat_eval(row, 0);
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

TEST(CompatTracker, NodesAreTrackedApart) {  // R-CTRL-803, 808, 820, 821
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    const bool fixed = compat == Compat::fixed;
    CompatTracker t(compat);
    t.block(t.blocked(0, "n1"));
    t.block(t.blocked(1, "n2"));
    EXPECT_EQ(t.duplicates(), fixed ? 0U : 1U);
    EXPECT_EQ(t.tracker.captured().size(), fixed ? 2U : 1U);
    t.block(t.blocked(2, "n2"));  // of the same node: the older one goes on both sides
    EXPECT_EQ(t.duplicates(), 1U);
    t.tracker.unblock_node(t.symbols.intern("n2"), 0, t.released);
    ASSERT_EQ(t.released.size(), 1U);
    EXPECT_EQ(t.released[0].row, EvalRow{2});
    EXPECT_EQ(t.tracker.captured().contains(EvalRow{2}), !fixed);  // Nomad releases it a second time
    t.tracker.untrack(JobRow{0}, 0);
    EXPECT_EQ(t.tracker.captured().size(), fixed ? 0U : 1U);
    EXPECT_EQ(t.tracker.stats().blocked, fixed ? 0 : -1);  // R-CTRL-831
  }
}

TEST(CompatTracker, ResourcesAndClassesHaveTheirOwnKeys) {  // R-CTRL-811
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatTracker t(compat);
    const Symbol volume = t.symbols.intern("csi-volume:default:v");
    t.tracker.unblock_resources({&volume, 1}, 200, 0, t.released);
    t.block(t.blocked(0));  // asked for no volume
    EXPECT_EQ(t.released.size(), compat == Compat::fixed ? 0U : 1U);
    t.released.clear();
    BlockedEval asks = t.blocked(1);
    asks.missing_resources = {volume};
    t.block(asks);
    EXPECT_EQ(t.released.size(), 1U);
  }
}

TEST(CompatTracker, CountsOfEscapedOnesAreExact) {  // R-CTRL-831
  for (const Compat compat : {Compat::nomad, Compat::fixed}) {
    CompatTracker t(compat);
    BlockedEval escaped = t.blocked(0);
    escaped.escaped = true;
    t.block(escaped);
    t.block(t.blocked(1));  // replaces it
    EXPECT_EQ(t.tracker.stats().blocked, compat == Compat::fixed ? 1 : 2);
    EXPECT_EQ(t.tracker.stats().escaped, 0);
  }
}

}  // namespace
}  // namespace berth::broker
