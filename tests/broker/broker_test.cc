// The broker: cases by hand, faults, accounting, memory, and its protocol under seeded interleavings. Recorded scripts
// (tests/golden/control/broker) check its exact order.
#include "broker/broker.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <random>
#include <set>

#include "broker/broker-inl.h"
#include "support/heap_count.h"
#include "support/interleave.h"

namespace berth::broker {
namespace {

using testing::Interleaver;
using testing::StepAtomic;

constexpr std::int64_t kSecond = 1'000'000'000;

Eval eval(std::uint32_t row, std::uint32_t job, std::int32_t priority = 50, Token token = Token::none) {
  Eval out;
  out.row = static_cast<EvalRow>(row), out.job = static_cast<JobKeyRow>(job), out.job_id = job;
  out.priority = priority, out.create_index = out.modify_index = 10 + row, out.token = token;
  return out;
}

Config small(ReadyOrder order = ReadyOrder::concurrent) {
  Config out;
  out.order = order, out.quirks = model::Quirks::none(), out.evals = 64, out.jobs = 16;
  return out;
}

/// R-CTRL-344 ff.: everything accepted is acked, cancelled, dropped, flushed or still held.
template <class AnyBroker>
void expect_accounts_balance(AnyBroker& broker) {
  const Totals t = broker.totals();
  const Contents c = broker.contents();
  EXPECT_EQ(t.accepted, t.acked + t.cancelled + t.dropped + t.flushed + c.known.size());
  // And each held evaluation is in exactly one place.
  std::map<EvalRow, int> places;
  for (const auto& list : c.ready)
    for (const EvalRow r : list) ++places[r];
  for (const auto& [job, list] : c.pending)
    for (const EvalRow r : list) ++places[r];
  for (const auto* list : {&c.cancelable, &c.time_wait, &c.delayed})
    for (const EvalRow r : *list) ++places[r];
  for (const auto& o : c.outstanding) ++places[o.row];
  EXPECT_EQ(places.size(), c.known.size());
  for (const auto& held : c.known) EXPECT_EQ(places[held.row], 1) << "row " << static_cast<std::uint32_t>(held.row);
}

class BrokerOfEitherOrder : public ::testing::TestWithParam<ReadyOrder> {};

TEST_P(BrokerOfEitherOrder, RunsOneEvaluationPerJobThenTheBestPendingOne) {  // R-CTRL-319, 333, 334
  Broker broker(small(GetParam()));
  broker.enable();
  const std::vector<Eval> evals = {eval(0, 7), eval(1, 7), eval(2, 7, 80), eval(3, 7), eval(4, 8, 20)};
  ASSERT_TRUE(broker.enqueue(evals, 0));
  const auto first = broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(first && *first);
  EXPECT_EQ((*first)->row, EvalRow{0});
  const auto second = broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(second && *second);
  EXPECT_EQ((*second)->row, EvalRow{4});  // job 7 is held
  EXPECT_FALSE(*broker.dequeue(kSchedulers, 0));
  ASSERT_TRUE(broker.ack((*first)->row, (*first)->token, 0));
  const auto third = broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(third && *third);
  EXPECT_EQ((*third)->row, EvalRow{2});
  std::vector<EvalRow> cancelled;
  broker.take_cancelable(10, cancelled);
  EXPECT_EQ(cancelled, (std::vector<EvalRow>{EvalRow{3}, EvalRow{1}}));
  expect_accounts_balance(broker);
}

TEST_P(BrokerOfEitherOrder, FaultsAreNamedCountedAndChangeNothing) {  // R-CTRL-329, 331, 332
  Broker broker(small(GetParam()));
  const auto count = [&](Fault f) { return broker.totals().faults[static_cast<std::size_t>(f)]; };
  const auto fails = [&](const auto& result, Fault expected, const char* text) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error(), expected);
    EXPECT_EQ(fault_text(expected), text);
    expect_accounts_balance(broker);
  };
  fails(broker.dequeue(kSchedulers, 0), Fault::disabled, "eval broker disabled");
  broker.enable();
  const std::vector<Eval> beyond = {eval(1, 1), eval(64, 1)};
  fails(broker.enqueue(beyond, 0), Fault::full, "eval broker full");
  EXPECT_EQ(broker.totals().accepted, 0u);  // none of the set was accepted
  const std::vector<Eval> one = {eval(1, 1)};
  ASSERT_TRUE(broker.enqueue(one, 0));
  fails(broker.ack(EvalRow{1}, make_token(EvalRow{1}, 1), 0), Fault::not_found, "Evaluation ID not found");
  const auto first = *broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(first);
  fails(broker.nack(EvalRow{1}, make_token(EvalRow{1}, 7), 0), Fault::wrong_token,
        "Token does not match for Evaluation ID");
  fails(broker.ack(EvalRow{63}, first->token, 0), Fault::not_found, "Evaluation ID not found");
  fails(broker.ack(EvalRow{4000}, first->token, 0), Fault::not_found, "Evaluation ID not found");
  ASSERT_TRUE(broker.pause(EvalRow{1}, first->token));
  fails(broker.pause(EvalRow{1}, first->token), Fault::timeout_reached, "evaluation nack timeout reached");
  fails(broker.ack(EvalRow{1}, first->token, 0), Fault::timer_stopped,
        "Evaluation ID Ack'd after Nack timer expiration");
  ASSERT_TRUE(broker.resume(EvalRow{1}, first->token, 0));
  // The delivery times out and the evaluation is handed out again: the first token is an earlier delivery's.
  broker.advance(60 * kSecond);
  broker.advance(61 * kSecond);
  const auto second = *broker.dequeue(kSchedulers, 61 * kSecond);
  ASSERT_TRUE(second);
  EXPECT_NE(second->token, first->token);
  fails(broker.ack(EvalRow{1}, first->token, 0), Fault::wrong_token, "Token does not match for Evaluation ID");
  fails(broker.reset(EvalRow{1}, first->token, 0), Fault::token_differs, "evaluation token does not match");
  ASSERT_TRUE(broker.ack(EvalRow{1}, second->token, 0));
  fails(broker.ack(EvalRow{1}, second->token, 0), Fault::not_found, "Evaluation ID not found");  // twice
  fails(broker.resume(EvalRow{1}, second->token, 0), Fault::not_outstanding, "evaluation is not outstanding");
  EXPECT_EQ(count(Fault::not_found), 4u);
  EXPECT_EQ(count(Fault::wrong_token), 2u);
  EXPECT_EQ(count(Fault::full), 1u);
  EXPECT_EQ(broker.totals().acked, 1u);
}

