// Choosing victims for cpu, memory and disk on one node. One item is one choice.
#include <random>

#include "micro/micro.h"
#include "preempt/victims.h"

namespace berth::micro {
namespace {

/// A full node of allocations of three lower priorities; the ask needs about a tenth of it.
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

/// Whether the victims are candidates, none twice, and give back what is asked.
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
BENCHMARK(BM_PreemptVictims)->ArgName("allocs")->Arg(10)->Arg(100);

}  // namespace
}  // namespace berth::micro
