// The ready queue: cases by hand, seeded interleavings, and histories checked against a simple priority queue.
#include "broker/ready_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "support/interleave.h"
#include "support/queue_history.h"

namespace berth::broker {
namespace {

using testing::Interleaver;
using testing::Linearizer;
using testing::QueueOp;
using testing::StepAtomic;
using StepQueue = BasicReadyQueue<StepAtomic>;

std::vector<std::uint32_t> drain(ReadyQueue& queue) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t value; queue.pop(value);) out.push_back(value);
  return out;
}

TEST(ReadyQueue, HighestLevelFirstThenInOrder) {
  ReadyQueue queue(102);
  EXPECT_EQ(queue.top_level(), -1);
  for (const auto& [level, value] :
       std::vector<std::pair<std::uint32_t, std::uint32_t>>{{50, 1}, {90, 2}, {50, 3}, {0, 4}, {101, 5}, {90, 6}})
    queue.push(level, value);
  EXPECT_EQ(queue.top_level(), 101);
  EXPECT_EQ(drain(queue), (std::vector<std::uint32_t>{5, 2, 6, 1, 3, 4}));
  EXPECT_EQ(queue.top_level(), -1);
  std::uint32_t value = 0;
  EXPECT_FALSE(queue.pop(value));
}

TEST(ReadyQueue, TheTopLevelIsThatOfTheNextValue) {
  ReadyQueue queue(40);
  std::mt19937_64 random(11);
  std::map<std::uint32_t, std::uint32_t> counts;  // by level
  for (int step = 0; step < 2'000; ++step) {
    if (random() % 2) {
      const auto level = static_cast<std::uint32_t>(random() % 40);
      queue.push(level, level), ++counts[level];
    } else if (std::uint32_t value = 0; queue.pop(value)) {
      ASSERT_EQ(value, counts.rbegin()->first);
      if (--counts[value] == 0) counts.erase(value);
    }
    ASSERT_EQ(queue.top_level(), counts.empty() ? -1 : static_cast<std::int32_t>(counts.rbegin()->first)) << step;
  }
}

TEST(ReadyQueue, ALevelGrowsPastEverySizeAndKeepsItsOrder) {
  for (const std::uint32_t count : {0u, 1u, 2u, 3u, 63u, 64u, 65u, 1000u}) {
    ReadyQueue queue(3, 2);
    for (std::uint32_t i = 0; i < count; ++i) queue.push(1, i);
    std::vector<std::uint32_t> expected;
    for (std::uint32_t i = 0; i < count; ++i) expected.push_back(i);
    EXPECT_EQ(drain(queue), expected);
  }
}

TEST(ReadyQueue, DoesNotGrowAgainAfterItsPeak) {
  ReadyQueue queue(4, 2);
  std::mt19937_64 random(7);
  std::uint32_t rings = 0, value = 0;
  for (int round = 0; round < 200; ++round) {
    for (std::uint32_t i = 0; i < 100; ++i) queue.push(random() % 4, i);
    if (round == 100) rings = queue.ring_count();
    while (queue.pop(value)) {
    }
  }
  EXPECT_EQ(queue.ring_count(), rings);
}

TEST(Linearizer, AcceptsAndRefuses) {  // checks the checker itself
  const auto push = [](std::uint64_t b, std::uint64_t e, std::uint32_t level, std::uint32_t v) {
    return QueueOp{b, e, true, level, v, 0};
  };
  const auto pop = [](std::uint64_t b, std::uint64_t e, std::optional<std::uint32_t> v) {
    return QueueOp{b, e, false, 0, v, 0};
  };
  const auto ok = [](const std::vector<QueueOp>& ops) { return Linearizer(ops).check(); };
  EXPECT_TRUE(ok({}));
  EXPECT_TRUE(ok({push(1, 2, 0, 7), push(3, 4, 9, 8), pop(5, 6, 8), pop(7, 8, 7), pop(9, 10, std::nullopt)}));
  EXPECT_FALSE(ok({push(1, 2, 0, 7), push(3, 4, 9, 8), pop(5, 6, 7), pop(7, 8, 8)}));  // priority
  EXPECT_FALSE(ok({push(1, 2, 5, 7), push(3, 4, 5, 8), pop(5, 6, 8), pop(7, 8, 7)}));  // order within a level
  EXPECT_FALSE(ok({push(1, 2, 5, 7), pop(3, 4, std::nullopt), pop(5, 6, 7)}));         // the item is missing
  EXPECT_FALSE(ok({push(1, 2, 5, 7), pop(3, 4, 7), pop(5, 6, 7)}));                    // twice
  EXPECT_TRUE(ok({push(1, 9, 5, 7), pop(2, 4, std::nullopt), pop(5, 6, 7)}));          // the push has not ended yet
  // the push of higher priority has not ended yet
  EXPECT_TRUE(ok({push(1, 2, 0, 7), push(3, 6, 9, 8), pop(4, 5, 7), pop(7, 8, 8)}));
  // The push of higher priority ended before.
  EXPECT_FALSE(ok({push(1, 2, 9, 8), push(3, 4, 0, 7), pop(0, 5, 7), pop(7, 8, 8)}));
}