TEST_P(BrokerOfEitherOrder, ARequeuedEvaluationRunsAgainAfterItsAck) {  // R-CTRL-316, 333
  Broker broker(small(GetParam()));
  broker.enable();
  const std::vector<Eval> one = {eval(3, 1)};
  ASSERT_TRUE(broker.enqueue(one, 0));
  const auto first = *broker.dequeue(kSchedulers, 0);
  const std::vector<Eval> again = {eval(3, 1, 60, first->token)};
  ASSERT_TRUE(broker.enqueue(again, 0));
  EXPECT_FALSE(*broker.dequeue(kSchedulers, 0));
  ASSERT_TRUE(broker.ack(EvalRow{3}, first->token, 0));
  const auto second = *broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(second);
  EXPECT_EQ(second->row, EvalRow{3});
  expect_accounts_balance(broker);
}

/// Random operations by one thread: the counts balance after each phase, and at the end every evaluation is dequeued.
TEST_P(BrokerOfEitherOrder, LosesNothingInRandomUse) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Config config = small(GetParam());
    config.nack_timeout_ns = 30 * kSecond;
    Broker broker(config);
    broker.enable();
    std::vector<Delivery> held;
    std::vector<EvalRow> cancelled;
    std::int64_t now = 0;
    for (int i = 0; i < 300; ++i) {
      const auto roll = random() % 10;
      if (roll < 4) {
        Eval e = eval(random() % 64, random() % 16, static_cast<std::int32_t>(random() % 130));
        e.job = static_cast<JobKeyRow>(static_cast<std::uint32_t>(e.row) % 16);
        if (random() % 5 == 0) e.wait_ns = static_cast<std::int64_t>(random() % 20) * kSecond;
        if (random() % 5 == 0) e.wait_until_ns = now + static_cast<std::int64_t>(random() % 20) * kSecond + 1;
        if (!held.empty() && random() % 3 == 0) e.row = held.back().row, e.token = held.back().token;
        e.job = static_cast<JobKeyRow>(static_cast<std::uint32_t>(e.row) % 16);
        ASSERT_TRUE(broker.enqueue({&e, 1}, now));
      } else if (roll < 7) {
        const auto got = broker.dequeue(random() % 4 ? kSchedulers : only(Queue::failed), now);
        if (*got) held.push_back(**got);
      } else if (roll < 9 && !held.empty()) {
        const Delivery d = held[random() % held.size()];
        if (random() % 3)
          static_cast<void>(broker.ack(d.row, d.token, now));
        else
          static_cast<void>(broker.nack(d.row, d.token, now));
        if (random() % 4 == 0) static_cast<void>(broker.pause(d.row, d.token));
        if (random() % 4 == 0) static_cast<void>(broker.resume(d.row, d.token, now));
      } else {
        now += static_cast<std::int64_t>(random() % 10) * kSecond;
        broker.advance(now);
        if (random() % 3 == 0) broker.drop_waiting(static_cast<EvalRow>(random() % 64));
        broker.take_cancelable(2, cancelled);
      }
      if (i % 50 == 0) expect_accounts_balance(broker);
    }
    for (bool more = true; more;) {
      more = false;
      now += 1000 * kSecond;
      const auto contents = broker.contents();
      for (const auto& o : contents.outstanding) static_cast<void>(broker.resume(o.row, o.token, now)), more = true;
      broker.advance(now + 500 * kSecond);
      for (const Queue q : {Queue::service, Queue::failed})
        while (const auto got = *broker.dequeue(only(q), now)) ASSERT_TRUE(broker.ack(got->row, got->token, now));
      broker.take_cancelable(100, cancelled);
      more = more || !broker.contents().known.empty();
    }
    const Totals t = broker.totals();
    ASSERT_EQ(t.accepted, t.acked + t.cancelled + t.dropped) << "seed " << seed;
    // Exact without Nomad's quirks, except for nacks from the failed queue (R-CTRL-347).
    const Stats s = broker.stats();
    EXPECT_EQ(s.ready, 0);
    EXPECT_EQ(s.unacked, 0);
    EXPECT_EQ(s.pending, 0);
    EXPECT_EQ(s.waiting, 0);
    EXPECT_EQ(s.cancelable, 0);
    if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, BrokerOfEitherOrder, ::testing::Values(ReadyOrder::exact, ReadyOrder::concurrent),
                         [](const auto& test) { return test.param == ReadyOrder::exact ? "Exact" : "Concurrent"; });

