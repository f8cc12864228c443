#include "run/runner.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <ctime>
#include <deque>
#include <filesystem>
#include <optional>
#include <queue>

#include "base/build_info.h"
#include "io/files.h"
#include "plan/apply.h"
#include "run/cluster_samples.h"
#include "run/grid_run.h"
#include "run/hdr_log.h"
#include "run/inputs.h"
#include "run/interrupt.h"
#include "run/progress.h"
#include "run/work.h"
#include "sched/scheduler.h"
#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/digest.h"
#include "sim/fit_strategy.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"
#include "sim/openb.h"
#include "tables/export.h"
#include "worker/speculation.h"
#include "worker/workers.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr std::int64_t kMaxSleepNs = 20'000'000;  // so that a signal is noticed
constexpr std::size_t kPreparedJobs = 256;

rank::OrderProvider provider_of(sim::Order order) {
  switch (order) {
    case sim::Order::nomad:
      return rank::OrderProvider::nomad;
    case sim::Order::mix:
      return rank::OrderProvider::mix;
    case sim::Order::lazy:
      return rank::OrderProvider::lazy;
    case sim::Order::identity:
      return rank::OrderProvider::identity;
  }
  return rank::OrderProvider::nomad;
}

/// What the workload asks for and this build does not do.
std::optional<InputError> refused(const sim::Workload& workload) {
  if (workload.cluster.source == sim::Source::nomad_grid && workload.strategy != "nomad")
    return InputError{workload.path, "strategy", "nomad-grid is compared with what Nomad decided",
                      "leave out the strategy"};
  return std::nullopt;
}

/// The ask that fragmentation and stranded capacity refer to: the mean over all asked allocations, rounded up.
sim::Amounts typical_ask(const sim::JobStream& jobs) {
  std::vector<std::uint64_t> arrivals(jobs.templates.size(), 0);
  for (const sim::JobArrival& arrival : jobs.arrivals) ++arrivals[arrival.template_index];
  double count = 0, cpu = 0, memory = 0, disk = 0, devices = 0;
  for (std::size_t i = 0; i < jobs.templates.size(); ++i)
    for (const model::TaskGroup& group : jobs.templates[i]->task_groups) {
      const double n = static_cast<double>(arrivals[i]) * static_cast<double>(group.count);
      count += n;
      disk += n * static_cast<double>(group.ephemeral_disk ? group.ephemeral_disk->size_mb : 0);
      for (const model::Task& task : group.tasks) {
        cpu += n * static_cast<double>(task.resources->cpu),
            memory += n * static_cast<double>(task.resources->memory_mb);
        for (const model::RequestedDevice& device : task.resources->devices)
          devices += n * static_cast<double>(device.count);
      }
    }
  if (count == 0) return {};
  const auto mean = [&](double sum) { return static_cast<std::int64_t>(std::ceil(sum / count)); };
  // Most tasks of a mixed workload ask no device: a fraction of one is not asked at all.
  return {mean(cpu), mean(memory), mean(disk), devices / count < 0.5 ? 0 : mean(devices)};
}

model::SchedulerConfiguration configuration_of(const sim::Workload& workload) {
  model::SchedulerConfiguration config;
  config.scheduler_algorithm = sim::to_text(workload.algorithm);
  config.preemption_config.system_scheduler_enabled = workload.preemption.system;
  config.preemption_config.sysbatch_scheduler_enabled = workload.preemption.sysbatch;
  config.preemption_config.batch_scheduler_enabled = workload.preemption.batch;
  config.preemption_config.service_scheduler_enabled = workload.preemption.service;
  return config;
}

HdrLog hdr_log_of(const sim::Workload& workload) {
  const double now_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return {now_s, 1,
          "placement latency in ns by `berth run`, workload " + workload.name + " (" + workload.label + "), seed " +
              std::to_string(workload.seed) + ", commit " + std::string(base::build_info().commit)};
}

/// What a worker decides an evaluation in.
struct EvalLane final : worker::Lane {
  EvalLane(const model::Options& options, const std::optional<sim::FitStrategy>& fit) {
    scratch.options = options;
    if (fit) scratch.strategy_fit.use(fit->ranker->fit(), fit->models, fit->device_shares);
  }
  sched::Scratch scratch;
  sched::Scheduler scheduler{scratch};
  sched::EvalResult result;
  std::uint64_t snapshots = 0;               ///< since the last evaluation that was settled
  std::uint64_t constraint_evaluations = 0;  ///< of the scratch, counted so far

  // For an observer.
  std::uint32_t number = 0;               ///< of its clock
  std::uint32_t applier = 0;              ///< of whose thread applied its plan
  std::int64_t applying_ns = 0;           ///< when that began
  bool used = false;                      ///< its memory is not new
  std::int64_t began_ns = -1;             ///< of the first attempt; -1: none yet
  std::uint32_t placed = 0, refused = 0;  ///< by all attempts
  base::StageClock::Counts seen{};        ///< ticks that belong to evaluations before
  base::StageClock::Counts marks_seen{};
  base::StageClock::Counts elsewhere{};  ///< ticks of its plan on another lane's clock, modulo 2^64
};

bool of_system(const tables::Snapshot& state, tables::JobKeyRow key) {
  const tables::CompiledJob& job = *state.jobs.versions[state.jobs.keys[key].current];
  return job.system || job.sysbatch;
}

EvalLane& own(worker::Lane& lane) { return static_cast<EvalLane&>(lane); }

