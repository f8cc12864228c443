#include "http/simulation.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "http/stores/stores.h"
#include "model/job.h"

namespace berth::http {

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSlice = kMillisecond;              // real time per slice of cluster work without requests
constexpr std::int64_t kCatchUp = kMillisecond / 5;        // cluster work before a request
constexpr std::int64_t kWakeLeast = kMillisecond / 2;      // minimum between two checks of long polls
constexpr std::int64_t kWakeMost = 4 * kMillisecond;       // maximum
constexpr std::int64_t kWakeShare = 8;                     // pause after a check, as a multiple of its length
constexpr std::int64_t kSweepEvery = 100 * kMillisecond;   // checks for timeouts and disconnected clients
constexpr std::int64_t kSlowEvery = 5 * kMillisecond;      // time and streams advance so often even if requests wait
constexpr std::int64_t kLendAfter = 5 * kMillisecond;      // after this part of an evaluation reads may run
constexpr std::int64_t kLagMost = 250 * kMillisecond;      // maximum lag of virtual time, in real time
constexpr std::int64_t kCountEvery = 1000 * kMillisecond;  // periodic metrics (R-STORE-403)

std::int64_t steady_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

std::optional<Speed> Speed::parse(std::string_view text) {
  if (text == "max") return Speed{Mode::max, 0};
  if (text == "step") return Speed{Mode::step, 0};
  double times = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), times);
  if (error != std::errc() || end != text.data() + text.size() || !(times > 0) || times > 1e9) return std::nullopt;
  return Speed{Mode::times, times};
}

std::string Speed::text() const {
  if (mode != Mode::times) return mode == Mode::max ? "max" : "step";
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, times).ptr};
}

namespace {

/// Sets the indexes of tables with rows in the state to the newest row (R-API-52).
void set_indexes(fsm::StateLog& log, const model::ClusterState& state) {
  const auto newest = [](const auto& rows) {
    std::uint64_t index = 0;
    for (const auto& row : rows) index = std::max<std::uint64_t>(index, row.modify_index);
    return index;
  };
  for (const auto& [table, index] :
       {std::pair(fsm::Table::nodes, newest(state.nodes)), std::pair(fsm::Table::allocs, newest(state.allocs)),
        std::pair(fsm::Table::node_pools, newest(state.node_pools))})
    if (log.table_index(table) < index) log.set_table_index(table, index);
}

}  // namespace

Simulation::Simulation(living::Config config, const model::ClusterState& state, const Options& options,
                       std::shared_ptr<Script> script)
    : config_(std::move(config)),
      options_(options),
      agent_(options.agent_name, config_.seed,
             options.processors != 0 ? options.processors : std::max(1U, std::thread::hardware_concurrency())),
      script_(std::move(script)),
      speed_(options.speed),
      readers_(options.readers > 0 ? Readers::make(options.readers) : nullptr),
      questions_(options.readers > 0 ? Readers::make(1) : nullptr) {
  listeners_.add(this);
  agent_.datacenter = options.datacenter, agent_.local_node = options.local_node;
  agent_.set_workers(agent_.processors(), {"service", "batch", "system", "sysbatch", "_core"}, config_.start_ns, true);
  for (const char* once :
       {"nomad.raft.state.leader", "nomad.raft.state.follower", "nomad.raft.state.candidate",
        "nomad.raft.transition.heartbeat_timeout", "nomad.serf.member.join", "nomad.memberlist.msg.alive"})
    telemetry_.count(once);  // R-STORE-446
  cluster_ = std::make_unique<living::Cluster>(config_, &listeners_);
  stores_ = std::make_unique<Stores>(options_.store_bytes, config_.start_ns);
  if (script_) script_->bind(*cluster_);
  load(state);
}

void Simulation::load(const model::ClusterState& state) {
  const Stopwatch watch;
  cluster_->load(state);
  server().serve_queues(agent_.queues());
  telemetry_.sample("nomad.nomad.leader.establish_leadership", watch.milliseconds());
  recent_now_.store(now(), std::memory_order_relaxed);
  log().recount_summaries(true);
  set_indexes(log(), state);
}

Simulation::~Simulation() { stop(); }

