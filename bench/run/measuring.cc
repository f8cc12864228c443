#include "run/measuring.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/build_info.h"
#include "model/job.h"
#include "run/interrupt.h"
#include "run/work.h"
#include "server/lane.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

/// The request to which fragmentation and stranded capacity refer: the mean over all requested allocations, rounded up.
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
  // Most tasks of a mixed workload request no device: a mean below 0.5 counts as 0.
  return {mean(cpu), mean(memory), mean(disk), devices / count < 0.5 ? 0 : mean(devices)};
}

bool of_system(const server::EvalRecord& record) {
  return record.type == broker::Queue::system || record.type == broker::Queue::sysbatch;
}

std::uint64_t failed_count(const sched::GroupResult& group) {
  return 1 + static_cast<std::uint64_t>(group.failure.coalesced);
}

}  // namespace

Measuring::Measuring(const sim::Workload& workload, const sim::Inputs& inputs, const sim::FitStrategy* fit,
                     Observer* observer, const sim::RunClock& clock, RunResult& result,
                     server::Listener* extra_listener)
    : workload_(workload),
      inputs_(inputs),
      fit_(fit),
      observer_(observer),
      extra_listener_(extra_listener),
      clock_(clock),
      result_(result) {
  if (!workload.life) result_.kinds = KindTimes(inputs.jobs);
}

void Measuring::watch(const tables::StateStore& store, std::size_t things) {
  store_ = &store;
  sampler_.emplace(store.current(), typical_ask(inputs_.jobs), things);
}

bool Measuring::over_limit() {
  const auto over = [&](const char* what) {
    result_.ended = what;
    return true;
  };
  const sim::LimitSpec& limits = workload_.limits;
  if (limits.placements > 0 && result_.placed >= static_cast<std::uint64_t>(limits.placements))
    return over("limit of placements");
  if (limits.seconds > 0 && static_cast<double>(clock_.elapsed_ns()) / 1e9 >= limits.seconds)
    return over("limit of seconds");
  if (observer_ && observer_->finished()) return over("limit of evaluations");
  return interrupted() && over("interrupted");
}

HdrLog Measuring::hdr_log_of(const sim::Workload& workload) {
  const double now_s = std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  return {now_s, 1,
          "placement latency in ns by `berth run`, workload " + workload.name + " (" + workload.label + "), seed " +
              std::to_string(workload.seed) + ", commit " + std::string(base::build_info().commit)};
}

// ---------------------------------------------------------------- deciding

void Measuring::lane_made(server::Lane& lane) {
  BERTH_ASSERT(lane.number == books_.size());
  books_.push_back(std::make_unique<Book>());
  if (fit_) lane.scratch.strategy_fit.use(fit_->ranker->fit(), fit_->models, fit_->device_shares);
  if (observer_) lane.stages = books_.back()->stages = observer_->new_clock();
  if (extra_listener_) extra_listener_->lane_made(lane);
}

void Measuring::attempt(server::Lane& lane) {
  Book& book = *books_[lane.number];
  book.started_ns = clock_.now_ns();
  ++book.snapshots;
  if (book.began_ns < 0) book.began_ns = book.started_ns;
  if (observer_ && lane.stages)
    lane.stages->set_detailed(observer_->detailed(number_of(lane, result_.evaluations + 1), lane.record->round));
  if (extra_listener_) extra_listener_->attempt(lane);
}

// ---------------------------------------------------------------- a plan

void Measuring::applying(server::Lane& lane) {
  const std::uint64_t index = store_->index();
  result_.parallel.snapshot_age.record(static_cast<std::int64_t>(index - std::min(index, lane.state_index)));
  if (!observer_) return;
  Book& book = *books_[lane.number];
  book.applying_ns = clock_.now_ns();
  book.applier = lane.number;
  if (base::stage_clock) before_ = base::stage_clock->ticks();
  observer_->committing(*store_);
}