TEST(Broker, TimersFireInTheOrderOfTheirDeadlines) {  // R-CTRL-337, 338
  Config config = small();
  config.initial_nack_delay_ns = 0;
  Broker broker(config);
  broker.enable();
  for (const std::uint32_t row : {5U, 0U}) {  // row 5 is delivered first
    ASSERT_TRUE(broker.enqueue(std::vector<Eval>{eval(row, row)}, 0));
    ASSERT_TRUE(*broker.dequeue(kSchedulers, row == 5 ? 0 : 10));
  }
  broker.advance(config.nack_timeout_ns + 10);
  EXPECT_EQ((*broker.dequeue(kSchedulers, 2 * config.nack_timeout_ns))->row, EvalRow{5});
  EXPECT_EQ((*broker.dequeue(kSchedulers, 2 * config.nack_timeout_ns))->row, EvalRow{0});
}

TEST(Broker, AWaitBeyondTheLastInstantNeverEnds) {
  Broker broker(small());
  broker.enable();
  Eval e = eval(0, 0);
  e.wait_ns = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kNow = 1'700'000'000 * kSecond;
  static_cast<void>(broker.enqueue({&e, 1}, kNow));
  broker.advance(kNow);
  EXPECT_FALSE(*broker.dequeue(kSchedulers, kNow));
  EXPECT_FALSE(broker.next_deadline());
  EXPECT_EQ(broker.stats().waiting, 1);
}

