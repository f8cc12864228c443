// One node's ports, devices and victims. One item is one offer or one choice.
#include <random>
#include <string>

#include "micro/micro.h"
#include "preempt/victims.h"
#include "rank/fit.h"

namespace berth::micro {
namespace {

/// A node full of allocations of three lower priorities; the request needs about a tenth of it.
struct FullNode {
  std::vector<preempt::Candidate> candidates;
  model::FlatResources room, ask;
  explicit FullNode(std::size_t allocs) : candidates(allocs) {
    std::mt19937_64 random(11);
    const auto some = [&](std::int64_t least, std::uint64_t range) {
      return least + static_cast<std::int64_t>(random() % range);
    };
    for (preempt::Candidate& c : candidates) {
      c.cpu_mhz = some(100, 900), c.memory_mb = some(128, 2048), c.disk_mb = some(100, 400);
      c.priority = 20 + 10 * some(0, 3);
      room.cpu_mhz += c.cpu_mhz, room.memory_mb += c.memory_mb, room.disk_mb += c.disk_mb;
    }
    ask.cpu_mhz = room.cpu_mhz / 10, ask.memory_mb = room.memory_mb / 10, ask.disk_mb = 300;
  }
};

/// True if the victims are candidates, none twice, and free the requested amounts.
bool enough(const FullNode& node, const preempt::Victims& victims) {
  std::vector<bool> seen(node.candidates.size());
  model::FlatResources freed;
  for (const std::uint32_t v : victims) {
    if (v >= seen.size() || seen[v]) return false;
    seen[v] = true;
    const preempt::Candidate& c = node.candidates[v];
    freed.cpu_mhz += c.cpu_mhz, freed.memory_mb += c.memory_mb, freed.disk_mb += c.disk_mb;
  }
  return freed.cpu_mhz >= node.ask.cpu_mhz && freed.memory_mb >= node.ask.memory_mb &&
         freed.disk_mb >= node.ask.disk_mb;
}

void BM_PreemptVictims(benchmark::State& state) {
  const FullNode node(static_cast<std::size_t>(state.range(0)));
  preempt::Scratch scratch;
  preempt::Victims victims;
  preempt::choose_for_resources(90, node.room, node.ask, node.candidates, scratch, victims);
  if (!enough(node, victims)) return wrong_answer(state, "the victims do not make room");
  for (auto _ : state) {
    victims.clear();
    preempt::choose_for_resources(90, node.room, node.ask, node.candidates, scratch, victims);
    benchmark::DoNotOptimize(victims.data());
  }
  state.counters["victims"] = static_cast<double>(victims.size());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PreemptVictims)->ArgName("allocs")->Arg(10)->Arg(100)->Arg(1000);  // allocations of one node

/// A node whose allocations of lower priority hold 100 Mbit/s and a port each, and half of its devices together.
struct HeldNode {
  std::vector<model::AllocatedResources> held;
  std::vector<preempt::Candidate> candidates;
  std::vector<model::NodeDevice> devices;
  network::NodePorts ports;
  network::NetworkIndex index;

