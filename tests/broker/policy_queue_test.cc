// Ready evaluations in the order of a queue policy: compared with a search through a list, and inside the broker.
#include "broker/policy_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <tuple>

#include "broker/broker.h"

namespace berth::broker {
namespace {

Eval eval_of(std::uint32_t row, Queue type = Queue::service, std::int32_t priority = 50) {
  Eval out;
  out.row = static_cast<EvalRow>(row), out.job = static_cast<JobKeyRow>(row), out.job_id = row;
  out.priority = priority, out.type = type, out.create_index = out.modify_index = 10 + row;
  return out;
}

/// The slow, obvious way: all evaluations in one list, and every pop examines all of them.
struct ListQueue {
  struct Item {
    Eval eval;
    Queue queue;
    Place place;
  };
  std::vector<Item> items;
  std::map<std::uint32_t, double> shares;

  std::optional<EvalRow> pop(QueueSet queues) {
    const auto rank = [&](const Item& item) {
      return std::tuple(item.queue != Queue::core, shares[item.place.line], item.place.key, item.place.number,
                        item.eval.create_index, item.place.line);
    };
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < items.size(); ++i)
      if ((queues & only(items[i].queue)) && (!best || rank(items[i]) < rank(items[*best]))) best = i;
    if (!best) return std::nullopt;
    const EvalRow out = items[*best].eval.row;
    items.erase(items.begin() + static_cast<std::ptrdiff_t>(*best));
    return out;
  }
};

TEST(PolicyQueue, ServesLikeALinearSearch) {
  for (const std::uint32_t lines : {1U, 3U, 40U}) {
    std::mt19937_64 random(lines);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    PolicyQueue queue;
    ListQueue list;
    std::uint32_t row = 0, served = 0;
    for (int step = 0; step < 20'000; ++step) {
      const std::uint64_t what = below(10);
      if (what < 5) {
        const auto type = static_cast<Queue>(below(kQueueCount));
        const Eval eval = eval_of(row++, type);
        // Few different keys and numbers, so that ties of every kind occur.
        const Place place{static_cast<std::uint32_t>(below(lines)), static_cast<double>(below(4)), below(6)};
        queue.push(eval, type, place);
        list.items.push_back({eval, type, place});
      } else if (what < 9) {
        const auto queues = static_cast<QueueSet>(below(64));
        const auto got = queue.pop(queues);
        const auto wanted = list.pop(queues);
        ASSERT_EQ(got.has_value(), wanted.has_value()) << step;
        if (got) {
          ASSERT_EQ(got->first.row, *wanted) << step;
        }
        served += got.has_value();
      } else {
        const auto line = static_cast<std::uint32_t>(below(lines));
        const double share = static_cast<double>(below(5)) / 4;
        queue.set_share(line, share);
        list.shares[line] = share;
      }
      ASSERT_EQ(queue.empty(), list.items.empty());
    }
    EXPECT_GT(served, 5'000U);
    queue.clear();
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.pop(0xff));
  }
}

/// The last evaluation first.
struct LastFirst final : QueueOrder {
  Place place(const Eval& eval) override { return {.key = -static_cast<double>(eval.row)}; }
};

TEST(PolicyQueue, BrokerRulesHoldWhateverTheOrder) {
  LastFirst order;
  Config config;
  config.order = ReadyOrder::exact, config.evals = 16, config.jobs = 16, config.queue = &order;
  Broker broker(config);
  broker.enable();
  std::vector<Eval> evals = {eval_of(0, Queue::service, 90), eval_of(1, Queue::batch), eval_of(2),
                             eval_of(3, Queue::core, 200), eval_of(4)};
  evals[4].job = evals[2].job;  // waits behind row 2 (R-CTRL-319)
  ASSERT_TRUE(broker.enqueue(evals, 0));
  EXPECT_TRUE(broker.may_have_ready());
  EXPECT_EQ(broker.stats().ready, 4);
  EXPECT_EQ(broker.contents().ready[0], (std::vector<EvalRow>{EvalRow{2}, EvalRow{0}}));
  std::vector<EvalRow> peeked = {EvalRow{1}};
  broker.peek(kSchedulers, 4, peeked);
  EXPECT_TRUE(peeked.empty());
  broker.drop(EvalRow{1});
  std::vector<Delivery> got;
  for (auto next = broker.dequeue(kSchedulers, 0); next && *next; next = broker.dequeue(kSchedulers, 0))
    got.push_back(**next);
  ASSERT_EQ(got.size(), 3U);
  EXPECT_EQ(got[0].row, EvalRow{3}) << "core evaluations first";
  EXPECT_EQ(got[1].row, EvalRow{2});
  EXPECT_EQ(got[2].row, EvalRow{0});
  ASSERT_TRUE(broker.ack(got[1].row, got[1].token, 0));
  const auto pending = broker.dequeue(kSchedulers, 0);
  ASSERT_TRUE(pending && *pending);
  EXPECT_EQ((*pending)->row, EvalRow{4});
  ASSERT_TRUE(broker.nack(got[2].row, got[2].token, 0));  // again after a second
  broker.advance(2'000'000'000);
  const auto again = broker.dequeue(kSchedulers, 2'000'000'000);
  ASSERT_TRUE(again && *again);
  EXPECT_EQ((*again)->row, EvalRow{0});
  ASSERT_TRUE(broker.enqueue(std::vector{eval_of(9)}, 0));
  broker.disable();
  EXPECT_FALSE(broker.may_have_ready());
}

}  // namespace
}  // namespace berth::broker