/// The replay of one workload: state, workers, events and what was measured. With several workers and free commits the
/// host functions run on their threads: decide() without the writer's lock, all others under it.
class Replay : public worker::WorkerHost {
 public:
  Replay(const sim::Workload& workload, Inputs inputs, std::optional<sim::FitStrategy> fit, Observer* observer,
         RunResult& result)
      : workload_(workload), inputs_(std::move(inputs)), fit_(std::move(fit)), observer_(observer), result_(result) {
    join_observed(lane_);
    sim::load_store(store_, inputs_.cluster);
    store_.set_scheduler_config(configuration_of(workload));
    tickets_.resize(inputs_.jobs.arrivals.size());
    // The last nodes of the cluster join during the run.
    const auto rows = static_cast<std::int64_t>(store_.current().nodes.size());
    for (std::int64_t row = rows - std::min(rows, workload.cluster.joins.nodes); row < rows; ++row) {
      joining_.push_back(static_cast<tables::NodeRow>(row));
      store_.set_node_state(joining_.back(), tables::NodeStatus::down, true, false);
    }
    store_.set_index(store_.index() + 1);
    result_.nodes = inputs_.cluster.nodes.size();
    result_.load_allocs = inputs_.cluster.load.size();
    result_.templates = inputs_.jobs.templates.size();
    result_.arrivals = inputs_.jobs.arrivals.size();
    sampler_.emplace(store_.current(), typical_ask(inputs_.jobs), inputs_.jobs.arrivals.size());
  }

  void run(const RunOptions& options);

