// The ready queue of evaluations compared with common alternatives, and the whole broker.
//
// One operation is a push or a pop. Every thread pushes `burst` values at random priorities of 1 to 100 and pops as
// many, over a backlog of 1,000. A burst of 64 is typical for an event: a lost node or a job update enqueues many
// evaluations, which the workers drain. A burst of 1 is the best case for heaps: nearly every value is popped right
// after its push. Compare only rates of one run; with more threads than cores the system's scheduler has an effect.
#include <concurrentqueue/concurrentqueue.h>
#include <tbb/concurrent_priority_queue.h>

#include <algorithm>
#include <mutex>
#include <queue>
#include <vector>

#include "broker/broker.h"
#include "broker/ready_queue.h"
#include "micro/micro.h"

namespace berth::micro {
namespace {

constexpr std::uint32_t kLevels = 101, kBacklog = 1'000;

struct Random {  // splitmix64
  std::uint64_t state;
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t x = state += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return static_cast<std::uint32_t>((x ^ (x >> 31)) >> 32) % bound;
  }
};

struct Berth {
  static constexpr bool kByArrival = true;
  broker::ReadyQueue queue{kLevels};
  void push(std::uint32_t level, std::uint32_t value) { queue.push(level, value); }
  bool pop(std::uint32_t& value) { return queue.pop(value); }
};

/// Priority and arrival in one key, the common way to order a heap by both.
struct Keyed {
  std::uint64_t key;  // priority << 56 | ~arrival
  std::uint32_t value;
  friend bool operator<(const Keyed& a, const Keyed& b) { return a.key < b.key; }
};
std::uint64_t key(std::uint32_t level, std::uint64_t arrival) {
  return static_cast<std::uint64_t>(level) << 56 | (~arrival & ((std::uint64_t{1} << 56) - 1));
}

struct OneTbb {  // equal priorities are popped in any order
  static constexpr bool kByArrival = false;
  tbb::concurrent_priority_queue<Keyed> queue;
  void push(std::uint32_t level, std::uint32_t value) { queue.push({key(level, 0), value}); }
  bool pop(std::uint32_t& value) {
    Keyed out{};
    if (!queue.try_pop(out)) return false;
    value = out.value;
    return true;
  }
};

struct MutexHeap {
  static constexpr bool kByArrival = true;
  std::mutex mutex;
  std::priority_queue<Keyed> queue;
  std::uint64_t arrival = 0;
  void push(std::uint32_t level, std::uint32_t value) {
    const std::lock_guard lock(mutex);
    queue.push({key(level, arrival++), value});
  }
  bool pop(std::uint32_t& value) {
    const std::lock_guard lock(mutex);
    if (queue.empty()) return false;
    value = queue.top().value;
    queue.pop();
    return true;
  }
};

struct Moodycamel {  // one queue per priority, tried from the top; ordered per producer only, and a pop may miss a push
  static constexpr bool kByArrival = true;
  std::vector<moodycamel::ConcurrentQueue<std::uint32_t>> queues{kLevels};
  void push(std::uint32_t level, std::uint32_t value) { queues[level].enqueue(value); }
  bool pop(std::uint32_t& value) {
    for (std::uint32_t level = kLevels; level-- > 0;)
      if (queues[level].size_approx() != 0 && queues[level].try_dequeue(value)) return true;
    return false;
  }
};

/// With one thread: true if values are popped by priority, and by arrival if the queue promises that.
template <class Queue>
bool in_order() {
  Queue queue;
  Random random{1};
  std::vector<std::pair<std::uint32_t, std::uint32_t>> expected, got;
  for (std::uint32_t i = 0; i < kBacklog; ++i) {
    const std::uint32_t level = 1 + random.below(kLevels - 1);
    queue.push(level, level << 16 | i);
    expected.emplace_back(level, i);
  }
  for (std::uint32_t value; queue.pop(value);) got.emplace_back(value >> 16, value & 0xffff);
  std::stable_sort(expected.begin(), expected.end(), [](auto a, auto b) { return a.first > b.first; });
  if (Queue::kByArrival) return got == expected;
  return std::equal(got.begin(), got.end(), expected.begin(), expected.end(),
                    [](auto a, auto b) { return a.first == b.first; });
}

template <class Queue>
void BM_EvalQueue(benchmark::State& state) {
  static Queue* queue = nullptr;  // shared by the threads of one run
  if (state.thread_index() == 0) {
    if (!in_order<Queue>()) wrong_answer(state, "comes out in another order");
    queue = new Queue;
    Random random{2};
    for (std::uint32_t i = 0; i < kBacklog; ++i) queue->push(1 + random.below(kLevels - 1), i);
  }
  Random random{static_cast<std::uint64_t>(state.thread_index()) + 3};
  const std::int64_t burst = state.range(0);
  std::uint32_t value = 0;
  for (auto _ : state) {
    for (std::int64_t i = 0; i < burst; ++i) queue->push(1 + random.below(kLevels - 1), value);
    for (std::int64_t i = 0; i < burst; ++i) benchmark::DoNotOptimize(queue->pop(value));
  }
  state.SetItemsProcessed(state.iterations() * burst * 2);
  if (state.thread_index() == 0) {
    delete queue;
    queue = nullptr;
  }
}
BENCHMARK_TEMPLATE(BM_EvalQueue, Berth)->ArgName("burst")->Arg(1)->Arg(64)->ThreadRange(1, 8)->UseRealTime();
BENCHMARK_TEMPLATE(BM_EvalQueue, OneTbb)->ArgName("burst")->Arg(1)->Arg(64)->ThreadRange(1, 8)->UseRealTime();
BENCHMARK_TEMPLATE(BM_EvalQueue, Moodycamel)->ArgName("burst")->Arg(1)->Arg(64)->ThreadRange(1, 8)->UseRealTime();
BENCHMARK_TEMPLATE(BM_EvalQueue, MutexHeap)->ArgName("burst")->Arg(1)->Arg(64)->ThreadRange(1, 8)->UseRealTime();

/// A full cycle in the broker: enqueue, dequeue, ack; one item is one evaluation. Each thread enqueues its own
/// evaluations and jobs and processes any ready ones.
void BM_BrokerCycle(benchmark::State& state) {
  static broker::Broker* shared = nullptr;
  if (state.thread_index() == 0) {
    broker::Config config;
    config.evals = config.jobs = 1u << 16;
    shared = new broker::Broker(config);
    shared->enable();
  }
  Random random{static_cast<std::uint64_t>(state.thread_index()) + 3};
  const std::uint32_t base = static_cast<std::uint32_t>(state.thread_index()) << 12;
  std::uint32_t next = 0;
  std::uint64_t handled = 0;
  for (auto _ : state) {
    broker::Eval eval;
    eval.row = static_cast<broker::EvalRow>(base + next % 4096);
    eval.job = static_cast<broker::JobKeyRow>(base + next % 4096);
    eval.priority = static_cast<std::int32_t>(1 + random.below(100));
    eval.create_index = eval.modify_index = ++next;
    static_cast<void>(shared->enqueue({&eval, 1}, 0));
    const auto got = shared->dequeue(broker::kSchedulers, 0);
    if (got && *got && shared->ack((*got)->row, (*got)->token, 0)) ++handled;
  }
  state.SetItemsProcessed(state.iterations());
  static std::atomic<std::uint64_t> acked{0};
  acked += handled;
  if (state.thread_index() == 0 && state.threads() == 1 && handled != static_cast<std::uint64_t>(state.iterations()))
    wrong_answer(state, "an evaluation was not handed out and acked");
  if (state.thread_index() == 0) {
    delete shared;
    shared = nullptr;
  }
}
BENCHMARK(BM_BrokerCycle)->ThreadRange(1, 8)->UseRealTime();

}  // namespace
}  // namespace berth::micro
