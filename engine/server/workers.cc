// Free workers: Nomad's optimistic concurrency (R-CTRL-401 to 409, 501 to 506). Each takes an evaluation from the
// broker, decides on a snapshot and submits its plan; the applier checks it against the newest state, commits what
// still fits and sends the worker back to newer state for the rest.
//
//   broker (lock-free) --> N workers --> plan queue --> applier --> tables
//             ^--- ack, nack ---'  ^------ answer, refresh ------'
//
// The applier is a role, not a thread: a worker that submits a plan takes the Turn if it is free and serves the queue,
// its own plan included; if it is taken, whoever holds it serves the plan. So a plan needs no second thread to be
// woken, and there is one applier at a time (R-CTRL-506).
#include <chrono>

#include "server/workers.h"

namespace berth::server {

namespace {

/// For measuring: the driver's clock may jump over idle time.
std::int64_t measured_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void Server::start() {
  if (config_.execution == Execution::inline_ || team_ || ahead_) return;
  if (config_.execution == Execution::ahead) {
    ahead_ = std::make_unique<Ahead>(
        store_, config_.workers, [this] { return make_lane(); },
        [this](broker::EvalRow row, const tables::Snapshot& state, std::uint64_t order_index, Lane& lane,
               Ahead::Reads& reads) { decide_ahead(row, state, order_index, lane, reads); });
    return;
  }
  plans_.enable();
  auto workers = std::make_unique<Workers>();
  for (std::uint32_t i = 0; i < config_.workers; ++i) {
    workers->workers.push_back(std::make_unique<Worker>());
    workers->workers.back()->lane = make_lane();
  }
  team_ = std::move(workers);
  stopping_.store(false, std::memory_order_release);
  team_->threads.emplace(config_.workers, [this](std::uint32_t i) { work(*team_->workers[i]); });
}

void Server::stop() {
  if (ahead_) {
    const Ahead::Stats ahead = ahead_->stats();
    stats_.ahead_used = ahead.used, stats_.ahead_redone += ahead.redone, stats_.ahead_inline = ahead.inline_;
    stats_.busy_ns = ahead.busy_ns;
    ahead_.reset();
  }
  if (!team_) return;
  stopping_.store(true, std::memory_order_release);
  work_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
  team_->threads.reset();
  for (const auto& worker : team_->workers) stats_.busy_ns.push_back(worker->busy_ns.load(std::memory_order_relaxed));
  team_.reset();
}

void Server::wake() {
  if (!team_) return;
  work_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
}

void Server::work(Worker& worker) {
  base::StageClock* const clock = worker.lane->stages;
  const base::UseStageClock marks(clock);
  if (clock) clock->start(base::Stage::idle);
  while (!stopping_.load(std::memory_order_acquire)) {
    const std::uint32_t seen = work_.load(std::memory_order_acquire);
    const base::StageScope dequeuing(clock, base::Stage::dequeue);
    busy_.fetch_add(1, std::memory_order_seq_cst);
    const auto delivery = broker_.dequeue(broker::kSchedulers, clock_.now_ns());
    const bool found = delivery && *delivery;
    if (found) {
      deliveries_.fetch_add(1, std::memory_order_seq_cst);
      const std::int64_t began = measured_ns();
      serve(**delivery, *worker.lane);
      worker.busy_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
    }
    if (busy_.fetch_sub(1, std::memory_order_seq_cst) == 1 && found) {
      { const std::lock_guard lock(idle_mutex_); }
      idle_changed_.notify_all();
    }
    if (found) continue;
    const base::StageScope resting(clock, base::Stage::idle);
    if (!stopping_.load(std::memory_order_acquire)) work_.wait(seen, std::memory_order_acquire);
  }
}

// ---------------------------------------------------------------- the plan queue and its applier

void Server::queue_plan(Lane& lane) {
  // Entered before the plan can be seen: from then on to its answer the lane's clock is read by whoever applies it.
  const base::StageScope waiting(lane.stages, base::Stage::wait);
  plan::Submission& submission = lane.submission;
  submission.reset();
  submission.priority = lane.record->priority;
  submission.enqueued_ns = clock_.now_ns();
  if (plans_.enqueue(submission)) {
    serve_plans();
    submission.wait();
  }
  if (!submission.error.empty()) lane.applied.error = submission.error;
}

/// Serves the plan queue unless somebody else does. Whoever leaves looks once more: a plan that came while the Turn was
/// held and whose worker found it taken is never left behind.
void Server::serve_plans() {
  while (plans_.depth() > 0) {
    const std::unique_lock lock(turn_, std::try_to_lock);
    if (!lock) return;  // its holder looks again after letting go
    while (plan::Submission* next = plans_.dequeue().plan) {
      const std::int64_t began = measured_ns();
      try {
        check_and_commit(*static_cast<decltype(Lane::submission)*>(next)->lane, false);
      } catch (const std::exception& problem) {  // the plan's worker must hear of it, or it waits for ever
        next->error = problem.what();
      } catch (...) {
        next->error = "the applier threw";
      }
      stats_.apply_ns += measured_ns() - began;
      next->answer();
    }
  }
}

// ---------------------------------------------------------------- is there anything to do?

void Server::tick() {
  advance();
  while (true) {
    const auto delivery = broker_.dequeue(broker::only(broker::Queue::failed), clock_.now_ns());
    if (!delivery || !*delivery) break;
    give_up(**delivery);
  }
  const Turn turn(*this);
  cancel_superfluous();
}

/// Nobody serves anything and nothing is ready. The broker's numbers are exact while no worker has an evaluation: none
/// had one before they were read, and none was handed out meanwhile.
bool Server::idle() {
  const std::uint64_t before = deliveries_.load(std::memory_order_seq_cst);
  if (busy_.load(std::memory_order_seq_cst) != 0) return false;
  const broker::Stats stats = broker_.stats();
  std::int64_t left = stats.waiting + stats.pending;
  for (const auto& queue : stats.queues) left += queue.ready + queue.unacked;
  return left == 0 && busy_.load(std::memory_order_seq_cst) == 0 &&
         deliveries_.load(std::memory_order_seq_cst) == before;
}

bool Server::wait_idle(std::int64_t timeout_ns) {
  std::unique_lock lock(idle_mutex_);
  return idle_changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [this] { return idle(); });
}

Stats Server::stats() const { return stats_; }

std::int64_t Server::lost() {
  const broker::Totals totals = broker_.totals();
  const auto held = static_cast<std::int64_t>(broker_.contents().known.size());
  const auto gone = totals.acked + totals.cancelled + totals.dropped + totals.flushed;
  return static_cast<std::int64_t>(totals.accepted) - static_cast<std::int64_t>(gone) - held;
}

}  // namespace berth::server
