#include "run/runner.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <optional>
#include <queue>

#include "io/files.h"
#include "plan/apply.h"
#include "run/grid_run.h"
#include "run/interrupt.h"
#include "run/progress.h"
#include "sched/generic.h"
#include "sim/arrivals.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/digest.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"
#include "sim/openb.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point start) { return std::chrono::duration<double>(Steady::now() - start).count(); }

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
  const auto error = [&](std::string problem, std::string remedy) {
    return InputError{workload.path, "", std::move(problem), std::move(remedy)};
  };
  if (workload.strategy != "nomad")
    return error("there is no strategy '" + workload.strategy + "'", "use strategy = \"nomad\"");
  if (workload.workers != 1) return error("more than one worker is not there yet", "use workers = 1");
  return std::nullopt;
}

struct Inputs {
  sim::GeneratedCluster cluster;
  sim::JobStream jobs;
};

Result<Inputs> make_inputs(const sim::Workload& workload) {
  Inputs out;
  const auto beside = [&](const std::string& file) {
    return (std::filesystem::path(workload.path).parent_path() / file).string();
  };
  const auto text_of = [&](const std::string& file) -> Result<std::pair<std::string, std::string>> {
    auto path = sim::fetched_data(workload.path, "openb", file);
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    return std::pair(std::move(*text), *path);
  };
  std::optional<sim::OpenbSummary> summary;
  if (workload.cluster.source == sim::Source::openb_like || workload.jobs.source == sim::Source::openb_like) {
    auto path = sim::committed_data(workload.path, "openb-summary.json");
    if (!path) return tl::unexpected(path.error());
    auto text = io::read_file(*path);
    if (!text) return tl::unexpected(text.error());
    auto parsed = sim::parse_openb_summary(*text, *path);
    if (!parsed) return tl::unexpected(parsed.error());
    summary = std::move(*parsed);
  }
  const std::int64_t shares = workload.cluster.gpu_shares;
  switch (workload.cluster.source) {
    case sim::Source::mix:
      out.cluster = sim::generate_cluster(workload.cluster, workload.seed);
      break;
    case sim::Source::openb: {
      auto text = text_of("openb_node_list_" + workload.cluster.list + ".csv");
      if (!text) return tl::unexpected(text.error());
      auto nodes = sim::parse_openb_nodes(text->first, text->second);
      if (!nodes) return tl::unexpected(nodes.error());
      out.cluster = sim::openb_cluster(*nodes, shares, workload.seed);
      break;
    }
    case sim::Source::openb_like:
      out.cluster =
          sim::openb_like_cluster(*summary, workload.cluster.nodes, workload.cluster.racks, shares, workload.seed);
      break;
    case sim::Source::files: {
      auto cluster = sim::read_cluster_file(beside(workload.cluster.nodes_file));
      if (!cluster) return tl::unexpected(cluster.error());
      out.cluster = std::move(*cluster);
      break;
    }
    case sim::Source::nomad_grid:
      break;
  }
  switch (workload.jobs.source) {
    case sim::Source::mix:
      out.jobs = sim::generate_jobs(workload.jobs, workload.seed);
      break;
    case sim::Source::openb: {
      auto text = text_of("openb_pod_list_" + workload.jobs.list + ".csv");
      if (!text) return tl::unexpected(text.error());
      auto tasks = sim::parse_openb_tasks(text->first, text->second);
      if (!tasks) return tl::unexpected(tasks.error());
      out.jobs = sim::openb_jobs(*tasks, shares, workload.jobs.count);
      break;
    }
    case sim::Source::openb_like:
      out.jobs = sim::openb_like_jobs(*summary, static_cast<std::int64_t>(out.cluster.nodes.size()),
                                      workload.jobs.count, shares, workload.seed);
      break;
    case sim::Source::files: {
      auto jobs = sim::read_jobs_file(beside(workload.jobs.file));
      if (!jobs) return tl::unexpected(jobs.error());
      out.jobs = std::move(*jobs);
      break;
    }
    case sim::Source::nomad_grid:
      break;
  }
  sim::set_due_times(out.jobs, workload.arrivals, workload.seed);
  // Order of events at equal times: priority, then number.
  std::stable_sort(out.jobs.arrivals.begin(), out.jobs.arrivals.end(), [&](const auto& a, const auto& b) {
    if (a.due_ns != b.due_ns) return a.due_ns < b.due_ns;
    return out.jobs.templates[a.template_index]->priority > out.jobs.templates[b.template_index]->priority;
  });
  return out;
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

/// The replay of one workload: state, worker, events and what was measured.
class Replay {
 public:
  Replay(const sim::Workload& workload, Inputs inputs, RunResult& result)
      : workload_(workload), inputs_(std::move(inputs)), result_(result), scheduler_(scratch_), ids_(workload.seed) {
    sim::load_store(store_, inputs_.cluster);
    store_.set_scheduler_config(configuration_of(workload));
    scheduler_.set_exhaustive(workload.mode == sim::Mode::exhaustive);
    store_.set_index(store_.index() + 1);
    result_.nodes = inputs_.cluster.nodes.size();
    result_.load_allocs = inputs_.cluster.load.size();
    result_.templates = inputs_.jobs.templates.size();
    result_.arrivals = inputs_.jobs.arrivals.size();
  }

  void run(const RunOptions& options);

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
    bool escaped = false;                                 // R-CTRL-8xx: may any change unblock it?
    std::vector<std::pair<std::uint32_t, bool>> classes;  // computed class code -> eligible
  };

  void prepare();
  void arrive(const sim::JobArrival& arrival);
  void depart(std::int64_t due_ns);
  void evaluate(Ticket ticket);
  void commit(const tables::CompiledJob& job, const Ticket& ticket);
  void count_failures();
  [[nodiscard]] bool over_limit() const;

  const sim::Workload& workload_;
  Inputs inputs_;
  RunResult& result_;
  tables::StateStore store_;
  sched::Scratch scratch_;
  sched::GenericScheduler scheduler_;
  sched::IdStream ids_;
  sched::EvalResult decided_;
  plan::Applier applier_{store_};
  plan::ApplyResult applied_;
  sim::DecisionDigest digest_;
  sim::RunClock clock_{sim::Clock::skip};
  std::deque<std::shared_ptr<const model::Job>> prepared_;
  std::size_t next_arrival_ = 0, next_prepared_ = 0;
  std::priority_queue<Departure, std::vector<Departure>, std::greater<>> departures_;
  std::vector<Ticket> blocked_;
  std::uint64_t sequence_ = 0;
  std::int64_t waited_ns_ = 0;
};

