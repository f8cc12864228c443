// Workers with Nomad's optimistic concurrency (R-CTRL-401 to 409, 501 to 506): each takes an evaluation from the
// broker, decides on a snapshot and submits its plan; the applier checks it against the newest state, commits what
// still fits and sends the worker back to newer state for the rest.
//
//   broker (lock-free) --> N workers --> plan queue --> applier --> tables
//             ^--- ack, nack ---'  ^------ answer, refresh ------'
//
// The applier is a role, not a thread: a worker that submits a plan takes the writer's lock if it is free and serves
// the queue, its own plan included; if it is taken, whoever holds it serves the plan. So a plan needs no second thread
// to be woken, and there is one applier at a time (R-CTRL-506). Registering jobs and ending allocations take the same
// lock (Writer). Workers run on a oneTBB arena of their own. A worker that throws is not the end of it: the evaluation
// is nacked and comes again, at last through the failed queue. Threads: construct, start, enqueue, drain and stop from
// one thread, the run's.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>

#include "broker/broker.h"
#include "plan/plan_queue.h"
#include "worker/lane.h"
#include "worker/team.h"

namespace berth::worker {

/// What the pool asks of the run it works for.
class WorkerHost {
 public:
  virtual ~WorkerHost() = default;
  /// The memory of one worker.
  virtual std::unique_ptr<Lane> make_lane() = 0;
  /// Decides the evaluation on `state` into the lane. On a worker's thread, without the lock; may throw.
  virtual void decide(broker::EvalRow eval, const tables::Snapshot& state, Lane& lane) = 0;
  /// Whether the lane holds a plan for apply(); false when there is nothing to commit.
  virtual bool has_plan(const Lane& lane) const = 0;
  /// Checks and commits the lane's plan; the outcome goes to lane.applied. Under the writer's lock.
  virtual void apply(broker::EvalRow eval, Lane& lane) = 0;
  /// The evaluation was served: everything it planned is committed, or it planned nothing. Under the writer's lock.
  virtual void served(broker::EvalRow eval, Lane& lane) = 0;
  /// Its attempts ran out against refusals (R-SCHED-17). Under the writer's lock.
  virtual void gave_up(broker::EvalRow eval, Lane& lane) = 0;
  /// It reached the delivery limit (R-CTRL-341). Under the writer's lock.
  virtual void failed(broker::EvalRow eval) = 0;
  /// Nanoseconds of the run's clock; any thread.
  virtual std::int64_t now_ns() const = 0;
};

struct WorkerConfig {
  std::uint32_t workers = 1;
  std::uint32_t attempts = 5;  ///< of one evaluation whose plans are refused without progress (R-SCHED-7)
  broker::Config broker;
};

/// Counted by all workers; read it after stop() or take it as a snapshot of moving numbers.
struct WorkerStats {
  std::uint64_t plans = 0;            ///< submitted
  std::uint64_t conflicts = 0;        ///< plans of which some node was refused
  std::uint64_t partial = 0;          ///< of these, plans that were committed in part
  std::uint64_t retries = 0;          ///< attempts after a refusal
  std::uint64_t gave_up = 0;          ///< evaluations whose attempts ran out
  std::uint64_t exceptions = 0;       ///< evaluations whose worker threw; nacked
  std::uint64_t plan_errors = 0;      ///< plans that failed as a whole; nacked
  std::uint64_t failed = 0;           ///< evaluations that reached the delivery limit
  std::uint64_t cancelled = 0;        ///< evaluations that a newer one of their job made superfluous (R-CTRL-336)
  std::int64_t apply_ns = 0;          ///< in the applier, all threads
  std::vector<std::int64_t> busy_ns;  ///< per worker: from dequeue to ack
};

class Workers {
 public:
  Workers(tables::StateStore& store, WorkerHost& host, const WorkerConfig& config);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// The right to write to the tables; while it is held, plans wait.
  class Writer {
   public:
    explicit Writer(Workers& workers) : workers_(workers), lock_(workers.writer_) {}
    ~Writer() {
      lock_.unlock();
      workers_.serve();
    }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

   private:
    Workers& workers_;
    std::unique_lock<std::mutex> lock_;
  };

  /// False when the broker is full: none of the evaluations was taken. Rows that the broker knows already must not be
  /// handed in.
  [[nodiscard]] bool enqueue(std::span<const broker::Eval> evals);
  /// Fires the broker's timers, serves the failed queue and collects cancelled evaluations.
  void tick();
  /// Waits until nothing is ready or outstanding, at most until `timeout_ns` from now; true when nothing is.
  bool wait_idle(std::int64_t timeout_ns);
  [[nodiscard]] bool idle() const { return in_flight_.load(std::memory_order_acquire) == 0; }
  /// Every worker finishes its evaluation and ends; evaluations that nobody took stay in the broker.
  void stop();

  [[nodiscard]] WorkerStats stats() const;
  [[nodiscard]] broker::Broker& broker() { return broker_; }
  /// Accepted evaluations that are neither acked, cancelled, dropped, flushed nor still held; 0 unless something is
  /// wrong. After stop() only.
  [[nodiscard]] std::int64_t lost();

 private:
  struct Message : plan::Submission {
    Lane* lane = nullptr;
    broker::EvalRow eval{};
    bool done = false;  // the evaluation is settled
  };
  struct alignas(64) Worker {
    std::unique_ptr<Lane> lane;
    Message message;
    std::atomic<std::int64_t> busy_ns{0};
  };
  struct Counters {  // relaxed sums
    std::atomic<std::uint64_t> plans{0}, conflicts{0}, partial{0}, retries{0}, gave_up{0}, exceptions{0},
        plan_errors{0}, failed{0}, cancelled{0};
    std::atomic<std::int64_t> apply_ns{0};
  };

  void loop(Worker& worker);
  void run(Worker& worker, const broker::Delivery& delivery);
  void submit(Message& message);
  void serve();
  void settle(Message& message);
  void leave();

  tables::StateStore& store_;
  WorkerHost& host_;
  const WorkerConfig config_;
  broker::Broker broker_;
  plan::PlanQueue plans_;
  std::mutex writer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Counters counters_;
  alignas(64) std::atomic<std::uint32_t> work_{0};  // bumped when something may be ready; workers wait on it
  std::atomic<bool> stopping_{false};
  alignas(64) std::atomic<std::int64_t> in_flight_{0};  // accepted and neither acked nor failed
  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
  std::vector<broker::EvalRow> cancelled_;  // the run's thread
  std::optional<Team> team_;
};

}  // namespace berth::worker
