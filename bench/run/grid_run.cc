#include "run/grid_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "run/interrupt.h"
#include "run/progress.h"
#include "run/work.h"
#include "server/lane.h"
#include "server/server.h"
#include "server/team.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/grid.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;

std::int64_t ns_since(Steady::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - start).count();
}

/// A cell's cluster: a server that is used only to decide.
class Cell {
 public:
  Cell(const sim::GridCell& cell, const sim::Workload& workload) {
    tables::StateStore& store = server_.store();
    sim::load_store(store, sim::grid_cluster(cell.nodes, cell.racks));
    model::SchedulerConfiguration config;
    config.scheduler_algorithm = sim::to_text(workload.algorithm);
    store.set_scheduler_config(config);
  }
  [[nodiscard]] tables::StateStore& store() { return server_.store(); }
  [[nodiscard]] server::Lane& lane() { return server_.lane(); }
  [[nodiscard]] std::unique_ptr<server::Lane> make_lane() { return server_.make_lane(); }

  /// Processes one evaluation and returns the time from taking the snapshot to the finished plan.
  std::int64_t time(tables::JobKeyRow job, std::string_view eval_id, server::Lane& lane, bool marked) {
    const base::UseStageClock marks(marked ? lane.stages : nullptr);
    if (base::stage_clock) base::stage_clock->start(base::Stage::harness);
    const auto start = Steady::now();
    const base::StageScope looking(base::Stage::snapshot);
    const tables::SnapshotRef snapshot = store().snapshot();
    sched::NoPlanner planner;
    server_.decide({.id = base::parse_uuid(eval_id).value_or(base::Uuid{}), .job = job}, *snapshot, lane, planner);
    return ns_since(start);
  }

 private:
  static server::Config config() {
    server::Config out;
    out.broker.evals = out.broker.jobs = 1;  // nothing is ever enqueued
    return out;
  }

  server::ManualClock clock_;
  server::Server server_{config(), clock_};
};

/// The first difference between the plan and Nomad's placements, or "".
std::string difference(const sched::EvalResult& result, const sim::GridCell& cell) {
  std::vector<std::int32_t> nodes(cell.placements.size(), -1);
  std::vector<double> scores(cell.placements.size(), 0);
  for (const sched::PlannedAlloc& alloc : result.plan.allocs) {
    if (alloc.name_index >= nodes.size()) return fmt::format("index {} is not one of the job", alloc.name_index);
    nodes[alloc.name_index] = static_cast<std::int32_t>(alloc.node);
    scores[alloc.name_index] = alloc.score;
  }
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    if (nodes[k] != cell.placements[k])
      return fmt::format("allocation {} is on node {}, Nomad's on {}", k, nodes[k], cell.placements[k]);
    if (std::bit_cast<std::uint64_t>(scores[k]) != std::bit_cast<std::uint64_t>(cell.scores[k]))
      return fmt::format("allocation {} scores {}, Nomad's {}", k, scores[k], cell.scores[k]);
  }
  return "";
}

/// Result of a cell, to be counted and digested in the order of cells, independent of the thread that ran it.
struct Outcome {
  CellResult cell;
  std::vector<std::int64_t> times_ns;  // by repetition
  struct Placement {
    base::Uuid node;
    std::uint32_t name_index;
    double score;
  };
  std::vector<Placement> placements;
  std::vector<std::pair<std::string, std::uint64_t>> failures;  // group, count
  std::size_t table_bytes = 0;
  Work work;  // of the timed repetitions
};

/// State that a thread keeps between cells: a cluster and a warm lane.
class Bench {
 public:
  /// `observer` may be null. `observing`: held while it receives an evaluation.
  Bench(Observer* observer, std::uint32_t number, std::mutex& observing)
      : observer_(observer), number_(number), observing_(observing) {
    const std::scoped_lock lock(observing_);
    if (observer_) clock_ = observer_->new_clock();
  }