  /// As run(), up to the events due at `ns`, and the cluster as it is then.
  model::ClusterState run_until(std::int64_t ns) {
    until_ns_ = ns;
    run({.quiet = true});
    model::ClusterState out = tables::to_cluster(store_.current());
    std::sort(out.nodes.begin(), out.nodes.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    std::sort(out.allocs.begin(), out.allocs.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
    return out;
  }

  // --- worker::WorkerHost; rows of evaluations: see row_of() ---
  std::unique_ptr<worker::Lane> make_lane() override {
    auto lane = std::make_unique<EvalLane>(workload_.options, fit_);
    join_observed(*lane);
    return lane;
  }
  void decide(broker::EvalRow eval, const tables::Snapshot& state, worker::Lane& lane) override {
    decide(ticket_of(eval), state, 0, own(lane));
  }
  bool has_plan(const worker::Lane& lane) const override {
    const auto& mine = static_cast<const EvalLane&>(lane);
    return decided(mine) && commits(mine);
  }
  void apply(broker::EvalRow eval, worker::Lane& lane) override { apply(ticket_of(eval), own(lane)); }
  void served(broker::EvalRow eval, worker::Lane& lane) override;
  void gave_up(broker::EvalRow eval, worker::Lane& lane) override;
  void failed(broker::EvalRow eval) override;
  std::int64_t now_ns() const override { return clock_.now_ns(); }

 private:
  struct Departure {
    std::int64_t due_ns;
    tables::AllocRow first, count;  // rows of one commit
    bool fails;
    bool operator>(const Departure& other) const {
      return due_ns != other.due_ns ? due_ns > other.due_ns : first > other.first;
    }
  };
  struct Ticket {  // an evaluation that is due, or waits for capacity
    tables::JobKeyRow job = tables::kNoRow;
    std::int64_t due_ns = 0, run_time_ns = sim::kNeverEnds;
    base::Uuid id;
    std::uint64_t sequence = 0;
    bool retry = false, fails = false;
    bool registered = false;                              // before its turn, for a worker that decides ahead
    std::uint32_t round = 0;                              // how often it was unblocked
    bool escaped = false;                                 // R-CTRL-8xx: may any change unblock it?
    std::vector<std::pair<std::uint32_t, bool>> classes;  // computed class code -> eligible
  };

  void prepare();
  std::shared_ptr<const model::Job> next_job();
  Ticket& register_job(std::size_t arrival);
  void run_in_turn(Progress& progress);
  void run_free(Progress& progress);
  void arrive(std::size_t arrival);
  void post_ahead();
  [[nodiscard]] std::int64_t next_release_ns() const;
  void make_room(std::int64_t due_ns, std::vector<std::uint32_t>& due);
  void retry(std::int64_t due_ns, std::vector<std::uint32_t>& due);
  [[nodiscard]] bool missed_room(const Ticket& ticket, std::uint64_t snapshot_index) const;
  void end_allocs(std::int64_t due_ns);
  void join_nodes(std::int64_t due_ns);
  void release(std::int64_t due_ns);
  void evaluate(Ticket& ticket);
  void decide(const Ticket& ticket, const tables::Snapshot& state, std::uint64_t order_index, EvalLane& lane) const;
  [[nodiscard]] static bool decided(const EvalLane& lane) { return lane.result.status == sched::EvalStatus::complete; }
  [[nodiscard]] static bool commits(const EvalLane& lane) {
    return !lane.result.plan.allocs.empty() || !lane.result.plan.stops.empty();
  }
  void apply(const Ticket& ticket, EvalLane& lane);
  void settle(Ticket& ticket, EvalLane& lane, bool exhausted);
  void join_observed(EvalLane& lane);
  void observe_apply(EvalLane& lane, bool all_at_once);
  void observe(const Ticket& ticket, EvalLane& lane, const Work& work);
  /// Two rows per arrival, in turns: an evaluation may be unblocked before its last run is acked.
  [[nodiscard]] static broker::EvalRow row_of(const Ticket& ticket) {
    return broker::EvalRow{static_cast<std::uint32_t>(2 * (ticket.sequence - 1) + ticket.round % 2)};
  }
  [[nodiscard]] Ticket& ticket_of(broker::EvalRow row) { return tickets_[static_cast<std::uint32_t>(row) / 2]; }
  [[nodiscard]] broker::Eval queued(const Ticket& ticket) const;
  void count_asked(const tables::CompiledJob& job);
  void count_failures(const EvalLane& lane);
  [[nodiscard]] bool over_limit();
  void look(bool exclusive);
  void finish();

  const sim::Workload& workload_;
  Inputs inputs_;
  const std::optional<sim::FitStrategy> fit_;  // in place of Nomad's fit component
  Observer* const observer_;
  std::vector<EvalLane*> observed_;  // by number of their clocks
  RunResult& result_;
  tables::StateStore store_;
  plan::Applier applier_{store_, workload_.options.quirks};
  sim::DecisionDigest digest_;
  sim::RunClock clock_{sim::Clock::skip};
  std::deque<std::shared_ptr<const model::Job>> prepared_;
  std::size_t next_arrival_ = 0, next_prepared_ = 0, next_registered_ = 0;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::vector<Ticket> tickets_;               // by arrival; its length never changes, so workers may read it
  std::vector<std::uint32_t> blocked_;        // tickets
  std::vector<std::uint32_t> missed_;         // tickets that blocked on a state that was out of date (R-CTRL-805)
  std::vector<std::uint64_t> room_since_;     // by computed class: state index when nodes of it last got room
  std::optional<worker::Speculation> ahead_;  // commits in turn, several workers
  std::vector<tables::NodeRow> joining_;      // rows of the nodes that join during the run, in order
  std::size_t next_join_ = 0;
  std::vector<std::uint32_t> classes_;
  EvalLane lane_{workload_.options, fit_};  // of the run's thread
  std::optional<ClusterSampler> sampler_;
  std::optional<HdrLog> hdr_log_;
  std::int64_t until_ns_ = INT64_MAX;        // no event that is due later
  std::atomic<std::int64_t> waited_ns_ = 0;  // for arrivals; written by the run's thread
};

/// Makes the job objects of coming arrivals while there is nothing else to do: a server gets them from its clients.
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

bool Replay::over_limit() {
  if (workload_.limits.placements > 0 && result_.placed >= static_cast<std::uint64_t>(workload_.limits.placements)) {
    result_.ended = "limit of placements";
    return true;
  }
  if (workload_.limits.seconds > 0 && static_cast<double>(clock_.elapsed_ns()) / 1e9 >= workload_.limits.seconds) {
    result_.ended = "limit of seconds";
    return true;
  }
  if (observer_ && observer_->finished()) {
    result_.ended = "limit of evaluations";
    return true;
  }
  if (interrupted()) {
    result_.ended = "interrupted";
    return true;
  }
  return false;
}

void Replay::run(const RunOptions& options) {
  Progress progress("jobs", inputs_.jobs.arrivals.size(), options.quiet);
  prepare();
  if (options.hdr_log) hdr_log_.emplace(hdr_log_of(workload_));
  clock_ = sim::RunClock(workload_.arrivals.clock);
  if (workload_.commits == sim::CommitOrder::free)
    run_free(progress);
  else
    run_in_turn(progress);
  progress.finish();
  finish();
}

// ---------------------------------------------------------------- commits in turn

/// One event after the other. With several workers, threads decide coming evaluations ahead of their turn.
void Replay::run_in_turn(Progress& progress) {
  if (workload_.workers > 1)
    ahead_.emplace(
        store_, static_cast<std::uint32_t>(workload_.workers), [this] { return make_lane(); },
        [this](std::uint32_t ticket, const tables::Snapshot& state, std::uint64_t order_index, worker::Lane& lane,
               worker::Speculation::Reads& reads) {
          decide(tickets_[ticket], state, order_index, own(lane));
          reads.all = !own(lane).scheduler.rows_read(reads.rows);
        });
  while (true) {
    constexpr std::int64_t kNone = INT64_MAX;
    const bool more = next_arrival_ < inputs_.jobs.arrivals.size();
    const std::int64_t arrival_ns = more ? inputs_.jobs.arrivals[next_arrival_].due_ns : kNone;
    // After the last arrival room matters only to those that wait for it.
    const std::int64_t release_ns = more || !blocked_.empty() ? next_release_ns() : kNone;
    const std::int64_t due_ns = std::min(arrival_ns, release_ns);
    if (due_ns == kNone || due_ns > until_ns_) {
      result_.ended = "complete";
      break;
    }
    if (over_limit()) {
      result_.partial = true;
      break;
    }
    if (sampler_->due(next_arrival_)) look(true);
    const std::int64_t before = clock_.elapsed_ns();
    if (clock_.now_ns() < due_ns) {
      prepare();
      progress.update(next_arrival_, true);
      clock_.idle_until(due_ns, kMaxSleepNs);
      waited_ns_ += clock_.elapsed_ns() - before;
      if (clock_.now_ns() < due_ns) continue;  // slept a part of it: look for signals and limits
    }
    {
      const base::UseStageClock marks(observer_ && observer_->begin() ? lane_.stages : nullptr);
      if (base::stage_clock) base::stage_clock->start(base::Stage::harness);
      if (release_ns <= arrival_ns)
        release(release_ns);
      else
        arrive(next_arrival_++);
    }
    if (observer_) observer_->end();
    progress.update(next_arrival_);
  }
  if (!ahead_) return;
  const worker::Speculation::Stats stats = ahead_->stats();
  result_.parallel.ahead_used = stats.used, result_.parallel.ahead_redone = stats.redone;
  result_.parallel.ahead_inline = stats.inline_;
  result_.parallel.busy_ns = stats.busy_ns;
  ahead_.reset();
}

/// Registers the job of an arrival, unless that was done ahead of its turn.
Replay::Ticket& Replay::register_job(std::size_t arrival) {
  Ticket& ticket = tickets_[arrival];
  if (ticket.registered) return ticket;
  ticket.registered = true;
  const sim::JobArrival& from = inputs_.jobs.arrivals[arrival];
  auto job = next_job();
  const base::StageScope compiling(base::Stage::compile);
  const tables::JobRow row = store_.upsert_job(std::move(job), true);
  ticket.job = store_.current().jobs.versions[row]->key;
  ticket.due_ns = from.due_ns, ticket.run_time_ns = from.run_time_ns, ticket.fails = from.fails;
  ticket.sequence = arrival + 1;
  ticket.id =
      sim::generated_id(sim::kEvalKind, static_cast<std::uint32_t>(ticket.sequence), sim::mix64(workload_.seed));
  return ticket;
}

void Replay::post_ahead() {
  // The state index an evaluation will see when its turn comes, if no allocation ends before: each job and each
  // evaluation takes one.
  std::uint64_t order_index = store_.index() + 2 * ahead_->posted();
  for (std::size_t next = std::max(next_registered_, next_arrival_);
       ahead_->wants_more() && next < inputs_.jobs.arrivals.size(); ++next) {
    if (next != next_arrival_ + ahead_->posted()) break;
    const Ticket& ticket = register_job(next);
    next_registered_ = next + 1;
    ahead_->post(static_cast<std::uint32_t>(ticket.sequence - 1), ++order_index);
    ++order_index;
  }
}

void Replay::arrive(std::size_t arrival) {
  if (ahead_) {
    --next_arrival_;  // this one is the first that may be decided ahead
    post_ahead();
    ++next_arrival_;
  }
  Ticket& ticket = register_job(arrival);
  store_.set_index(store_.index() + 1);
  const tables::CompiledJob& compiled = *store_.current().jobs.versions[store_.current().jobs.keys[ticket.job].current];
  ++result_.jobs;
  count_asked(compiled);
  evaluate(ticket);
}

/// When allocations end or nodes join next; INT64_MAX: never.
std::int64_t Replay::next_release_ns() const {
  std::int64_t at = departures_.empty() ? INT64_MAX : departures_.top().due_ns;
  if (next_join_ < joining_.size()) at = std::min(at, workload_.cluster.joins.due_ns(next_join_));
  return at;
}

void Replay::end_allocs(std::int64_t due_ns) {
  while (!departures_.empty() && departures_.top().due_ns == due_ns) {
    const Departure departure = departures_.top();
    departures_.pop();
    const std::uint64_t index = store_.index() + 1;
    for (tables::AllocRow row = departure.first; row < departure.first + departure.count; ++row) {
      if (store_.current().allocs.terminal(row)) continue;
      const tables::NodeRow node = store_.current().allocs.node[row];
      store_.set_client_status(row, departure.fails ? tables::Client::failed : tables::Client::complete, index);
      if (ahead_) ahead_->changed(node);
      sampler_->changed(node);
      classes_.push_back(store_.current().nodes.capacity(node).computed_class_code);
      ++result_.departed;
    }
  }
}

void Replay::join_nodes(std::int64_t due_ns) {
  for (; next_join_ < joining_.size() && workload_.cluster.joins.due_ns(next_join_) == due_ns; ++next_join_) {
    const tables::NodeRow node = joining_[next_join_];
    store_.set_node_state(node, tables::NodeStatus::ready, true, false, store_.index() + 1);
    classes_.push_back(store_.current().nodes.capacity(node).computed_class_code);
    ++result_.joined;
  }
}

/// Ends allocations and lets nodes join that are due, and lists the blocked evaluations that this concerns, best
/// priority first.
void Replay::make_room(std::int64_t due_ns, std::vector<std::uint32_t>& due) {
  auto& classes = classes_;  // computed classes of the nodes that got room
  classes.clear();
  end_allocs(due_ns);
  join_nodes(due_ns);
  for (const std::uint32_t code : classes) {
    if (room_since_.size() <= code) room_since_.resize(code + 1);
    room_since_[code] = store_.index();
  }
  if (blocked_.empty()) return;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  // A blocked evaluation runs again when a class that it may use, or never saw, got room.
  std::erase_if(blocked_, [&](std::uint32_t row) {
    const Ticket& ticket = tickets_[row];
    const bool concerned = ticket.escaped || std::any_of(classes.begin(), classes.end(), [&](std::uint32_t code) {
                             const auto known = std::find_if(ticket.classes.begin(), ticket.classes.end(),
                                                             [&](const auto& entry) { return entry.first == code; });
                             return known == ticket.classes.end() || known->second;
                           });
    if (concerned) due.push_back(row);
    return concerned;
  });
  retry(due_ns, due);
}

/// Whether the evaluation was decided on a state from before a class that it may use got room (R-CTRL-810).
bool Replay::missed_room(const Ticket& ticket, std::uint64_t snapshot_index) const {
  const auto refuses = [&](std::uint32_t code) {
    return std::any_of(ticket.classes.begin(), ticket.classes.end(),
                       [&](const auto& entry) { return entry.first == code && !entry.second; });
  };
  for (std::uint32_t code = 0; code < room_since_.size(); ++code)
    if (room_since_[code] > snapshot_index && (ticket.escaped || !refuses(code))) return true;
  return false;
}

/// Prepares blocked evaluations that are due for another round, best priority first.
void Replay::retry(std::int64_t due_ns, std::vector<std::uint32_t>& due) {
  const auto priority = [&](const Ticket& ticket) {
    const auto& jobs = store_.current().jobs;
    return jobs.versions[jobs.keys[ticket.job].current]->priority;
  };
  std::sort(due.begin(), due.end(), [&](std::uint32_t a, std::uint32_t b) {
    const std::int64_t of_a = priority(tickets_[a]), of_b = priority(tickets_[b]);
    return of_a != of_b ? of_a > of_b : a < b;
  });
  for (const std::uint32_t row : due) {
    tickets_[row].due_ns = due_ns;
    tickets_[row].retry = true;
    ++tickets_[row].round;
  }
  result_.retries += due.size();
}

void Replay::release(std::int64_t due_ns) {
  std::vector<std::uint32_t> due;
  make_room(due_ns, due);
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (interrupted()) {  // the others stay blocked
      blocked_.insert(blocked_.end(), due.begin() + static_cast<std::ptrdiff_t>(i), due.end());
      result_.retries -= due.size() - i;
      return;
    }
    evaluate(tickets_[due[i]]);
  }
}

void Replay::evaluate(Ticket& ticket) {
  const std::uint64_t order_index = store_.index();
  const auto row = static_cast<std::uint32_t>(ticket.sequence - 1);
  EvalLane* lane = &lane_;
  if (ahead_ && !ticket.retry && ahead_->posted() > 0) {
    const std::int64_t turn_ns = clock_.now_ns();
    const base::StageScope waiting(base::Stage::wait);
    lane = &own(ahead_->take(row, order_index));
    lane->started_ns = turn_ns;  // its turn waited from here
    lane->decided_ns = clock_.now_ns();
  } else {
    if (ahead_) ahead_->skip();
    lane_.started_ns = clock_.now_ns();
    {
      const base::StageScope looking(base::Stage::snapshot);
      const tables::SnapshotRef held = store_.snapshot();
      lane_.snapshot_index = held->index;
      decide(ticket, held, order_index, lane_);
    }  // The snapshot ends before the commit: with one worker the tables are then written in place.
    lane_.decided_ns = clock_.now_ns();
  }
  lane->attempts = 1;
  lane->applied.committed = 0;
  if (decided(*lane) && commits(*lane)) apply(ticket, *lane);
  settle(ticket, *lane, false);
  if (store_.index() == order_index) store_.set_index(order_index + 1);  // the update of the evaluation itself
  if (lane != &lane_) ahead_->release();
}

// ---------------------------------------------------------------- free commits

broker::Eval Replay::queued(const Ticket& ticket) const {
  const auto& jobs = store_.current().jobs;
  const tables::CompiledJob& job = *jobs.versions[jobs.keys[ticket.job].current];
  broker::Eval out;
  out.row = row_of(ticket);
  out.job = broker::JobRow{ticket.job};
  out.job_id = job.job_id;
  out.priority = static_cast<std::int32_t>(job.priority);
  out.type = job.batch ? broker::Queue::batch : broker::Queue::service;
  out.create_index = out.modify_index = store_.index();
  return out;
}

/// Nomad's optimistic concurrency: the run's thread registers jobs and ends allocations, workers do the rest.
void Replay::run_free(Progress& progress) {
  worker::WorkerConfig config;
  config.workers = static_cast<std::uint32_t>(workload_.workers);
  config.broker.quirks = workload_.options.quirks;
  config.broker.evals = static_cast<std::uint32_t>(std::max<std::size_t>(1, 2 * tickets_.size()));
  config.broker.jobs = static_cast<std::uint32_t>(tickets_.size() + store_.current().jobs.keys.size() + 1);
  worker::Workers workers(store_, *this, config);
  const base::UseStageClock marks(lane_.stages);
  if (lane_.stages) lane_.stages->start(base::Stage::harness);
  std::vector<std::uint32_t> due;
  std::vector<broker::Eval> evals;
  while (true) {
    constexpr std::int64_t kNone = INT64_MAX;
    std::int64_t arrival_ns = kNone, release_ns = kNone;
    const bool more = next_arrival_ < inputs_.jobs.arrivals.size();
    if (more) arrival_ns = inputs_.jobs.arrivals[next_arrival_].due_ns;
    const bool idle = workers.idle();
    {
      const worker::Workers::Writer writer(workers);
      if (over_limit()) {
        result_.partial = true;
        break;
      }
      if (more || !blocked_.empty() || !idle) release_ns = next_release_ns();
      evals.clear();
      if (!missed_.empty()) {
        retry(clock_.now_ns(), missed_);
        for (const std::uint32_t row : missed_) evals.push_back(queued(tickets_[row]));
        missed_.clear();
      } else if (!more && idle && release_ns == kNone) {
        result_.ended = "complete";
        break;
      }
    }
    if (!evals.empty()) {
      if (workers.enqueue(evals)) continue;
      result_.unsupported_reasons["a broker with room for so many evaluations"] += evals.size();
      break;
    }
    const std::int64_t due_ns = std::min(arrival_ns, release_ns), now = clock_.now_ns();
    if (now < due_ns) {
      prepare();
      progress.update(next_arrival_, true);
      const base::StageScope resting(base::Stage::idle);
      if (!idle) {
        workers.wait_idle(std::min(kMaxSleepNs, due_ns - now));
        workers.tick();
      } else {
        const std::int64_t before = clock_.elapsed_ns();
        clock_.idle_until(due_ns, kMaxSleepNs);
        waited_ns_ += clock_.elapsed_ns() - before;
      }
      continue;
    }
    evals.clear();
    if (release_ns <= arrival_ns) {
      const worker::Workers::Writer writer(workers);
      due.clear();
      make_room(release_ns, due);
      for (const std::uint32_t row : due) evals.push_back(queued(tickets_[row]));
    } else {
      prepare();
      const worker::Workers::Writer writer(workers);
      if (sampler_->due(next_arrival_)) look(false);
      const Ticket& ticket = register_job(next_arrival_++);
      store_.set_index(store_.index() + 1);
      const tables::CompiledJob& job = *store_.current().jobs.versions[store_.current().jobs.keys[ticket.job].current];
      ++result_.jobs;
      count_asked(job);
      evals.push_back(queued(ticket));
    }
    if (!evals.empty() && !workers.enqueue(evals)) {
      result_.unsupported_reasons["a broker with room for so many evaluations"] += evals.size();
      break;
    }
    progress.update(next_arrival_);
  }
  workers.stop();
  const worker::WorkerStats stats = workers.stats();
  ParallelResult& out = result_.parallel;
  out.plans = stats.plans, out.conflicts = stats.conflicts, out.partial = stats.partial, out.retries = stats.retries;
  out.gave_up = stats.gave_up, out.exceptions = stats.exceptions, out.plan_errors = stats.plan_errors;
  out.failed = stats.failed, out.apply_ns = stats.apply_ns, out.busy_ns = stats.busy_ns;
  out.left = workers.broker().contents().known.size();
  out.lost = workers.lost();
}

void Replay::served(broker::EvalRow eval, worker::Lane& lane) {
  settle(ticket_of(eval), own(lane), false);
  if (lane.applied.index == 0) store_.set_index(store_.index() + 1);  // the update of the evaluation itself
  lane.applied.index = 0;
}

void Replay::gave_up(broker::EvalRow eval, worker::Lane& lane) {
  settle(ticket_of(eval), own(lane), true);
  lane.applied.index = 0;
}

void Replay::failed(broker::EvalRow) { ++result_.unsupported_reasons["an evaluation reached its delivery limit"]; }

// ---------------------------------------------------------------- both

void Replay::decide(const Ticket& ticket, const tables::Snapshot& state, std::uint64_t order_index,
                    EvalLane& lane) const {
  const base::StageScope preparing(base::Stage::harness);
  if (observer_ && lane.stages) lane.stages->set_detailed(observer_->detailed(ticket.sequence, ticket.round));
  if (lane.began_ns < 0) lane.began_ns = lane.started_ns;
  const tables::JobRow version = state.jobs.keys[ticket.job].current;
  const tables::CompiledJob& job = *state.jobs.versions[version];
  const auto id_text = base::to_text(ticket.id);
  sched::EvalFacts facts;
  facts.id = ticket.id;
  facts.id_text = id_text;
  facts.job = ticket.job;
  facts.priority = job.priority;
  facts.triggered_by = ticket.retry ? "queued-allocs" : "job-register";
  facts.batch = job.batch || job.sysbatch;
  facts.blocked = ticket.retry;
  lane.result.clear();
  lane.applied.index = 0;
  ++lane.snapshots;
  lane.scheduler.generic.set_exhaustive(workload_.mode == sim::Mode::exhaustive);
  lane.scheduler.generic.set_defer_metrics(true);  // nobody reads those of placements
  lane.scheduler.generic.set_order_index(order_index);
  // A stream per evaluation and state: what an evaluation draws does not depend on who ran before it.
  sched::IdStream ids(sim::mix64(
      workload_.seed ^ sim::mix64(ticket.sequence ^ sim::mix64(order_index != 0 ? order_index : state.index))));
  sched::NoPlanner planner;  // the applier's turn comes later
  lane.scheduler.process(state, facts, job.system || job.sysbatch, provider_of(workload_.order), ids, planner,
                         lane.result);
}

void Replay::apply(const Ticket& ticket, EvalLane& lane) {
  const tables::JobKey& key = store_.current().jobs.keys[ticket.job];
  lane.applied.index = 0;
  lane.applied.rejected_nodes.clear();
  lane.applied.placements_refused = false;
  if (key.current == tables::kNoRow) {  // R-CTRL-503
    lane.applied.error = "job not found";
    return;
  }
  const auto first = static_cast<tables::AllocRow>(store_.current().allocs.size());
  const bool all_at_once = store_.current().jobs.versions[key.current]->spec->all_at_once;
  const std::uint64_t behind = store_.index() - std::min(store_.index(), lane.snapshot_index);
  if (observer_)
    observe_apply(lane, all_at_once);
  else
    applier_.apply(lane.result.plan, store_.index() + 1, all_at_once, lane.applied);
  result_.parallel.snapshot_age.record(static_cast<std::int64_t>(behind));
  result_.parallel.submit_wait.record(clock_.now_ns() - lane.decided_ns);
  if (!lane.applied.error.empty()) return;
  lane.placed += lane.applied.committed, lane.refused += lane.applied.refused;
  result_.refused += lane.applied.refused;
  result_.placed += lane.applied.committed;
  for (const plan::PlannedStop& stop : lane.result.plan.stops) {
    if (!stop.evict || stop.dropped) continue;
    const tables::ResourceShape& held = store_.current().allocs.shape_of(stop.alloc);
    ++result_.work.preempted_allocs;
    result_.work.preempted_cpu_mhz += held.cpu_mhz, result_.work.preempted_memory_mb += held.memory_mb;
  }
  if (workload_.departures && ticket.run_time_ns != sim::kNeverEnds && lane.applied.committed > 0)
    // From the due time, not from the commit, so that the speed of the machine does not change the decisions.
    departures_.push({ticket.due_ns + ticket.run_time_ns, first, lane.applied.committed, ticket.fails});
  const auto changed = [&](tables::NodeRow node) {
    sampler_->changed(node);
    if (ahead_) ahead_->changed(node);
  };
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs) changed(alloc.node);
  for (const plan::PlannedStop& stop : lane.result.plan.stops) changed(store_.current().allocs.node[stop.alloc]);
  const std::int64_t committed_ns = clock_.now_ns();
  const std::size_t placed = lane.applied.committed;
  result_.latency.total.record(committed_ns - ticket.due_ns, placed);
  result_.latency.queue.record(lane.started_ns - ticket.due_ns, placed);
  result_.latency.schedule.record(lane.decided_ns - lane.started_ns, placed);
  result_.latency.commit.record(committed_ns - lane.decided_ns, placed);
  result_.rate.add(static_cast<double>(clock_.elapsed_ns() - waited_ns_) / 1e9, result_.placed);
  if (hdr_log_) hdr_log_->record(static_cast<double>(clock_.elapsed_ns()) / 1e9, committed_ns - ticket.due_ns, placed);