void Measuring::applied(server::Lane& lane) {
  const base::StageScope booking(base::Stage::harness);
  Book& book = *books_[lane.number];
  if (observer_) {
    observer_->committed(*store_);
    observe_applied(lane, book);
  }
  result_.parallel.submit_wait.record(clock_.now_ns() - book.decided_ns);
  if (!lane.applied.error.empty()) return;
  const tables::Snapshot& state = store_->current();
  result_.refused += lane.applied.refused;
  result_.placed += lane.applied.committed;
  if (const tables::VersionRow version = lane.result.plan.job; version < asked_of_.size())
    asked_of_[version].placed += lane.applied.committed;
  const std::vector<tables::NodeRow>& rejected = lane.applied.rejected_nodes;
  const auto is_rejected = [&](tables::NodeRow node) {
    return std::find(rejected.begin(), rejected.end(), node) != rejected.end();
  };
  for (const plan::PlannedStop& stop : lane.result.plan.stops) {
    const tables::NodeRow node = state.allocs.node[stop.alloc];
    // Stops on a refused node did not happen: the next attempt plans them again.
    if (!stop.evict || stop.dropped || is_rejected(node)) continue;
    const tables::ResourceShape& held = state.allocs.shape_of(stop.alloc);
    ++result_.work.preempted_allocs;
    result_.work.preempted_cpu_mhz += held.cpu_mhz, result_.work.preempted_memory_mb += held.memory_mb;
  }
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs) state.nodes.fixed->id.prefetch(alloc.node);
  if (on_commit) on_commit(lane);
  measure_commit(lane, book);
  digest_.begin_evaluation(lane.record->tag);
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
    if (!lane.applied.placements_refused && !is_rejected(alloc.node))
      digest_.placement(state.nodes.id(alloc.node), alloc.name_index, alloc.score);
}

void Measuring::measure_commit(const server::Lane& lane, Book& book) {
  const std::int64_t committed_ns = clock_.now_ns(), due_ns = lane.record->due_ns;
  const std::size_t placed = lane.applied.committed;
  book.commit_ns += committed_ns - book.decided_ns;
  result_.latency.total.record(committed_ns - due_ns, placed);
  result_.latency.queue.record(book.started_ns - due_ns, placed);
  result_.latency.schedule.record(book.decided_ns - book.started_ns, placed);
  result_.latency.commit.record(committed_ns - book.decided_ns, placed);
  result_.rate.add(static_cast<double>(clock_.elapsed_ns() - waited_ns_) / 1e9, result_.placed);
  if (hdr_log_) hdr_log_->record(static_cast<double>(clock_.elapsed_ns()) / 1e9, committed_ns - due_ns, placed);
}

// ---------------------------------------------------------------- the end of an evaluation

/// Records latency, failures and work of a finished evaluation.
void Measuring::settled(server::Lane& lane) {
  const base::StageScope booking(base::Stage::harness);
  if (extra_listener_) extra_listener_->settled(lane);
  Book& book = *books_[lane.number];
  ++result_.evaluations;
  const std::uint64_t snapshots = std::exchange(book.snapshots, 0);
  const std::uint64_t evaluations = lane.scratch.by_content.verdicts.evaluations();
  const std::uint64_t constraint_evaluations = evaluations - std::exchange(book.constraint_evaluations, evaluations);
  const std::int64_t commit_ns = std::exchange(book.commit_ns, 0);
  const bool first = lane.record->round == 0 && lane.record->previous.is_nil();
  if (first) {
    const std::int64_t schedule_ns = book.decided_ns - book.started_ns;
    if (result_.nomad) result_.nomad->add(lane.record->tag, lane.placed, schedule_ns, commit_ns);
    if (const std::size_t arrival = lane.record->tag - 1; !workload_.life && arrival < inputs_.jobs.arrivals.size())
      result_.kinds.add(inputs_.jobs.arrivals[arrival], lane.placed, schedule_ns, commit_ns);
  }
  const auto add_work = [&](Work& work) {
    add_nodes(lane.result, work);
    work.snapshots += snapshots;
    work.constraint_evaluations += constraint_evaluations;
    work.sources += lane.scratch.source_counts;
  };
  if (observer_) {
    Work work;
    add_work(work);
    observe(lane, book, work);
  }
  book.began_ns = -1;
  if (lane.result.gang_over) {  // what is missing of it is what its evaluation before found to be missing
    lane.scratch.source_counts = {};
    digest_.begin_evaluation(lane.record->tag);
    if (on_gave_up) on_gave_up(lane.record->job);
    return;
  }
  const bool unsupported = lane.result.status == sched::EvalStatus::failed && !lane.exhausted();
  if (!unsupported) add_work(result_.work);
  lane.scratch.source_counts = {};
  if (unsupported) {
    ++result_.unsupported_reasons[lane.result.description];
    return;
  }
  // Without a plan the evaluation ended at the decision.
  result_.evaluation_latency.record((lane.plans == 0 ? book.decided_ns : clock_.now_ns()) - lane.record->due_ns);
  if (lane.plans == 0) digest_.begin_evaluation(lane.record->tag);
  // A system job requests one per suitable node, whose number is known at its first evaluation.
  const bool first_of_system = first && of_system(*lane.record);
  if (first_of_system) result_.asked += lane.placed;
  bool failed = lane.exhausted();
  std::uint64_t missing = failed ? UINT64_MAX : 0;
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    failed = true;
    if (missing != UINT64_MAX) missing += failed_count(group);
    if (first_of_system) result_.asked += failed_count(group);
    digest_.failure(store_->current().text(group.name), failed_count(group));
  }
  if (const tables::VersionRow version = lane.result.plan.job; version < asked_of_.size())
    asked_of_[version].missing = missing;
  note_failures(lane, failed, first);
  if (first) jobs_done_.fetch_add(1, std::memory_order_relaxed);
}

