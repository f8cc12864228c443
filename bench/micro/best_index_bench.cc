// Identical requests, one after the other: best node, placement, new score of that node. One item is one placement.
// Compared with the scan of all scores that the index replaces, and with std::set. Each time includes the list of five
// best nodes for metrics.
#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "micro/micro.h"
#include "rank/best_index.h"
#include "rank/score_fit.h"

namespace berth::micro {
namespace {

constexpr std::int64_t kAskCpu = 500, kAskMemory = 256, kCpu = 64'000, kMemory = 131'072;

/// Nodes of one size with random usage. A node without room is emptied, so that the cluster never fills up.
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
BENCHMARK(BM_IdenticalAsksIndex)->ArgName("nodes")->ArgsProduct({sizes()});

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
BENCHMARK(BM_IdenticalAsksScan)->ArgName("nodes")->ArgsProduct({sizes()});

void BM_IdenticalAsksSet(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  Nodes nodes(n), check(n);
  std::set<std::pair<double, std::uint32_t>> best_first;  // by -score: the first of the highest comes first
  for (std::uint32_t i = 0; i < n; ++i) best_first.emplace(-nodes.scores[i], i);
  const auto place = [&] {
    rank::TopScores top;
    auto at = best_first.begin();
    for (int i = 0; i < 5; ++i, ++at) top.push(at->second, -at->first);
    benchmark::DoNotOptimize(top);
    const std::uint32_t best = best_first.begin()->second;
    best_first.erase(best_first.begin());
    best_first.emplace(-nodes.place(best), best);
    return best;
  };
  for (int i = 0; i < 20; ++i) {
    rank::TopScores top;
    const std::uint32_t best = check.scan(top);
    if (place() != best) return wrong_answer(state, "differs from the scan");
    check.place(best);
  }
  for (auto _ : state) place();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_IdenticalAsksSet)->ArgName("nodes")->ArgsProduct({sizes()});

struct IndexOfScores {
  rank::BestIndex index;
  explicit IndexOfScores(const std::vector<double>& scores) { index.build(scores); }
  [[nodiscard]] std::uint32_t best() const { return index.best().i; }
  void set(std::uint32_t i, double score) { index.set(i, score); }
};
struct SetOfScores {
  std::vector<double> scores;
  std::set<std::pair<double, std::uint32_t>> best_first;
  explicit SetOfScores(const std::vector<double>& all) : scores(all) {
    for (std::uint32_t i = 0; i < scores.size(); ++i) best_first.emplace(-scores[i], i);
  }
  [[nodiscard]] std::uint32_t best() const { return best_first.begin()->second; }
  void set(std::uint32_t i, double score) {
    best_first.erase({-scores[i], i});
    best_first.emplace(-score, i);
    scores[i] = score;
  }
};

/// Departures: a random score changes, then the best of all is queried.
template <class Scores>
void BM_ScoreChanges(benchmark::State& state) {
  const Nodes nodes(static_cast<std::size_t>(state.range(0)));
  Scores scores(nodes.scores);
  auto plain = nodes.scores;
  std::mt19937_64 random(19);
  const auto change = [&] {
    const auto i = static_cast<std::uint32_t>(random() % plain.size());
    const double score = static_cast<double>(random() >> 11) * 0x1p-53;
    scores.set(i, score);
    return std::pair(i, score);
  };
  for (int k = 0; k < 20; ++k) {
    const auto [i, score] = change();
    plain[i] = score;
    if (scores.best() != std::max_element(plain.begin(), plain.end()) - plain.begin())
      return wrong_answer(state, "differs from the first of the highest");
  }
  for (auto _ : state) {
    change();
    benchmark::DoNotOptimize(scores.best());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK_TEMPLATE(BM_ScoreChanges, IndexOfScores)->ArgName("nodes")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_ScoreChanges, SetOfScores)->ArgName("nodes")->ArgsProduct({sizes()});

/// All scores at once, as after a change of the request.
template <class Scores>
void BM_ScoreBuild(benchmark::State& state) {
  const Nodes nodes(static_cast<std::size_t>(state.range(0)));
  const auto first = std::max_element(nodes.scores.begin(), nodes.scores.end()) - nodes.scores.begin();
  if (Scores(nodes.scores).best() != first) return wrong_answer(state, "not the first of the highest");
  for (auto _ : state) benchmark::DoNotOptimize(Scores(nodes.scores).best());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK_TEMPLATE(BM_ScoreBuild, IndexOfScores)->ArgName("nodes")->ArgsProduct({sizes()});
BENCHMARK_TEMPLATE(BM_ScoreBuild, SetOfScores)->ArgName("nodes")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