  Outcome run(const sim::GridCell& cell, const sim::Workload& workload) {
    if (!cell_ || nodes_ != cell.nodes || racks_ != cell.racks) load(cell, workload);
    const auto job = sim::grid_job(cell.cell, cell.racks, cell.allocs, cell.spread);
    const tables::JobKeyRow key = store().current().jobs.versions[store().upsert_job(job, true)]->key;
    store().set_index(cell.state_index);

    Outcome out;
    const std::uint64_t evaluations_before = cell_->lane().scratch.by_content.verdicts.evaluations();
    out.cell = {.cell = cell.cell,
                .nodes = cell.nodes,
                .racks = cell.racks,
                .allocs = cell.allocs,
                .placed = 0,
                .spread = cell.spread,
                .nomad_ns = cell.nomad_ns,
                .berth_ns = 0,
                .berth_first_ns = 0,
                .berth_new_worker_ns = 0,
                .decisions_equal = false,
                .difference = ""};
    const auto by_new_worker = [&] { return cell_->time(key, cell.eval, *cell_->make_lane(), false); };
    out.cell.berth_first_ns = by_new_worker();
    out.cell.berth_new_worker_ns = std::min({by_new_worker(), by_new_worker(), by_new_worker()});
    for (std::int64_t repetition = 0; repetition < workload.grid.repetitions; ++repetition) {
      // Another evaluation in between, so that no repetition finds the previous visiting order or cached answers.
      const std::string other =
          base::to_text(base::generated_id(sim::kEvalKind, 1'000'000U + static_cast<std::uint32_t>(repetition)));
      static_cast<void>(cell_->time(key, other, cell_->lane(), false));
      const std::uint64_t asked_before = cell_->lane().scratch.by_content.verdicts.evaluations();
      begin(cell, repetition);
      const std::int64_t ns = cell_->time(key, cell.eval, cell_->lane(), marked_);
      end(cell, repetition, ns, cell_->lane().scratch.by_content.verdicts.evaluations() - asked_before);
      out.times_ns.push_back(ns);
      ++out.work.snapshots;
      out.work.sources += std::exchange(cell_->lane().scratch.source_counts, {});
      add_nodes(cell_->lane().result, out.work);
      if (repetition == 0 || ns < out.cell.berth_ns) out.cell.berth_ns = ns;
      const std::string different = difference(cell_->lane().result, cell);
      if (repetition == 0 || !different.empty()) out.cell.difference = different;
      if (repetition == 0) note_decisions(out);
    }
    out.cell.decisions_equal = out.cell.difference.empty();
    out.table_bytes = store().bytes();
    out.work.constraint_evaluations = cell_->lane().scratch.by_content.verdicts.evaluations() - evaluations_before;
    return out;
  }

 private:
  void begin(const sim::GridCell& cell, std::int64_t repetition) {
    if (!observer_) return;
    if (clock_) {
      clock_->set_detailed(
          observer_->detailed(static_cast<std::uint64_t>(cell.cell), static_cast<std::uint32_t>(repetition)));
      ticks_ = clock_->ticks(), marks_ = clock_->marks();
    }
    marked_ = observer_->begin();
  }
  void end(const sim::GridCell& cell, std::int64_t repetition, std::int64_t ns, std::uint64_t constraint_evaluations) {
    if (!observer_) return;
    observer_->end();
    if (!std::exchange(marked_, false)) return;
    EvalRecord record;
    record.number = static_cast<std::uint64_t>(cell.cell);
    record.round = static_cast<std::uint32_t>(repetition);
    record.lane = record.applier = number_;
    record.done_ns = record.decided_ns = ns_since(began_);
    record.due_ns = record.started_ns = record.done_ns - ns;
    record.attempts = 1;
    record.placed = static_cast<std::uint32_t>(cell_->lane().result.plan.allocs.size());
    record.failed = static_cast<std::uint32_t>(cell.allocs) - record.placed;
    for (const sched::PlannedAlloc& alloc : cell_->lane().result.plan.allocs)
      record.candidates = std::max(record.candidates, static_cast<std::uint32_t>(alloc.metrics.in_pool));
    record.first_of_lane = !std::exchange(used_, true);
    add_nodes(cell_->lane().result, record.work);
    record.work.constraint_evaluations = constraint_evaluations;
    record.work.snapshots = 1;
    if (clock_) {
      record.detailed = clock_->detailed();
      for (std::size_t s = 0; s < base::kStages; ++s)
        record.ticks[s] = clock_->ticks()[s] - ticks_[s], record.marks[s] = clock_->marks()[s] - marks_[s];
    }
    const std::scoped_lock lock(observing_);
    observer_->evaluation(record);
  }

  void load(const sim::GridCell& cell, const sim::Workload& workload) {
    nodes_ = cell.nodes, racks_ = cell.racks;
    cell_ = std::make_unique<Cell>(cell, workload);
    cell_->lane().stages = clock_;
  }
  [[nodiscard]] tables::StateStore& store() const { return cell_->store(); }

  void note_decisions(Outcome& out) const {
    const sched::EvalResult& result = cell_->lane().result;
    out.cell.placed = static_cast<std::int64_t>(result.plan.allocs.size());
    for (const sched::PlannedAlloc& alloc : result.plan.allocs)
      out.placements.push_back({store().current().nodes.id(alloc.node), alloc.name_index, alloc.score});
    for (const sched::GroupResult& group : result.groups)
      if (group.failed)
        out.failures.emplace_back(store().symbols().text(group.name),
                                  1 + static_cast<std::uint64_t>(group.failure.coalesced));
  }

