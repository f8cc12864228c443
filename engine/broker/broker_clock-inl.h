// The broker functions of the clock's thread: delays, instants and nack timers that end, and removal. Part of
// broker-inl.h.
#pragma once

#include <utility>

#include "broker/broker-inl.h"

namespace berth::broker {

namespace waiting_order {
struct Due {
  template <class Waiting>
  bool operator()(const Waiting& a, const Waiting& b) const {
    return a.due_ns != b.due_ns ? a.due_ns < b.due_ns : a.sequence < b.sequence;
  }
};
struct Until {  // R-CTRL-313; ties are not ordered
  template <class Waiting>
  bool operator()(const Waiting& a, const Waiting& b) const {
    return a.due_ns < b.due_ns;
  }
};
}  // namespace waiting_order

template <template <class> class Atomic>
void BasicBroker<Atomic>::take_arrivals() {
  if (arrivals_.load(std::memory_order_relaxed) == 0) return;
  std::uint32_t at = arrivals_.exchange(0, std::memory_order_acquire), reversed = 0;
  while (at != 0) {
    Node& node = nodes_[at - 1];
    const std::uint32_t next = node.next.load(std::memory_order_relaxed);
    node.next.store(reversed, std::memory_order_relaxed);
    reversed = at, at = next;
  }
  while (reversed != 0) {
    const Node& node = nodes_[reversed - 1];
    const Waiting waiting{node.due_ns, sequence_++, node.eval};
    if (node.delayed) {
      base::heap_push(delayed_, waiting, waiting_order::Until());
      look_at_delay_root();
    } else {
      base::heap_push(time_wait_, waiting, waiting_order::Due());
    }
    const std::uint32_t next = node.next.load(std::memory_order_relaxed);
    nodes_.put(reversed - 1);
    reversed = next;
  }
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::look_at_delay_root() {
  if (std::exchange(root_dropped_, false)) dropped_.push(index_of(delay_root_->eval.row));
  delay_root_.reset();
  if (!delayed_.empty()) delay_root_ = delayed_.front();
}

/// Removes an evaluation that waits for a point in time from the heap; false: not found. The caller checks the root.
template <template <class> class Atomic>
bool BasicBroker<Atomic>::remove_delayed(EvalRow eval) {
  BERTH_DEBUG_ASSERT(std::is_heap(delayed_.begin(), delayed_.end(),
                                  [](const Waiting& a, const Waiting& b) { return waiting_order::Until()(b, a); }));
  const auto found =
      std::find_if(delayed_.begin(), delayed_.end(), [&](const Waiting& w) { return w.eval.row == eval; });
  if (found == delayed_.end()) return false;
  base::heap_remove(delayed_, static_cast<std::size_t>(found - delayed_.begin()), waiting_order::Until());
  return true;
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::forget_waiting(Row& row) {
  const std::uint64_t word = row.state.load(std::memory_order_relaxed);
  BERTH_ASSERT(exact_ || !(word & (state::kOutstanding | state::kAcking)));  // it waits: no delivery holds it
  row.state.store(word & ~(state::kKnown | state::kDeliveries), std::memory_order_release);
  stripe().totals[kDropped].fetch_add(1, std::memory_order_relaxed);
  stripe().waiting.fetch_sub(1, std::memory_order_relaxed);  // even if it no longer waits (R-CTRL-347)
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::drop_waiting(EvalRow eval) {  // R-CTRL-321
  take_arrivals();
  if (index_of(eval) >= config_.evals) return;
  Row& row = row_of(eval);
  if (!(row.state.load(std::memory_order_relaxed) & state::kKnown)) return;
  const bool was_delayed = remove_delayed(eval);
  if (!was_delayed && !(exact_ && config_.quirks.queue_counts_drift)) return;
  if (!(exact_ && config_.quirks.dropped_eval_fires)) look_at_delay_root();
  forget_waiting(row);
  if (!was_delayed) return;  // it stays in a queue
  if (delay_root_ && delay_root_->eval.row == eval)
    root_dropped_ = true;
  else
    dropped_.push(index_of(eval));
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::drop(EvalRow eval) {
  take_arrivals();
  if (index_of(eval) >= config_.evals) return;
  Row& row = row_of(eval);
  if (remove_delayed(eval)) {
    look_at_delay_root();
    forget_waiting(row);
    return dropped_.push(index_of(eval));
  }
  const auto of_eval = [&](const Waiting& w) { return w.eval.row == eval; };
  if (const auto at = std::find_if(time_wait_.begin(), time_wait_.end(), of_eval); at != time_wait_.end()) {
    // A nacked evaluation still holds its job; it is removed when its turn comes.
    if (state::deliveries(row.state.load(std::memory_order_relaxed)) == 0) {
      base::heap_remove(time_wait_, static_cast<std::size_t>(at - time_wait_.begin()), waiting_order::Due());
      forget_waiting(row);
      return dropped_.push(index_of(eval));
    }
  }
  // A worker that takes it at this moment may overwrite the bit. It then processes an evaluation without a job.
  for (std::uint64_t word = row.state.load(std::memory_order_relaxed);
       (word & (state::kKnown | state::kCancelled)) == state::kKnown;)
    if (row.state.compare_exchange_weak(word, word | state::kDropped, std::memory_order_acq_rel,
                                        std::memory_order_relaxed))
      return;
}

/// True if the evaluation popped from a ready queue was dropped; this call then releases its job and discards it.
template <template <class> class Atomic>
bool BasicBroker<Atomic>::is_dropped(EvalRow eval, Queue queue) {
  Row& row = row_of(eval);
  const std::uint64_t word = row.state.load(std::memory_order_relaxed);  // ordered by the pop
  if (!(word & state::kDropped)) return false;
  count(queue, -1, 0);
  stripe().totals[kDropped].fetch_add(1, std::memory_order_relaxed);
  release_job(row.facts.job);
  row.state.exchange(word & state::kSerial, std::memory_order_seq_cst);
  dropped_.push(index_of(eval));
  return true;
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::take_dropped(std::vector<EvalRow>& out) {
  for (std::uint32_t row; dropped_.pop(row);) out.push_back(static_cast<EvalRow>(row));
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::scan_nack_deadlines(std::int64_t now_ns) {
  fired_.clear();
  if (nack_earliest_ns_.load(std::memory_order_acquire) > now_ns) return;
  nack_earliest_ns_.exchange(kNever, std::memory_order_seq_cst);  // before the states' loads; pairs with dequeue()
  std::int64_t earliest = kNever;
  const std::uint32_t used = rows_used_.load(std::memory_order_seq_cst);
  for (std::uint32_t i = 0; i < used; ++i) {
    const std::uint64_t word = rows_[i].state.load(std::memory_order_seq_cst);
    if ((word & (state::kOutstanding | state::kTimer)) != (state::kOutstanding | state::kTimer)) continue;
    const std::int64_t deadline = nack_deadlines_[i].load(std::memory_order_relaxed);
    if (deadline <= now_ns)
      fired_.push_back({deadline, static_cast<EvalRow>(i), make_token(static_cast<EvalRow>(i), state::serial(word))});
    else
      earliest = std::min(earliest, deadline);
  }
  BERTH_ASSERT(earliest > now_ns);  // timers that are due have fired
  for (std::int64_t known = nack_earliest_ns_.load(std::memory_order_seq_cst); earliest < known;)
    nack_earliest_ns_.compare_exchange_weak(known, earliest, std::memory_order_seq_cst);
  std::sort(fired_.begin(), fired_.end(),
            [](const Fired& a, const Fired& b) { return a.at_ns != b.at_ns ? a.at_ns < b.at_ns : a.row < b.row; });
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::advance(std::int64_t now_ns) {
  take_arrivals();
  scan_nack_deadlines(now_ns);
  for (std::size_t next_fired = 0;;) {
    const std::int64_t wait = time_wait_.empty() ? kNever : time_wait_.front().due_ns;
    const std::int64_t delay = delay_root_ ? delay_root_->due_ns : kNever;
    const std::int64_t timeout = next_fired < fired_.size() ? fired_[next_fired].at_ns : kNever;
    const std::int64_t at = std::min({wait, delay, timeout});
    if (at == kNever || at > now_ns) return;
    if (at == wait) {
      const Waiting waiting = base::heap_pop(time_wait_, waiting_order::Due());
      stripe().waiting.fetch_sub(1, std::memory_order_relaxed);
      make_ready(waiting.eval, waiting.eval.type);
    } else if (at == delay) {
      BERTH_ASSERT(delay_root_ && delay_root_->due_ns <= now_ns);
      const Waiting waiting = *delay_root_;
      remove_delayed(waiting.eval.row);
      root_dropped_ = false;
      look_at_delay_root();
      stripe().waiting.fetch_sub(1, std::memory_order_relaxed);
      make_ready(waiting.eval, waiting.eval.type);
    } else {
      const Fired& fired = fired_[next_fired++];
      // Deliveries that ended since the scan are skipped.
      if (outstanding(fired.row) == fired.token) static_cast<void>(nack(fired.row, fired.token, fired.at_ns));
      take_arrivals();
    }
  }
}

template <template <class> class Atomic>
std::optional<std::int64_t> BasicBroker<Atomic>::next_deadline() {
  take_arrivals();
  std::int64_t at = nack_earliest_ns_.load(std::memory_order_acquire);
  if (!time_wait_.empty()) at = std::min(at, time_wait_.front().due_ns);
  if (delay_root_) at = std::min(at, delay_root_->due_ns);
  if (at == kNever) return std::nullopt;
  return at;
}

}  // namespace berth::broker
