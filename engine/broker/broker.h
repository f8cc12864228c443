// The evaluation broker: which evaluations may run next, which run, and which wait (R-CTRL-301 to 347).
//
// An evaluation is in one place at a time: waiting (for a delay or an instant), pending (behind another evaluation of
// its job), ready, outstanding (handed out, until its ack or nack), or cancelable. One evaluation per job is ready or
// outstanding: the holder. The caller passes the time in nanoseconds; no call reads a clock, waits or prints.
//
// Data. The constructor allocates all rows and columns; evaluations and jobs are the caller's rows.
//   column         bytes  per         written by
//   state              8  evaluation  every operation, by compare-exchange: last token, deliveries, known, outstanding
//   requeue            8  evaluation  an enqueue with a token, the ack and nack of that delivery (R-CTRL-316)
//   facts             48  evaluation  the thread that makes it ready, before it is in a queue
//   nack deadline      8  evaluation  the delivery's owner; scanned by advance() when the earliest may have passed
//   job                8  job         holder and stack of pending evaluations in one word
//   ready queue   levels  queue       ReadyQueue, or the literal heaps of R-CTRL-310
//   nodes             88  copies of evaluations that are pending, waiting or to be requeued: NodePool
//   totals, queues    64  stripe      relaxed additions; a thread adds to its own stripe
//
// Threads. With `ReadyOrder::concurrent`, any number of threads may call enqueue, dequeue, ack, nack, reset, pause,
// resume, outstanding, take_cancelable and stats; all are lock-free. advance, next_deadline and drop_waiting belong to
// one thread at a time (the one that owns the clock) and may run concurrently with them. enable, disable and contents
// require that no other call runs. With `ReadyOrder::exact` everything belongs to one thread at a time.
//
// Order. `exact` is identical to Nomad's: heaps by (priority, create index) with their ties, and the choice of the type
// by the last leaf (R-CTRL-310 to 314). `concurrent` is by priority, then by the order in which evaluations became
// ready; the evaluations of one enqueue call become visible one by one (the caller passes them in the order of
// R-CTRL-320). With a queue policy (Config::queue), which needs `exact`, PolicyQueue (policy_queue.h) replaces the
// heaps.
//
// Accounting. Every accepted evaluation is acked, cancelled (taken by take_cancelable), dropped, or still held:
// totals() counts the first three, contents() lists the last. Calls that fail change none of them.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "broker/eval.h"
#include "broker/policy_queue.h"
#include "broker/pool.h"
#include "broker/ready_queue.h"
#include "model/quirks.h"