void Simulation::start() {
  rebase();
  thread_ = std::thread([this] { run(); });
  stand_in_thread_ = std::thread([this] { stand_in(); });
}

void Simulation::stop() {
  if (!thread_.joinable()) return;
  stopping_ = true;
  {
    const std::lock_guard lock(mutex_);
    changed_.notify_one();
    stand_in_changed_.notify_all();
  }
  thread_.join();
  stand_in_thread_.join();
  readers_.reset();
  questions_.reset();
}

void Simulation::add(Queued queued) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(queued));
  asked_.store(true, std::memory_order_release);
  changed_.notify_one();
  if (is_lent_) stand_in_changed_.notify_all();
}

void Simulation::post_slow(Task task) {
  const std::lock_guard lock(mutex_);
  slow_.push_back(std::move(task));
  changed_.notify_one();
  if (is_lent_) stand_in_changed_.notify_all();
}

void Simulation::post_to(Readers* readers, std::function<void()> work) {
  if (readers) return readers->post(std::move(work));
  post_slow([work = std::move(work)](Simulation&) { work(); });
}

// ---------------------------------------------------------------- while an evaluation is decided

/// The simulation's thread permits reads of the cluster by the second thread, or ends that.
void Simulation::only_reads(bool on) {
  std::unique_lock lock(mutex_);
  is_lent_ = on;
  if (on) {
    lent_ns_ = steady_ns();
    stand_in_changed_.notify_all();
  } else {
    stand_in_changed_.wait(lock, [&] { return !stand_in_works_; });
  }
}

/// The next read-only task; null: none. The mutex must be held.
Simulation::Task Simulation::take_reading_task() {
  const auto found = std::find_if(tasks_.begin(), tasks_.end(), [](const Queued& queued) { return queued.reads; });
  Task out;
  if (found != tasks_.end()) {
    out = std::move(found->task);
    tasks_.erase(found);
    asked_.store(!tasks_.empty(), std::memory_order_release);
  } else if (!slow_.empty()) {
    out = std::move(slow_.front());
    slow_.pop_front();
  }
  return out;
}

void Simulation::stand_in() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!is_lent_) {
      stand_in_changed_.wait(lock);
      continue;
    }
    if (const std::int64_t wait = lent_ns_ + kLendAfter - steady_ns(); wait > 0) {  // most evaluations end before
      stand_in_changed_.wait_for(lock, std::chrono::nanoseconds(wait));
      continue;
    }
    const Task task = take_reading_task();
    if (!task) {
      stand_in_changed_.wait(lock);
      continue;
    }
    stand_in_works_ = true;
    lock.unlock();
    task(*this);
    lock.lock();
    stand_in_works_ = false;
    stand_in_changed_.notify_all();
  }
}

// ---------------------------------------------------------------- time

/// Continues virtual time from its present value.
void Simulation::rebase() {
  base_real_ns_ = steady_ns();
  base_virtual_ns_ = cluster_->now();
}

void Simulation::set_workers(std::uint32_t count, std::vector<std::string> schedulers) {
  agent_.set_workers(count, std::move(schedulers), now());
  server().serve_queues(agent_.queues());
}

void Simulation::set_speed(const Speed& speed) {
  speed_ = speed;
  rebase();
}

/// The virtual time for a real time.
std::int64_t Simulation::target(std::int64_t real_ns) const {
  if (speed_.mode == Speed::Mode::step) return cluster_->now();
  if (speed_.mode == Speed::Mode::max) return std::numeric_limits<std::int64_t>::max();
  const double gone = static_cast<double>(real_ns - base_real_ns_) * speed_.times;
  return base_virtual_ns_ + (gone < 9e18 ? static_cast<std::int64_t>(gone) : std::numeric_limits<std::int64_t>::max());
}

void Simulation::advance(std::int64_t ns, std::function<void()> done) {
  const std::int64_t from = advances_.empty() ? now() : advances_.back().until;
  advances_.push_back({from + ns, std::move(done)});
}