TEST(Broker, DisablingForgetsArrivalsThatWait) {  // R-CTRL-344
  Broker broker(small());
  broker.enable();
  Eval delayed = eval(0, 7);
  delayed.wait_ns = kSecond;
  ASSERT_TRUE(broker.enqueue(std::vector<Eval>{delayed}, 0));
  broker.disable();
  broker.enable();
  broker.advance(10 * kSecond);
  EXPECT_FALSE(*broker.dequeue(kSchedulers, 10 * kSecond));
  EXPECT_EQ(broker.totals().flushed, 1U);
}

TEST(Broker, PeeksAtWhatItWillHandOut) {
  Broker broker(small(ReadyOrder::exact));
  broker.enable();
  std::mt19937_64 random(5);
  std::vector<EvalRow> peeked;
  broker.peek(kSchedulers, 4, peeked);
  EXPECT_TRUE(peeked.empty());
  for (std::uint32_t row = 0; row < 16; ++row) {
    Eval e = eval(row, row, static_cast<std::int32_t>(40 + 10 * (random() % 3)));
    e.type = row % 3 == 0 ? Queue::batch : Queue::service;
    ASSERT_TRUE(broker.enqueue({&e, 1}, 0));
  }
  for (std::size_t left = 16; left > 0; --left) {
    broker.peek(kSchedulers, 7, peeked);
    ASSERT_EQ(peeked.size(), std::min<std::size_t>(left, 7));
    const std::vector<EvalRow> all = [&] {
      std::vector<EvalRow> out;
      broker.peek(kSchedulers, 100, out);
      return out;
    }();
    ASSERT_EQ(all.size(), left);
    EXPECT_TRUE(std::equal(peeked.begin(), peeked.end(), all.begin()));
    const auto got = *broker.dequeue(kSchedulers, 0);
    ASSERT_TRUE(got);
    EXPECT_EQ(got->row, all.front()) << left;
    if (left > 1) {
      std::vector<EvalRow> after;
      broker.peek(kSchedulers, 100, after);
      EXPECT_TRUE(std::equal(after.begin(), after.end(), all.begin() + 1)) << "the forecast held";
    }
  }
}

TEST_P(BrokerOfEitherOrder, ASeedDrawsAmongTypesOfEqualPriority) {  // R-CTRL-324
  const auto types_of = [&](std::optional<std::uint64_t> seed) {
    Config config = small(GetParam());
    config.type_seed = seed;
    Broker broker(config);
    broker.enable();
    for (std::uint32_t row = 0; row < 12; ++row) {
      Eval e = eval(row, row);
      e.type = row % 2 == 0 ? Queue::service : Queue::batch;
      if (row == 11) e.priority = 80;
      EXPECT_TRUE(broker.enqueue({&e, 1}, 0));
    }
    EXPECT_TRUE(broker.may_have_ready());
    std::vector<Queue> out;
    while (const auto got = *broker.dequeue(kSchedulers, 0)) out.push_back(got->queue);
    EXPECT_FALSE(broker.may_have_ready());
    EXPECT_EQ(out.size(), 12u);
    EXPECT_EQ(out.front(), Queue::batch) << "a higher priority is never drawn against";
    return out;
  };
  const std::vector<Queue> first = types_of({});
  EXPECT_TRUE(std::is_sorted(first.begin() + 1, first.end())) << "without a seed the first type is served first";
  EXPECT_EQ(types_of(1), types_of(1));
  std::set<std::vector<Queue>> orders;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) orders.insert(types_of(seed));
  EXPECT_GT(orders.size(), 4u);
  EXPECT_FALSE(orders.contains(first));
}

