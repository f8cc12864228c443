// The fit score. One item is one node.
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/score_fit.h"

namespace berth::micro {
namespace {

struct Rows {
  std::vector<std::int64_t> cpu_used, memory_used;
  std::vector<double> cpu, memory;
  explicit Rows(std::size_t n) : cpu_used(n), memory_used(n), cpu(n), memory(n) {
    std::mt19937_64 random(6);
    for (std::size_t i = 0; i < n; ++i) {
      cpu[i] = static_cast<double>(4000 + random() % 60000), memory[i] = static_cast<double>(8192 + random() % 500000);
      cpu_used[i] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(cpu[i]));
      memory_used[i] = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(memory[i]));
    }
  }
  [[nodiscard]] double component(std::size_t i) const {
    return rank::fit_component(rank::FitAlgorithm::binpack, cpu_used[i], cpu[i], memory_used[i], memory[i]);
  }
};

/// Scores nodes one by one, independent of each other: the cost for a Select over a few nodes.
void BM_FitScalar(benchmark::State& state) {
  const Rows rows(1024);
  if (rank::fit_component(rank::FitAlgorithm::binpack, 1024, 3072, 1024, 3072) != 0.59537901848746899)
    return wrong_answer(state, "differs from example E1");
  for (auto _ : state) {
    double sum = 0;
    for (std::size_t i = 0; i < 1024; ++i) sum += rows.component(i);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_FitScalar);

/// As above, but each score determines the next node: the full latency of a score.
void BM_FitScalarLatency(benchmark::State& state) {
  const Rows rows(1024);
  std::size_t i = 0;
  for (auto _ : state) i = (i + 1 + static_cast<std::size_t>(rows.component(i) * 0.5)) & 1023;
  benchmark::DoNotOptimize(i);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_FitScalarLatency);

}  // namespace
}  // namespace berth::micro