struct InterleavingCase {
  const char* name;
  std::uint32_t slots_first;
  std::vector<std::uint32_t> levels;
  std::uint32_t pops_of_four;  ///< about this many of four operations are pops
};

class ReadyQueueInterleavings : public ::testing::TestWithParam<InterleavingCase> {
 protected:
  /// One run: three or four threads operate, then one takes out the rest.
  bool run(std::uint64_t seed, bool freeze, std::vector<QueueOp>& history) {
    std::mt19937_64 random(seed);
    const InterleavingCase& c = GetParam();
    StepQueue queue(48, c.slots_first);
    const std::size_t threads = 3 + random() % 2;
    std::vector<std::vector<QueueOp>> plans(threads), done(threads);
    std::uint32_t next = 1;
    for (auto& plan : plans)
      for (std::size_t i = 0; i < 4; ++i) {
        QueueOp op;
        op.is_push = random() % 4 >= c.pops_of_four;
        if (op.is_push) op.level = c.levels[random() % c.levels.size()], op.value = next++;
        plan.push_back(op);
      }
    std::vector<std::function<void()>> bodies;
    for (std::size_t t = 0; t < threads; ++t)
      bodies.push_back([&, t] {
        for (QueueOp op : plans[t]) {
          op.thread = static_cast<std::uint32_t>(t);
          op.begin = Interleaver::moment();
          if (op.is_push) {
            queue.push(op.level, *op.value);
          } else {
            std::uint32_t value = 0;
            if (queue.pop(value)) op.value = value;
          }
          op.end = Interleaver::moment();
          done[t].push_back(op);
        }
      });
    Interleaver::Options options;
    options.stay = std::array{2u, 6u, 30u}[random() % 3];
    options.steps_max = 100'000;
    if (freeze) options.frozen = static_cast<std::int32_t>(random() % threads), options.frozen_at = random() % 60;
    if (!Interleaver::run(seed, bodies, options)) return false;
    for (const auto& list : done) history.insert(history.end(), list.begin(), list.end());
    for (bool more = true; more;) {
      QueueOp op;
      op.begin = Interleaver::moment();
      std::uint32_t value = 0;
      more = queue.pop(value);
      if (more) op.value = value;
      op.end = Interleaver::moment();
      history.push_back(op);
    }
    return true;
  }
};

#if defined(__SANITIZE_ADDRESS__) || !defined(NDEBUG)
constexpr std::uint64_t kQueueSeeds = 300;
#else
constexpr std::uint64_t kQueueSeeds = 8'000;
#endif

TEST_P(ReadyQueueInterleavings, AreLinearizable) {
  for (std::uint64_t seed = 0; seed < kQueueSeeds; ++seed) {
    std::vector<QueueOp> history;
    ASSERT_TRUE(run(seed, false, history)) << "no end, seed " << seed;
    ASSERT_TRUE(Linearizer(history).check()) << "seed " << seed << "\n" << to_text(history);
  }
}

TEST_P(ReadyQueueInterleavings, AThreadThatStopsAnywhereDelaysNoOtherThread) {
  for (std::uint64_t seed = 0; seed < kQueueSeeds; ++seed) {
    std::vector<QueueOp> history;
    ASSERT_TRUE(run(seed, true, history)) << "no end, seed " << seed;
    ASSERT_TRUE(Linearizer(history).check()) << "seed " << seed << "\n" << to_text(history);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, ReadyQueueInterleavings,
                         ::testing::Values(InterleavingCase{"OneLevel", 64, {5}, 2},
                                           InterleavingCase{"OneLevelThatGrows", 2, {5}, 1},
                                           InterleavingCase{"TwoLevelsOfAWord", 64, {3, 4}, 2},
                                           InterleavingCase{"TwoWords", 64, {3, 40}, 2},
                                           InterleavingCase{"ManyEmptyPops", 2, {3, 4, 40}, 3}),
                         [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace berth::broker