std::string Measuring::text_of(const Missing& missing) const {
  switch (missing.kind) {
    case Missing::Kind::no_node:
      return "no node in the datacenters and pool";
    case Missing::Kind::no_reason:
      return "no reason given";
    case Missing::Kind::exhausted:
      return "exhausted: " + reasons_[missing.what];
    case Missing::Kind::filtered:
      return "filtered: " + reasons_[missing.what];
  }
  return {};
}

std::uint32_t Measuring::reason_of(const server::Lane& lane, std::uint32_t what) {
  std::vector<std::uint32_t>& known = books_[lane.number]->reasons;
  if (what >= known.size()) known.resize(what + std::size_t{1}, kNoReason);
  if (known[what] == kNoReason) {
    known[what] = static_cast<std::uint32_t>(reasons_.size());
    reasons_.push_back(lane.scratch.reasons.text(what));
  }
  return known[what];
}

/// Lists the failed placements of the evaluation.
void Measuring::list_failures(const server::Lane& lane, std::vector<Missing>& out) {
  using Kind = Missing::Kind;
  out.clear();
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    Missing missing{group.failure.evaluated == 0 ? Kind::no_node : Kind::no_reason, 0, failed_count(group)};
    std::int32_t most = 0;
    const auto look = [&](std::span<const sched::Count> counts, Kind kind) {
      for (const sched::Count& count : counts)
        if (count.count > most) most = count.count, missing.kind = kind, missing.what = count.what;
    };
    look(group.failure.dimensions, Kind::exhausted);
    // Nodes of a class that was refused before count for the reason of the class's first node.
    const sched::Count* named = nullptr;
    std::int32_t of_classes = 0;
    for (const sched::Count& count : group.failure.reasons) {
      if (count.what == sched::kReasonClassIneligible)
        of_classes = count.count;
      else if (!named || count.count > named->count)
        named = &count;
    }
    if (named && named->count + of_classes > most)
      most = named->count + of_classes, missing.kind = Kind::filtered, missing.what = named->what;
    else if (!named)
      look(group.failure.reasons, Kind::filtered);
    if (most > 0) missing.what = reason_of(lane, missing.what);
    out.push_back(missing);
  }
}

void Measuring::add_failures(const std::vector<Missing>& failures) {
  for (const Missing& missing : failures) result_.failed_reasons[text_of(missing)] += missing.placements;
}