void Simulation::replace(living::Config config, const model::ClusterState& state) {
  config_ = std::move(config);
  cluster_ = std::make_unique<living::Cluster>(config_, &listeners_);
  stores_ = std::make_unique<Stores>(options_.store_bytes, config_.start_ns);
  script_.reset();
  node_stubs_ = std::make_shared<TextCache>();
  load(state);
  for (Advance& advance : std::exchange(advances_, {})) advance.done();
  for (Waiter& waiter : std::exchange(waiters_, {})) waiter.end();
  seen_ = {}, seen_index_ = 0, written_ = 0;
  for (const auto& attached : attached_) attached(*this);
  rebase();
}

void Simulation::attach(std::function<void(Simulation&)> what) {
  what(*this);
  attached_.push_back(std::move(what));
}

std::uint64_t Simulation::take_index() {
  const std::uint64_t index = log().next_index();
  log().seen(index);
  return index;
}

/// Time of the next due work in the cluster, the stores or the script.
std::int64_t Simulation::next_deadline() {
  const std::int64_t at = std::min(cluster_->next_deadline(), stores_->next_due());
  return script_ ? std::min(at, script_->next()) : at;
}

/// Like the cluster's run_until, with the due work of stores and script.
bool Simulation::run_until(std::int64_t until, const std::function<bool()>& enough) {
  while (script_ && script_->next() <= until) {
    const std::int64_t at = std::max(script_->next(), now());
    if (at > now() && !run_stores_until(at - 1, enough)) return false;
    cluster_->run_before(at);
    script_->play();
    if (enough()) return false;
  }
  return run_stores_until(until, enough);
}

bool Simulation::run_stores_until(std::int64_t until, const std::function<bool()>& enough) {
  for (;;) {
    const std::int64_t stop = std::min(until, std::max(stores_->next_due(), now()));
    if (!cluster_->run_until(stop, enough)) return false;
    if (stores_->next_due() <= now()) stores_->run_due(now(), [this] { return take_index(); });
    if (stop >= until) return true;
  }
}

/// Does due work up to `until`, until the real time `real_end_ns` or a request. True if it reached `until`.
bool Simulation::run_slice(std::int64_t until, std::int64_t real_end_ns) {
  std::uint32_t steps = 0;
  return run_until(until, [&] { return (++steps & 7) == 0 && (has_tasks() || steady_ns() >= real_end_ns); });
}

/// A slice of the cluster's time.
void Simulation::run_time() {
  const std::int64_t real = steady_ns();
  if (!advances_.empty()) {
    if (!run_slice(advances_.front().until, real + kSlice)) return;
    const Advance over = std::move(advances_.front());
    advances_.pop_front();
    rebase();
    return over.done();
  }
  if (speed_.mode == Speed::Mode::max) {
    const std::int64_t due = next_deadline();
    if (due != lifecycle::kNever) run_slice(due, real + kSlice);
    return;
  }
  if (run_slice(target(real), real + kSlice) || speed_.mode != Speed::Mode::times) return;
  const auto behind = static_cast<double>(target(steady_ns()) - now()) / speed_.times;
  if (behind > kLagMost) rebase();
}

// ---------------------------------------------------------------- the thread

void Simulation::run() {
  while (!stopping_.load(std::memory_order_acquire))
    if (!turn()) sleep();
  cluster_->stop_workers();
}

bool Simulation::turn() {
  run_tasks();
  note_written();
  has_leader_.store(cluster_->has_leader(), std::memory_order_relaxed);
  recent_now_.store(now(), std::memory_order_relaxed);
  if (const std::int64_t real = steady_ns(); real >= next_wake_ns_) {
    collect(real);
    wake();
    const std::int64_t over = steady_ns();
    next_wake_ns_ = over + std::clamp((over - real) * kWakeShare, kWakeLeast, kWakeMost);
  }
  answer_due();
  if (has_tasks() && steady_ns() < next_slow_ns_) return true;
  next_slow_ns_ = steady_ns() + kSlowEvery;
  run_time();
  note_written();
  Task slow;
  {
    const std::lock_guard lock(mutex_);
    if (!slow_.empty()) slow = std::move(slow_.front()), slow_.pop_front();
  }
  if (slow) slow(*this);
  return slow || has_tasks() || wake_time() <= steady_ns();
}