namespace berth::broker {

/// Errors caused by the caller or by timing. Each is counted (Totals::faults) and changes nothing else.
enum class Fault : std::uint8_t {
  disabled,         ///< dequeue from a disabled broker (R-CTRL-322)
  not_found,        ///< ack, nack: not outstanding: never handed out, acked already, or its timer ran out (R-CTRL-329)
  wrong_token,      ///< ack, nack: outstanding, but this token is another delivery's (R-CTRL-329)
  timer_stopped,    ///< ack while the nack timer is paused; the delivery stays outstanding (R-CTRL-329)
  not_outstanding,  ///< reset, pause, resume (R-CTRL-331)
  token_differs,    ///< reset, pause, resume (R-CTRL-331)
  timeout_reached,  ///< reset, pause: the nack timer does not run (R-CTRL-331, 332)
  full,             ///< enqueue: an evaluation's or job's row is not below the configured capacity; nothing is enqueued
};
inline constexpr std::uint32_t kFaultCount = 8;
[[nodiscard]] std::string_view fault_text(Fault fault);  ///< verbatim where a rule fixes the text

enum class ReadyOrder : std::uint8_t { exact, concurrent };

struct Config {
  ReadyOrder order = ReadyOrder::concurrent;
  model::Quirks quirks;            ///< those that concern the queue, such as ready_order_skewed and dropped_eval_fires
  std::uint32_t evals = 1u << 16;  ///< rows of evaluations: 72 bytes each
  std::uint32_t jobs = 1u << 16;   ///< rows of jobs: 8 bytes each
  std::int64_t nack_timeout_ns = 60'000'000'000;           ///< R-CTRL-301
  std::uint32_t delivery_limit = 3;                        ///< R-CTRL-302
  std::int64_t initial_nack_delay_ns = 1'000'000'000;      ///< R-CTRL-303
  std::int64_t subsequent_nack_delay_ns = 20'000'000'000;  ///< R-CTRL-304
  std::int32_t priority_max = 100;         ///< `concurrent`: priorities above it (core's 32767) share one level above
  std::optional<std::uint64_t> type_seed;  ///< seed of the draw among types of equal priority (R-CTRL-324); none = the
                                           ///< first type
  /// `exact` only: the order of ready evaluations in place of priority; must outlive the broker. Null: Nomad's order.
  QueueOrder* queue = nullptr;
};

struct Delivery {
  EvalRow row;
  Token token;
  Queue queue;           ///< the queue it was taken from
  std::int64_t wait_ns;  ///< the evaluation's `Wait` as delivered (R-CTRL-339)
};

/// R-CTRL-347. Exact with one thread at a time and without queue_counts_drift; otherwise a sum read while other threads
/// count.
struct Stats {
  std::int64_t ready = 0, unacked = 0, pending = 0, waiting = 0, cancelable = 0;
  struct PerQueue {
    std::int64_t ready = 0, unacked = 0;
    bool used = false;  ///< since the last flush
  };
  std::array<PerQueue, kQueueCount> queues;
};

struct Totals {
  std::uint64_t accepted = 0;   ///< enqueued as new, requeues after an ack included
  std::uint64_t delivered = 0;  ///< dequeues
  std::uint64_t acked = 0, nacked = 0;
  std::uint64_t cancelled = 0;  ///< taken from the cancelable list
  std::uint64_t dropped = 0;    ///< removed by drop or drop_waiting, or when popped after a drop
  std::uint64_t flushed = 0;    ///< still held when the broker was disabled
  std::array<std::uint64_t, kFaultCount> faults{};
};

/// Everything the broker holds, for checks and reports. Lists are in internal order (heaps as their arrays).
struct Contents {
  struct Held {
    EvalRow row;
    std::uint32_t deliveries;
    bool cancelled;  ///< taken by take_cancelable(): only its ID is still known (R-CTRL-335)
  };
  struct Outstanding {
    EvalRow row;
    Token token;
    bool timer_runs;
    std::int64_t nack_deadline_ns;
  };
  std::vector<Held> known;  ///< ascending row
  /// Evaluations that will still be acked, cancelled or dropped.
  [[nodiscard]] std::size_t held_count() const {
    return static_cast<std::size_t>(
        std::count_if(known.begin(), known.end(), [](const Held& held) { return !held.cancelled; }));
  }
  std::vector<std::pair<JobKeyRow, EvalRow>> holders;
  std::array<std::vector<EvalRow>, kQueueCount> ready;  ///< `exact`: heap arrays; `concurrent`: in pop order
  std::vector<std::pair<JobKeyRow, std::vector<EvalRow>>> pending;
  std::vector<EvalRow> cancelable, time_wait, delayed;
  std::vector<Outstanding> outstanding;  ///< ascending row
  std::vector<std::pair<Token, EvalRow>> requeue;
};

template <template <class> class Atomic>
class BasicBroker {
 public:
  template <class T>
  using Expected = tl::expected<T, Fault>;

  explicit BasicBroker(const Config& config);
  ~BasicBroker();
  BasicBroker(const BasicBroker&) = delete;
  BasicBroker& operator=(const BasicBroker&) = delete;

  /// A new broker is disabled and ignores enqueued evaluations (R-CTRL-315). Enabling an enabled broker has no effect.
  void enable();
  /// Drops every queue, timer and count; earlier tokens stay invalid (R-CTRL-344).
  void disable();
  [[nodiscard]] bool enabled() const { return enabled_.load(std::memory_order_acquire); }
  /// False: no evaluation of any type is ready. With ReadyOrder::concurrent this is a hint while other threads work.
  [[nodiscard]] bool may_have_ready() const {
    bool any = false;
    if (!exact_) {
      for (const auto& queue : ready_) any |= queue->top_level() >= 0;
      return any;
    }
    for (const std::vector<Eval>& heap : heaps_) any |= !heap.empty();
    return any || !by_policy_.empty();
  }

  /// Enqueues in the given order (R-CTRL-316, 317, 320: the caller sorts by create index, then ID). A row that is
  /// already known is ignored, or requeued after its ack if it carries its outstanding token. Fault: full.
  Expected<void> enqueue(std::span<const Eval> evals, std::int64_t now_ns);

