// Enabling and disabling the broker, its counts, and its contents. Part of broker-inl.h.
#pragma once

#include "broker/broker-inl.h"

namespace berth::broker {

template <template <class> class Atomic>
void BasicBroker<Atomic>::enable() {
  enabled_.store(true, std::memory_order_release);
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::disable() {  // R-CTRL-344
  enabled_.store(false, std::memory_order_release);
  take_arrivals();
  time_wait_.clear(), delayed_.clear(), delay_root_.reset(), root_dropped_ = false;
  std::uint64_t flushed = 0;
  const bool untouched = totals().accepted == 0;  // all rows are as constructed: a new broker is disabled before use
  for (std::uint32_t i = 0; i < (untouched ? 0 : config_.evals); ++i) {
    Row& row = rows_[i];
    const std::uint64_t word = row.state.load(std::memory_order_relaxed);
    if ((word & (state::kKnown | state::kCancelled)) == state::kKnown) ++flushed;
    if (word & ~state::kSerial) row.state.store(word & state::kSerial, std::memory_order_relaxed);
    // Nomad never drops these. They only wait for their token, which no later delivery has.
    if (exact_ && config_.quirks.cancelled_evals_linger) continue;
    if (const std::uint64_t stored = row.requeue.exchange(0, std::memory_order_relaxed))
      nodes_.put(static_cast<std::uint32_t>(stored) - 1);
  }
  for (std::uint32_t i = 0; i < (untouched ? 0 : config_.jobs); ++i) {
    std::uint32_t at = static_cast<std::uint32_t>(jobs_[i].load(std::memory_order_relaxed));
    jobs_[i].store(0, std::memory_order_relaxed);
    while (at != 0) {
      const std::uint32_t next = nodes_[at - 1].next.load(std::memory_order_relaxed);
      nodes_.put(at - 1);
      at = next;
    }
  }
  std::uint32_t row = 0;
  for (auto& queue : ready_)
    while (queue && queue->pop(row)) {
    }
  for (auto& items : heaps_) items.clear();
  by_policy_.clear();
  while (cancelable_.pop(row) || dropped_.pop(row)) {
  }
  BERTH_ASSERT(arrivals_.load(std::memory_order_relaxed) == 0);  // no other call runs
  for (std::uint32_t i = 0; i < kStripes; ++i) {
    Stripe& s = stripes_[i];
    for (auto& both : s.queues) both.store(0, std::memory_order_relaxed);
    s.waiting.store(0, std::memory_order_relaxed), s.pending.store(0, std::memory_order_relaxed);
    s.cancelable.store(0, std::memory_order_relaxed);
  }
  stripe().totals[kFlushed].fetch_add(flushed, std::memory_order_relaxed);
  queues_used_.store(0, std::memory_order_relaxed);
  nack_earliest_ns_.store(kNever, std::memory_order_relaxed);
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::peek(QueueSet queues, std::size_t count, std::vector<EvalRow>& out) const {
  BERTH_ASSERT(exact_ || std::all_of(heaps_.begin(), heaps_.end(), [](const auto& heap) { return heap.empty(); }));
  out.clear();
  // A heap of elements whose parents are in `out`: a binary heap's best elements are reached from its root.
  struct Next {
    std::uint32_t queue;
    std::size_t at;
  };
  std::vector<Next> next;
  const auto comes_later = [this](const Next& a, const Next& b) {
    const Eval &one = heaps_[a.queue][a.at], &other = heaps_[b.queue][b.at];
    if (a.queue == b.queue) return ready_less(other, one);
    return one.priority != other.priority ? one.priority < other.priority : a.queue > b.queue;
  };
  const auto add = [&](std::uint32_t queue, std::size_t at) {
    if (at >= heaps_[queue].size()) return;
    next.push_back({queue, at});
    std::push_heap(next.begin(), next.end(), comes_later);
  };
  for (std::uint32_t q = 0; q < kQueueCount; ++q)
    if (queues >> q & 1) add(q, 0);
  while (!next.empty() && out.size() < count) {
    std::pop_heap(next.begin(), next.end(), comes_later);
    const Next best = next.back();
    next.pop_back();
    out.push_back(heaps_[best.queue][best.at].row);
    add(best.queue, 2 * best.at + 1), add(best.queue, 2 * best.at + 2);
  }
}

template <template <class> class Atomic>
Stats BasicBroker<Atomic>::stats() const {
  Stats out;
  std::array<std::uint64_t, kQueueCount> queues{};
  std::uint64_t waiting = 0, pending = 0, cancelable = 0;
  for (std::uint32_t i = 0; i < kStripes; ++i) {
    const Stripe& s = stripes_[i];
    for (std::uint32_t q = 0; q < kQueueCount; ++q) queues[q] += s.queues[q].load(std::memory_order_relaxed);
    waiting += s.waiting.load(std::memory_order_relaxed);
    pending += s.pending.load(std::memory_order_relaxed);
    cancelable += s.cancelable.load(std::memory_order_relaxed);
  }
  for (std::uint32_t q = 0; q < kQueueCount; ++q) {
    auto& queue = out.queues[q];
    queue.ready = static_cast<std::int32_t>(queues[q]);
    queue.unacked = static_cast<std::int64_t>(queues[q] - static_cast<std::uint64_t>(queue.ready)) >> 32;
    queue.used = queues_used_.load(std::memory_order_relaxed) >> q & 1;
    out.ready += queue.ready, out.unacked += queue.unacked;
  }
  out.waiting = static_cast<std::int64_t>(waiting), out.pending = static_cast<std::int64_t>(pending);
  out.cancelable = static_cast<std::int64_t>(cancelable);
  return out;
}

template <template <class> class Atomic>
Totals BasicBroker<Atomic>::totals() const {
  std::array<std::uint64_t, kTotalCount> sums{};
  for (std::uint32_t i = 0; i < kStripes; ++i)
    for (std::uint32_t t = 0; t < kTotalCount; ++t) sums[t] += stripes_[i].totals[t].load(std::memory_order_relaxed);
  Totals out{sums[kAccepted],  sums[kDelivered], sums[kAcked],   sums[kNacked],
             sums[kCancelled], sums[kDropped],   sums[kFlushed], {}};
  for (std::uint32_t i = 0; i < kFaultCount; ++i) out.faults[i] = faults_[i].load(std::memory_order_relaxed);
  return out;
}

template <template <class> class Atomic>
Contents BasicBroker<Atomic>::contents() {
  take_arrivals();
  Contents out;
  for (std::uint32_t i = 0; i < config_.evals; ++i) {
    const auto row = static_cast<EvalRow>(i);
    const std::uint64_t word = rows_[i].state.load(std::memory_order_acquire);
    if (word & state::kKnown) out.known.push_back({row, state::deliveries(word), (word & state::kCancelled) != 0});
    if (word & state::kOutstanding)
      out.outstanding.push_back({row, make_token(row, state::serial(word)), (word & state::kTimer) != 0,
                                 nack_deadlines_[i].load(std::memory_order_relaxed)});
    if (const std::uint64_t stored = rows_[i].requeue.load(std::memory_order_acquire))
      out.requeue.emplace_back(make_token(row, static_cast<std::uint32_t>(stored >> 32)), row);
  }
  for (std::uint32_t i = 0; i < config_.jobs; ++i) {
    const auto job = static_cast<JobKeyRow>(i);
    const std::uint64_t word = jobs_[i].load(std::memory_order_acquire);
    if (word >> 32) out.holders.emplace_back(job, static_cast<EvalRow>((word >> 32) - 1));
    std::vector<Eval> arrived, items;
    for (std::uint32_t at = static_cast<std::uint32_t>(word); at != 0;
         at = nodes_[at - 1].next.load(std::memory_order_relaxed))
      arrived.push_back(nodes_[at - 1].eval);
    for (std::size_t k = arrived.size(); k-- > 0;) base::heap_push(items, arrived[k], &pending_less);
    if (items.empty()) continue;
    auto& list = out.pending.emplace_back(job, std::vector<EvalRow>()).second;
    for (const Eval& eval : items) list.push_back(eval.row);
  }
  // No other call runs, so popping everything and pushing it back in order changes nothing.
  const auto look = [](auto& queue, auto&& put_back, std::vector<EvalRow>& list) {
    std::uint32_t row = 0;
    while (queue.pop(row)) list.push_back(static_cast<EvalRow>(row));
    for (const EvalRow r : list) put_back(r);
  };
  for (std::uint32_t q = 0; q < kQueueCount; ++q) {
    for (const Eval& eval : heaps_[q]) out.ready[q].push_back(eval.row);
    by_policy_.list(static_cast<Queue>(q), out.ready[q]);
    if (ready_[q])
      look(
          *ready_[q], [&](EvalRow r) { ready_[q]->push(level(row_of(r).facts.priority), index_of(r)); }, out.ready[q]);
  }
  look(
      cancelable_, [&](EvalRow r) { cancelable_.push(index_of(r)); }, out.cancelable);
  for (const Waiting& w : time_wait_) out.time_wait.push_back(w.eval.row);
  for (const Waiting& w : delayed_) out.delayed.push_back(w.eval.row);
  return out;
}

}  // namespace berth::broker
