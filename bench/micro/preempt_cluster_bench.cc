// Evaluations that must evict allocations, on clusters without room. One item is one placement.
#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "micro/cluster.h"
#include "micro/micro.h"
#include "sched/generic.h"

namespace berth::micro {
namespace {

/// The resources of an allocation of `small_job`, with a port.
std::shared_ptr<const tables::ResourceShape> with_port(std::int64_t cpu_mhz, std::int64_t memory_mb,
                                                       std::int64_t port) {
  auto out = std::make_shared<model::AllocatedResources>();
  model::AllocatedTask& task = out->tasks["t"];
  task.cpu.cpu_shares = cpu_mhz;
  task.memory.memory_mb = memory_mb;
  out->shared.ports.push_back({.label = "http", .value = port, .to = 0, .host_ip = "10.0.0.1"});
  return tables::make_shape(std::move(out));
}

/// Nodes filled by ten allocations each, of ten jobs of priorities 10 to 55. A new evaluation each time places one
/// allocation of a job of priority 70, which needs one or three evictions. Nothing is committed. With `ports` every
/// allocation has one.
void BM_PreemptSaturated(benchmark::State& state) {
  const auto nodes = static_cast<std::uint64_t>(state.range(0));
  const bool exhaustive = state.range(1) != 0, ports = state.range(3) != 0;
  tables::StateStore store;
  const auto spec = node_spec(14'000, 32'000);
  for (std::uint64_t i = 0; i < nodes; ++i) add_node(store, spec, i, std::to_string(i % 20));
  store.sort_nodes();
  model::SchedulerConfiguration config;
  config.preemption_config.service_scheduler_enabled = true;
  store.set_scheduler_config(config);
  std::vector<tables::VersionRow> jobs;
  for (std::int64_t p = 10; p < 60; p += 5)
    jobs.push_back(
        store.upsert_job(small_job(numbered("p", static_cast<std::uint64_t>(p)), "service", 1400, 3000, p), true));
  std::vector<std::shared_ptr<const tables::ResourceShape>> shapes;
  for (std::int64_t port = 20'000; port < 20'010; ++port) shapes.push_back(with_port(1400, 3000, port));
  std::mt19937_64 random(1);
  tables::PlainAlloc alloc;
  alloc.client = tables::Client::running;
  for (std::uint64_t i = 0; i < nodes * 10; ++i) {
    alloc.id = spread_uuid(2, i);
    alloc.node = static_cast<tables::NodeRow>(i * 31 % nodes);
    alloc.job = jobs[random() % jobs.size()];
    alloc.name_index = static_cast<std::uint32_t>(i);
    alloc.shape = ports ? shapes[i / nodes] : nullptr;
    store.insert_plain(alloc, 5);
  }
  store.upsert_job(small_job("urgent", "service", state.range(2), 2 * state.range(2), 70), true);
  store.set_index(30);
  const tables::SnapshotRef snapshot = store.snapshot();
  sched::Scratch scratch;
  sched::GenericScheduler scheduler(scratch);
  scheduler.set_exhaustive(exhaustive);
  sched::EvalResult result;
  sched::EvalFacts eval;
  eval.job = store.job_key("default", "urgent");
  eval.triggered_by = "job-register";
  std::uint64_t number = 0;
  std::string text;
  const auto evaluate = [&] {
    eval.id = {4, ++number * 0x9e3779b97f4a7c15ULL};  // its last digits determine the visiting order
    text = base::to_text(eval.id);
    eval.id_text = text;
    sched::IdStream ids(7);
    scheduler.process(*snapshot, eval, rank::OrderProvider::nomad, ids, result);
  };
  evaluate();
  if (result.plan.allocs.size() != 1 || result.plan.stops.size() != static_cast<std::size_t>(state.range(2) / 1400) + 1)
    return wrong_answer(state, "no node made room for it");
  std::vector<std::int64_t> times;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    evaluate();
    times.push_back((std::chrono::steady_clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  state.counters["p50_us"] = static_cast<double>(times[times.size() / 2]) / 1000;
  state.counters["p99_us"] = static_cast<double>(times[times.size() - 1 - times.size() / 100]) / 1000;
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PreemptSaturated)
    ->ArgNames({"nodes", "exhaustive", "ask", "ports"})
    ->Unit(benchmark::kMicrosecond)
    ->ArgsProduct({sizes(10'000), {0, 1}, {1300, 4000}, {0}})
    ->ArgsProduct({{10'000}, {0, 1}, {1300}, {1}});

}  // namespace
}  // namespace berth::micro