  Observer* const observer_;
  const std::uint32_t number_;
  std::mutex& observing_;
  base::StageClock* clock_ = nullptr;  // the observer's
  base::StageClock::Counts ticks_{}, marks_{};
  const Steady::time_point began_ = Steady::now();
  bool used_ = false;
  bool marked_ = false;  // mark stages of the next evaluation
  std::unique_ptr<Cell> cell_;
  std::uint32_t nodes_ = 0, racks_ = 0;
};

void add(const Outcome& outcome, std::int64_t repetitions, base::DecisionDigest& digest, RunResult& result) {
  const auto placed = static_cast<std::size_t>(outcome.cell.placed);
  for (const std::int64_t ns : outcome.times_ns) {
    result.busy_s += static_cast<double>(ns) / 1e9;
    ++result.evaluations;
    result.placed += placed;
    result.latency.total.record(ns, placed), result.latency.schedule.record(ns, placed);
    result.latency.queue.record(0, placed), result.latency.commit.record(0, placed);
    result.evaluation_latency.record(ns);
  }
  digest.begin_evaluation(static_cast<std::uint64_t>(outcome.cell.cell));
  for (const Outcome::Placement& p : outcome.placements) digest.placement(p.node, p.name_index, p.score);
  for (const auto& [group, count] : outcome.failures) digest.failure(group, count);
  result.nodes = std::max(result.nodes, static_cast<std::size_t>(outcome.cell.nodes));
  result.asked += static_cast<std::uint64_t>(outcome.cell.allocs * repetitions);
  ++result.jobs;
  result.table_bytes = std::max<std::uint64_t>(result.table_bytes, outcome.table_bytes);
  add_work(outcome.work, result.work);
  result.cells.push_back(outcome.cell);
}

}  // namespace

Result<void> run_grid(const sim::Workload& workload, const RunOptions& options, RunResult& result) {
  if (workload.order != sim::Order::nomad)
    return tl::unexpected(
        InputError{workload.path, "", "nomad-grid compares with Nomad's own visiting order", "use order = \"nomad\""});
  if (workload.options != model::Options{})
    return tl::unexpected(InputError{workload.path, "options", "nomad-grid compares with what Nomad decides today",
                                     "leave the options out"});
  const auto start = Steady::now();
  auto path = sim::committed_data(workload.path, "nomad-grid.jsonl.gz");
  if (!path) return tl::unexpected(path.error());
  auto cells = sim::read_grid(*path);
  if (!cells) return tl::unexpected(cells.error());
  std::erase_if(*cells, [&](const sim::GridCell& cell) {
    return cell.cell < workload.grid.first_cell || cell.cell > workload.grid.last_cell;
  });
  if (options.arrivals_max > 0 && cells->size() > options.arrivals_max) cells->resize(options.arrivals_max);
  result.arrivals = cells->size();
  result.templates = cells->size();
  result.setup_s = static_cast<double>(ns_since(start)) / 1e9;

  Progress progress("cells", cells->size(), options.quiet);
  const auto replay_start = Steady::now();
  std::vector<std::optional<Outcome>> outcomes(cells->size());
  std::atomic<std::size_t> next{0}, done{0};
  std::mutex showing;
  const auto work = [&](std::uint32_t thread) {
    Bench bench(options.observer, thread, showing);
    const auto enough = [&] {
      const std::scoped_lock lock(showing);
      return interrupted() || (options.observer && options.observer->finished());
    };
    for (std::size_t c = next++; c < cells->size() && !enough(); c = next++) {
      outcomes[c] = bench.run((*cells)[c], workload);
      const std::scoped_lock lock(showing);
      progress.update(++done, true);
    }
  };
  if (workload.workers > 1) {
    const server::Team team(static_cast<std::uint32_t>(workload.workers), work);
  } else {
    work(0);
  }
  stopped();
  if (done < cells->size())
    result.partial = true, result.ended = interrupted() ? "interrupted" : "limit of evaluations";
  base::DecisionDigest digest;
  for (const std::optional<Outcome>& outcome : outcomes)
    if (outcome) add(*outcome, workload.grid.repetitions, digest, result);
  progress.finish();
  if (!result.partial) result.ended = "complete";
  result.failed = result.asked - result.placed;
  result.elapsed_s = static_cast<double>(ns_since(replay_start)) / 1e9;
  result.virtual_s = result.elapsed_s;
  result.decisions_digest = digest.text();
  return {};
}

}  // namespace berth::run
