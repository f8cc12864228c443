// Best node of all for a sequence of different requests, each placed: by the index, and by the exact score of every
// node with room. One item is one placement.
#include <algorithm>
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/fit_index.h"

namespace berth::micro {
namespace {

struct IndexCluster {
  std::vector<std::int32_t> cpu_free, memory_free, disk_free;
  std::vector<std::int64_t> cpu_used, memory_used;
  std::vector<double> cpu, memory;
  std::vector<std::uint64_t> feasible;
  rank::AskedAmounts ask{500, 256, 300};

  /// Nodes of five shapes with random usage.
  explicit IndexCluster(std::size_t n) : feasible((n + 63) / 64) {
    std::mt19937_64 random(9);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t shape = 1 + static_cast<std::int64_t>(random() % 5);
      const std::int64_t cpu_total = 8000 * shape, memory_total = 16'384 * shape;
      cpu.push_back(static_cast<double>(cpu_total)), memory.push_back(static_cast<double>(memory_total));
      cpu_used.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cpu_total)));
      memory_used.push_back(static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(memory_total)));
      cpu_free.push_back(static_cast<std::int32_t>(cpu_total - cpu_used.back()));
      memory_free.push_back(static_cast<std::int32_t>(memory_total - memory_used.back()));
      disk_free.push_back(100'000);
      feasible[i / 64] |= std::uint64_t{1} << i % 64;
    }
  }
  [[nodiscard]] rank::IndexColumns columns() const {
    return {cpu_free, memory_free, disk_free, {cpu_used, memory_used, cpu, memory}};
  }
  /// The simple loop.
  [[nodiscard]] rank::FitIndex::Best best() const {
    rank::FitIndex::Best out{0, -1};
    for (std::uint32_t i = 0; i < cpu.size(); ++i) {
      if (cpu_free[i] < ask.cpu_mhz || memory_free[i] < ask.memory_mb) continue;
      const double component = rank::fit_component(rank::FitAlgorithm::binpack, cpu_used[i] + ask.cpu_mhz, cpu[i],
                                                   memory_used[i] + ask.memory_mb, memory[i]);
      if (component > out.component) out = {i, component};
    }
    return out;
  }
};

/// Requests of many sizes, one after the other, each placed. A nearly full node is emptied.
struct Stream {
  IndexCluster cluster;
  std::mt19937_64 random{11};

  explicit Stream(std::size_t n) : cluster(n) {}
  void next() {
    cluster.ask.cpu_mhz = static_cast<std::int32_t>(100 + random() % 2000);
    cluster.ask.memory_mb = static_cast<std::int32_t>(64 + random() % 4096);
  }
  void place(std::uint32_t row) {
    cluster.cpu_used[row] += cluster.ask.cpu_mhz, cluster.memory_used[row] += cluster.ask.memory_mb;
    cluster.cpu_free[row] -= cluster.ask.cpu_mhz, cluster.memory_free[row] -= cluster.ask.memory_mb;
    if (cluster.cpu_free[row] >= 100 && cluster.memory_free[row] >= 64) return;
    cluster.cpu_free[row] += static_cast<std::int32_t>(cluster.cpu_used[row]), cluster.cpu_used[row] = 0;
    cluster.memory_free[row] += static_cast<std::int32_t>(cluster.memory_used[row]), cluster.memory_used[row] = 0;
  }
};

void BM_IndependentAsksIndex(benchmark::State& state) {
  Stream stream(static_cast<std::size_t>(state.range(0)));
  const auto columns = stream.cluster.columns();
  rank::FitIndex index;
  index.build(columns);
  const auto place = [&](bool check) {
    stream.next();
    const auto best = index.best(rank::FitAlgorithm::binpack, columns, stream.cluster.ask, stream.cluster.feasible);
    if (check) {
      const auto other = stream.cluster.best();
      if (!best || best->row != other.row || best->component != other.component) return false;
    }
    stream.place(best->row);
    index.update(columns, best->row);
    return true;
  };
  for (int i = 0; i < 200; ++i)
    if (!place(true)) return wrong_answer(state, "differs from the obvious loop");
  const std::uint64_t before = index.visits();
  for (auto _ : state) place(false);
  state.SetItemsProcessed(state.iterations());
  state.counters["visits"] =
      benchmark::Counter(static_cast<double>(index.visits() - before), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_IndependentAsksIndex)->ArgName("nodes")->ArgsProduct({sizes()});

void BM_IndependentAsksLoop(benchmark::State& state) {
  Stream stream(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    stream.next();
    stream.place(stream.cluster.best().row);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_IndependentAsksLoop)->ArgName("nodes")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
