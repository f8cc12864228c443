// Best node of all. One item is one node.
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/exhaustive.h"

namespace berth::micro {
namespace {

struct Cluster {
  std::vector<std::int32_t> cpu_free, memory_free, disk_free;
  std::vector<float> cpu_inverse, memory_inverse;
  std::vector<std::int64_t> cpu_used, memory_used;
  std::vector<double> cpu, memory;
  std::vector<std::uint64_t> feasible;
  rank::ScanAsk ask{500, 256, 300};

  /// `equal`: ten thousand empty nodes of one shape, the worst case of pass 2; else random use of five shapes.
  Cluster(std::size_t n, bool equal) : feasible((n + 63) / 64) {
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
  const Cluster c(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
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
BENCHMARK(BM_ExhaustiveBest)->ArgNames({"nodes", "equal"})->ArgsProduct({{1000, 10'000, 100'000, 1'000'000}, {0, 1}});

}  // namespace
}  // namespace berth::micro