/// An evaluation covers its whole job, so the last one shows what is missing. One of a system job may cover only
/// changed nodes, so there the first one counts.
void Measuring::note_failures(const server::Lane& lane, bool failed, bool first) {
  if (of_system(*lane.record)) {
    if (!failed || !first) return;
    std::vector<Missing> failures;
    list_failures(lane, failures);
    add_failures(failures);
  } else if (failed) {
    list_failures(lane, failing_[lane.record->job]);
  } else {
    failing_.erase(lane.record->job);
  }
}

/// Counts the allocations requested by a version of a job, except for system jobs, which depend on the nodes.
void Measuring::count_asked(tables::VersionRow version) {
  ++result_.jobs;
  const tables::CompiledJob& job = *store_->current().jobs.versions[version];
  if (is_of_system(job.type)) return;
  if (version >= asked_of_.size()) asked_of_.resize(version + std::size_t{1});
  std::uint64_t placements = 0;
  for (const tables::CompiledGroup& group : job.groups) placements += static_cast<std::uint64_t>(group.count);
  asked_of_[version].asked += placements;
  result_.asked += placements;
  failing_.erase(job.key);  // what the version before lacked is not wanted any more
}

void Measuring::evicted(tables::VersionRow version, std::uint64_t count) {
  if (version >= asked_of_.size()) return;  // there before the run
  const std::uint64_t taken = std::min(count, asked_of_[version].placed);
  asked_of_[version].placed -= taken;
  result_.placed -= taken;
}

/// A newer version of a job may arrive while allocations of an older one are not placed: its evaluation waits for a
/// worker or for room, or its plans were refused. They are not wanted any more. Nor are allocations of the newer
/// version for which those of an older one stay, where both want the same.
void Measuring::leave_out_replaced() {
  const tables::JobTable& jobs = store_->current().jobs;
  for (tables::VersionRow version = 0; version < asked_of_.size(); ++version) {
    const auto& [asked, placed, missing] = asked_of_[version];
    if (asked <= placed || !jobs.versions[version]) continue;
    const tables::CompiledJob& job = *jobs.versions[version];
    if (jobs.keys[job.key].current != version)
      result_.replaced += asked - placed;
    else if (job.spec->version > 0)
      result_.replaced += asked - placed - std::min(asked - placed, missing);
  }
  result_.asked -= result_.replaced;
}

// ---------------------------------------------------------------- an observer

/// Adds the ticks of a plan to its evaluation, whichever thread's clock counted them.
void Measuring::observe_applied(const server::Lane& lane, Book& book) {
  base::StageClock* const clock = base::stage_clock;
  if (!clock || clock == book.stages) return;
  for (std::uint32_t number = 0; number < books_.size(); ++number) {
    Book& other = *books_[number];
    if (other.stages != clock) continue;
    book.applier = number;
    for (const base::Stage stage : {base::Stage::check, base::Stage::commit}) {
      const auto s = static_cast<std::size_t>(stage);
      book.elsewhere[s] += clock->ticks()[s] - before_[s];
      other.elsewhere[s] -= clock->ticks()[s] - before_[s];
    }
  }
  BERTH_ASSERT(lane.number < books_.size());
}

void Measuring::observe(const server::Lane& lane, Book& book, const Work& work) {
  EvalRecord record;
  if (base::StageClock* const stages = book.stages) {
    if (base::stage_clock == stages) stages->flush();
    for (std::size_t s = 0; s < base::kStages; ++s) {
      record.ticks[s] = stages->ticks()[s] - book.seen[s] + book.elsewhere[s];
      record.marks[s] = stages->marks()[s] - book.marks_seen[s];
    }
    book.seen = stages->ticks(), book.marks_seen = stages->marks();
    book.elsewhere = {};
    record.detailed = stages->detailed();
  }
  record.number = number_of(lane, result_.evaluations);
  record.round = lane.record->round;
  record.lane = lane.number;
  record.applier = book.applier;
  record.due_ns = lane.record->due_ns, record.decided_ns = book.decided_ns;
  record.started_ns =
      workload_.commits == sim::CommitOrder::free && book.began_ns >= 0 ? book.began_ns : book.started_ns;
  record.applying_ns = std::exchange(book.applying_ns, 0);
  record.done_ns = clock_.now_ns();
  record.attempts = std::max<std::uint32_t>(lane.attempts, static_cast<std::uint32_t>(work.snapshots));
  record.placed = lane.placed, record.refused = lane.refused;
  for (const sched::PlannedAlloc& alloc : lane.result.plan.allocs)
    record.candidates = std::max(record.candidates, static_cast<std::uint32_t>(alloc.metrics.in_pool));
  for (const sched::GroupResult& group : lane.result.groups) {
    if (!group.failed) continue;
    record.failed += static_cast<std::uint32_t>(failed_count(group));
    record.candidates = std::max(record.candidates, static_cast<std::uint32_t>(group.failure.in_pool));
  }
  for (const plan::PlannedStop& stop : lane.result.plan.stops) record.evicted += stop.evict && !stop.dropped;
  record.first_of_lane = !std::exchange(book.used, true);
  record.work = work;
  // Nothing was counted in an unmarked event.
  if (!book.stages || base::stage_clock || lane.number != 0) observer_->evaluation(record);
}