  explicit HeldNode(std::size_t allocs) : held(allocs), candidates(allocs) {
    model::NodeDevice& device = devices.emplace_back();
    device.vendor = "nvidia", device.type = "gpu", device.name.assign(1, 'a');
    for (std::size_t i = 0; i < 2 * allocs; ++i) {
      model::DeviceInstance& instance = device.instances.emplace_back();
      instance.id = numbered("gpu-", 10'000 + i);
      instance.healthy = true;
    }
    ports.available.push_back({"eth0", static_cast<std::int64_t>(allocs) * 100});
    index.start(ports);
    for (std::size_t i = 0; i < allocs; ++i) {
      model::AllocatedTask& task = held[i].tasks["task"];
      model::NetworkResource& network = task.networks.emplace_back();
      network.device = "eth0", network.mbits = 100;
      network.reserved_ports.emplace_back().value = static_cast<std::int64_t>(20'000 + i);
      task.devices.push_back({"nvidia", "gpu", "a", {devices[0].instances[i].id}});
      index.add(held[i], "");
      candidates[i].priority = 20 + static_cast<std::int64_t>(10 * (i % 3));
      candidates[i].resources = &held[i];
    }
  }
};

void BM_PreemptNetwork(benchmark::State& state) {
  const HeldNode node(static_cast<std::size_t>(state.range(0)));
  model::NetworkResource ask;
  ask.mbits = 250;
  preempt::Scratch scratch;
  preempt::Victims victims;
  preempt::choose_for_network(90, ask, node.index, node.candidates, scratch, victims);
  if (victims.size() != 3) return wrong_answer(state, "250 Mbit/s are those of three");
  for (auto _ : state) {
    victims.clear();
    preempt::choose_for_network(90, ask, node.index, node.candidates, scratch, victims);
    benchmark::DoNotOptimize(victims.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PreemptNetwork)->ArgName("allocs")->Arg(10)->Arg(100)->Arg(1000);

void BM_PreemptDevices(benchmark::State& state) {
  HeldNode node(static_cast<std::size_t>(state.range(0)));
  node.devices[0].instances.resize(node.held.size());  // all are in use
  rank::DeviceAccounter accounter(node.devices);
  for (const model::AllocatedResources& held : node.held)
    for (const model::AllocatedDevice& device : held.tasks.at("task").devices) accounter.add(device);
  match::DeviceRequest request;
  request.name.type = "gpu";
  request.count = 4;
  match::Patterns patterns;
  preempt::Scratch scratch;
  preempt::Victims victims;
  const auto choose = [&] {
    victims.clear();
    return preempt::choose_for_device(90, request, accounter, node.candidates, patterns, scratch, victims).has_value();
  };
  if (!choose() || victims.size() != 4) return wrong_answer(state, "four instances are those of four");
  for (auto _ : state) benchmark::DoNotOptimize(choose());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_PreemptDevices)->ArgName("allocs")->Arg(10)->Arg(100);

/// Sums the amounts of a node's allocations and compares them with its capacity.
void BM_FitSum(benchmark::State& state) {
  std::vector<model::FlatResources> uses(static_cast<std::size_t>(state.range(0)));
  rank::NodeFit node;
  for (std::size_t i = 0; i < uses.size(); ++i) {
    uses[i].cpu_mhz = static_cast<std::int64_t>(100 + i), uses[i].memory_mb = 256, uses[i].disk_mb = 10;
    node.available.cpu_mhz += uses[i].cpu_mhz, node.available.memory_mb += 256, node.available.disk_mb += 10;
  }
  rank::FitSum sum;
  const auto judge = [&] {
    sum.clear();
    for (const model::FlatResources& use : uses) sum.add(&use);
    return sum.judge(node);
  };
  const bool fits = judge() == rank::Dimension::none;
  --node.available.memory_mb;
  if (!fits || judge() != rank::Dimension::memory) return wrong_answer(state, "R-RANK-531");
  for (auto _ : state) benchmark::DoNotOptimize(judge());
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_FitSum)->ArgName("allocs")->Arg(10)->Arg(100)->Arg(1000);

/// Counts the node's devices, then offers four instances: the cost per node of a group that requests devices.
void BM_DeviceOffer(benchmark::State& state) {
  const HeldNode node(static_cast<std::size_t>(state.range(0)));
  match::DeviceRequest request;
  request.name.type = "gpu";
  request.count = 4;
  match::Patterns patterns;
  model::AllocatedDevice got;
  const auto offer = [&] {
    rank::DeviceAccounter accounter(node.devices);
    for (const model::AllocatedResources& held : node.held)
      for (const auto& [name, task] : held.tasks)
        for (const model::AllocatedDevice& device : task.devices) accounter.add(device);
    return accounter.offer(request, patterns, got);
  };
  const auto first = offer();
  const std::string expected = node.devices[0].instances[node.held.size()].id;
  if (!first || got.device_ids.size() != 4 || got.device_ids[0] != expected)
    return wrong_answer(state, "not the first free instances");
  for (auto _ : state) benchmark::DoNotOptimize(offer());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DeviceOffer)->ArgName("allocs")->Arg(4)->Arg(100);

}  // namespace
}  // namespace berth::micro
