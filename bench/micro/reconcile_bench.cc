// Port offers and whole runs of the reconciler. One item is one allocation, or one visit of a node.
#include <string>
#include <vector>

#include "micro/micro.h"
#include "model/job.h"
#include "model/names.h"
#include "network/network_index.h"
#include "reconcile/cluster.h"

namespace berth::micro {
namespace {

struct SameForAll : reconcile::UpdateJudge {
  reconcile::UpdateKind kind = reconcile::UpdateKind::ignore;
  void judge(std::span<const std::uint32_t>, std::span<reconcile::UpdateKind> kinds) override {
    std::fill(kinds.begin(), kinds.end(), kind);
  }
};
struct Numbers : reconcile::IdSource {
  int next = 0;
  std::string next_eval_id() override { return std::to_string(next++); }
  std::string next_deployment_id() override { return std::to_string(next++); }
};

struct Service {
  std::shared_ptr<model::Job> job = std::make_shared<model::Job>();
  std::vector<model::Allocation> allocs;
  std::vector<reconcile::AllocFacts> facts;
  std::vector<std::uint32_t> slots;  // parallel to facts
  std::vector<std::string> group_names = {"web"};
  SameForAll updates;
  Numbers ids;

  explicit Service(std::size_t count) : allocs(count) {
    job->id = "job", job->type = "service";
    job->task_groups.resize(1);
    job->task_groups[0].name = "web";
    job->task_groups[0].count = static_cast<std::int64_t>(count);
    for (std::size_t i = 0; i < count; ++i) {
      model::Allocation& alloc = allocs[i];
      alloc.id = std::to_string(i), alloc.name = model::alloc_name("job", "web", i), alloc.job_id = "job";
      alloc.task_group = "web", alloc.job = job, alloc.desired_status = "run", alloc.client_status = "running";
      facts.push_back(reconcile::read_facts(alloc, 0, reconcile::NodeTaint::none, ""));
    }
  }
  reconcile::ClusterResult run(reconcile::ClusterReconciler& reconciler, bool with_allocs) {
    const reconcile::ClusterInput input{
        .job = job.get(),
        .job_id = "job",
        .allocs =
            with_allocs ? std::span<const reconcile::AllocFacts>(facts) : std::span<const reconcile::AllocFacts>(),
        .slots = with_allocs ? std::span<const std::uint32_t>(slots) : std::span<const std::uint32_t>(),
        .group_names = group_names,
        .eval_id = "eval",
        .now = 1000};
    return reconciler.run(input, updates, ids);
  }
};

/// Cases: all run as wanted; 1 of 100 is on a down node; none exists yet; all are updated in place; a tenth at a time
/// is replaced, none so far.
void BM_ReconcileService(benchmark::State& state) {
  enum { kSteady, kLost, kNew, kInPlace, kRolling };
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::int64_t what = state.range(1);
  Service service(count);
  if (what == kLost)
    for (std::size_t i = 0; i < count; i += 100) service.facts[i].taint = reconcile::NodeTaint::down;
  service.slots = reconcile::slots_of(service.facts);
  if (what == kInPlace) service.updates.kind = reconcile::UpdateKind::inplace;
  if (what == kRolling) {
    service.updates.kind = reconcile::UpdateKind::destructive;
    service.job->task_groups[0].update.emplace().max_parallel = static_cast<std::int64_t>(count / 10);
  }
  reconcile::ClusterReconciler reconciler;
  const bool with_allocs = what != kNew;
  const reconcile::ClusterResult first = service.run(reconciler, with_allocs);
  if (first.place.size() != (what == kLost  ? (count + 99) / 100
                             : what == kNew ? count
                                            : 0) ||
      first.inplace_update.size() != (what == kInPlace ? count : 0) ||
      first.destructive_update.size() != (what == kRolling ? count / 10 : 0))
    return wrong_answer(state, "not as many placements and updates as are due");
  for (auto _ : state) benchmark::DoNotOptimize(service.run(reconciler, with_allocs).place.data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_ReconcileService)
    ->ArgNames({"allocs", "case"})
    ->ArgsProduct({sizes(100'000), {0, 1, 2, 3, 4}});  // each has a model::Allocation: a million take 2 GB

/// One visit of a node with 20 allocations of two ports each, and an offer of two ports.
void BM_NetworkVisit(benchmark::State& state) {
  model::Node node;
  auto& network = node.node_resources.emplace().node_networks.emplace().emplace_back();
  network.mode = "host";
  network.addresses.resize(1);
  network.addresses[0].alias = "default", network.addresses[0].address = "10.0.0.1";
  node.reserved_resources.emplace().networks.reserved_host_ports = "22,14000-14512";
  const network::NodePorts ports = network::read_node_ports(node);
  std::vector<model::AllocatedResources> allocs(20);
  for (std::size_t i = 0; i < allocs.size(); ++i)
    allocs[i].shared.ports = {{"http", static_cast<std::int64_t>(20000 + 2 * i), 0, "10.0.0.1", false},
                              {"admin", static_cast<std::int64_t>(20001 + 2 * i), 0, "10.0.0.1", false}};
  model::NetworkResource ask;
  ask.dynamic_ports = {{"http", 0, 0, "default", false}, {"admin", 0, 0, "default", false}};
  network::NetworkIndex index;
  std::vector<model::AllocatedPort> offer;
  const auto visit = [&] {
    index.start(ports);
    bool collided = false;
    for (const auto& alloc : allocs) collided |= index.add(alloc, "id");
    return !collided && index.assign_ports(ask, offer).has_value();
  };
  if (!visit() || offer[0].value != 20040 || offer[1].value != 20041) return wrong_answer(state, "not the free ports");
  for (auto _ : state) benchmark::DoNotOptimize(visit());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_NetworkVisit);

}  // namespace
}  // namespace berth::micro