void Simulation::run_tasks() {
  if (!has_tasks()) return;
  std::size_t count = 0;
  {
    const std::lock_guard lock(mutex_);
    count = tasks_.size();
  }
  for (; count > 0 && !stopping_; --count) {
    // Before a request, advances the clock and decides evaluations of earlier requests, as far as time permits.
    const std::int64_t real = steady_ns();
    std::uint32_t steps = 0;
    const bool times = speed_.mode == Speed::Mode::times && advances_.empty();
    (void)run_until(times ? target(real) : now(), [&] { return (++steps & 1) == 0 && steady_ns() >= real + kCatchUp; });
    Task task;
    {
      const std::lock_guard lock(mutex_);
      if (tasks_.empty()) return;  // done by the second thread
      task = std::move(tasks_.front().task);
      tasks_.pop_front();
      asked_.store(!tasks_.empty(), std::memory_order_release);
    }
    task(*this);
  }
}

/// The real time until which there is nothing to do if no request arrives; 0: there is work now.
std::int64_t Simulation::wake_time() {
  std::int64_t until = next_sweep_ns_;
  if (!advances_.empty() || !due_.empty()) return 0;
  if (written_ != 0) until = std::min(until, next_wake_ns_);
  if (speed_.mode == Speed::Mode::max && next_deadline() != lifecycle::kNever) return 0;
  if (speed_.mode == Speed::Mode::step && next_deadline() <= now()) return 0;
  if (speed_.mode == Speed::Mode::times) {
    const std::int64_t due = next_deadline();
    const double wait = static_cast<double>(due - base_virtual_ns_) / speed_.times;
    if (due != lifecycle::kNever && wait < 9e18)
      until = std::min(until, base_real_ns_ + static_cast<std::int64_t>(wait) + 1000);
  }
  return until;
}

/// Waits for something to do.
void Simulation::sleep() {
  const std::int64_t real = steady_ns(), until = wake_time();
  if (until <= real) return;
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::nanoseconds(until - real),
                    [&] { return !tasks_.empty() || !slow_.empty() || stopping_.load(); });
}

// ---------------------------------------------------------------- long polls

bool Simulation::wait(Waiter waiter) {
  if (waiters_.size() >= options_.long_polls) return false;
  waiter.deadline_ns += steady_ns();
  waiters_.push_back(std::move(waiter));
  return true;
}

void Simulation::note_written() {
  const std::uint64_t index = log().next_index();
  if (index == seen_index_) return;
  seen_index_ = index;
  for (std::size_t table = 0; table < seen_.size(); ++table) {
    const std::uint64_t at = table < fsm::kTables ? log().table_index(static_cast<fsm::Table>(table))
                                                  : stores_->table_index(static_cast<StoreTable>(table - fsm::kTables));
    if (at != seen_[table]) written_ |= std::uint32_t{1} << table;
    seen_[table] = at;
  }
}

/// Counts what real servers do continuously: polls for evaluations, checks of the leader (R-STORE-447, 457).
void Simulation::collect(std::int64_t real_ns) {
  if (real_ns < next_collection_ns_) return;
  next_collection_ns_ = real_ns + kCountEvery;
  const Stopwatch watch;
  (void)server().broker().stats();
  for (const char* name : {"nomad.nomad.eval.dequeue", "nomad.nomad.worker.dequeue_eval"})
    telemetry_.sample(name, watch.milliseconds());
  telemetry_.count("nomad.nomad.rpc.eval.write"), telemetry_.count("nomad.nomad.rpc.status.read");
}

void Simulation::wake() {
  const std::int64_t real = steady_ns();
  const std::uint32_t written = std::exchange(written_, 0);
  const bool sweep = real >= next_sweep_ns_;
  if (sweep) next_sweep_ns_ = real + kSweepEvery;
  if (written == 0 && !sweep) return;
  std::erase_if(waiters_, [&](Waiter& waiter) {
    if (sweep && waiter.gone()) return true;
    const bool over = (sweep && waiter.deadline_ns <= real) || ((waiter.tables & written) != 0 && waiter.ready());
    if (over) due_.push_back(std::move(waiter.end));
    return over;
  });
}

/// Answers finished long polls; newly arrived requests go first.
void Simulation::answer_due() {
  if (due_.empty()) return;
  do {
    const auto end = std::move(due_.front());
    due_.pop_front();
    end();
  } while (!due_.empty() && !has_tasks());
}

}  // namespace berth::http