/// Makes the job objects of coming arrivals while there is nothing else to do: a server gets them from its clients.
void Replay::prepare() {
  while (prepared_.size() < kPreparedJobs && next_prepared_ < inputs_.jobs.arrivals.size())
    prepared_.push_back(inputs_.jobs.job(inputs_.jobs.arrivals[next_prepared_++]));
}

bool Replay::over_limit() const {
  if (workload_.limits.placements > 0 && result_.placed >= static_cast<std::uint64_t>(workload_.limits.placements)) {
    result_.ended = "limit of placements";
    return true;
  }
  if (workload_.limits.seconds > 0 && static_cast<double>(clock_.elapsed_ns()) / 1e9 >= workload_.limits.seconds) {
    result_.ended = "limit of seconds";
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
  clock_ = sim::RunClock(workload_.arrivals.clock);
  while (true) {
    constexpr std::int64_t kNone = INT64_MAX;
    const bool more = next_arrival_ < inputs_.jobs.arrivals.size();
    const std::int64_t arrival_ns = more ? inputs_.jobs.arrivals[next_arrival_].due_ns : kNone;
    // After the last arrival departures matter only to those that wait for capacity.
    const bool departing = !departures_.empty() && (more || !blocked_.empty());
    const std::int64_t departure_ns = departing ? departures_.top().due_ns : kNone;
    const std::int64_t due_ns = std::min(arrival_ns, departure_ns);
    if (due_ns == kNone) {
      result_.ended = "complete";
      break;
    }
    if (over_limit()) {
      result_.partial = true;
      break;
    }
    const std::int64_t before = clock_.elapsed_ns();
    if (clock_.now_ns() < due_ns) {
      prepare();
      progress.update(next_arrival_, true);
      clock_.idle_until(due_ns, kMaxSleepNs);
      waited_ns_ += clock_.elapsed_ns() - before;
      if (clock_.now_ns() < due_ns) continue;  // slept a part of it: look for signals and limits
    }
    if (departure_ns <= arrival_ns)
      depart(departure_ns);
    else
      arrive(inputs_.jobs.arrivals[next_arrival_++]);
    progress.update(next_arrival_);
  }
  progress.finish();
  result_.elapsed_s = static_cast<double>(clock_.elapsed_ns()) / 1e9;
  result_.busy_s = static_cast<double>(clock_.elapsed_ns() - waited_ns_) / 1e9;
  result_.virtual_s = static_cast<double>(clock_.now_ns()) / 1e9;
  result_.blocked_at_end = blocked_.size();
  result_.failed = result_.asked - std::min(result_.asked, result_.placed);
  result_.decisions_digest = digest_.text();
  result_.table_bytes = store_.bytes();
  const sim::PackingTable packing(store_.current());
  result_.packing = sim::measure_packing(packing.columns(), typical_ask(inputs_.jobs));
}

void Replay::arrive(const sim::JobArrival& arrival) {
  if (prepared_.empty()) prepared_.push_back(inputs_.jobs.job(inputs_.jobs.arrivals[next_prepared_++]));
  auto job = std::move(prepared_.front());
  prepared_.pop_front();
  const tables::JobRow row = store_.upsert_job(job, true);
  store_.set_index(store_.index() + 1);
  const tables::CompiledJob& compiled = *store_.current().jobs.versions[row];
  ++result_.jobs;
  for (const tables::CompiledGroup& group : compiled.groups)
    result_.asked += compiled.system || compiled.sysbatch ? 0 : static_cast<std::uint64_t>(group.count);
  Ticket ticket;
  ticket.job = compiled.key;
  ticket.due_ns = arrival.due_ns, ticket.run_time_ns = arrival.run_time_ns, ticket.fails = arrival.fails;
  ticket.id = sim::generated_id(sim::kEvalKind, static_cast<std::uint32_t>(++sequence_), sim::mix64(workload_.seed));
  ticket.sequence = sequence_;
  evaluate(std::move(ticket));
}

void Replay::depart(std::int64_t due_ns) {
  std::vector<std::uint32_t> classes;  // computed classes of the nodes that got room
  while (!departures_.empty() && departures_.top().due_ns == due_ns) {
    const Departure departure = departures_.top();
    departures_.pop();
    const std::uint64_t index = store_.index() + 1;
    for (tables::AllocRow row = departure.first; row < departure.first + departure.count; ++row) {
      if (store_.current().allocs.terminal(row)) continue;
      const tables::NodeRow node = store_.current().allocs.node[row];
      store_.set_client_status(row, departure.fails ? tables::Client::failed : tables::Client::complete, index);
      classes.push_back(store_.current().nodes.capacity(node).computed_class_code);
      ++result_.departed;
    }
  }
  if (blocked_.empty()) return;
  std::sort(classes.begin(), classes.end());
  classes.erase(std::unique(classes.begin(), classes.end()), classes.end());
  // A blocked evaluation runs again when a class that it may use, or never saw, got room.
  std::vector<Ticket> due;
  std::erase_if(blocked_, [&](Ticket& ticket) {
    const bool concerned = ticket.escaped || std::any_of(classes.begin(), classes.end(), [&](std::uint32_t code) {
                             const auto known = std::find_if(ticket.classes.begin(), ticket.classes.end(),
                                                             [&](const auto& entry) { return entry.first == code; });
                             return known == ticket.classes.end() || known->second;
                           });
    if (concerned) due.push_back(std::move(ticket));
    return concerned;
  });
  const auto priority = [&](const Ticket& ticket) {
    const auto& jobs = store_.current().jobs;
    return jobs.versions[jobs.keys[ticket.job].current]->priority;
  };
  std::sort(due.begin(), due.end(), [&](const Ticket& a, const Ticket& b) {
    return priority(a) != priority(b) ? priority(a) > priority(b) : a.sequence < b.sequence;
  });
  for (std::size_t i = 0; i < due.size(); ++i) {
    if (interrupted()) {  // the others stay blocked
      for (; i < due.size(); ++i) blocked_.push_back(std::move(due[i]));
      return;
    }
    due[i].due_ns = due_ns;
    due[i].retry = true;
    ++result_.retries;
    evaluate(std::move(due[i]));
  }
}

void Replay::evaluate(Ticket ticket) {
  const auto id_text = base::to_text(ticket.id);
  const std::int64_t started_ns = clock_.now_ns();
  std::int64_t decided_ns, committed_ns;
  std::shared_ptr<const tables::CompiledJob> job;
  {
    const tables::SnapshotRef held = store_.snapshot();
    const tables::Snapshot& snapshot = *held;
    job = snapshot.jobs.versions[snapshot.jobs.keys[ticket.job].current];
    sched::EvalFacts facts;
    facts.id = ticket.id;
    facts.id_text = id_text;
    facts.job = ticket.job;
    facts.priority = job->priority;
    facts.triggered_by = ticket.retry ? "queued-allocs" : "job-register";
    facts.batch = job->batch;
    facts.blocked = ticket.retry;
    decided_.clear();
    if (job->system || job->sysbatch)
      decided_.unsupported = "system jobs";
    else
      scheduler_.process(snapshot, facts, provider_of(workload_.order), ids_, decided_);
    decided_ns = clock_.now_ns();
  }  // The snapshot ends before the commit: with one worker the tables are then written in place.
  ++result_.evaluations;
  if (!decided_.unsupported.empty() || decided_.status != sched::EvalStatus::complete) {
    ++result_.unsupported_reasons[decided_.unsupported.empty() ? decided_.description : decided_.unsupported];
    return;
  }
  commit(*job, ticket);
  committed_ns = clock_.now_ns();

  const std::size_t placed = applied_.committed;
  result_.placed += placed;
  result_.latency.total.record(committed_ns - ticket.due_ns, placed);
  result_.latency.queue.record(started_ns - ticket.due_ns, placed);
  result_.latency.schedule.record(decided_ns - started_ns, placed);
  result_.latency.commit.record(committed_ns - decided_ns, placed);
  result_.evaluation_latency.record(committed_ns - ticket.due_ns);

  digest_.begin_evaluation(ticket.sequence);
  for (const sched::PlannedAlloc& alloc : decided_.plan.allocs)
    digest_.placement(store_.current().nodes.id(alloc.node), alloc.name_index, alloc.score);
  bool failed = false;
  for (const sched::GroupResult& group : decided_.groups) {
    if (!group.failed) continue;
    failed = true;
    digest_.failure(store_.symbols().text(group.name), 1 + static_cast<std::uint64_t>(group.failure.coalesced));
  }
  if (!failed) return;
  if (!ticket.retry) {
    count_failures();
    ++result_.blocked_evaluations;
    ticket.id = decided_.blocked_id;
  }
  ticket.escaped = decided_.eligibility.escaped || !decided_.has_blocked;  // a retry keeps no class map of its own yet
  ticket.classes = decided_.eligibility.classes;
  blocked_.push_back(std::move(ticket));
}

void Replay::commit(const tables::CompiledJob& job, const Ticket& ticket) {
  applied_.committed = 0;
  if (decided_.plan.allocs.empty()) return;
  const auto first = static_cast<tables::AllocRow>(store_.current().allocs.size());
  applier_.apply(decided_.plan, store_.index() + 1, job.spec->all_at_once, applied_);
  result_.refused += applied_.refused;  // one worker plans on the newest state: anything else than 0 is a defect
  if (workload_.departures && ticket.run_time_ns != sim::kNeverEnds)
    // From the due time, not from the commit, so that the speed of the machine does not change the decisions.
    departures_.push({ticket.due_ns + ticket.run_time_ns, first, applied_.committed, ticket.fails});
}

/// Every failed placement counts once, under what ruled out most nodes.
void Replay::count_failures() {
  for (const sched::GroupResult& group : decided_.groups) {
    if (!group.failed) continue;
    std::string reason = group.failure.evaluated == 0 ? "no node in the datacenters and pool" : "no reason given";
    std::int32_t most = 0;
    const auto look = [&](std::span<const sched::Count> counts, const char* kind) {
      for (const sched::Count& count : counts)
        if (count.count > most) most = count.count, reason = kind + scratch_.reasons.text(count.what);
    };
    look(group.failure.dimensions, "exhausted: ");
    look(group.failure.reasons, "filtered: ");
    result_.failed_reasons[reason] += 1 + static_cast<std::uint64_t>(group.failure.coalesced);
  }
}

}  // namespace

Result<RunResult> run_workload(const sim::Workload& workload, const RunOptions& options) {
  if (const auto error = refused(workload)) return tl::unexpected(*error);
  const auto start = Steady::now();
  RunResult result;
  result.workload = workload;
  if (workload.cluster.source == sim::Source::nomad_grid) {
    if (auto done = run_grid(workload, options, result); !done) return tl::unexpected(done.error());
  } else {
    auto inputs = make_inputs(workload);
    if (!inputs) return tl::unexpected(inputs.error());
    Replay replay(workload, std::move(*inputs), result);
    result.setup_s = seconds_since(start);
    replay.run(options);
  }
  struct rusage usage {};
  getrusage(RUSAGE_SELF, &usage);
  result.peak_rss_bytes = static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
  return result;
}

}  // namespace berth::run
