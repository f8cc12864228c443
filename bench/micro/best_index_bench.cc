// Identical asks, one after the other: best node, placement, new score of that node. One item is one placement. Beside
// the scan of all scores that the index replaces; both times of the list of five that metrics ask for are counted in.
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/best_index.h"
#include "rank/score_fit.h"

namespace berth::micro {
namespace {

constexpr std::int64_t kAskCpu = 500, kAskMemory = 256, kCpu = 64'000, kMemory = 131'072;

/// Nodes of one size with random use; a node without room starts over empty, so that the cluster never fills up.
struct Nodes {
  std::vector<std::int64_t> cpu, memory;
  std::vector<double> scores;

  explicit Nodes(std::size_t n) : cpu(n), memory(n), scores(n) {
    std::mt19937_64 random(5);
    for (std::size_t i = 0; i < n; ++i) {
      cpu[i] = static_cast<std::int64_t>(random() % 60) * 1000;
      memory[i] = static_cast<std::int64_t>(random() % 60) * 2048;
      scores[i] = score(i);
    }
  }
  [[nodiscard]] double score(std::size_t i) const {
    return rank::fit_component(rank::FitAlgorithm::binpack, cpu[i] + kAskCpu, kCpu, memory[i] + kAskMemory, kMemory);
  }
  double place(std::size_t i) {
    cpu[i] += kAskCpu, memory[i] += kAskMemory;
    if (cpu[i] + kAskCpu > kCpu || memory[i] + kAskMemory > kMemory) cpu[i] = memory[i] = 0;
    return scores[i] = score(i);
  }
  [[nodiscard]] std::uint32_t scan(rank::TopScores& top) const {
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < scores.size(); ++i) {
      top.push(i, scores[i]);
      if (scores[i] > scores[best]) best = i;
    }
    return best;
  }
};

void BM_IdenticalAsksIndex(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Nodes nodes(n), check(n);
  rank::BestIndex index;
  index.build(nodes.scores);
  for (int i = 0; i < 200; ++i) {
    rank::TopScores top;
    const std::uint32_t best = index.best().i;
    if (best != check.scan(top)) return wrong_answer(state, "differs from the scan");
    benchmark::DoNotOptimize(index.top());
    index.set(best, nodes.place(best));
    check.place(best);
  }
  for (auto _ : state) {
    const std::uint32_t best = index.best().i;
    benchmark::DoNotOptimize(index.top());
    index.set(best, nodes.place(best));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_IdenticalAsksIndex)->ArgName("nodes")->Arg(1000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

void BM_IdenticalAsksScan(benchmark::State& state) {
  Nodes nodes(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) {
    rank::TopScores top;
    const std::uint32_t best = nodes.scan(top);
    benchmark::DoNotOptimize(top);
    nodes.place(best);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_IdenticalAsksScan)->ArgName("nodes")->Arg(1000)->Arg(10'000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace berth::micro
