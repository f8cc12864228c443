#include "worker/workers.h"

#include <chrono>
#include <thread>

namespace berth::worker {

namespace {

/// For measuring: the host's clock may jump over idle time.
std::int64_t measured_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

Workers::Workers(tables::StateStore& store, WorkerHost& host, const WorkerConfig& config)
    : store_(store), host_(host), config_(config), broker_(config.broker) {
  BERTH_ASSERT(config.workers > 0);
  broker_.enable();
  plans_.enable();
  for (std::uint32_t i = 0; i < config.workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->lane = host.make_lane();
  }
  team_.emplace(config.workers, [this](std::uint32_t i) { loop(*workers_[i]); });
}

Workers::~Workers() { stop(); }

void Workers::stop() {
  if (!team_) return;
  stopping_.store(true, std::memory_order_release);
  work_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
  team_.reset();
}

bool Workers::enqueue(std::span<const broker::Eval> evals) {
  // A worker may stand still in the middle of an ack while others serve what follows in the job. Its row is still known
  // then, and enqueueing it would do nothing: it is waited for, a few instructions of a thread that holds no lock.
  for (const broker::Eval& eval : evals)
    while (broker_.is_acking(eval.row)) std::this_thread::yield();
  // Counted before they can be taken, so that idle() is never true too early.
  in_flight_.fetch_add(static_cast<std::int64_t>(evals.size()), std::memory_order_relaxed);
  if (!broker_.enqueue(evals, host_.now_ns())) {
    in_flight_.fetch_sub(static_cast<std::int64_t>(evals.size()), std::memory_order_relaxed);
    return false;
  }
  work_.fetch_add(1, std::memory_order_release);
  evals.size() == 1 ? work_.notify_one() : work_.notify_all();
  return true;
}

void Workers::leave() {
  if (in_flight_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  { const std::lock_guard lock(idle_mutex_); }
  idle_changed_.notify_all();
}

bool Workers::wait_idle(std::int64_t timeout_ns) {
  std::unique_lock lock(idle_mutex_);
  return idle_changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return idle(); });
}

void Workers::tick() {
  broker_.advance(host_.now_ns());
  while (true) {  // R-CTRL-341
    const auto delivery = broker_.dequeue(broker::only(broker::Queue::failed), host_.now_ns());
    if (!delivery || !*delivery) break;
    {
      const Writer writer(*this);
      host_.failed((*delivery)->row);
    }
    counters_.failed.fetch_add(1, std::memory_order_relaxed);
    if (broker_.ack((*delivery)->row, (*delivery)->token, host_.now_ns())) leave();
  }
  cancelled_.clear();
  broker_.take_cancelable(1u << 16, cancelled_);  // R-CTRL-336
  counters_.cancelled.fetch_add(cancelled_.size(), std::memory_order_relaxed);
  for (std::size_t i = 0; i < cancelled_.size(); ++i) leave();
  work_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
}

// ---------------------------------------------------------------- one worker

void Workers::loop(Worker& worker) {
  base::StageClock* const clock = worker.lane->stages;
  const base::UseStageClock marks(clock);
  if (clock) clock->start(base::Stage::idle);
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = work_.load(std::memory_order_acquire);
    const base::StageScope dequeuing(clock, base::Stage::dequeue);
    const std::int64_t now = host_.now_ns();
    const auto delivery = broker_.dequeue(broker::kSchedulers, now);
    if (!delivery) break;  // disabled
    if (!*delivery) {
      const base::StageScope resting(clock, base::Stage::idle);
      if (!stopping_.load(std::memory_order_acquire)) work_.wait(seen, std::memory_order_acquire);
      continue;
    }
    const std::int64_t began = measured_ns();
    run(worker, **delivery);
    worker.busy_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
  }
}