TEST_P(BrokerOfEitherOrder, TheBestOfAllTypesComesFirst) {  // R-CTRL-324
  Broker broker(small(GetParam()));
  broker.enable();
  std::vector<Eval> evals = {eval(0, 0, 80), eval(1, 1, 20), eval(2, 2, 50), eval(3, 3, 50), eval(4, 4, 30)};
  for (const std::size_t batch : {0, 1, 3}) evals[batch].type = Queue::batch;
  evals[4].type = Queue::system;
  ASSERT_TRUE(broker.enqueue(evals, 0));
  std::vector<EvalRow> order;
  while (const auto got = *broker.dequeue(kSchedulers, 0)) order.push_back(got->row);
  EXPECT_EQ(order, (std::vector<EvalRow>{EvalRow{0}, EvalRow{2}, EvalRow{3}, EvalRow{4}, EvalRow{1}}))
      << "on a tie the first type";
}

TEST_P(BrokerOfEitherOrder, DisablingForgetsEverythingItHolds) {  // R-CTRL-315, 344
  Broker broker(small(GetParam()));
  broker.enable();
  broker.enable();  // no effect
  std::vector<Eval> evals = {eval(0, 0), eval(1, 0), eval(2, 0), eval(3, 1), eval(4, 2), eval(5, 3)};
  evals[4].wait_ns = kSecond, evals[5].wait_until_ns = kSecond;
  ASSERT_TRUE(broker.enqueue(evals, 0));
  const auto out = *broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(out);
  ASSERT_EQ(broker.outstanding(out->row), out->token);
  const std::vector<Eval> again = {eval(0, 0, 50, out->token)};
  ASSERT_TRUE(broker.enqueue(again, 0));
  EXPECT_EQ(broker.contents().requeue.size(), 1u);
  broker.disable();
  const Contents contents = broker.contents();
  EXPECT_TRUE(contents.known.empty() && contents.holders.empty() && contents.outstanding.empty());
  EXPECT_TRUE(contents.requeue.empty());
  EXPECT_EQ(broker.totals().flushed, 6u);
  EXPECT_FALSE(broker.next_deadline());
  EXPECT_FALSE(broker.outstanding(out->row));
  EXPECT_FALSE(broker.outstanding(EvalRow{4000}));
  ASSERT_TRUE(broker.enqueue(evals, 0));
  EXPECT_EQ(broker.totals().accepted, 6u) << "a disabled one ignores evaluations";
  broker.enable();
  EXPECT_FALSE(broker.ack(out->row, out->token, 0)) << "earlier tokens stay invalid";
  ASSERT_TRUE(broker.enqueue(evals, 0));
  EXPECT_EQ(broker.totals().accepted, 12u);
  expect_accounts_balance(broker);
}