  digest_.begin_evaluation(ticket.sequence);
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
    if (!lane.applied.placements_refused &&
        std::find(lane.applied.rejected_nodes.begin(), lane.applied.rejected_nodes.end(), alloc.node) ==
            lane.applied.rejected_nodes.end())
      digest_.placement(store_.current().nodes.id(alloc.node), alloc.name_index, alloc.score);
}

/// What an evaluation leaves behind once its plan is committed: latency, failures, a blocked evaluation.
void Replay::settle(Ticket& ticket, EvalLane& lane, bool exhausted) {
  ++result_.evaluations;
  Work work;
  add_nodes(lane.result, work);
  work.snapshots = std::exchange(lane.snapshots, 0);
  const std::uint64_t evaluations = lane.scratch.verdicts.evaluations();
  work.constraint_evaluations = evaluations - std::exchange(lane.constraint_evaluations, evaluations);
  if (observer_) observe(ticket, lane, work);
  if (!decided(lane)) {
    ++result_.unsupported_reasons[lane.result.description];
    return;
  }
  result_.evaluation_latency.record(clock_.now_ns() - ticket.due_ns);
  add_work(work, result_.work);
  if (!commits(lane)) digest_.begin_evaluation(ticket.sequence);
  bool failed = exhausted;
  const bool first_of_system = !ticket.retry && of_system(store_.current(), ticket.job);
  if (first_of_system) result_.asked += lane.result.plan.allocs.size();
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    failed = true;
    if (first_of_system) result_.asked += 1 + static_cast<std::uint64_t>(group.failure.coalesced);
    digest_.failure(store_.symbols().text(group.name), 1 + static_cast<std::uint64_t>(group.failure.coalesced));
  }
  if (!failed) return;
  if (!ticket.retry) {
    count_failures(lane);
    ++result_.blocked_evaluations;
    if (lane.result.has_blocked) ticket.id = lane.result.blocked_id;
  }
  // A retry keeps no class map of its own yet, and refused plans say nothing about classes.
  ticket.escaped = exhausted || lane.result.eligibility.escaped || !lane.result.has_blocked;
  ticket.classes = lane.result.eligibility.classes;
  const auto row = static_cast<std::uint32_t>(ticket.sequence - 1);
  if (workload_.commits == sim::CommitOrder::free && missed_room(ticket, lane.snapshot_index))
    missed_.push_back(row);
  else
    blocked_.push_back(row);
}

