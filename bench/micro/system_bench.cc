// A system job over all ready nodes: one evaluation, everything but the commit. One item is one node.
#include "micro/micro.h"
#include "sched/system.h"
#include "sched/to_model.h"

namespace berth::micro {
namespace {

constexpr std::int64_t kNow = 1'000'000 * base::kSecond;

base::Uuid system_uuid(std::uint64_t kind, std::uint64_t number) {
  return {number * 0x9e3779b97f4a7c15ULL | 1, kind};  // in no order, as those of real nodes
}

/// Nodes of three shapes in twenty classes, a few services on each, and a system job with two constraints.
struct SystemCluster {
  tables::StateStore store;
  tables::JobKeyRow job = tables::kNoRow;

  explicit SystemCluster(std::uint64_t nodes, bool updates) {
    std::vector<std::shared_ptr<const tables::NodeSpec>> specs;
    for (std::uint64_t s = 0; s < 3; ++s) {
      model::Node shape;
      shape.status = "ready";
      shape.scheduling_eligibility = "eligible";
      shape.datacenter = "dc1";
      shape.node_pool = "default";
      shape.node_class = "compute";
      shape.attributes["kernel.name"] = "linux";
      shape.attributes["driver.exec"] = "1";
      model::NodeResources& r = shape.node_resources.emplace();
      r.memory.memory_mb = static_cast<std::int64_t>(16'384 << s);
      r.disk.disk_mb = 100'000;
      r.processors.emplace().topology.emplace().override_total_compute = 8000 << s;
      model::NetworkResource network;
      network.mode = "host";
      network.device = "eth0";
      r.networks.push_back(network);
      specs.push_back(tables::StateStore::make_spec(shape, true));
    }
    for (std::uint64_t i = 0; i < nodes; ++i) {
      const std::string rack = std::to_string(i % 20);
      store.add_variant(specs[i % 3], {.id = system_uuid(1, i),
                                       .name = "node",
                                       .datacenter = {},
                                       .attributes = {},
                                       .meta = {{"rack", rack}},
                                       .computed_class = {}});
    }
    store.sort_nodes();
    const auto make_job = [](const char* id, const char* type, std::int64_t cpu) {
      auto out = std::make_shared<model::Job>();
      out->id = id;
      out->name = id;
      out->namespace_ = "default";
      out->type = type;
      out->priority = 50;
      out->datacenters = {"*"};
      out->node_pool = "default";
      model::TaskGroup& group = out->task_groups.emplace_back();
      group.name.assign(1, 'g');
      group.count = 1;
      group.ephemeral_disk = model::EphemeralDisk{false, false, 300};
      model::Task& task = group.tasks.emplace_back();
      task.name.assign(1, 't');
      task.driver = "exec";
      model::Resources& ask = task.resources.emplace();
      ask.cpu = cpu;
      ask.memory_mb = 256;
      return out;
    };
    const auto service = make_job("service", "service", 700);
    tables::PlainAlloc alloc;
    alloc.job = store.upsert_job(service, true);
    alloc.client = tables::Client::running;
    for (std::uint64_t i = 0; i < nodes * 4; ++i) {
      alloc.id = system_uuid(2, i);
      alloc.node = static_cast<tables::NodeRow>(i * 31 % nodes);
      alloc.name_index = static_cast<std::uint32_t>(i);
      store.insert_plain(alloc, 5);
    }
    const auto system = make_job("system", "system", 100);
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
        alloc.id = system_uuid(3, i);
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
  eval.id = system_uuid(4, 1);
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

/// First registration: every node gets an allocation with its metrics, but for those that the constraint filters.
void BM_SystemRegister(benchmark::State& state) { run(state, false); }
BENCHMARK(BM_SystemRegister)->ArgName("nodes")->Unit(benchmark::kMillisecond)->ArgsProduct({sizes(100'000)});

/// A change that every running allocation takes over in place.
void BM_SystemUpdateInPlace(benchmark::State& state) { run(state, true); }
BENCHMARK(BM_SystemUpdateInPlace)->ArgName("nodes")->Unit(benchmark::kMillisecond)->ArgsProduct({sizes(100'000)});

}  // namespace
}  // namespace berth::micro