void Workers::run(Worker& worker, const broker::Delivery& delivery) {
  Message& message = worker.message;
  Lane& lane = *worker.lane;
  message.lane = &lane;
  message.eval = delivery.row;
  lane.attempts = 0;
  bool fine = true;
  try {
    for (bool done = false; !done;) {
      ++lane.attempts;
      {
        const base::StageScope looking(lane.stages, base::Stage::snapshot);
        const tables::SnapshotRef state = store_.snapshot();
        lane.started_ns = host_.now_ns();
        lane.snapshot_index = state->index;
        host_.decide(delivery.row, state, lane);
        lane.decided_ns = host_.now_ns();
      }  // Let go: a commit that nobody looks over the shoulder of writes in place.
      submit(message);
      if (!message.error.empty()) {
        counters_.plan_errors.fetch_add(1, std::memory_order_relaxed);
        fine = false;
        break;
      }
      done = message.done;
      if (!done) counters_.retries.fetch_add(1, std::memory_order_relaxed);
    }
  } catch (...) {
    counters_.exceptions.fetch_add(1, std::memory_order_relaxed);
    fine = false;
  }
  const std::int64_t now = host_.now_ns();
  if (fine) {
    if (broker_.ack(delivery.row, delivery.token, now)) leave();
  } else {
    // The run's thread delivers it again when its delay is over, or from the failed queue. A fault means that its
    // timer was faster; then it is on its way already.
    (void)broker_.nack(delivery.row, delivery.token, now);
  }
}

// ---------------------------------------------------------------- the applier

void Workers::submit(Message& message) {
  // Entered before the plan can be seen: from then on to its answer the lane's clock is read by whoever applies it.
  const base::StageScope waiting(message.lane->stages, base::Stage::wait);
  message.reset();
  message.done = false;
  message.enqueued_ns = message.lane->decided_ns;
  if (!plans_.enqueue(message)) return;
  serve();
  message.wait();
}

/// Serves the plan queue unless somebody else does. Whoever leaves looks once more: a plan that came while the lock was
/// held and whose worker found it taken is never left behind.
void Workers::serve() {
  while (plans_.depth() > 0) {
    const std::unique_lock lock(writer_, std::try_to_lock);
    if (!lock) return;  // its holder looks again after letting go
    while (plan::Submission* next = plans_.dequeue().plan) {
      try {
        settle(static_cast<Message&>(*next));
      } catch (const std::exception& problem) {  // the plan's worker must hear of it, or it waits for ever
        next->error = problem.what();
      } catch (...) {
        next->error = "the applier threw";
      }
      next->answer();
    }
  }
}

void Workers::settle(Message& message) {
  const std::int64_t began = measured_ns();
  Lane& lane = *message.lane;
  message.done = true;
  if (host_.has_plan(lane)) {
    counters_.plans.fetch_add(1, std::memory_order_relaxed);
    host_.apply(message.eval, lane);
    message.error = lane.applied.error;
    if (lane.applied.partial()) {
      counters_.conflicts.fetch_add(1, std::memory_order_relaxed);
      if (lane.applied.index != 0) counters_.partial.fetch_add(1, std::memory_order_relaxed);
      if (lane.applied.committed > 0) lane.attempts = 0;  // progress (R-SCHED-7)
    }
    if (message.error.empty() && lane.applied.partial()) {
      message.done = lane.attempts >= config_.attempts;
      if (message.done) {
        counters_.gave_up.fetch_add(1, std::memory_order_relaxed);
        host_.gave_up(message.eval, lane);
      }
      counters_.apply_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
      return;
    }
  }
  if (message.error.empty()) host_.served(message.eval, lane);
  counters_.apply_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
}

// ---------------------------------------------------------------- accounts

WorkerStats Workers::stats() const {
  const auto read = [](const auto& counter) { return counter.load(std::memory_order_relaxed); };
  WorkerStats out;
  out.plans = read(counters_.plans), out.conflicts = read(counters_.conflicts), out.partial = read(counters_.partial);
  out.retries = read(counters_.retries), out.gave_up = read(counters_.gave_up);
  out.exceptions = read(counters_.exceptions), out.plan_errors = read(counters_.plan_errors);
  out.failed = read(counters_.failed), out.cancelled = read(counters_.cancelled),
  out.apply_ns = read(counters_.apply_ns);
  for (const auto& worker : workers_) out.busy_ns.push_back(read(worker->busy_ns));
  return out;
}

std::int64_t Workers::lost() {
  const broker::Totals totals = broker_.totals();
  const auto held = static_cast<std::int64_t>(broker_.contents().known.size());
  const auto gone = totals.acked + totals.cancelled + totals.dropped + totals.flushed;
  return static_cast<std::int64_t>(totals.accepted) - static_cast<std::int64_t>(gone) - held;
}

}  // namespace berth::worker