TEST_P(BrokerOfEitherOrder, DroppedEvaluationsAreNotDelivered) {  // R-CTRL-321, 742
  Broker broker(small(GetParam()));
  broker.enable();
  std::vector<Eval> evals = {eval(0, 0), eval(1, 1), eval(2, 2), eval(3, 3), eval(4, 4), eval(5, 4)};
  evals[1].wait_ns = kSecond, evals[2].wait_until_ns = kSecond, evals[3].wait_until_ns = 2 * kSecond;
  ASSERT_TRUE(broker.enqueue(evals, 0));
  broker.drop(EvalRow{4000}), broker.drop_waiting(EvalRow{4000});  // of no row
  broker.drop(EvalRow{63}), broker.drop_waiting(EvalRow{63});      // not known
  broker.drop_waiting(EvalRow{0});                                 // does not wait
  broker.drop(EvalRow{1});                                         // waits for a time
  broker.drop(EvalRow{2});                                         // waits for an instant
  broker.drop_waiting(EvalRow{3});
  broker.drop(EvalRow{4});  // is ready
  std::vector<EvalRow> dropped;
  broker.take_dropped(dropped);
  std::sort(dropped.begin(), dropped.end());
  EXPECT_EQ(dropped, (std::vector<EvalRow>{EvalRow{1}, EvalRow{2}, EvalRow{3}}));
  broker.advance(10 * kSecond);
  std::vector<EvalRow> delivered;
  while (const auto got = *broker.dequeue(kSchedulers, 10 * kSecond)) delivered.push_back(got->row);
  EXPECT_EQ(delivered, (std::vector<EvalRow>{EvalRow{0}, EvalRow{5}})) << "the job of the dropped one goes on";
  EXPECT_EQ(broker.totals().dropped, 4u);
  expect_accounts_balance(broker);
}

TEST_P(BrokerOfEitherOrder, ANackedEvaluationIsDroppedWhenItsTurnComes) {
  Broker broker(small(GetParam()));
  broker.enable();
  const std::vector<Eval> evals = {eval(0, 0), eval(1, 0)};
  ASSERT_TRUE(broker.enqueue(evals, 0));
  const auto out = *broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(out && broker.nack(out->row, out->token, 0));
  broker.drop(out->row);
  EXPECT_EQ(broker.totals().dropped, 0u) << "it holds its job";
  broker.advance(2 * kSecond);
  const auto next = *broker.dequeue(kSchedulers, 2 * kSecond);
  ASSERT_TRUE(next);
  EXPECT_EQ(next->row, EvalRow{1});
  EXPECT_EQ(broker.totals().dropped, 1u);
  expect_accounts_balance(broker);
}

TEST_P(BrokerOfEitherOrder, ATokenOfAnotherEvaluationEndsItsRequeue) {  // R-CTRL-333, 337
  Broker broker(small(GetParam()));
  broker.enable();
  const std::vector<Eval> evals = {eval(0, 0), eval(1, 1)};
  ASSERT_TRUE(broker.enqueue(evals, 0));
  const auto first = *broker.dequeue(kSchedulers, 0), second = *broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(first && second);
  const std::vector<Eval> again = {eval(0, 0, 50, first->token), eval(0, 0, 60, first->token)};
  ASSERT_TRUE(broker.enqueue(again, 0));
  EXPECT_EQ(broker.contents().requeue.size(), 1u) << "the later copy replaces the earlier one";
  EXPECT_FALSE(broker.nack(second->row, make_token(EvalRow{4000}, 1), 0)) << "a token of no row";
  EXPECT_EQ(broker.contents().requeue.size(), 1u);
  EXPECT_FALSE(broker.nack(second->row, first->token, 0)) << "not its own token";
  EXPECT_TRUE(broker.contents().requeue.empty());
  ASSERT_TRUE(broker.ack(first->row, first->token, 0));
  EXPECT_FALSE(*broker.dequeue(kSchedulers, 0)) << "nothing was requeued";
  expect_accounts_balance(broker);
}