  /// Hands out the best evaluation of `queues` and starts its nack timer; nullopt if none is ready (R-CTRL-324 to 326).
  /// Fault: disabled. Cost: a few atomic operations; no allocation.
  Expected<std::optional<Delivery>> dequeue(QueueSet queues, std::int64_t now_ns);

  /// Forecast of the first `count` evaluations that dequeue() would hand out if nothing else happened, in that order.
  /// Exact unless elements of a heap tie or types are drawn. `exact` only. Empty with a queue policy, whose order may
  /// change with every decision. Cost: O(count log count), independent of the number of evaluations.
  void peek(QueueSet queues, std::size_t count, std::vector<EvalRow>& out) const;

  /// With a queue policy: the share of one of its lines, such as the dominant share of a namespace. Not NaN.
  void set_share(std::uint32_t line, double share) { by_policy_.set_share(line, share); }

  /// Ends the delivery: releases the job, its best pending evaluation becomes ready, the others cancelable
  /// (R-CTRL-333). Faults: not_found, wrong_token, timer_stopped.
  Expected<void> ack(EvalRow row, Token token, std::int64_t now_ns);
  /// Fails the delivery: it is repeated after a delay, or goes to the failed queue (R-CTRL-337). Faults: not_found,
  /// wrong_token.
  Expected<void> nack(EvalRow row, Token token, std::int64_t now_ns);

  /// Restarts the nack timer (R-CTRL-331). Faults: not_outstanding, token_differs, timeout_reached (the timer runs
  /// again).
  Expected<void> reset(EvalRow row, Token token, std::int64_t now_ns);
  /// Stops the nack timer (R-CTRL-332). Faults as reset, but a stopped timer stays stopped.
  Expected<void> pause(EvalRow row, Token token);
  /// Starts the timer with the full timeout. Faults: not_outstanding, token_differs.
  Expected<void> resume(EvalRow row, Token token, std::int64_t now_ns);
  /// The token of the evaluation's delivery, if it is outstanding.
  [[nodiscard]] std::optional<Token> outstanding(EvalRow row) const;

  /// Appends up to `max` cancelable evaluations to `out`; the caller writes them `canceled` (R-CTRL-336).
  void take_cancelable(std::uint32_t max, std::vector<EvalRow>& out);
  /// Appends the evaluations that were dropped since the last call and to which the broker no longer refers.
  void take_dropped(std::vector<EvalRow>& out);
  /// Removes a delayed evaluation (R-CTRL-321).
  void drop_waiting(EvalRow row);
  /// Stops delivering an evaluation because its job was purged (Nomad leaves it queued, R-CTRL-742). A waiting
  /// evaluation is removed at once, a ready or pending one when its turn comes. A delivery that has begun continues.
  /// Belongs to the clock's thread, like drop_waiting.
  void drop(EvalRow row);

  /// Fires every timer up to `now_ns`, in order of time: waits end, deliveries time out.
  void advance(std::int64_t now_ns);
  /// No timer fires before this instant; advance() to it moves it forward. nullopt if no timer runs. A lower bound: the
  /// delivery that set it may have been acked.
  [[nodiscard]] std::optional<std::int64_t> next_deadline();

  [[nodiscard]] Stats stats() const;
  [[nodiscard]] Totals totals() const;
  [[nodiscard]] Contents contents();

 private:
  static constexpr std::uint32_t kNone = 0xffffffff;
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  static constexpr std::uint32_t kStripes = 16;

  struct Facts {  // an Eval without row and token
    JobKeyRow job{};
    std::uint32_t job_id = 0;
    std::int32_t priority = 0;
    Queue type{};
    std::uint64_t create_index = 0, modify_index = 0;
    std::int64_t wait_ns = 0, wait_until_ns = 0;
  };
  struct alignas(kCacheLineBytes) Row {
    Atomic<std::uint64_t> state{0};    // see state_* in broker-inl.h
    Atomic<std::uint64_t> requeue{0};  // serial of the delivery << 32 | node + 1; 0 = none
    Facts facts;                       // owned by the thread that made the evaluation ready or received it
  };
  struct Node {
    Eval eval;
    std::int64_t due_ns = 0;        // waiting: time at which it ends
    bool delayed = false;           // waiting: by WaitUntil, not by Wait
    Atomic<std::uint32_t> next{0};  // the next node of its stack: node + 1, 0 = end
  };
  struct Waiting {
    std::int64_t due_ns;
    std::uint64_t sequence;
    Eval eval;
  };
  struct Fired {
    std::int64_t at_ns;
    EvalRow row;
    Token token;
  };
  enum Total : std::uint32_t { kAccepted, kDelivered, kAcked, kNacked, kCancelled, kDropped, kFlushed, kTotalCount };
  // Usually one thread's counters; with more than kStripes threads, some share a stripe.
  struct alignas(kCacheLineBytes) Stripe {
    Atomic<std::uint64_t> queues[kQueueCount];  // two sums in one word: unacked << 32 + ready
    Atomic<std::uint64_t> waiting{0}, pending{0}, cancelable{0};
    Atomic<std::uint64_t> totals[kTotalCount];
  };