// ---------------------------------------------------------------- the cluster, and the end of the run

std::int64_t Measuring::look(std::size_t happened) {
  const std::int64_t before = clock_.elapsed_ns();
  sampler_->look(store_->current(), static_cast<double>(before - waited_ns_) / 1e9,
                 static_cast<double>(clock_.now_ns() - origin_ns_) / 1e9, result_.placed, result_.refused, happened);
  return clock_.elapsed_ns() - before;
}

void Measuring::finish(server::Server& server, bool held_back) {
  result_.elapsed_s = static_cast<double>(clock_.elapsed_ns()) / 1e9;
  result_.busy_s = static_cast<double>(clock_.elapsed_ns() - waited_ns_) / 1e9;
  result_.virtual_s = static_cast<double>(clock_.now_ns() - origin_ns_) / 1e9;
  const server::Stats stats = server.stats();
  result_.blocked_evaluations = stats.blocked;
  result_.retries = stats.retried;
  result_.blocked_at_end = server.blocked_count();
  result_.blocked = {stats.unblocked, stats.reblocked, stats.duplicates, stats.batches};
  for (const auto& [job, failures] : failing_) add_failures(failures);
  for (const auto& [reason, count] : result_.failed_reasons) result_.failed += count;
  leave_out_replaced();
  // Undecided: in a run that was cut short, and of evaluations that gave up. Not for simulations, where jobs end and
  // change.
  if (const std::uint64_t known = result_.placed + result_.failed; !result_.life && known < result_.asked) {
    const char* const why = result_.partial               ? "not decided when the run ended"
                            : held_back                   ? "held back by the queue policy"
                            : !inputs_.jobs.gangs.empty() ? "in a gang of which others found no node"
                                                          : "given up after refused plans";
    result_.failed_reasons[why] += result_.asked - known;
    result_.failed += result_.asked - known;
  }
  result_.decisions_digest = digest_.text();
  result_.table_bytes = store_->bytes();
  result_.packing = sim::measure_packing(store_->current(), typical_ask(inputs_.jobs));
  result_.over_time = sampler_->samples();
  result_.map = sampler_->map();
  if (hdr_log_) result_.hdr_log = hdr_log_->finish(result_.elapsed_s);
  ParallelResult& out = result_.parallel;
  out.plans = stats.plans, out.conflicts = stats.conflicts, out.partial = stats.partial, out.retries = stats.retries;
  out.gave_up = stats.gave_up, out.exceptions = stats.exceptions, out.plan_errors = stats.errors;
  out.failed = stats.failed, out.apply_ns = stats.apply_ns, out.busy_ns = stats.busy_ns;
  out.ahead_used = stats.ahead_used, out.ahead_redone = stats.ahead_redone, out.ahead_inline = stats.ahead_inline;
  out.turn_ns = stats.turn_ns, out.turns = stats.turns, out.turn_waits = stats.turn_waits;
  out.view_rows = stats.view_rows, out.view_columns = stats.view_columns;
  out.chunks_copied = server.store().use_chunks_copied();
  out.left = server.broker().contents().held_count();
  out.lost = server.lost();
}

}  // namespace berth::run