TEST_P(BrokerOfEitherOrder, RepeatedNacksEndInTheFailedQueue) {  // R-CTRL-302 to 304, 337
  Broker broker(small(GetParam()));
  broker.enable();
  const std::vector<Eval> one = {eval(0, 0)};
  ASSERT_TRUE(broker.enqueue(one, 0));
  std::int64_t now = 0;
  for (const std::int64_t delay : {kSecond, 20 * kSecond}) {
    const auto got = *broker.dequeue(kSchedulers, now);
    ASSERT_TRUE(got && broker.nack(got->row, got->token, now));
    broker.advance(now + delay - 1);
    EXPECT_FALSE(*broker.dequeue(kSchedulers, now + delay - 1));
    broker.advance(now += delay);
  }
  const auto third = *broker.dequeue(kSchedulers, now);
  ASSERT_TRUE(third && broker.nack(third->row, third->token, now));
  EXPECT_FALSE(*broker.dequeue(kSchedulers, now));
  const auto failed = *broker.dequeue(only(Queue::failed), now);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->queue, Queue::failed);
  EXPECT_EQ(broker.stats().queues[static_cast<std::size_t>(Queue::failed)].unacked, 1);
  ASSERT_TRUE(broker.ack(failed->row, failed->token, now));
  EXPECT_EQ(broker.stats().unacked, 0);
  expect_accounts_balance(broker);
}

TEST(Broker, AllocatesNothingInTheSteadyState) {
  Config config = small();
  config.evals = 1024, config.jobs = 256;
  Broker broker(config);
  broker.enable();
  std::vector<EvalRow> cancelled;
  cancelled.reserve(10'000);
  std::mt19937_64 random(3);
  std::int64_t now = 0;
  std::uint32_t next = 0;
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 100; ++i) {
      Eval e = eval(next % 1024, next % 48, static_cast<std::int32_t>(1 + random() % 100));  // many are pending
      ++next;
      static_cast<void>(broker.enqueue({&e, 1}, now));
    }
    while (const auto got = *broker.dequeue(kSchedulers, now)) {
      if (random() % 8 == 0)
        static_cast<void>(broker.nack(got->row, got->token, now));
      else
        static_cast<void>(broker.ack(got->row, got->token, now));
    }
    while (const auto got = *broker.dequeue(only(Queue::failed), now))
      static_cast<void>(broker.ack(got->row, got->token, now));
    now += 25 * kSecond;
    broker.advance(now);
    cancelled.clear();
    broker.take_cancelable(1000, cancelled);
  };
  // Levels, nodes and lists reach their final sizes first; how long that takes depends on the drawn priorities.
  for (int i = 0; i < 300; ++i) round();
  std::uint64_t allocated = 1;
  for (int window = 0; window < 30 && allocated > 0; ++window) {
    const std::uint64_t before = berth::testing::heap_allocations.load(), accepted = broker.totals().accepted;
    for (int i = 0; i < 60; ++i) round();
    allocated = berth::testing::heap_allocations.load() - before;
    EXPECT_GT(broker.totals().accepted - accepted, 3'000u);
  }
  EXPECT_EQ(allocated, 0u) << "in each of 30 windows of more than 3,000 evaluations";
}

// --- seeded interleavings
// ---------------------------------------------------------------------------------------------

using StepBroker = BasicBroker<StepAtomic>;

