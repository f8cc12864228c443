#include "run/grid_run.h"

#include <fmt/format.h>

#include <bit>
#include <chrono>
#include <memory>
#include <optional>

#include "run/interrupt.h"
#include "run/progress.h"
#include "sched/generic.h"
#include "sim/cluster_generator.h"
#include "sim/datasets.h"
#include "sim/digest.h"
#include "sim/grid.h"
#include "sim/job_generator.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

using Steady = std::chrono::steady_clock;

std::int64_t ns_since(Steady::time_point start) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Steady::now() - start).count();
}

/// One worker, with the memory it keeps between evaluations.
struct Worker {
  sched::Scratch scratch;
  sched::GenericScheduler scheduler{scratch};
  sched::IdStream ids{1};
  sched::EvalResult result;

  Worker() = default;
  Worker(const Worker&) = delete;  // the scheduler refers to the scratch
  Worker& operator=(const Worker&) = delete;

  /// Processes one evaluation and returns the time from taking the snapshot to the finished plan.
  std::int64_t time(const tables::StateStore& store, tables::JobKeyRow job, std::string_view eval_id,
                    rank::OrderProvider provider) {
    const auto start = Steady::now();
    const tables::SnapshotRef snapshot = store.snapshot();
    sched::EvalFacts facts;
    facts.id = base::parse_uuid(eval_id).value_or(base::Uuid{});
    facts.id_text = eval_id;
    facts.job = job;
    facts.priority = 50;
    facts.triggered_by = "job-register";
    scheduler.process(*snapshot, facts, provider, ids, result);
    return ns_since(start);
  }
};

/// The first difference between the plan and Nomad's placements, or "".
std::string difference(const sched::EvalResult& result, const sim::GridCell& cell) {
  if (!result.unsupported.empty()) return "this build lacks: " + result.unsupported;
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

}  // namespace

Result<void> run_grid(const sim::Workload& workload, const RunOptions& options, RunResult& result) {
  if (workload.order != sim::Order::nomad)
    return tl::unexpected(
        InputError{workload.path, "", "nomad-grid compares with Nomad's own visiting order", "use order = \"nomad\""});
  const auto start = Steady::now();
  auto path = sim::committed_data(workload.path, "nomad-grid.jsonl.gz");
  if (!path) return tl::unexpected(path.error());
  auto cells = sim::read_grid(*path);
  if (!cells) return tl::unexpected(cells.error());
  std::erase_if(*cells, [&](const sim::GridCell& cell) {
    return cell.cell < workload.grid.first_cell || cell.cell > workload.grid.last_cell;
  });
  result.arrivals = cells->size();
  result.templates = cells->size();
  result.setup_s = static_cast<double>(ns_since(start)) / 1e9;

  Progress progress("cells", cells->size(), options.quiet);
  const auto replay_start = Steady::now();
  sim::DecisionDigest digest;
  std::unique_ptr<tables::StateStore> store;
  std::uint32_t nodes = 0, racks = 0;
  std::optional<Worker> worker;
  std::int64_t busy_ns = 0;
  for (std::size_t c = 0; c < cells->size(); ++c) {
    const sim::GridCell& cell = (*cells)[c];
    progress.update(c, true);
    if (interrupted()) {
      result.partial = true, result.ended = "interrupted";
      break;
    }
    if (!store || nodes != cell.nodes || racks != cell.racks) {
      nodes = cell.nodes, racks = cell.racks;
      store = std::make_unique<tables::StateStore>();
      worker.emplace();
      sim::load_store(*store, sim::grid_cluster(nodes, racks));
      model::SchedulerConfiguration config;
      config.scheduler_algorithm = sim::to_text(workload.algorithm);
      store->set_scheduler_config(config);
      result.nodes = std::max<std::size_t>(result.nodes, nodes);
    }
    Worker& warm = *worker;
    const auto job = sim::grid_job(cell.cell, cell.racks, cell.allocs, cell.spread);
    const tables::JobKeyRow key = store->current().jobs.versions[store->upsert_job(job, true)]->key;
    store->set_index(cell.state_index);

    CellResult out{.cell = cell.cell,
                   .nodes = cell.nodes,
                   .racks = cell.racks,
                   .allocs = cell.allocs,
                   .placed = 0,
                   .spread = cell.spread,
                   .nomad_ns = cell.nomad_ns,
                   .berth_ns = 0,
                   .berth_first_ns = 0,
                   .decisions_equal = false,
                   .difference = ""};
    {
      Worker first;
      out.berth_first_ns = first.time(*store, key, cell.eval, rank::OrderProvider::nomad);
    }
    for (std::int64_t repetition = 0; repetition < workload.grid.repetitions; ++repetition) {
      // Another evaluation in between, so that no repetition finds the visiting order or the answers of the one before.
      const std::string other =
          base::to_text(sim::generated_id(sim::kEvalKind, 1'000'000U + static_cast<std::uint32_t>(repetition)));
      static_cast<void>(warm.time(*store, key, other, rank::OrderProvider::nomad));
      const std::int64_t ns = warm.time(*store, key, cell.eval, rank::OrderProvider::nomad);
      if (repetition == 0 || ns < out.berth_ns) out.berth_ns = ns;
      const std::string different = difference(warm.result, cell);
      if (repetition == 0 || !different.empty()) out.difference = different;
      busy_ns += ns;
      ++result.evaluations;
      const std::size_t placed = warm.result.plan.allocs.size();
      result.placed += placed;
      result.latency.total.record(ns, placed), result.latency.schedule.record(ns, placed);
      result.latency.queue.record(0, placed), result.latency.commit.record(0, placed);
      result.evaluation_latency.record(ns);
      if (repetition > 0) continue;
      out.placed = static_cast<std::int64_t>(placed);
      digest.begin_evaluation(static_cast<std::uint64_t>(cell.cell));
      for (const sched::PlannedAlloc& alloc : warm.result.plan.allocs)
        digest.placement(store->current().nodes.id(alloc.node), alloc.name_index, alloc.score);
      for (const sched::GroupResult& group : warm.result.groups)
        if (group.failed)
          digest.failure(store->symbols().text(group.name), 1 + static_cast<std::uint64_t>(group.failure.coalesced));
    }
    out.decisions_equal = out.difference.empty();
    result.asked += static_cast<std::uint64_t>(cell.allocs * workload.grid.repetitions);
    ++result.jobs;
    result.table_bytes = std::max<std::uint64_t>(result.table_bytes, store->bytes());
    result.cells.push_back(std::move(out));
  }
  progress.finish();
  if (!result.partial) result.ended = "complete";
  result.failed = result.asked - result.placed;
  result.elapsed_s = static_cast<double>(ns_since(replay_start)) / 1e9;
  result.busy_s = static_cast<double>(busy_ns) / 1e9;
  result.virtual_s = result.elapsed_s;
  result.decisions_digest = digest.text();
  return {};
}

}  // namespace berth::run
