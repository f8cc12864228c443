// Free workers: Nomad's optimistic concurrency (R-CTRL-401 to 409, 501 to 506). Each takes an evaluation from the
// broker, decides on a snapshot and submits its plan; the applier checks it against the newest state, commits what
// still fits and sends the worker back to newer state for the rest.
//
//   broker (lock-free) --> N workers --> plan queue --> applier --> tables
//             ^--- ack, nack ---'  ^------ answer, refresh ------'
//
// The applier is a role, not a thread: a worker that submits a plan takes the Turn if it is free and serves the queue,
// its own plan included; if it is taken, the thread that holds it serves the plan. So a plan needs no second thread to
// be woken, and there is one applier at a time (R-CTRL-506).
//
// Why several workers pay off: each decides on its own view (tables/worker_view.h), so that commits copy nothing; a
// thread that finds the Turn or the tables taken spins before it sleeps; one worker is woken per evaluation that became
// ready, and the driver when nothing is ready any more.
#include <utility>

#include "base/relax.h"
#include "server/lane.h"
#include "server/workers.h"

namespace berth::server {

void Server::start() {
  if (config_.execution == Execution::inline_ || team_ || ahead_) return;
  if (config_.execution == Execution::ahead) {
    const std::uint32_t threads = std::max(config_.workers, 2U) - 1;  // the calling thread decides as well
    stats_.busy_ns.resize(threads);
    ahead_ = std::make_unique<Ahead>(
        store_, threads, [this] { return make_lane(); },
        [this](const tables::Snapshot& state, std::uint64_t order_index, Lane& lane, Ahead::Reads& reads) {
          decide_ahead(state, order_index, lane, reads);
        });
    return;
  }
  stats_.busy_ns.resize(config_.workers);
  plans_.enable();
  auto workers = std::make_unique<Workers>();
  for (std::uint32_t i = 0; i < config_.workers; ++i) {
    workers->workers.push_back(std::make_unique<Worker>());
    workers->workers.back()->lane = make_lane();
  }
  team_ = std::move(workers);
  stopping_.store(false, std::memory_order_release);
  woken_ = 0;  // workers poll before they sleep
  team_->threads.emplace(
      config_.workers, [this](std::uint32_t i) { fill_view(store_, config_.workers, team_->workers[i]->lane->view); },
      [this](std::uint32_t i) { work(*team_->workers[i]); });
}

void Server::stop() {
  if (ahead_) {
    const std::vector<std::int64_t> busy_ns = ahead_->stats().busy_ns;
    stats_ = stats();
    for (std::size_t i = 0; i < busy_ns.size(); ++i) stats_.busy_ns[i] += busy_ns[i];
    ahead_.reset();
    expected_.clear();
  }
  if (!team_) return;
  stopping_.store(true, std::memory_order_release);
  work_.fetch_add(1, std::memory_order_release);
  work_.notify_all();
  team_->threads.reset();
  for (std::size_t i = 0; i < team_->workers.size(); ++i) {
    const auto& worker = team_->workers[i];
    stats_.busy_ns[i] += worker->busy_ns.load(std::memory_order_relaxed);
    stats_.view_rows += worker->lane->view.rows_copied();
    stats_.view_columns += worker->lane->view.columns_copied();
  }
  team_.reset();
}

/// Wakes one worker per evaluation: the others would find nothing.
void Server::wake_workers(std::size_t evals) {
  work_.fetch_add(1, std::memory_order_release);
  if (evals >= config_.workers) return work_.notify_all();
  for (std::size_t i = 0; i < evals; ++i) work_.notify_one();
}

/// The Turn is mostly held for microseconds, which is less than putting a thread to sleep and waking it takes.
void Server::lock_turn() {
  if (turn_.try_lock()) return turn_begins();
  if (base::stage_clock) base::stage_clock->set_locks(base::Locks::turn_wait);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  const bool mine = base::spin_until([this] { return turn_.try_lock(); });
  if (!mine) turn_.lock();
  waiting_.fetch_sub(1, std::memory_order_relaxed);
  stats_.turn_waits += !mine;
  turn_begins();
}

void Server::turn_begins() {
  if (base::stage_clock) base::stage_clock->set_locks(base::Locks::turn);
  ++stats_.turns;
  turn_since_ns_ = measured_ns();
}

void Server::unlock_turn() {
  const std::size_t woken = std::exchange(woken_, 0);
  stats_.turn_ns += measured_ns() - turn_since_ns_;
  if (base::stage_clock) base::stage_clock->set_locks(base::Locks::none);
  turn_.unlock();
  if (woken > 0) wake_workers(woken);
}

void Server::work(Worker& worker) {
  base::StageClock* const clock = worker.lane->stages;
  const base::UseStageClock marks(clock);
  if (clock) clock->start(base::Stage::idle);
  while (!stopping_.load(std::memory_order_acquire)) {
    busy_.fetch_add(1, std::memory_order_seq_cst);
    std::uint32_t seen = work_.load(std::memory_order_acquire);
    while (!stopping_.load(std::memory_order_acquire) && serve_next(worker))
      seen = work_.load(std::memory_order_acquire);  // before the poll that finds nothing
    // The driver waits until all workers find nothing, not until one is between two evaluations. A worker that only
    // polled must wake it too: the driver may have counted it as busy.
    if (busy_.fetch_sub(1, std::memory_order_seq_cst) == 1 && awaited_.exchange(false, std::memory_order_seq_cst)) {
      driver_woken_.fetch_add(1, std::memory_order_relaxed);
      { const std::lock_guard lock(idle_mutex_); }
      idle_changed_.notify_all();
    }
    const base::StageScope resting(clock, base::Stage::idle);
    if (!stopping_.load(std::memory_order_acquire)) work_.wait(seen, std::memory_order_acquire);
  }
}

/// False if nothing is ready.
bool Server::serve_next(Worker& worker) {
  const base::StageScope dequeuing(worker.lane->stages, base::Stage::dequeue);
  const auto delivery = broker_.dequeue(served_queues_.load(std::memory_order_relaxed), clock_.now_ns());
  if (!delivery || !*delivery) return false;
  deliveries_.fetch_add(1, std::memory_order_seq_cst);
  const std::int64_t began = measured_ns();
  serve(**delivery, *worker.lane);
  worker.busy_ns.fetch_add(measured_ns() - began, std::memory_order_relaxed);
  return true;
}

// ---------------------------------------------------------------- the plan queue and its applier

void Server::queue_plan(Lane& lane) {
  {
    const base::StageScope checking(lane.stages, base::Stage::check);
    lane.early.run(*lane.result.state, lane.result.plan);
  }
  // Entered before the plan is visible: from then until the answer the thread that applies it reads the lane's clock.
  const base::StageScope waiting(lane.stages, base::Stage::wait);
  plan::Submission& submission = lane.submission;
  submission.reset();
  submission.priority = lane.record->priority;
  submission.enqueued_ns = clock_.now_ns();
  if (plans_.enqueue(submission)) {
    serve_plans();
    waiting_.fetch_add(1, std::memory_order_relaxed);
    submission.wait();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!submission.error.empty()) lane.applied.error = submission.error;
}

/// Serves the plan queue unless another thread does. The thread that stops checks the queue once more, so that a plan
/// whose worker found the Turn taken is never left behind.
void Server::serve_plans() {
  while (plans_.depth() > 0) {
    if (!turn_.try_lock()) return;  // its holder checks the queue again after releasing
    turn_begins();
    const base::StageScope applying(base::Stage::commit);  // what is neither the plan's check nor the listener's
    while (plan::Submission* next = plans_.dequeue().plan) {
      const std::int64_t began = measured_ns();
      try {
        check_and_commit(*static_cast<decltype(Lane::submission)*>(next)->lane, false);
      } catch (const std::exception& problem) {  // the plan's worker must get an answer, or it waits for ever
        next->error = problem.what();
      } catch (...) {
        next->error = "the applier threw";
      }
      stats_.apply_ns += measured_ns() - began;
      next->answer();
    }
    unlock_turn();
  }
}

// ---------------------------------------------------------------- is work left?

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

/// Number of evaluations left to serve; 1 if it is not certain. The broker's numbers are exact if no worker had an
/// evaluation before they were read, and none was delivered until afterwards.
std::int64_t Server::left_of(bool waits) {
  constexpr std::int64_t kUnknown = 1;
  const std::uint64_t before = deliveries_.load(std::memory_order_seq_cst);
  if (busy_.load(std::memory_order_seq_cst) != 0) return kUnknown;
  const broker::Stats stats = broker_.stats();
  std::int64_t left = waits ? stats.waiting + stats.pending + stats.unacked : stats.cancelable;
  const auto served = static_cast<broker::QueueSet>(served_queues_ | broker::only(broker::Queue::failed));
  for (std::size_t queue = 0; queue < stats.queues.size(); ++queue)
    if (waits || (served >> queue & 1) != 0) left += stats.queues[queue].ready;
  const bool exact =
      busy_.load(std::memory_order_seq_cst) == 0 && deliveries_.load(std::memory_order_seq_cst) == before;
  return exact ? left : kUnknown;
}

bool Server::wait_until_left(bool waits, std::int64_t timeout_ns) {
  std::unique_lock lock(idle_mutex_);
  return idle_changed_.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] {
    // Before reading busy_: a worker counted as busy sees this flag when it finishes.
    awaited_.store(true, std::memory_order_seq_cst);
    return left_of(waits) == 0;
  });
}

Stats Server::stats() const {
  Stats out = stats_;
  out.driver_woken = driver_woken_.load(std::memory_order_relaxed);
  if (ahead_) {
    const Ahead::Stats ahead = ahead_->stats();
    out.ahead_used += ahead.used, out.ahead_redone += ahead.redone, out.ahead_inline += ahead.inline_;
  }
  return out;
}

std::int64_t Server::lost() {
  const broker::Totals totals = broker_.totals();
  const auto held = static_cast<std::int64_t>(broker_.contents().held_count());
  const auto gone = totals.acked + totals.cancelled + totals.dropped + totals.flushed;
  return static_cast<std::int64_t>(totals.accepted) - static_cast<std::int64_t>(gone) - held;
}

}  // namespace berth::server