/// Producers, workers and the clock at once. Checks while they run that no job runs twice at a time, and afterwards
/// that every evaluation has ended.
void run_interleaved(std::uint64_t seed, bool freeze, bool timeouts) {
  std::mt19937_64 random(seed);
  Config config;
  config.quirks = model::Quirks::none(), config.evals = 16, config.jobs = 3, config.priority_max = 3;
  config.nack_timeout_ns = timeouts ? 2 * kSecond : 1'000'000 * kSecond;
  StepBroker broker(config);
  broker.enable();
  std::array<int, 3> running{};
  std::vector<std::uint32_t> choices(200);
  for (auto& c : choices) c = static_cast<std::uint32_t>(random());
  std::int64_t now = 0;
  std::vector<std::function<void()>> bodies;
  for (std::uint32_t p = 0; p < 2; ++p)
    bodies.push_back([&, p] {
      for (std::uint32_t i = 0; i < 4; ++i) {
        const std::uint32_t row = p * 4 + i, c = choices[row];
        Eval e = eval(row, row % 3, static_cast<std::int32_t>(1 + c % 3));
        if (c >> 8 & 1) e.wait_ns = kSecond;
        static_cast<void>(broker.enqueue({&e, 1}, now));
        if (c >> 9 & 1) static_cast<void>(broker.enqueue({&e, 1}, now));  // known: ignored, unless it has ended already
      }
    });
  for (std::uint32_t w = 0; w < 2; ++w)
    bodies.push_back([&, w] {
      for (std::uint32_t i = 0; i < 6; ++i) {
        const std::uint32_t c = choices[20 + w * 20 + i];
        const auto got = *broker.dequeue(kSchedulers, now);
        if (!got) continue;
        const std::uint32_t row = static_cast<std::uint32_t>(got->row), job = row % 3;
        // A delivery that timed out may still run.
        EXPECT_TRUE(running[job]++ == 0 || timeouts) << "job " << job << " runs twice";
        Interleaver::step();
        if (c % 5 == 1) {  // re-blocked and released while it runs
          Eval e = eval(row, job, 2, got->token);
          static_cast<void>(broker.enqueue({&e, 1}, now));
        }
        if (c % 5 == 2) static_cast<void>(broker.pause(got->row, got->token));
        if (c % 5 == 2) static_cast<void>(broker.resume(got->row, got->token, now));
        --running[job];
        if (c % 5 == 3) {
          static_cast<void>(broker.nack(got->row, got->token, now));
        } else {
          const bool acked = broker.ack(got->row, got->token, now).has_value();
          EXPECT_TRUE(acked || timeouts);
          EXPECT_FALSE(broker.ack(got->row, got->token, now)) << "acked twice";
        }
      }
    });
  bodies.push_back([&] {
    for (int i = 0; i < 5; ++i) broker.advance(now += kSecond);
    std::vector<EvalRow> cancelled;
    broker.take_cancelable(1, cancelled);
  });
  Interleaver::Options options;
  options.stay = std::array{2u, 6u, 30u}[random() % 3];
  options.steps_max = 100'000;
  if (freeze) options.frozen = static_cast<std::int32_t>(random() % bodies.size()), options.frozen_at = random() % 80;
  ASSERT_TRUE(Interleaver::run(seed, bodies, options)) << "no end, seed " << seed;
  expect_accounts_balance(broker);
  std::vector<EvalRow> cancelled;
  for (int round = 0; round < 20 && !broker.contents().known.empty(); ++round) {
    broker.advance(now += 3'000'000 * kSecond);
    for (const Queue q : {Queue::service, Queue::failed})
      while (const auto got = *broker.dequeue(only(q), now)) ASSERT_TRUE(broker.ack(got->row, got->token, now));
    broker.take_cancelable(100, cancelled);
  }
  const Totals t = broker.totals();
  EXPECT_TRUE(broker.contents().known.empty()) << "something never came out";
  EXPECT_TRUE(broker.contents().holders.empty()) << "a job is held for ever";
  EXPECT_TRUE(broker.contents().requeue.empty());
  EXPECT_EQ(t.accepted, t.acked + t.cancelled);
  if (::testing::Test::HasFailure()) FAIL() << "seed " << seed;
}

#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr std::uint64_t kSeeds = 200;
#else
constexpr std::uint64_t kSeeds = 3'000;
#endif

TEST(BrokerInterleavings, NoJobRunsTwiceAndNothingIsLost) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFatalFailure(); ++seed) run_interleaved(seed, false, false);
}
TEST(BrokerInterleavings, TimeoutsLoseNothing) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFatalFailure(); ++seed) run_interleaved(seed, false, true);
}
TEST(BrokerInterleavings, AThreadThatStopsAnywhereDelaysNoOtherThread) {
  for (std::uint64_t seed = 0; seed < kSeeds && !HasFatalFailure(); ++seed) run_interleaved(seed, true, false);
}

}  // namespace
}  // namespace berth::broker
