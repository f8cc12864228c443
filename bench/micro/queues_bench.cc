// Structures that pass data between threads, compared with common alternatives. One item is one push or pop, one take
// or put, one plan, one evaluation. With more threads than cores the system's scheduler has an effect: compare only
// rates of one run.
#include <concurrentqueue/concurrentqueue.h>
#include <tbb/concurrent_queue.h>

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <queue>
#include <random>

#include "base/heap.h"
#include "broker/blocked.h"
#include "broker/fifo.h"
#include "broker/pool.h"
#include "micro/micro.h"
#include "plan/plan_queue.h"

namespace berth::micro {
namespace {

// ---------------------------------------------------------------- first in, first out

struct BerthFifo {
  broker::Fifo queue;
  void push(std::uint32_t value) { queue.push(value); }
  bool pop(std::uint32_t& value) { return queue.pop(value); }
};
struct TbbFifo {
  tbb::concurrent_queue<std::uint32_t> queue;
  void push(std::uint32_t value) { queue.push(value); }
  bool pop(std::uint32_t& value) { return queue.try_pop(value); }
};
struct MoodycamelFifo {  // first in, first out per producer only
  moodycamel::ConcurrentQueue<std::uint32_t> queue;
  void push(std::uint32_t value) { queue.enqueue(value); }
  bool pop(std::uint32_t& value) { return queue.try_dequeue(value); }
};
struct MutexFifo {
  std::mutex mutex;
  std::deque<std::uint32_t> queue;
  void push(std::uint32_t value) {
    const std::lock_guard lock(mutex);
    queue.push_back(value);
  }
  bool pop(std::uint32_t& value) {
    const std::lock_guard lock(mutex);
    if (queue.empty()) return false;
    value = queue.front();
    queue.pop_front();
    return true;
  }
};

/// Every thread pushes 64 values and pops 64.
template <class Queue>
void BM_Fifo(benchmark::State& state) {
  constexpr std::uint32_t kBurst = 64;
  static Queue* queue = nullptr;  // shared by the threads of one run
  if (state.thread_index() == 0) {
    Queue alone;
    for (std::uint32_t i = 0; i < 1000; ++i) alone.push(i);
    std::uint32_t value = 0;
    for (std::uint32_t i = 0; i < 1000; ++i)
      if (!alone.pop(value) || value != i) {
        wrong_answer(state, "comes out in another order");
        break;
      }
    queue = new Queue;
  }
  std::uint32_t value = 0;
  for (auto _ : state) {
    for (std::uint32_t i = 0; i < kBurst; ++i) queue->push(i);
    for (std::uint32_t i = 0; i < kBurst; ++i) benchmark::DoNotOptimize(queue->pop(value));
  }
  state.SetItemsProcessed(state.iterations() * kBurst * 2);
  if (state.thread_index() == 0) {
    delete queue;
    queue = nullptr;
  }
}
BENCHMARK_TEMPLATE(BM_Fifo, BerthFifo)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_TEMPLATE(BM_Fifo, TbbFifo)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_TEMPLATE(BM_Fifo, MoodycamelFifo)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_TEMPLATE(BM_Fifo, MutexFifo)->ThreadRange(1, 4)->UseRealTime();

// ---------------------------------------------------------------- nodes of linked structures

struct PooledNode {
  std::uint64_t words[6] = {};
};
struct BerthPool {
  broker::NodePool<PooledNode, std::atomic> pool;
  std::uint32_t take() { return pool.take(); }
  void put(std::uint32_t node) { pool.put(node); }
};
struct MutexPool {
  std::mutex mutex;
  std::vector<std::uint32_t> free;
  std::uint32_t made = 0;
  std::uint32_t take() {
    const std::lock_guard lock(mutex);
    if (free.empty()) return made++;
    const std::uint32_t node = free.back();
    free.pop_back();
    return node;
  }
  void put(std::uint32_t node) {
    const std::lock_guard lock(mutex);
    free.push_back(node);
  }
};

/// Takes sixteen nodes and returns them. Checks that no node is taken twice.
template <class Pool>
void BM_NodePool(benchmark::State& state) {
  static Pool* pool = nullptr;
  if (state.thread_index() == 0) {
    Pool alone;
    std::vector<std::uint32_t> taken;
    for (int i = 0; i < 100; ++i) taken.push_back(alone.take());
    std::sort(taken.begin(), taken.end());
    if (std::adjacent_find(taken.begin(), taken.end()) != taken.end()) wrong_answer(state, "a node was given twice");
    pool = new Pool;
  }
  std::uint32_t held[16];
  for (auto _ : state) {
    for (std::uint32_t& node : held) node = pool->take();
    for (const std::uint32_t node : held) pool->put(node);
  }
  state.SetItemsProcessed(state.iterations() * 32);
  if (state.thread_index() == 0) {
    delete pool;
    pool = nullptr;
  }
}
BENCHMARK_TEMPLATE(BM_NodePool, BerthPool)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_TEMPLATE(BM_NodePool, MutexPool)->ThreadRange(1, 4)->UseRealTime();

// ---------------------------------------------------------------- queue of plans

/// Submits a plan while others wait, and takes out the best one.
void BM_PlanQueue(benchmark::State& state) {
  const auto waiting = static_cast<std::size_t>(state.range(0));
  plan::PlanQueue queue;
  queue.enable();
  std::vector<plan::Submission> plans(waiting + 1);
  std::mt19937 random(16);
  for (plan::Submission& plan : plans) {
    plan.priority = 1 + random() % 100;
    if (&plan != &plans.back()) static_cast<void>(queue.enqueue(plan));
  }
  plan::Submission* next = &plans.back();
  const auto turn = [&] {
    static_cast<void>(queue.enqueue(*next));
    next = queue.dequeue().plan;
  };
  turn();
  for (const plan::Submission& plan : plans)
    if (!next || plan.priority > next->priority) return wrong_answer(state, "not the best priority first (R-CTRL-503)");
  for (auto _ : state) {
    next->priority = 1 + random() % 100;
    turn();
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PlanQueue)->ArgName("waiting")->Arg(1)->Arg(8)->Arg(64);

/// The heap with the steps that Nomad's order of ties requires, compared with the C++ library's.
template <bool kOwn>
void BM_Heap(benchmark::State& state) {
  std::mt19937 random(17);
  std::vector<std::uint32_t> values(static_cast<std::size_t>(state.range(0))), heap;
  for (std::uint32_t& value : values) value = static_cast<std::uint32_t>(random());
  const auto less = [](std::uint32_t a, std::uint32_t b) { return a < b; };
  const auto greater = [](std::uint32_t a, std::uint32_t b) { return a > b; };
  const auto pop = [&] {
    if constexpr (kOwn) {
      return base::heap_pop(heap, less);
    } else {
      std::pop_heap(heap.begin(), heap.end(), greater);
      const std::uint32_t out = heap.back();
      heap.pop_back();
      return out;
    }
  };
  const auto sort = [&](std::vector<std::uint32_t>* out) {
    heap.clear();
    for (const std::uint32_t value : values) {
      if constexpr (kOwn) {
        base::heap_push(heap, value, less);
      } else {
        heap.push_back(value);
        std::push_heap(heap.begin(), heap.end(), greater);
      }
    }
    std::uint32_t sum = 0;
    while (!heap.empty()) {
      const std::uint32_t value = pop();
      if (out) out->push_back(value);
      sum += value;
    }
    return sum;
  };
  std::vector<std::uint32_t> sorted, expected = values;
  sort(&sorted);
  std::sort(expected.begin(), expected.end());
  if (sorted != expected) return wrong_answer(state, "comes out in another order");
  for (auto _ : state) benchmark::DoNotOptimize(sort(nullptr));
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK_TEMPLATE(BM_Heap, true)->ArgName("values")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_Heap, false)->ArgName("values")->ArgsProduct({sizes()});

// ---------------------------------------------------------------- blocked evaluations

/// All evaluations are blocked, each with one of twenty classes eligible; one class after the other gets room.
void BM_BlockAndUnblock(benchmark::State& state) {
  const auto n = static_cast<std::uint32_t>(state.range(0));
  tables::SymbolTable symbols;
  std::vector<tables::Symbol> classes;
  for (std::uint64_t c = 0; c < 20; ++c) classes.push_back(symbols.intern(numbered("v1:", c)));
  std::vector<broker::BlockedEval> evals(n);
  for (std::uint32_t i = 0; i < n; ++i) {
    broker::BlockedEval& eval = evals[i];
    eval.eval.row = broker::EvalRow{i}, eval.eval.job = broker::JobKeyRow{i}, eval.eval.create_index = i + 1;
    eval.snapshot_index = 5;
    for (std::size_t c = 0; c < classes.size(); ++c) eval.classes.push_back({classes[c], c == i % classes.size()});
  }
  std::vector<broker::Eval> released;
  for (auto _ : state) {
    broker::BlockedTracker tracker(symbols);
    tracker.enable(0);
    released.clear();
    for (const broker::BlockedEval& eval : evals) tracker.block(eval, 1, released);
    for (const tables::Symbol c : classes) tracker.unblock_class(c, 10, 2, released);
    if (released.size() != n || !tracker.captured().empty())
      return wrong_answer(state, "not every evaluation was released once");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_BlockAndUnblock)->ArgName("evals")->ArgsProduct({sizes(100'000)});

}  // namespace
}  // namespace berth::micro
