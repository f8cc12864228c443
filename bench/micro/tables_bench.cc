// Snapshots, commits and operations of the tables by their size. One item is one snapshot, one commit, one placement,
// or one row written or read.
#include <numeric>
#include <random>
#include <shared_mutex>

#include "micro/micro.h"
#include "model/job.h"
#include "plan/apply.h"
#include "tables/check.h"
#include "tables/commit.h"
#include "tables/worker_view.h"

namespace berth::micro {
namespace {

base::Uuid tables_uuid(std::uint64_t kind, std::uint64_t number) {
  return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1};
}

/// Nodes of one shape with room for everything, ten simple allocations on each; a million allocations at most.
struct TablesCluster {
  tables::StateStore store;
  tables::VersionRow job = tables::kNoRow;
  std::uint64_t next = 0;

  explicit TablesCluster(std::uint64_t nodes) {
    model::Node shape;
    shape.id = base::to_text(tables_uuid(1, 0));
    shape.status = "ready";
    shape.scheduling_eligibility = "eligible";
    shape.node_resources.emplace();
    shape.node_resources->memory.memory_mb = std::int64_t{1} << 40;
    shape.node_resources->disk.disk_mb = std::int64_t{1} << 40;
    model::Topology& topology = shape.node_resources->processors.emplace().topology.emplace();
    topology.override_total_compute = std::uint64_t{1} << 40;
    const auto spec = tables::StateStore::make_spec(shape, true);
    for (std::uint64_t i = 0; i < nodes; ++i)
      store.add_variant(spec, {.id = tables_uuid(1, i),
                               .name = "node",
                               .datacenter = {},
                               .attributes = {},
                               .meta = {},
                               .computed_class = "v1:1"});
    store.sort_nodes();
    auto spec_of_job = std::make_shared<model::Job>();
    spec_of_job->id = "job";
    spec_of_job->type = "batch";
    model::TaskGroup& group = spec_of_job->task_groups.emplace_back();
    group.name.assign(1, 'g');
    group.tasks.emplace_back().name.assign(1, 't');
    group.tasks[0].resources.emplace();
    group.tasks[0].resources->cpu = 100;
    job = store.upsert_job(spec_of_job, true);
    tables::Commit commit = store.begin_commit(1);
    tables::PlainAlloc alloc;
    alloc.job = job;
    const std::uint64_t allocs = std::max(nodes, std::min<std::uint64_t>(nodes * 10, 1'000'000));
    for (std::uint64_t i = 0; i < allocs; ++i) {
      alloc.id = tables_uuid(2, next++);
      alloc.node = static_cast<tables::NodeRow>(i % nodes);
      commit.insert_plain(alloc);
    }
  }
  /// Placements on nodes spread over the table.
  void plan(plan::PlanRows& rows, std::uint32_t count) {
    rows.clear();
    rows.job = job;
    const auto nodes = static_cast<std::uint32_t>(store.current().nodes.size());
    const auto& shape = store.current().jobs.versions[job]->groups[0].shape;
    const auto start = static_cast<std::uint32_t>(next * 7919 % nodes);
    for (std::uint32_t i = 0; i < count; ++i) {
      plan::PlannedAlloc& alloc = rows.allocs.emplace_back();
      alloc.id = tables_uuid(2, next++);
      alloc.node = static_cast<tables::NodeRow>((start + std::uint64_t{i} * (nodes / count)) % nodes);
      alloc.shape = shape;
      alloc.held = alloc.shape.get();
      alloc.first_on_node = true;
    }
  }
};

/// Every further snapshot between two commits.
void BM_SnapshotShared(benchmark::State& state) {
  TablesCluster cluster(static_cast<std::uint64_t>(state.range(0)));
  const tables::SnapshotRef held = cluster.store.snapshot();
  if (held->allocs.size() != cluster.next) return wrong_answer(state, "a snapshot lacks allocations");
  for (auto _ : state) benchmark::DoNotOptimize(cluster.store.snapshot());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SnapshotShared)->ArgName("nodes")->ArgsProduct({sizes()});

/// The first snapshot after a commit of one change, including that commit and the release.
void BM_SnapshotAfterCommit(benchmark::State& state) {
  TablesCluster cluster(static_cast<std::uint64_t>(state.range(0)));
  std::uint64_t index = 1;
  for (auto _ : state) {
    cluster.store.set_index(++index);
    benchmark::DoNotOptimize(cluster.store.snapshot());
  }
  if (cluster.store.snapshot()->index != index) return wrong_answer(state, "a snapshot is old");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SnapshotAfterCommit)->ArgName("nodes")->ArgsProduct({sizes()});

struct BySnapshot {
  template <class Read>
  static std::int64_t read(tables::StateStore& store, Read read) {
    const tables::SnapshotRef held = store.snapshot();
    return read(*held);
  }
};
/// A lock that readers share while reading: without copies, but commits and readers wait for each other.
struct ByLock {
  static inline std::shared_mutex mutex;
  template <class Read>
  static std::int64_t read(tables::StateStore& store, Read read) {
    const std::shared_lock lock(mutex);
    return read(store.current());
  }
};

/// The reads of a sampled Select: the usage of fourteen random nodes. Several threads, without writers.
template <class Access>
void BM_ReadFourteen(benchmark::State& state) {
  static std::unique_ptr<TablesCluster> cluster;
  if (state.thread_index() == 0) {
    cluster = std::make_unique<TablesCluster>(10'000);
    const auto all = Access::read(cluster->store, [](const tables::Snapshot& s) {
      std::int64_t sum = 0;
      for (tables::NodeRow row = 0; row < s.nodes.size(); ++row) sum += s.nodes.use[row].cpu_mhz;
      return sum;
    });
    if (all != 10'000 * 10 * 100) wrong_answer(state, "not what the allocations use");
  }
  std::uint32_t row = static_cast<std::uint32_t>(state.thread_index()) * 1000;
  for (auto _ : state)
    benchmark::DoNotOptimize(Access::read(cluster->store, [&](const tables::Snapshot& s) {
      std::int64_t sum = 0;
      for (int i = 0; i < 14; ++i) sum += s.nodes.use[row = (row + 7919) % 10'000].cpu_mhz;
      return sum;
    }));
  state.SetItemsProcessed(state.iterations() * 14);
  state.SetBytesProcessed(state.iterations() * 14 * static_cast<std::int64_t>(sizeof(tables::NodeUse)));
  if (state.thread_index() == 0) cluster.reset();
}
BENCHMARK_TEMPLATE(BM_ReadFourteen, BySnapshot)->ThreadRange(1, 4)->UseRealTime();
BENCHMARK_TEMPLATE(BM_ReadFourteen, ByLock)->ThreadRange(1, 4)->UseRealTime();

/// One commit per operation, at nodes and allocations in random order.
void BM_TableWrites(benchmark::State& state) {
  enum { kNodeState, kEndAlloc, kInsertAlloc, kFindAlloc };
  const std::int64_t what = state.range(1);
  TablesCluster cluster(static_cast<std::uint64_t>(state.range(0)));
  const auto nodes = static_cast<std::uint32_t>(cluster.store.current().nodes.size());
  std::vector<tables::AllocRow> order(cluster.next);
  std::iota(order.begin(), order.end(), tables::AllocRow(0U));
  std::shuffle(order.begin(), order.end(), std::mt19937(18));
  std::size_t turn = 0;
  std::uint64_t index = 1;
  bool found = cluster.store.find_alloc(tables_uuid(2, 0)) == 0;  // makes the index of IDs
  tables::PlainAlloc alloc;
  alloc.job = cluster.job;
  for (auto _ : state) {
    const tables::AllocRow row = order[turn++ % order.size()];
    switch (what) {
      case kNodeState:
        cluster.store.set_node_state(tables::NodeRow(row % nodes), tables::NodeStatus::ready, turn % 2 == 0, false,
                                     ++index);
        break;
      case kEndAlloc:
        cluster.store.set_client_status(
            row, turn / order.size() % 2 == 0 ? tables::Client::complete : tables::Client::running, ++index);
        break;
      case kInsertAlloc:
        alloc.id = tables_uuid(2, cluster.next++);
        alloc.node = tables::NodeRow(row % nodes);
        cluster.store.insert_plain(alloc, ++index);
        break;
      default:
        found &= cluster.store.find_alloc(tables_uuid(2, row)) == row;
    }
  }
  if (!found) return wrong_answer(state, "an allocation is not found by its ID");
  if (cluster.store.current().allocs.size() != cluster.next) return wrong_answer(state, "allocations are missing");
  std::vector<std::string> problems;
  for (tables::NodeRow row = 0; row < std::min(nodes, 100U); ++row)
    tables::check_node(cluster.store.current(), row, problems);
  if (!problems.empty()) return wrong_answer(state, "the invariants of a node do not hold");
  state.SetItemsProcessed(state.iterations());
  state.SetLabel(what == kNodeState     ? "node state"
                 : what == kEndAlloc    ? "allocation ends"
                 : what == kInsertAlloc ? "allocation enters"
                                        : "allocation by ID");
}
BENCHMARK(BM_TableWrites)->ArgNames({"nodes", "case"})->ArgsProduct({sizes(), {0, 1, 2, 3}});

/// Registers nodes of one shape with different IDs in random order.
void BM_RegisterNodes(benchmark::State& state) {
  const auto n = static_cast<std::uint64_t>(state.range(0));
  model::Node shape;
  shape.id = base::to_text(tables_uuid(1, 0));
  shape.status = "ready";
  shape.scheduling_eligibility = "eligible";
  shape.attributes["kernel.name"] = "linux";
  shape.node_resources.emplace().memory.memory_mb = 65'536;
  const auto spec = tables::StateStore::make_spec(shape, true);
  for (auto _ : state) {
    tables::StateStore store;
    for (std::uint64_t i = 0; i < n; ++i)
      store.add_variant(spec, {.id = {i * 0x9e3779b97f4a7c15ULL | 1, 1},
                               .name = "node",
                               .datacenter = {},
                               .attributes = {},
                               .meta = {{"rack", i % 2 == 0 ? "even" : "odd"}},
                               .computed_class = {}});
    store.sort_nodes();
    if (store.current().nodes.size() != n || !store.current().nodes.ready(static_cast<tables::NodeRow>(n - 1)))
      return wrong_answer(state, "a node is missing or not ready");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_RegisterNodes)->ArgName("nodes")->ArgsProduct({sizes()});

/// Plans of `placements` on as many nodes. `held` = 1 keeps a snapshot alive, so that changed parts are copied; 2
/// updates a worker's view after each plan, without copies.
void BM_Apply(benchmark::State& state) {
  TablesCluster cluster(static_cast<std::uint64_t>(state.range(0)));
  const auto count = static_cast<std::uint32_t>(state.range(1));
  const bool held = state.range(2) == 1, view = state.range(2) == 2;
  plan::Applier applier(cluster.store);
  plan::PlanRows rows;
  plan::ApplyResult result;
  tables::SnapshotRef snapshot;
  tables::WorkerView worker;
  for (auto _ : state) {
    state.PauseTiming();
    cluster.plan(rows, count);
    if (held) snapshot = cluster.store.snapshot();
    state.ResumeTiming();
    applier.apply(rows, cluster.store.index() + 1, false, result);
    if (view) static_cast<void>(cluster.store.bring_up(worker));
    if (result.committed != count) return wrong_answer(state, "a placement was refused");
  }
  if (view && cluster.store.use_chunks_copied() != 0) return wrong_answer(state, "a commit copied chunks");
  snapshot.reset();
  if (cluster.store.current().allocs.size() != cluster.next) return wrong_answer(state, "allocations are missing");
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_Apply)->ArgNames({"nodes", "placements", "held"})->ArgsProduct({sizes(), {1, 100}, {0, 1, 2}});

}  // namespace
}  // namespace berth::micro
