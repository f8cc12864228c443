// A system job over all ready nodes: one evaluation, everything but the commit. One item is one node.
#include "micro/cluster.h"
#include "micro/micro.h"
#include "model/job.h"
#include "sched/system.h"
#include "sched/to_model.h"

namespace berth::micro {
namespace {

constexpr std::int64_t kNow = 1'000'000 * base::kSecond;

/// Nodes of three shapes in twenty classes, a few services on each, and a system job with two constraints.
struct SystemCluster {
  tables::StateStore store;
  tables::JobKeyRow job = tables::kNoRow;

  explicit SystemCluster(std::uint64_t nodes, bool updates) {
    std::vector<std::shared_ptr<const tables::NodeSpec>> specs;
    for (std::uint64_t s = 0; s < 3; ++s) specs.push_back(node_spec(8000 << s, 16'384 << s));
    for (std::uint64_t i = 0; i < nodes; ++i) add_node(store, specs[i % 3], i, std::to_string(i % 20));
    store.sort_nodes();
    const auto service = small_job("service", "service", 700, 256);
    tables::PlainAlloc alloc;
    alloc.job = store.upsert_job(service, true);
    alloc.client = tables::Client::running;
    for (std::uint64_t i = 0; i < nodes * 4; ++i) {
      alloc.id = spread_uuid(2, i);
      alloc.node = static_cast<tables::NodeRow>(i * 31 % nodes);
      alloc.name_index = static_cast<std::uint32_t>(i);
      store.insert_plain(alloc, 5);
    }
    const auto system = small_job("system", "system", 100, 256);
    system->job_modify_index = system->create_index = 10;
    model::Constraint constraint;
    constraint.ltarget = "${attr.kernel.name}", constraint.operand = "=", constraint.rtarget = "linux";
    system->constraints.push_back(constraint);
    constraint.ltarget = "${meta.rack}", constraint.operand = "!=", constraint.rtarget = "7";
    system->task_groups[0].constraints.push_back(constraint);
    if (updates) {
      alloc.job = store.upsert_job(system, true);
      alloc.name_index = 0;
      for (std::uint64_t i = 0; i < nodes; ++i) {
        alloc.id = spread_uuid(3, i);
        alloc.node = static_cast<tables::NodeRow>(i);
        if (i % 20 != 7) store.insert_plain(alloc, 10);
      }
    }
    auto current = system;
    if (updates) {
      current = std::make_shared<model::Job>(*system);
      current->priority = 60;
      current->version = 1;
      current->job_modify_index = 20;
    }
    store.upsert_job(current, true);
    store.set_index(30);
    job = store.job_key("default", "system");
  }
};

void run(benchmark::State& state, bool updates) {
  const auto nodes = static_cast<std::uint64_t>(state.range(0));
  SystemCluster cluster(nodes, updates);
  const tables::SnapshotRef snapshot = cluster.store.snapshot();
  sched::Scratch scratch;
  sched::SystemScheduler scheduler(scratch);
  sched::EvalResult result;
  sched::NoPlanner planner;
  sched::EvalFacts eval;
  eval.id = spread_uuid(4, 1);
  eval.job = cluster.job;
  eval.triggered_by = "job-register";
  eval.now_ns = kNow;
  const auto evaluate = [&] {
    sched::IdStream ids(7);
    scheduler.process(*snapshot, eval, ids, planner, result);
  };
  evaluate();
  std::uint64_t fitting = 0;
  for (std::uint64_t i = 0; i < nodes; ++i) fitting += i % 20 != 7;
  const std::uint64_t answered = updates ? result.plan.updates.size() : result.plan.allocs.size();
  if (answered != fitting || result.groups[0].updates.place != fitting)
    return wrong_answer(state, "not every node that fits got its allocation");
  for (auto _ : state) {
    evaluate();
    benchmark::DoNotOptimize(result.plan.allocs.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// First registration: every node gets an allocation with its metrics, except those that the constraint filters.
void BM_SystemRegister(benchmark::State& state) { run(state, false); }
BENCHMARK(BM_SystemRegister)->ArgName("nodes")->Unit(benchmark::kMillisecond)->ArgsProduct({sizes(100'000)});

/// A change that updates every running allocation in place.
void BM_SystemUpdateInPlace(benchmark::State& state) { run(state, true); }
BENCHMARK(BM_SystemUpdateInPlace)->ArgName("nodes")->Unit(benchmark::kMillisecond)->ArgsProduct({sizes(100'000)});

}  // namespace
}  // namespace berth::micro