// ---------------------------------------------------------------- an observer

void Replay::join_observed(EvalLane& lane) {
  if (!observer_) return;
  lane.stages = observer_->new_clock();
  lane.number = static_cast<std::uint32_t>(observed_.size());
  observed_.push_back(&lane);
}

/// Applies the lane's plan. Its ticks belong to the evaluation, on whoever's clock they are counted.
void Replay::observe_apply(EvalLane& lane, bool all_at_once) {
  base::StageClock* const clock = base::stage_clock;
  lane.applying_ns = clock_.now_ns();
  lane.applier = lane.number;
  if (!clock || clock == lane.stages) {
    applier_.apply(lane.result.plan, store_.index() + 1, all_at_once, lane.applied);
    return;
  }
  const base::StageClock::Counts before = clock->ticks();
  applier_.apply(lane.result.plan, store_.index() + 1, all_at_once, lane.applied);
  for (EvalLane* other : observed_) {
    if (other->stages != clock) continue;
    lane.applier = other->number;
    for (const base::Stage stage : {base::Stage::check, base::Stage::commit}) {
      const auto s = static_cast<std::size_t>(stage);
      lane.elsewhere[s] += clock->ticks()[s] - before[s];
      other->elsewhere[s] -= clock->ticks()[s] - before[s];
    }
  }
}

