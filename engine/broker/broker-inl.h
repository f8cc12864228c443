// The evaluation broker's code; broker.h describes it. Included by broker.cc, and by tests that substitute their own
// atomics for std::atomic. broker_clock-inl.h and broker_contents-inl.h are parts of it.
//
// One evaluation's state is one word; the thread whose compare-exchange moves it to the next stage owns the evaluation:
//   bits  0..31  serial of the last delivery; never reset, so the token of an earlier one never matches again
//   bits 32..51  deliveries since it became known (R-CTRL-326)
//   bit      52  known: in `evals` of the specification
//   bit      53  outstanding: handed out, neither acked nor nacked
//   bit      54  the nack timer runs
//   bit      55  being acked: no longer outstanding, job not yet released
//   bit      56  cancelled: taken from the cancelable list and still known (R-CTRL-335)
//   bit      57  dropped: the thread that pops it from a ready queue discards it; a delivery clears the bit
//
//   enqueue  unknown -> known                      owner: makes it waiting, pending or ready
//   dequeue  popped from a ready queue             owner by the pop; -> outstanding, timer runs, serial + 1
//   ack      outstanding -> being acked            owner: releases the job, -> unknown, then checks for a requeue
//   nack     outstanding -> known                  owner: makes it waiting or ready
//   others   outstanding -> outstanding            timer bit only
//
// A job's word names its holder (evaluation row + 1) and a stack of pending evaluations. Only the ack of the holder
// takes the stack, as a whole (R-CTRL-333), so pushing onto it needs no protection against ABA: while the word's holder
// is the same, nodes are only added. The ack rebuilds the heap of R-CTRL-312 from the stack in the order of arrival.
//
// Requeue against ack (R-CTRL-316, 333): the enqueuer writes the requeue word, then loads the state; the acker writes
// the state (unknown), then loads the requeue word. All are sequentially consistent, so at least one of them sees the
// other's write. The thread that exchanges the requeue word away owns its node.
#pragma once

#include <algorithm>

#include "base/assert.h"
#include "base/heap.h"
#include "base/later.h"
#include "broker/broker.h"

namespace berth::broker {

namespace state {
inline constexpr std::uint64_t kSerial = 0xffffffff, kDelivery = std::uint64_t{1} << 32,
                               kDeliveries = std::uint64_t{0xfffff} << 32, kKnown = std::uint64_t{1} << 52,
                               kOutstanding = std::uint64_t{1} << 53, kTimer = std::uint64_t{1} << 54,
                               kAcking = std::uint64_t{1} << 55, kCancelled = std::uint64_t{1} << 56,
                               kDropped = std::uint64_t{1} << 57;
constexpr std::uint32_t serial(std::uint64_t word) { return static_cast<std::uint32_t>(word); }
constexpr std::uint32_t deliveries(std::uint64_t word) {
  return static_cast<std::uint32_t>((word & kDeliveries) >> 32);
}
}  // namespace state

constexpr std::uint32_t index_of(EvalRow row) { return static_cast<std::uint32_t>(row); }
constexpr std::uint32_t index_of(JobKeyRow job) { return static_cast<std::uint32_t>(job); }
constexpr Token make_token(EvalRow row, std::uint32_t serial) {
  return static_cast<Token>(static_cast<std::uint64_t>(index_of(row)) << 32 | serial);
}
constexpr std::uint32_t token_row(Token token) {
  return static_cast<std::uint32_t>(static_cast<std::uint64_t>(token) >> 32);
}
constexpr std::uint32_t token_serial(Token token) { return static_cast<std::uint32_t>(token); }
constexpr std::uint32_t index_of(Queue queue) { return static_cast<std::uint32_t>(queue); }

/// The calling thread's number, which selects its counters.
std::uint32_t thread_number();

/// Per-thread memory for sorting a job's pending evaluations, reused by the thread's next ack: an ack allocates only if
/// a job has more pending evaluations than any before.
class PendingScratch {
 public:
  struct Lists {
    std::vector<std::uint32_t> arrived, items;
  };
  PendingScratch();
  ~PendingScratch();
  PendingScratch(const PendingScratch&) = delete;
  PendingScratch& operator=(const PendingScratch&) = delete;
  Lists* operator->() { return lists_.get(); }

