// Best node of all: by a scan, where one item is one node, and for asks that differ from one to the next, with the
// placement of each, by the scan and by the index: there one item is one placement.
#include <algorithm>
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/exhaustive.h"
#include "rank/fit_index.h"

namespace berth::micro {
namespace {

struct ScanCluster {
  std::vector<std::int32_t> cpu_free, memory_free, disk_free;
  std::vector<float> cpu_inverse, memory_inverse;
  std::vector<std::int64_t> cpu_used, memory_used;
  std::vector<double> cpu, memory;
  std::vector<std::uint64_t> feasible;
  rank::ScanAsk ask{500, 256, 300};

  /// `equal`: ten thousand empty nodes of one shape, the worst case of pass 2; else random use of five shapes.
  ScanCluster(std::size_t n, bool equal) : feasible((n + 63) / 64) {
    std::mt19937_64 random(9);
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t shape = equal ? 1 : 1 + static_cast<std::int64_t>(random() % 5);
      const std::int64_t cpu_total = 8000 * shape, memory_total = 16'384 * shape;
      cpu.push_back(static_cast<double>(cpu_total)), memory.push_back(static_cast<double>(memory_total));
      cpu_used.push_back(equal ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cpu_total)));
      memory_used.push_back(equal ? 0 : static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(memory_total)));
      cpu_free.push_back(static_cast<std::int32_t>(cpu_total - cpu_used.back()));
      memory_free.push_back(static_cast<std::int32_t>(memory_total - memory_used.back()));
      disk_free.push_back(100'000);
      cpu_inverse.push_back(rank::inverse_capacity(cpu.back()));
      memory_inverse.push_back(rank::inverse_capacity(memory.back()));
      feasible[i / 64] |= std::uint64_t{1} << i % 64;
    }
  }
  [[nodiscard]] rank::ScanColumns columns() const {
    return {cpu_free, memory_free, disk_free, cpu_inverse, memory_inverse, {cpu_used, memory_used, cpu, memory}};
  }
};

void BM_ExhaustiveBest(benchmark::State& state) {
  const ScanCluster c(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
  rank::ExhaustiveScan scan;
  const auto columns = c.columns();
  const auto best = scan.best(rank::FitAlgorithm::binpack, columns, c.ask, c.feasible);
  double expected = -1;
  std::uint32_t row = 0;
  for (std::uint32_t i = 0; i < c.cpu.size(); ++i) {
    if (c.cpu_free[i] < c.ask.cpu_mhz || c.memory_free[i] < c.ask.memory_mb) continue;
    const double component = rank::fit_component(rank::FitAlgorithm::binpack, c.cpu_used[i] + c.ask.cpu_mhz, c.cpu[i],
                                                 c.memory_used[i] + c.ask.memory_mb, c.memory[i]);
    if (component > expected) expected = component, row = i;
  }
  if (!best || best->row != row || best->component != expected)
    return wrong_answer(state, "differs from the obvious loop");
  for (auto _ : state) benchmark::DoNotOptimize(scan.best(rank::FitAlgorithm::binpack, columns, c.ask, c.feasible));
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 24);
}
BENCHMARK(BM_ExhaustiveBest)->ArgNames({"nodes", "equal"})->ArgsProduct({sizes(), {0, 1}});

/// What the scan stands for: the exact score of every node that has room, one after the other.
void BM_ExhaustiveLoop(benchmark::State& state) {
  const ScanCluster c(static_cast<std::size_t>(state.range(0)), false);
  for (auto _ : state) {
    double most = -1;
    for (std::uint32_t i = 0; i < c.cpu.size(); ++i) {
      if (c.cpu_free[i] < c.ask.cpu_mhz || c.memory_free[i] < c.ask.memory_mb) continue;
      most = std::max(most, rank::fit_component(rank::FitAlgorithm::binpack, c.cpu_used[i] + c.ask.cpu_mhz, c.cpu[i],
                                                c.memory_used[i] + c.ask.memory_mb, c.memory[i]));
    }
    benchmark::DoNotOptimize(most);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 40);
}
BENCHMARK(BM_ExhaustiveLoop)->ArgName("nodes")->ArgsProduct({sizes()});

/// Asks of many sizes, one after the other, each placed; a node that is nearly full starts over.
struct Stream {
  ScanCluster cluster;
  std::mt19937_64 random{11};

  explicit Stream(std::size_t n) : cluster(n, false) {}
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
  rank::ExhaustiveScan scan;
  index.build(columns);
  const auto place = [&](bool check) {
    stream.next();
    const auto best = index.best(rank::FitAlgorithm::binpack, columns, stream.cluster.ask, stream.cluster.feasible);
    if (check) {
      const auto other = scan.best(rank::FitAlgorithm::binpack, columns, stream.cluster.ask, stream.cluster.feasible);
      if (!best || best->row != other->row || best->component != other->component) return false;
    }
    stream.place(best->row);
    index.update(columns, best->row);
    return true;
  };
  for (int i = 0; i < 200; ++i)
    if (!place(true)) return wrong_answer(state, "differs from the scan");
  const std::uint64_t before = index.looks();
  for (auto _ : state) place(false);
  state.SetItemsProcessed(state.iterations());
  state.counters["looks"] =
      benchmark::Counter(static_cast<double>(index.looks() - before), benchmark::Counter::kAvgIterations);
}
BENCHMARK(BM_IndependentAsksIndex)->ArgName("nodes")->ArgsProduct({sizes()});

void BM_IndependentAsksScan(benchmark::State& state) {
  Stream stream(static_cast<std::size_t>(state.range(0)));
  const auto columns = stream.cluster.columns();
  rank::ExhaustiveScan scan;
  for (auto _ : state) {
    stream.next();
    stream.place(scan.best(rank::FitAlgorithm::binpack, columns, stream.cluster.ask, stream.cluster.feasible)->row);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_IndependentAsksScan)->ArgName("nodes")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