void Replay::observe(const Ticket& ticket, EvalLane& lane, const Work& work) {
  EvalRecord record;
  if (lane.stages) {
    if (base::stage_clock == lane.stages) lane.stages->flush();
    for (std::size_t s = 0; s < base::kStages; ++s) {
      record.ticks[s] = lane.stages->ticks()[s] - lane.seen[s] + lane.elsewhere[s];
      record.marks[s] = lane.stages->marks()[s] - lane.marks_seen[s];
    }
    lane.seen = lane.stages->ticks(), lane.marks_seen = lane.stages->marks();
    lane.elsewhere = {};
    record.detailed = lane.stages->detailed();
  }
  record.number = ticket.sequence;
  record.round = ticket.round;
  record.lane = lane.number;
  record.applier = lane.applier;
  const std::int64_t began_ns = std::exchange(lane.began_ns, -1);
  record.due_ns = ticket.due_ns, record.decided_ns = lane.decided_ns;
  record.started_ns = workload_.commits == sim::CommitOrder::free && began_ns >= 0 ? began_ns : lane.started_ns;
  record.applying_ns = std::exchange(lane.applying_ns, 0);
  record.done_ns = clock_.now_ns();
  record.attempts = std::max<std::uint32_t>(lane.attempts, static_cast<std::uint32_t>(work.snapshots));
  record.placed = std::exchange(lane.placed, 0), record.refused = std::exchange(lane.refused, 0);
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
    record.candidates = std::max(record.candidates, static_cast<std::uint32_t>(alloc.metrics.in_pool));
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    record.failed += 1 + static_cast<std::uint32_t>(group.failure.coalesced);
    record.candidates = std::max(record.candidates, static_cast<std::uint32_t>(group.failure.in_pool));
  }
  for (const plan::PlannedStop& stop : lane.result.plan.stops) record.evicted += stop.evict && !stop.dropped;
  record.first_of_lane = !std::exchange(lane.used, true);
  record.work = work;
  // In an event that is not marked nothing was counted.
  if (!lane.stages || base::stage_clock || lane.stages != lane_.stages) observer_->evaluation(record);
}