 private:
  std::unique_ptr<Lists> lists_;
};

template <template <class> class Atomic>
BasicBroker<Atomic>::BasicBroker(const Config& config)
    : config_(config),
      exact_(config.order == ReadyOrder::exact),
      rows_(std::make_unique<Row[]>(config.evals)),
      nack_deadlines_(std::make_unique<Atomic<std::int64_t>[]>(config.evals)),
      jobs_(std::make_unique<Atomic<std::uint64_t>[]>(config.jobs)),
      stripes_(std::make_unique<Stripe[]>(kStripes)),
      random_state_(config.type_seed.value_or(0)) {
  BERTH_ASSERT(exact_ || !config.queue);
  if (exact_) return;
  for (auto& queue : ready_)
    queue = std::make_unique<BasicReadyQueue<Atomic>>(static_cast<std::uint32_t>(config.priority_max) + 2);
}

template <template <class> class Atomic>
BasicBroker<Atomic>::~BasicBroker() = default;

template <template <class> class Atomic>
typename BasicBroker<Atomic>::Stripe& BasicBroker<Atomic>::stripe() const {
  return stripes_[thread_number() % kStripes];
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::count(Queue queue, std::int32_t ready, std::int32_t unacked) {
  const auto both = (static_cast<std::uint64_t>(static_cast<std::int64_t>(unacked)) << 32) +
                    static_cast<std::uint64_t>(static_cast<std::int64_t>(ready));
  stripe().queues[index_of(queue)].fetch_add(both, std::memory_order_relaxed);
}

template <template <class> class Atomic>
tl::unexpected<Fault> BasicBroker<Atomic>::fault(Fault fault) {
  faults_[static_cast<std::size_t>(fault)].fetch_add(1, std::memory_order_relaxed);
  return tl::unexpected(fault);
}

template <template <class> class Atomic>
std::uint32_t BasicBroker<Atomic>::level(std::int32_t priority) const {
  return static_cast<std::uint32_t>(std::clamp(priority, 0, config_.priority_max + 1));
}

template <template <class> class Atomic>
Eval BasicBroker<Atomic>::eval_of(EvalRow row) {
  BERTH_ASSERT(index_of(row) < config_.evals);
  const Facts& f = row_of(row).facts;
  return {row, f.job, f.job_id, f.priority, f.type, f.create_index, f.modify_index, f.wait_ns, f.wait_until_ns, {}};
}

// --- enqueue
// ----------------------------------------------------------------------------------------------------------

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::enqueue(std::span<const Eval> evals, std::int64_t now_ns) {
  if (!enabled()) return {};
  for (const Eval& eval : evals)
    if (index_of(eval.row) >= config_.evals || index_of(eval.job) >= config_.jobs) return fault(Fault::full);
  for (const Eval& eval : evals) enqueue_one(eval, now_ns);
  return {};
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::enqueue_one(const Eval& eval, std::int64_t now_ns) {
  Row& row = row_of(eval.row);
  std::uint64_t word = row.state.load(std::memory_order_acquire);
  for (;;) {
    if (word & state::kKnown) {
      const bool delivered = (word & (state::kOutstanding | state::kAcking)) &&
                             eval.token == make_token(eval.row, state::serial(word)) && eval.token != Token::none;
      if (!delivered || store_requeue(eval, word)) return;
      word = row.state.load(std::memory_order_acquire);
    } else if (row.state.compare_exchange_weak(word, (word | state::kKnown) & ~state::kDeliveries,
                                               std::memory_order_acq_rel, std::memory_order_acquire)) {
      break;
    }
  }
  BERTH_ASSERT(!(word & (state::kOutstanding | state::kAcking | state::kTimer)));  // it was unknown: at no other stage
  stripe().totals[kAccepted].fetch_add(1, std::memory_order_relaxed);
  admit(eval, now_ns);
}

/// False: the delivery ended meanwhile and the copy was not taken.
template <template <class> class Atomic>
bool BasicBroker<Atomic>::store_requeue(const Eval& eval, std::uint64_t word) {
  BERTH_ASSERT(word & (state::kOutstanding | state::kAcking));  // a delivery holds it, and takes the copy at its end
  Row& row = row_of(eval.row);
  const std::uint32_t node = nodes_.take();
  nodes_[node].eval = eval;
  const std::uint64_t mine = static_cast<std::uint64_t>(state::serial(word)) << 32 | (node + 1);
  std::uint64_t before = row.requeue.load(std::memory_order_acquire);
  while (!row.requeue.compare_exchange_weak(before, mine, std::memory_order_seq_cst, std::memory_order_acquire)) {
  }
  BERTH_ASSERT(static_cast<std::uint32_t>(before) != node + 1);  // a node that is stored is not handed out again
  if (before) nodes_.put(static_cast<std::uint32_t>(before) - 1);
  const std::uint64_t now = row.state.load(std::memory_order_seq_cst);  // after the exchange; pairs with ack
  if (state::serial(now) == state::serial(word) && (now & (state::kOutstanding | state::kAcking))) return true;
  std::uint64_t expected = mine;
  if (!row.requeue.compare_exchange_strong(expected, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
    return true;  // the acker took it, or a later copy replaced it
  nodes_.put(node);
  return false;
}

/// R-CTRL-333, 337: requeue[token] is deleted, even if the caller named a different evaluation with the token.
template <template <class> class Atomic>
void BasicBroker<Atomic>::drop_requeue(Token token) {
  if (token == Token::none || token_row(token) >= config_.evals) return;
  Row& row = rows_[token_row(token)];
  std::uint64_t stored = row.requeue.load(std::memory_order_seq_cst);
  while (stored && static_cast<std::uint32_t>(stored >> 32) == token_serial(token)) {
    if (!row.requeue.compare_exchange_weak(stored, 0, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    nodes_.put(static_cast<std::uint32_t>(stored) - 1);
    return;
  }
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::admit(const Eval& eval, std::int64_t now_ns) {  // R-CTRL-317
  if (eval.wait_ns > 0)
    wait(eval, base::later(now_ns, eval.wait_ns), false);
  else if (eval.wait_until_ns != 0)
    wait(eval, eval.wait_until_ns, true);
  else
    make_ready(eval, eval.type);
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::wait(const Eval& eval, std::int64_t due_ns, bool delayed) {
  const std::uint32_t index = nodes_.take();
  Node& node = nodes_[index];
  node.eval = eval, node.due_ns = due_ns, node.delayed = delayed;
  stripe().waiting.fetch_add(1, std::memory_order_relaxed);
  std::uint32_t head = arrivals_.load(std::memory_order_relaxed);
  do node.next.store(head, std::memory_order_relaxed);
  while (!arrivals_.compare_exchange_weak(head, index + 1, std::memory_order_release, std::memory_order_relaxed));
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::make_ready(const Eval& eval, Queue queue) {  // R-CTRL-319
  BERTH_ASSERT(index_of(eval.row) < config_.evals && index_of(eval.job) < config_.jobs);
  Atomic<std::uint64_t>& job = jobs_[index_of(eval.job)];
  const std::uint64_t self = static_cast<std::uint64_t>(index_of(eval.row)) + 1;
  std::uint32_t node = kNone;
  std::uint64_t word = job.load(std::memory_order_acquire);
  for (;;) {
    if (word >> 32 == 0) {
      if (!job.compare_exchange_weak(word, self << 32 | (word & 0xffffffff), std::memory_order_acq_rel,
                                     std::memory_order_acquire))
        continue;
      break;
    }
    if (word >> 32 == self) break;
    if (node == kNone) {
      node = nodes_.take();
      nodes_[node].eval = eval;
    }
    nodes_[node].next.store(static_cast<std::uint32_t>(word), std::memory_order_relaxed);
    // Release: pairs with the acquire in release_job(), which reads the nodes.
    if (job.compare_exchange_weak(word, (word & ~std::uint64_t{0xffffffff}) | (node + 1), std::memory_order_acq_rel,
                                  std::memory_order_acquire)) {
      stripe().pending.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  if (node != kNone) nodes_.put(node);
  push_ready(eval, queue);
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::push_ready(const Eval& eval, Queue queue) {
  BERTH_ASSERT(index_of(queue) < kQueueCount);
  // One evaluation of a job is ready at a time: the one that jobs_ names (R-CTRL-319).
  BERTH_DEBUG_ASSERT(jobs_[index_of(eval.job)].load(std::memory_order_relaxed) >> 32 == index_of(eval.row) + 1ULL);
  const auto bit = only(queue);
  if (!(queues_used_.load(std::memory_order_relaxed) & bit)) queues_used_.fetch_or(bit, std::memory_order_relaxed);
  count(queue, 1, 0);
  if (exact_) {
    if (config_.queue) return by_policy_.push(eval, queue, config_.queue->place(eval));
    base::heap_push(heaps_[index_of(queue)], eval, [this](const Eval& a, const Eval& b) { return ready_less(a, b); });
    return;
  }
  // Written before the push, whose release publishes them to the thread that pops.
  row_of(eval.row).facts = {eval.job,          eval.job_id,       eval.priority, eval.type,
                            eval.create_index, eval.modify_index, eval.wait_ns,  eval.wait_until_ns};
  ready_[index_of(queue)]->push(level(eval.priority), index_of(eval.row));
}

// --- dequeue
// ----------------------------------------------------------------------------------------------------------

template <template <class> class Atomic>
bool BasicBroker<Atomic>::ready_less(const Eval& a, const Eval& b) const {  // R-CTRL-311
  const bool other_job = config_.quirks.ready_order_skewed ? a.job_id != b.job_id : a.job != b.job;
  if (other_job && a.priority != b.priority) return a.priority > b.priority;
  return a.create_index < b.create_index;
}

template <template <class> class Atomic>
bool BasicBroker<Atomic>::pending_less(const Eval& a, const Eval& b) {  // R-CTRL-312
  if (a.priority != b.priority) return a.priority > b.priority;
  return !(a.modify_index < b.modify_index);
}

template <template <class> class Atomic>
std::uint64_t BasicBroker<Atomic>::draw() {  // splitmix64
  std::uint64_t x = random_state_ += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

template <template <class> class Atomic>
std::optional<std::pair<EvalRow, Queue>> BasicBroker<Atomic>::pop_exact(QueueSet queues) {  // R-CTRL-324
  if (config_.queue) {
    const auto next = by_policy_.pop(queues);
    return next ? std::optional(note_popped(next->first, next->second)) : std::nullopt;
  }
  std::array<Queue, kQueueCount> best{};
  std::uint32_t best_count = 0;
  std::int32_t priority = 0;
  for (std::uint32_t q = 0; q < kQueueCount; ++q) {
    const std::vector<Eval>& items = heaps_[q];
    if (!(queues >> q & 1) || items.empty()) continue;
    const Eval& peeked = config_.quirks.ready_order_skewed ? items.back() : items.front();  // R-CTRL-314
    if (best_count && peeked.priority < priority) continue;
    if (!best_count || peeked.priority > priority) best_count = 0;
    priority = peeked.priority;
    best[best_count++] = static_cast<Queue>(q);
  }
  if (best_count == 0) return std::nullopt;
  const Queue queue = best[best_count > 1 && config_.type_seed ? draw() % best_count : 0];
  BERTH_ASSERT(queues >> index_of(queue) & 1);
  const Eval eval =
      base::heap_pop(heaps_[index_of(queue)], [this](const Eval& a, const Eval& b) { return ready_less(a, b); });
  return note_popped(eval, queue);
}

/// Notes the facts of an evaluation that was taken from its heap.
template <template <class> class Atomic>
std::pair<EvalRow, Queue> BasicBroker<Atomic>::note_popped(const Eval& eval, Queue queue) {
  row_of(eval.row).facts = {eval.job,          eval.job_id,       eval.priority, eval.type,
                            eval.create_index, eval.modify_index, eval.wait_ns,  eval.wait_until_ns};
  return {eval.row, queue};
}

template <template <class> class Atomic>
std::optional<std::pair<EvalRow, Queue>> BasicBroker<Atomic>::pop_concurrent(QueueSet queues) {
  std::uint32_t row = 0;
  if (std::has_single_bit(queues)) {
    const auto q = static_cast<std::uint32_t>(std::countr_zero(queues));
    if (!ready_[q]->pop(row)) return std::nullopt;
    return std::pair(static_cast<EvalRow>(row), static_cast<Queue>(q));
  }
  // Other threads may change queues between the scan of all queues and the pop of one; the pop itself is exact within
  // its queue. Types of equal priority alternate by thread and delivery only if type_seed is set; else the first type
  // wins.
  for (;;) {
    std::array<std::uint32_t, kQueueCount> best{};
    std::uint32_t best_count = 0;
    std::int32_t top = -1;
    for (std::uint32_t q = 0; q < kQueueCount; ++q) {
      if (!(queues >> q & 1)) continue;
      const std::int32_t at = ready_[q]->top_level();
      if (at < 0 || at < top) continue;
      if (at > top) top = at, best_count = 0;
      best[best_count++] = q;
    }
    if (best_count == 0) return std::nullopt;
    std::uint32_t q = best[0];
    if (best_count > 1 && config_.type_seed) {
      const std::uint64_t x =
          (*config_.type_seed ^ stripe().totals[kDelivered].load(std::memory_order_relaxed)) * 0x9e3779b97f4a7c15ULL;
      q = best[(x >> 33) % best_count];
    }
    if (ready_[q]->pop(row)) return std::pair(static_cast<EvalRow>(row), static_cast<Queue>(q));
  }
}

template <template <class> class Atomic>
tl::expected<std::optional<Delivery>, Fault> BasicBroker<Atomic>::dequeue(QueueSet queues, std::int64_t now_ns) {
  if (!enabled()) return fault(Fault::disabled);
  std::optional<std::pair<EvalRow, Queue>> popped;
  do popped = exact_ ? pop_exact(queues) : pop_concurrent(queues);
  while (popped && is_dropped(popped->first, popped->second));
  if (!popped) return std::optional<Delivery>();
  const auto [eval, queue] = *popped;
  BERTH_ASSERT(index_of(eval) < config_.evals);
  Row& row = row_of(eval);
  const std::uint64_t before = row.state.load(std::memory_order_relaxed);  // ordered by the pop
  // Quirks of the exact order hand out evaluations that were forgotten.
  BERTH_ASSERT(exact_ || (before & (state::kKnown | state::kOutstanding | state::kAcking)) == state::kKnown);
  const std::uint32_t serial = state::serial(before) + 1;
  const std::int64_t deadline = base::later(now_ns, config_.nack_timeout_ns);
  nack_deadlines_[index_of(eval)].store(deadline, std::memory_order_relaxed);  // published by the state
  for (std::uint32_t used = rows_used_.load(std::memory_order_relaxed); used <= index_of(eval);)
    rows_used_.compare_exchange_weak(used, index_of(eval) + 1, std::memory_order_seq_cst);
  const Delivery delivery{eval, make_token(eval, serial), queue, row.facts.wait_ns};
  // Write the state, then the earliest deadline; scan_nack_deadlines() does the reverse, so one of them sees the other.
  row.state.exchange(
      ((before & state::kDeliveries) + state::kDelivery) | serial | state::kKnown | state::kOutstanding | state::kTimer,
      std::memory_order_seq_cst);
  for (std::int64_t earliest = nack_earliest_ns_.load(std::memory_order_seq_cst); deadline < earliest;)
    nack_earliest_ns_.compare_exchange_weak(earliest, deadline, std::memory_order_seq_cst);
  count(queue, -1, 1);
  stripe().totals[kDelivered].fetch_add(1, std::memory_order_relaxed);
  return std::optional<Delivery>(delivery);
}

// --- ack and nack
// -----------------------------------------------------------------------------------------------------

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::ack(EvalRow eval, Token token, std::int64_t now_ns) {
  const auto refuse = [&](Fault why) {
    drop_requeue(token);
    return fault(why);
  };
  if (index_of(eval) >= config_.evals) return refuse(Fault::not_found);
  Row& row = row_of(eval);
  std::uint64_t word = row.state.load(std::memory_order_acquire);
  do {
    if (!(word & state::kOutstanding)) return refuse(Fault::not_found);
    if (make_token(eval, state::serial(word)) != token) return refuse(Fault::wrong_token);
    if (!(word & state::kTimer)) return refuse(Fault::timer_stopped);
  } while (!row.state.compare_exchange_weak(word, (word & ~(state::kOutstanding | state::kTimer)) | state::kAcking,
                                            std::memory_order_acq_rel, std::memory_order_acquire));
  // This thread owns the evaluation until it is unknown.
  BERTH_ASSERT(exact_ || (word & (state::kKnown | state::kAcking)) == state::kKnown);
  count(state::deliveries(word) > config_.delivery_limit ? Queue::failed : row.facts.type, 0, -1);
  stripe().totals[kAcked].fetch_add(1, std::memory_order_relaxed);
  release_job(row.facts.job);
  row.state.exchange(word & state::kSerial, std::memory_order_seq_cst);  // before the requeue's load; pairs with
                                                                         // store_requeue()
  std::uint64_t stored = row.requeue.load(std::memory_order_seq_cst);
  while (stored && static_cast<std::uint32_t>(stored >> 32) == token_serial(token)) {
    if (!row.requeue.compare_exchange_weak(stored, 0, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
    const std::uint32_t node = static_cast<std::uint32_t>(stored) - 1;
    Eval again = nodes_[node].eval;
    nodes_.put(node);
    again.token = Token::none;
    enqueue_one(again, now_ns);
    break;
  }
  return {};
}

/// R-CTRL-333: the best pending evaluation becomes holder and ready, the others become cancelable in the heap's order.
template <template <class> class Atomic>
void BasicBroker<Atomic>::release_job(JobKeyRow job_row) {
  BERTH_ASSERT(index_of(job_row) < config_.jobs);
  Atomic<std::uint64_t>& job = jobs_[index_of(job_row)];
  BERTH_DEBUG_ASSERT(exact_ || job.load(std::memory_order_relaxed) >> 32 != 0);  // its holder releases it
  std::uint64_t word = job.load(std::memory_order_acquire);
  for (;;) {
    if (static_cast<std::uint32_t>(word) == 0) {
      if (job.compare_exchange_weak(word, 0, std::memory_order_acq_rel, std::memory_order_acquire)) return;
      continue;
    }
    PendingScratch scratch;
    auto& order = scratch->arrived;
    auto& waiting = scratch->items;
    order.clear(), waiting.clear();
    for (std::uint32_t at = static_cast<std::uint32_t>(word); at != 0;
         at = nodes_[at - 1].next.load(std::memory_order_relaxed))
      order.push_back(at - 1);
    const auto less = [this](std::uint32_t a, std::uint32_t b) { return pending_less(nodes_[a].eval, nodes_[b].eval); };
    for (std::size_t i = order.size(); i-- > 0;) base::heap_push(waiting, order[i], less);
    BERTH_ASSERT(!order.empty() && waiting.size() == order.size());
    const std::uint32_t best = base::heap_pop(waiting, less);
    const Eval next = nodes_[best].eval;
    if (!job.compare_exchange_weak(word, (static_cast<std::uint64_t>(index_of(next.row)) + 1) << 32,
                                   std::memory_order_acq_rel, std::memory_order_acquire))
      continue;  // another evaluation of the job arrived
    Stripe& mine = stripe();
    mine.pending.fetch_sub(order.size(), std::memory_order_relaxed);
    mine.cancelable.fetch_add(waiting.size(), std::memory_order_relaxed);
    for (const std::uint32_t node : waiting) cancelable_.push(index_of(nodes_[node].eval.row));
    for (const std::uint32_t node : order) nodes_.put(node);
    push_ready(next, next.type);
    return;
  }
}

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::nack(EvalRow eval, Token token, std::int64_t now_ns) {
  const auto refuse = [&](Fault why) {
    drop_requeue(token);
    return fault(why);
  };
  if (index_of(eval) >= config_.evals) return refuse(Fault::not_found);
  Row& row = row_of(eval);
  std::uint64_t word = row.state.load(std::memory_order_acquire);
  do {
    if (!(word & state::kOutstanding)) return refuse(Fault::not_found);
    if (make_token(eval, state::serial(word)) != token) return refuse(Fault::wrong_token);
  } while (!row.state.compare_exchange_weak(word, word & ~(state::kOutstanding | state::kTimer),
                                            std::memory_order_seq_cst, std::memory_order_acquire));
  // This thread owns the evaluation until it waits or is ready.
  BERTH_ASSERT(exact_ || (word & (state::kKnown | state::kAcking)) == state::kKnown);
  drop_requeue(token);
  count(row.facts.type, 0, -1);
  stripe().totals[kNacked].fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t deliveries = state::deliveries(word);
  Eval again = eval_of(eval);
  if (deliveries >= config_.delivery_limit) {
    make_ready(again, Queue::failed);
    return {};
  }
  again.wait_ns = deliveries == 0   ? 0  // R-CTRL-338
                  : deliveries == 1 ? config_.initial_nack_delay_ns
                                    : static_cast<std::int64_t>(deliveries - 1) * config_.subsequent_nack_delay_ns;
  if (again.wait_ns > 0)
    wait(again, base::later(now_ns, again.wait_ns), false);
  else
    make_ready(again, again.type);
  return {};
}

// --- the nack timer
// ---------------------------------------------------------------------------------------------------

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::change_timer(EvalRow eval, Token token, std::int64_t now_ns, bool run,
                                                            bool must_run) {
  if (index_of(eval) >= config_.evals) return fault(Fault::not_outstanding);
  Row& row = row_of(eval);
  const std::int64_t deadline = base::later(now_ns, config_.nack_timeout_ns);
  std::uint64_t word = row.state.load(std::memory_order_acquire);
  do {
    if (!(word & state::kOutstanding)) return fault(Fault::not_outstanding);
    if (make_token(eval, state::serial(word)) != token) return fault(Fault::token_differs);
    // Only the owner of the token moves the deadline of a running delivery.
    if (run) nack_deadlines_[index_of(eval)].store(deadline, std::memory_order_relaxed);
  } while (!row.state.compare_exchange_weak(word, run ? word | state::kTimer : word & ~state::kTimer,
                                            std::memory_order_seq_cst, std::memory_order_acquire));
  if (run)
    for (std::int64_t earliest = nack_earliest_ns_.load(std::memory_order_seq_cst); deadline < earliest;)
      nack_earliest_ns_.compare_exchange_weak(earliest, deadline, std::memory_order_seq_cst);
  if (must_run && !(word & state::kTimer)) return fault(Fault::timeout_reached);
  return {};
}

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::reset(EvalRow eval, Token token, std::int64_t now_ns) {
  return change_timer(eval, token, now_ns, true, true);
}

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::pause(EvalRow eval, Token token) {
  return change_timer(eval, token, 0, false, true);
}

template <template <class> class Atomic>
tl::expected<void, Fault> BasicBroker<Atomic>::resume(EvalRow eval, Token token, std::int64_t now_ns) {
  return change_timer(eval, token, now_ns, true, false);
}

template <template <class> class Atomic>
std::optional<Token> BasicBroker<Atomic>::outstanding(EvalRow eval) const {
  if (index_of(eval) >= config_.evals) return std::nullopt;
  const std::uint64_t word = rows_[index_of(eval)].state.load(std::memory_order_acquire);
  if (!(word & state::kOutstanding)) return std::nullopt;
  return make_token(eval, state::serial(word));
}

template <template <class> class Atomic>
void BasicBroker<Atomic>::take_cancelable(std::uint32_t max, std::vector<EvalRow>& out) {
  for (std::uint32_t row; max > 0 && cancelable_.pop(row); --max) {
    Row& r = rows_[row];
    const std::uint64_t word = r.state.load(std::memory_order_relaxed);
    BERTH_ASSERT(!(word & (state::kOutstanding | state::kAcking)));  // no worker has what is cancelled
    // R-CTRL-335 keeps the ID known until the next flush.
    r.state.exchange(config_.quirks.cancelled_evals_linger ? word | state::kCancelled : word & state::kSerial,
                     std::memory_order_acq_rel);
    stripe().cancelable.fetch_sub(1, std::memory_order_relaxed);
    stripe().totals[kCancelled].fetch_add(1, std::memory_order_relaxed);
    out.push_back(static_cast<EvalRow>(row));
  }
}

}  // namespace berth::broker

#include "broker/broker_clock-inl.h"
#include "broker/broker_contents-inl.h"
