#include "run/replay.h"

#include <algorithm>

#include "base/random.h"
#include "model/job.h"
#include "run/interrupt.h"
#include "run/server_settings.h"
#include "sim/load_store.h"
#include "tables/export.h"

namespace berth::run {
namespace {

constexpr std::int64_t kMaxSleepNs = 20'000'000;  // so that a signal is noticed
constexpr std::size_t kPreparedJobs = 256;
constexpr std::int64_t kNever = INT64_MAX;
// Limits of events handled together before the workers may use the state again.
constexpr std::size_t kEventsTogether = 64;
constexpr std::int64_t kTogetherNs = 200'000;

/// How long the tasks of a stopped allocation take to end: leaders, then other tasks, then sidecars, each with its
/// complete shutdown delay and kill timeout (R-CTRL-1516).
std::int64_t kill_time_of(const model::TaskGroup& group) {
  constexpr std::int64_t kTimeoutDefault = 5 * base::kSecond, kTimeoutMax = 30 * base::kSecond;
  std::int64_t stages[3] = {0, 0, 0};
  for (const model::Task& task : group.tasks) {
    if (task.lifecycle && task.lifecycle->hook == "poststop") continue;
    std::int64_t& stage = stages[task.leader ? 0 : task.lifecycle && task.lifecycle->sidecar ? 2 : 1];
    const std::int64_t timeout = task.kill_timeout > 0 ? std::min(task.kill_timeout, kTimeoutMax) : kTimeoutDefault;
    stage = std::max(stage, std::min(task.shutdown_delay, kNever / 8) + timeout);
  }
  return stages[0] + stages[1] + stages[2];
}

}  // namespace

Replay::Replay(const sim::Workload& workload, sim::Inputs inputs, std::optional<sim::FitStrategy> fit,
               std::unique_ptr<strategy::QueuePolicy> queue, Observer* observer, RunResult& result,
               server::Listener* extra_listener)
    : workload_(workload),
      inputs_(std::move(inputs)),
      fit_(std::move(fit)),
      observer_(observer),
      result_(result),
      measuring_(workload, inputs_, fit_ ? &*fit_ : nullptr, observer, clock_, result, extra_listener),
      queue_(queue ? std::make_unique<JobQueue>(std::move(queue), inputs_.jobs) : nullptr),
      server_(server_config(),
              workload.commits == sim::CommitOrder::free ? static_cast<const server::Clock&>(run_time_) : event_time_,
              &measuring_),
      jobs_(inputs_.jobs.arrivals.size(), tables::kNoRow) {
  if (workload.departures && workload.commits == sim::CommitOrder::deterministic)
    waits_.emplace(inputs_.jobs.arrivals.size());
  load();
  measuring_.watch(server_.store(), inputs_.jobs.arrivals.size() + joining_.size());
  measuring_.on_commit = [this](const server::Lane& lane) {
    end_stopped_later(lane);
    const bool whole = !lane.result.any_failed() && !lane.applied.partial();
    if (queue_) queue_->committed(server_.store().current(), lane, whole);
    if (waits_) {
      waits_->started(server_.store().current(), lane.first_alloc, lane.alloc_count, lane.record->due_ns);
      waits_->placed(lane.record->job, lane.record->due_ns, inputs_.jobs.arrivals[lane.record->tag - 1].run_time_ns,
                     whole);
    }
    if (workload_.departures) depart_later(lane);
    if (workload_.commits == sim::CommitOrder::free && measuring_.look_due(happened()))
      measuring_.look(happened());  // not excluded, because workers use the clock
  };
  measuring_.on_gave_up = [this](tables::JobKeyRow job) {
    if (queue_) queue_->gave_up(job);
    if (waits_) waits_->gave_up(job);
  };
  result_.nodes = inputs_.cluster.nodes.size();
  result_.load_allocs = inputs_.cluster.load.size();
  result_.templates = inputs_.jobs.templates.size();
  result_.arrivals = inputs_.jobs.arrivals.size();
}

server::Config Replay::server_config() {
  server::Config config = server_settings(workload_);
  config.workers = static_cast<std::uint32_t>(workload_.workers);
  if (workload_.commits == sim::CommitOrder::free)
    config.execution = server::Execution::free;
  else if (workload_.workers > 1)
    config.execution = server::Execution::ahead;
  // Evicted and finally failed allocations are counted but not evaluated again.
  config.evaluate_evicted = config.follow_up_failed = false;
  // An evaluation and a blocked one per job; for a system job one per full node.
  std::size_t evals = 2 * inputs_.jobs.arrivals.size() + 1024;
  for (const sim::JobArrival& arrival : inputs_.jobs.arrivals)
    if (inputs_.jobs.templates[arrival.template_index]->type == "system") evals += inputs_.cluster.nodes.size();
  config.broker.evals = static_cast<std::uint32_t>(std::min<std::size_t>(evals, 1U << 24));
  if (queue_) config.broker.queue = queue_.get();
  config.broker.jobs = static_cast<std::uint32_t>(inputs_.jobs.arrivals.size() + inputs_.cluster.load.size() + 1024);
  return config;
}

void Replay::load() {
  tables::StateStore& store = server_.store();
  sim::load_store(store, inputs_.cluster);
  const auto* imported = inputs_.cluster.imported.get();
  store.set_scheduler_config(configuration_of(workload_, imported && imported->scheduler_config
                                                             ? *imported->scheduler_config
                                                             : model::SchedulerConfiguration{}));
  if (waits_) waits_->start(store.current());
  if (queue_) queue_->start(server_.broker(), store.current());
  // The last nodes of the cluster join during the run.
  const auto rows = static_cast<std::int64_t>(store.current().nodes.size());
  for (std::int64_t row = rows - std::min(rows, workload_.cluster.joins.nodes); row < rows; ++row) {
    joining_.push_back(static_cast<tables::NodeRow>(row));
    store.set_node_state(joining_.back(), tables::NodeStatus::down, true, false);
  }
  store.set_index(store.index() + 1);
  if (workload_.departures)
    for (const sim::RunningEnd& end : inputs_.cluster.ends)
      if (const tables::AllocRow row = store.find_alloc(end.alloc); row != tables::kNoRow)
        departures_.push({end.due_ns, row, 1, end.fails});
  if (queue_ && queue_->needs_forecast()) forecast();
}

/// Gives the queue policy a copy of the loaded cluster.
void Replay::forecast() {
  const tables::Snapshot& state = server_.store().current();
  queue_->use_forecast(
      std::make_unique<Forecast>(workload_, inputs_.cluster, state.cold->scheduler_config, fit_ ? &*fit_ : nullptr),
      state);
  for (const tables::NodeRow node : joining_) queue_->set_ready(node, false);
  for (auto ends = departures_; !ends.empty(); ends.pop()) queue_->expect_end(ends.top().first, ends.top().due_ns);
}

model::ClusterState Replay::run_until(std::int64_t ns) {
  until_ns_ = ns;
  run({.quiet = true});
  model::ClusterState out = tables::to_cluster(server_.store().current());
  std::sort(out.nodes.begin(), out.nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  std::sort(out.allocs.begin(), out.allocs.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return out;
}

void Replay::run(const RunOptions& options) {
  Progress progress("jobs", inputs_.jobs.arrivals.size() + joining_.size(), options.quiet);
  prepare();
  if (options.hdr_log) measuring_.keep_hdr_log();
  server_.start();
  clock_ = sim::RunClock(workload_.arrivals.clock);
  leave_out(measuring_.look(happened()));  // the cluster as it is before
  if (workload_.commits == sim::CommitOrder::free)
    run_free(progress);
  else
    run_in_turn(progress);
  stopped();
  progress.finish();
  leave_out(measuring_.look(happened()));
  server_.stop();
  measuring_.finish(server_, queue_ && queue_->holds_any());
  if (waits_) result_.waits = waits_->result();
}

/// Jobs with a decision, and joined nodes. A job that is only registered is not done.
std::uint64_t Replay::done() const { return measuring_.jobs_done() + next_join_; }

/// Number of events, over which samples of the cluster are spread: evaluations that ended, and nodes that joined.
std::size_t Replay::happened() const { return static_cast<std::size_t>(result_.evaluations) + next_join_; }

/// Updates the progress; not while workers decide. After the last arrival, only evaluations waiting for room are left.
void Replay::show(Progress& progress) {
  if (next_arrival_ == inputs_.jobs.arrivals.size()) progress.waiting(server_.blocked_count());
  progress.update(done());
}

/// Excludes time that the run itself spent. No other thread may use the clock.
void Replay::leave_out(std::int64_t ns) {
  measuring_.waited(ns);
  clock_.leave_out(ns);
}

/// Called if nothing is due before `due_ns`: skips to it, or sleeps part of the time.
void Replay::idle_until(std::int64_t due_ns, Progress& progress) {
  const std::int64_t before = clock_.elapsed_ns();
  prepare();
  progress.update(done(), true);
  clock_.idle_until(due_ns, kMaxSleepNs);
  measuring_.waited(clock_.elapsed_ns() - before);
}

// ---------------------------------------------------------------- commits in turn

/// Handles one event after the other. With several workers, threads decide coming evaluations ahead of their turn.
void Replay::run_in_turn(Progress& progress) {
  while (true) {
    const Due next = due(true);
    const std::int64_t due_ns = next.next_ns();
    if (due_ns == kNever || due_ns > until_ns_) {
      result_.ended = "complete";
      break;
    }
    if (measuring_.over_limit() || full_) {
      result_.partial = true;
      break;
    }
    if (measuring_.look_due(happened())) leave_out(measuring_.look(happened()));
    if (clock_.now_ns() < due_ns) {
      idle_until(due_ns, progress);
      if (clock_.now_ns() < due_ns) continue;  // slept part of the time: check signals and limits
    }
    event_time_.set(due_ns);
    if (queue_) queue_->advance(due_ns);
    {
      const base::UseStageClock marks(observer_ && observer_->begin() ? server_.lane().stages : nullptr);
      if (base::stage_clock) base::stage_clock->start(base::Stage::harness);
      happen(next);
      serve(due_ns);
    }
    if (observer_) observer_->end();
    show(progress);
  }
}

/// Serves ready evaluations, and those of jobs that the queue policy lets start.
void Replay::serve(std::int64_t now_ns) {
  while (true) {
    while (server_.step())
      if (interrupted() || (queue_ && measuring_.over_limit())) return;
    // Putting the evaluation into the broker takes an index.
    auto next = queue_ ? queue_->next_to_start(now_ns, server_.store().index() + 1) : std::nullopt;
    if (!next) return;
    for (const tables::JobKeyRow job : next->evicted) evict(job, now_ns);
    next->eval.due_ns = now_ns;
    evaluate(next->eval);
  }
}

/// Ends a job's allocations at once, by the queue policy; it waits again.
void Replay::evict(tables::JobKeyRow job, std::int64_t now_ns) {
  for (const tables::AllocRow row : queue_->running(job)) {
    measuring_.evicted(server_.store().current().allocs.job[row], 1);
    if (waits_) waits_->evicted(job, row, now_ns);
    server_.store().begin_commit(server_.store().index() + 1).set_desired_status(row, tables::Desired::stop);
    end_allocs(row, 1, tables::Client::complete);
  }
  queue_->evicted(job);
  if (waits_) waits_->waits_again(job);
  server::NewEval eval = registered(arrival_of_[job]);
  eval.id = server_.draw_id();  // it was evaluated before
  if (!queue_->holds_back(server_.store().current(), eval)) evaluate(eval);
}

/// Next due times. After the last arrival, departures and joins matter only if evaluations wait for room. Stopped
/// allocations still end, as clients would do. `idle`: no evaluation is being decided.
Replay::Due Replay::due(bool idle) {
  Due out{kNever, kNever, kNever};
  const bool more = next_arrival_ < inputs_.jobs.arrivals.size();
  if (more) out.arrival_ns = inputs_.jobs.arrivals[next_arrival_].due_ns;
  const bool waits = server_.blocked_count() > 0 || (queue_ && queue_->holds_any());
  if (more || waits || !idle) {
    if (!departures_.empty()) out.release_ns = departures_.top().due_ns;
    if (next_join_ < joining_.size())
      out.release_ns = std::min(out.release_ns, workload_.cluster.joins.due_ns(next_join_));
  }
  if (!stopping_.empty()) out.release_ns = std::min(out.release_ns, stopping_.top().due_ns);
  if (more || waits || !idle || server_.delays())
    out.timer_ns = server_.next_deadline(placed_at_timer_ != result_.placed).value_or(kNever);
  const auto& jobs = server_.store().current().jobs.keys;
  while (!limits_.empty() && jobs[limits_.top().job].alloc_head != tables::kNoRow) limits_.pop();  // it has started
  if (!limits_.empty()) out.timer_ns = std::min(out.timer_ns, limits_.top().due_ns);
  return out;
}

/// Fails the gangs that are still held back when their time is over.
void Replay::give_up_held_back(std::int64_t due_ns) {
  for (; !limits_.empty() && limits_.top().due_ns <= due_ns; limits_.pop()) {
    const tables::JobKeyRow job = limits_.top().job;
    const tables::JobTable& jobs = server_.store().current().jobs;
    const auto& gang = jobs.versions[jobs.keys[job].current]->gang;
    const bool is_over = gang && gang->limit_ns <= due_ns && jobs.keys[job].alloc_head == tables::kNoRow;
    if (is_over && queue_->gave_up(job) && waits_) waits_->gave_up(job);
  }
}

void Replay::note_timer(std::int64_t due_ns) {
  if (server_.next_deadline(false) != due_ns) placed_at_timer_ = result_.placed;
}

void Replay::happen(const Due& due) {
  const std::int64_t due_ns = due.next_ns();
  if (due.timer_ns == due_ns) {
    give_up_held_back(due_ns);
    note_timer(due_ns);
    server_.advance();
  } else if (due.release_ns == due_ns) {
    release(due_ns);
  } else {
    arrive(next_arrival_++);
    if (!queue_) return;
    const std::vector<sim::JobArrival>& arrivals = inputs_.jobs.arrivals;
    while (!full_ && next_arrival_ < arrivals.size() && arrivals[next_arrival_].due_ns == due_ns)
      arrive(next_arrival_++);
  }
}

// ---------------------------------------------------------------- free commits

/// Nomad's optimistic concurrency: this thread registers jobs and ends allocations, the workers decide and commit.
void Replay::run_free(Progress& progress) {
  const base::UseStageClock marks(server_.lane().stages);
  if (server_.lane().stages) server_.lane().stages->start(base::Stage::harness);
  while (true) {
    const bool idle = server_.idle();
    Due next{};
    {
      const server::Server::Turn turn(server_);
      if (measuring_.over_limit() || full_) {
        result_.partial = true;
        break;
      }
      next = due(idle);
    }
    const std::int64_t due_ns = next.next_ns(), now = clock_.now_ns();
    if (idle && due_ns == kNever) {
      result_.ended = "complete";
      break;
    }
    if (now < due_ns) {
      const base::StageScope resting(base::Stage::idle);
      if (idle) {
        idle_until(due_ns, progress);
      } else {
        prepare();
        progress.update(done(), true);
        server_.wait_idle(std::min(kMaxSleepNs, due_ns - now));
        server_.tick();
      }
      continue;
    }
    if (next.timer_ns == due_ns) {
      {
        const server::Server::Turn turn(server_);
        note_timer(due_ns);
      }
      server_.tick();
      continue;
    }
    if (due_ns == next.arrival_ns) prepare();
    if (due_ns == next.arrival_ns && idle) ++result_.parallel.arrivals_when_idle;
    const server::Server::Turn turn(server_);
    happen_together(next, now);
    show(progress);
  }
}

/// Takes one Turn for everything due by now, because each Turn may put a worker to sleep.
void Replay::happen_together(Due due, std::int64_t now_ns) {
  const std::int64_t until_ns = clock_.elapsed_ns() + kTogetherNs;
  for (std::size_t events = 0; events < kEventsTogether; ++events) {
    happen(due);
    if (full_ || measuring_.over_limit() || server_.turn_wanted() || clock_.elapsed_ns() >= until_ns) return;
    due = this->due(false);
    const std::int64_t due_ns = due.next_ns();
    if (due_ns > now_ns || due.timer_ns == due_ns || (due.arrival_ns == due_ns && prepared_.empty())) return;
  }
}

// ---------------------------------------------------------------- jobs arrive

/// Makes the job objects of coming arrivals while idle, since a real server receives them from its clients.
void Replay::prepare() {
  while (prepared_.size() < kPreparedJobs && next_prepared_ < inputs_.jobs.arrivals.size())
    prepared_.push_back(inputs_.jobs.job(inputs_.jobs.arrivals[next_prepared_++]));
}

std::shared_ptr<const model::Job> Replay::next_job() {
  if (prepared_.empty()) return inputs_.jobs.job(inputs_.jobs.arrivals[next_prepared_++]);
  auto job = std::move(prepared_.front());
  prepared_.pop_front();
  return job;
}

/// The evaluation of an arrival. Registers its job unless that was done ahead of its turn.
server::NewEval Replay::registered(std::size_t arrival) {
  if (arrival == next_registered_) {
    jobs_[arrival] = server_.register_job(next_job());
    ++next_registered_;
  }
  const auto sequence = static_cast<std::uint32_t>(arrival + 1);
  return {.id = base::generated_id(sim::kEvalKind, sequence, base::mix64(workload_.seed)),
          .job = jobs_[arrival],
          .tag = sequence,
          .due_ns = inputs_.jobs.arrivals[arrival].due_ns};
}

/// Lets threads decide the next arrivals ahead, including the present one.
void Replay::announce() {
  if (queue_ && queue_->needs_forecast()) return;  // when a job's evaluation comes is not known
  for (std::size_t next = std::max(next_registered_, next_arrival_ - 1);
       server_.wants_more() && next < inputs_.jobs.arrivals.size(); ++next) {
    // A new version is registered in its turn, because earlier evaluations of the job must not see it.
    if (next >= next_arrival_ && inputs_.jobs.arrivals[next].version > 0) break;
    server_.expect(registered(next));
  }
}

void Replay::arrive(std::size_t arrival) {
  announce();
  const server::NewEval eval = registered(arrival);
  tables::StateStore& store = server_.store();
  store.set_index(store.index() + 1);
  measuring_.count_asked(store.current().jobs.keys[eval.job].current);
  if (queue_) {
    queue_->arrived(store.current(), eval.job, arrival);
    if (eval.job >= arrival_of_.size()) arrival_of_.resize(eval.job + std::size_t{1});
    arrival_of_[eval.job] = static_cast<std::uint32_t>(arrival);
  }
  if (waits_) waits_->arrived(store.current(), eval.job, inputs_.jobs, arrival);
  if (!queue_ || !queue_->holds_back(store.current(), eval)) return evaluate(eval);
  const tables::CompiledJob& job = *store.current().jobs.versions[store.current().jobs.keys[eval.job].current];
  if (job.gang && job.gang->limit_ns != INT64_MAX) limits_.push({job.gang->limit_ns, eval.job});
}

void Replay::evaluate(const server::NewEval& eval) {
  full_ = !server_.evaluate(eval);
  if (full_) ++result_.unsupported_reasons["a server with room for so many evaluations"];
}

// ---------------------------------------------------------------- allocations end, nodes join

/// Run times count from the due time, not from the commit, so that the machine's speed does not change decisions.
void Replay::depart_later(const server::Lane& lane) {
  const std::size_t number = lane.record->tag - 1;
  const sim::JobArrival& arrival = inputs_.jobs.arrivals[number];
  if (arrival.run_time_ns == sim::kNeverEnds || lane.alloc_count == 0) return;
  departures_.push({lane.record->due_ns + arrival.run_time_ns, lane.first_alloc, lane.alloc_count, arrival.fails});
}

/// Ends stopped allocations as clients would. Counts from the due time, like departures.
void Replay::end_stopped_later(const server::Lane& lane) {
  const tables::Snapshot& state = server_.store().current();
  for (const plan::PlannedStop& stop : lane.result.plan.stops) {
    const tables::AllocRow row = stop.alloc;
    if (!tables::server_terminal(state.allocs.desired[row]) || tables::client_terminal(state.allocs.client[row]))
      continue;  // its node was refused, or it has ended
    if (waits_ && stop.evict) waits_->evicted(state.allocs.job_key[row], row, lane.record->due_ns);
    const model::Job& job = *state.jobs.versions[state.allocs.job[row]]->spec;
    const model::TaskGroup* group = job.group(state.text(state.allocs.group[row]));
    stopping_.push({lane.record->due_ns + (group ? kill_time_of(*group) : 0), row});
  }
}

void Replay::release(std::int64_t due_ns) {
  for (; !stopping_.empty() && stopping_.top().due_ns == due_ns; stopping_.pop()) {
    end_allocs(stopping_.top().alloc, 1, tables::Client::complete);
  }
  while (!departures_.empty() && departures_.top().due_ns == due_ns) {
    const Departure departure = departures_.top();
    departures_.pop();
    end_allocs(departure);
  }
  for (; next_join_ < joining_.size() && workload_.cluster.joins.due_ns(next_join_) == due_ns; ++next_join_) {
    server_.node_ready(joining_[next_join_]);
    if (queue_) queue_->set_ready(joining_[next_join_], true);
    ++result_.joined;
  }
}

void Replay::end_allocs(const Departure& departure) {
  result_.departed +=
      end_allocs(departure.first, departure.count, departure.fails ? tables::Client::failed : tables::Client::complete);
}

std::uint32_t Replay::end_allocs(tables::AllocRow first, std::uint32_t count, tables::Client status) {
  if (queue_) queue_->ends(server_.store().current(), first, count);
  if (waits_)
    for (tables::AllocRow row = first; row < first + count; ++row)
      if (const tables::Snapshot& state = server_.store().current(); !tables::client_terminal(state.allocs.client[row]))
        waits_->ended(state, row, event_time_.now_ns());
  return server_.end_allocs(first, count, status);
}

}  // namespace berth::run