/// What a job asks for. A system job asks for as many as there are nodes for it: its first evaluation knows.
void Replay::count_asked(const tables::CompiledJob& job) {
  if (job.system || job.sysbatch) return;
  for (const tables::CompiledGroup& group : job.groups) result_.asked += static_cast<std::uint64_t>(group.count);
}

/// Every failed placement counts once, under what ruled out most nodes.
void Replay::count_failures(const EvalLane& lane) {
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    std::string reason = group.failure.evaluated == 0 ? "no node in the datacenters and pool" : "no reason given";
    std::int32_t most = 0;
    const auto look = [&](std::span<const sched::Count> counts, const char* kind) {
      for (const sched::Count& count : counts)
        if (count.count > most) most = count.count, reason = kind + lane.scratch.reasons.text(count.what);
    };
    look(group.failure.dimensions, "exhausted: ");
    look(group.failure.reasons, "filtered: ");
    result_.failed_reasons[reason] += 1 + static_cast<std::uint64_t>(group.failure.coalesced);
  }
}

/// A look at the cluster. `exclusive`: no other thread uses the clock, which then leaves the look out.
void Replay::look(bool exclusive) {
  const std::int64_t before = clock_.elapsed_ns();
  sampler_->look(store_.current(), static_cast<double>(before - waited_ns_) / 1e9,
                 static_cast<double>(clock_.now_ns()) / 1e9, result_.placed, result_.refused);
  if (!exclusive) return;
  const std::int64_t took = clock_.elapsed_ns() - before;
  waited_ns_ += took;
  clock_.leave_out(took);
}

