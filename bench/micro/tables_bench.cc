// Snapshots and commits against the size of the tables. One item is one snapshot, one commit or one placement.
#include <cstdio>

#include "micro/micro.h"
#include "plan/apply.h"
#include "tables/check.h"

namespace berth::micro {
namespace {

base::Uuid tables_uuid(std::uint64_t kind, std::uint64_t number) {
  return {kind << 32, number * 0x9e3779b97f4a7c15ULL + 1};
}

/// Nodes of one shape with room for everything, ten plain allocations on each.
struct TablesCluster {
  tables::StateStore store;
  tables::JobRow job = tables::kNoRow;
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
    for (std::uint64_t i = 0; i < nodes * 10; ++i) {
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
BENCHMARK(BM_SnapshotShared)->ArgName("nodes")->Arg(1'000)->Arg(10'000)->Arg(100'000);

/// The first snapshot after a commit of one fact, that commit and the release included.
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
BENCHMARK(BM_SnapshotAfterCommit)->ArgName("nodes")->Arg(1'000)->Arg(10'000)->Arg(100'000);

/// Plans of `placements` on as many nodes; `held` = 1 keeps a snapshot alive, so that what is touched is copied.
void BM_Apply(benchmark::State& state) {
  TablesCluster cluster(static_cast<std::uint64_t>(state.range(0)));
  const auto count = static_cast<std::uint32_t>(state.range(1));
  const bool held = state.range(2) != 0;
  plan::Applier applier(cluster.store);
  plan::PlanRows rows;
  plan::ApplyResult result;
  tables::SnapshotRef snapshot;
  for (auto _ : state) {
    state.PauseTiming();
    cluster.plan(rows, count);
    if (held) snapshot = cluster.store.snapshot();
    state.ResumeTiming();
    applier.apply(rows, cluster.store.index() + 1, false, result);
    if (result.committed != count) return wrong_answer(state, "a placement was refused");
  }
  snapshot.reset();
  if (cluster.store.current().allocs.size() != cluster.next) return wrong_answer(state, "allocations are missing");
  state.SetItemsProcessed(state.iterations() * count);
}
BENCHMARK(BM_Apply)->ArgNames({"nodes", "placements", "held"})->ArgsProduct({{1'000, 100'000}, {1, 100}, {0, 1}});

}  // namespace
}  // namespace berth::micro