  Row& row_of(EvalRow row) { return rows_[static_cast<std::uint32_t>(row)]; }
  Eval eval_of(EvalRow row);
  Stripe& stripe() const;
  void count(Queue queue, std::int32_t ready, std::int32_t unacked);
  tl::unexpected<Fault> fault(Fault fault);
  [[nodiscard]] std::uint32_t level(std::int32_t priority) const;

  void enqueue_one(const Eval& eval, std::int64_t now_ns);
  bool store_requeue(const Eval& eval, std::uint64_t state);
  void drop_requeue(Token token);
  void admit(const Eval& eval, std::int64_t now_ns);
  void wait(const Eval& eval, std::int64_t due_ns, bool delayed);
  void make_ready(const Eval& eval, Queue queue);
  void push_ready(const Eval& eval, Queue queue);
  void release_job(JobKeyRow job);
  bool is_dropped(EvalRow eval, Queue queue);
  std::optional<std::pair<EvalRow, Queue>> pop_exact(QueueSet queues);
  std::pair<EvalRow, Queue> note_popped(const Eval& eval, Queue queue);
  std::optional<std::pair<EvalRow, Queue>> pop_concurrent(QueueSet queues);
  Expected<void> change_timer(EvalRow row, Token token, std::int64_t now_ns, bool run, bool must_run);

  [[nodiscard]] bool ready_less(const Eval& a, const Eval& b) const;
  static bool pending_less(const Eval& a, const Eval& b);
  void take_arrivals();
  void look_at_delay_root();
  bool remove_delayed(EvalRow eval);
  void forget_waiting(Row& row);
  void scan_nack_deadlines(std::int64_t now_ns);
  std::uint64_t draw();

  const Config config_;
  const bool exact_;
  Atomic<bool> enabled_{false};
  std::unique_ptr<Row[]> rows_;
  std::unique_ptr<Atomic<std::int64_t>[]> nack_deadlines_;
  std::unique_ptr<Atomic<std::uint64_t>[]> jobs_;  // holder + 1 << 32 | newest pending node + 1
  std::array<std::unique_ptr<BasicReadyQueue<Atomic>>, kQueueCount> ready_;  // concurrent
  std::array<std::vector<Eval>, kQueueCount> heaps_;                         // exact
  PolicyQueue by_policy_;                                                    // exact, with a queue policy
  NodePool<Node, Atomic> nodes_;
  BasicFifo<Atomic> cancelable_;
  BasicFifo<Atomic> dropped_;  // for take_dropped()
  std::unique_ptr<Stripe[]> stripes_;
  Atomic<std::uint64_t> faults_[kFaultCount];
  Atomic<std::uint8_t> queues_used_{0};

  alignas(kCacheLineBytes) Atomic<std::uint32_t> arrivals_{0};              // stack of nodes that start to wait
  alignas(kCacheLineBytes) Atomic<std::int64_t> nack_earliest_ns_{kNever};  // no nack timer ends before it
  Atomic<std::uint32_t> rows_used_{0};                                      // rows from here on were never handed out

  // Used by the clock's thread only.
  std::vector<Waiting> time_wait_;     // heap by (due, sequence)
  std::vector<Waiting> delayed_;       // heap of R-CTRL-313
  std::optional<Waiting> delay_root_;  // the entry the delay timer was set for (R-CTRL-321)
  bool root_dropped_ = false;          // that entry was dropped, and fires all the same
  std::vector<Fired> fired_;
  std::uint64_t sequence_ = 0;
  std::uint64_t random_state_ = 0;
};

using Broker = BasicBroker<std::atomic>;
extern template class BasicBroker<std::atomic>;

}  // namespace berth::broker