void Replay::finish() {
  look(true);
  result_.elapsed_s = static_cast<double>(clock_.elapsed_ns()) / 1e9;
  result_.busy_s = static_cast<double>(clock_.elapsed_ns() - waited_ns_) / 1e9;
  result_.virtual_s = static_cast<double>(clock_.now_ns()) / 1e9;
  result_.blocked_at_end = blocked_.size() + missed_.size();
  result_.failed = result_.asked - std::min(result_.asked, result_.placed);
  result_.decisions_digest = digest_.text();
  result_.table_bytes = store_.bytes();
  const sim::PackingTable packing(store_.current());
  result_.packing = sim::measure_packing(packing.columns(), typical_ask(inputs_.jobs));
  result_.over_time = sampler_->samples();
  result_.map = sampler_->map();
  if (hdr_log_) result_.hdr_log = hdr_log_->finish(result_.elapsed_s);
}

}  // namespace

Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options) {
  if (const auto error = refused(workload)) return tl::unexpected(*error);
  const auto start = Steady::now();
  RunResult result;
  result.workload = workload;
  std::vector<std::string> data_files;
  AllocationCount before;
  const auto count_allocations = [&] {
    if (!options.allocations) return;
    const AllocationCount now = options.allocations();
    result.allocations = AllocationCount{now.count - before.count, now.bytes - before.bytes};
  };
  if (workload.cluster.source == sim::Source::nomad_grid) {
    if (options.allocations) before = options.allocations();
    const double cpu_before = cpu_seconds();
    if (auto done = run_grid(workload, options, result); !done) return tl::unexpected(done.error());
    result.cpu_s = cpu_seconds() - cpu_before;
    count_allocations();
    if (const auto path = sim::committed_data(workload.path, "nomad-grid.jsonl.gz")) data_files.push_back(*path);
    if (options.hdr_log) {  // its evaluations are timed side by side: one interval
      HdrLog log = hdr_log_of(workload);
      log.record_all(result.evaluation_latency);
      result.hdr_log = log.finish(result.elapsed_s);
    }
  } else {
    auto inputs = make_inputs(workload);
    if (!inputs) return tl::unexpected(inputs.error());
    data_files = std::move(inputs->data_files);
    std::vector<sim::JobArrival>& arrivals = inputs->jobs.arrivals;
    if (options.arrivals_max > 0 && arrivals.size() > options.arrivals_max) arrivals.resize(options.arrivals_max);
    std::optional<sim::FitStrategy> fit;
    if (workload.strategy != "nomad") {
      auto made = sim::fit_strategy(workload, inputs->cluster, inputs->jobs);
      if (!made) return tl::unexpected(made.error());
      fit = std::move(*made);
    }
    Replay replay(workload, std::move(*inputs), std::move(fit), options.observer, result);
    result.setup_s = seconds_since(start);
    if (options.allocations) before = options.allocations();
    const double cpu_before = cpu_seconds();
    replay.run(options);
    result.cpu_s = cpu_seconds() - cpu_before;
    count_allocations();
  }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  result.workload_sha256 = sha256_of_files({workload.path});
  result.data_sha256 = sha256_of_files(data_files);
  return result;
}

Result<model::ClusterState> state_at(const sim::Workload& given, std::int64_t at_ns) {
  sim::Workload workload = given;
  workload.workers = 1;
  workload.commits = sim::CommitOrder::deterministic;
  workload.arrivals.clock = sim::Clock::skip;
  workload.limits.seconds = 0;  // the state must not depend on the speed of the machine
  if (auto problem = refused(workload)) return tl::unexpected(std::move(*problem));
  if (workload.cluster.source == sim::Source::nomad_grid)
    return tl::unexpected(
        InputError{workload.path, "cluster", "has no cluster that lives on", "name another workload"});
  auto inputs = make_inputs(workload);
  if (!inputs) return tl::unexpected(inputs.error());
  std::optional<sim::FitStrategy> fit;
  if (workload.strategy != "nomad") {
    auto made = sim::fit_strategy(workload, inputs->cluster, inputs->jobs);
    if (!made) return tl::unexpected(made.error());
    fit = std::move(*made);
  }
  RunResult result;
  Replay replay(workload, std::move(*inputs), std::move(fit), nullptr, result);
  return replay.run_until(at_ns);
}

}  // namespace berth::run
