// The five best nodes. One item is one examined score.
#include <algorithm>
#include <array>
#include <functional>
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/top_scores.h"

namespace berth::micro {
namespace {

std::vector<double> scores_of_nodes(std::int64_t n) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> scores(static_cast<std::size_t>(n));
  for (double& s : scores) s = uniform(random);
  return scores;
}

void BM_TopScores(benchmark::State& state) {
  const auto scores = scores_of_nodes(state.range(0));
  rank::TopScores top;
  const auto fill = [&] {
    top.clear();
    for (std::size_t i = 0; i < scores.size(); ++i) top.push(static_cast<std::uint32_t>(i), scores[i]);
    return top.take();
  };
  auto sorted = scores;
  std::sort(sorted.rbegin(), sorted.rend());
  const auto list = fill();
  for (std::size_t i = 0; i < list.size(); ++i)
    if (list[i].score != sorted[i]) return wrong_answer(state, "not the five best");
  for (auto _ : state) benchmark::DoNotOptimize(fill().data());
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK(BM_TopScores)->ArgName("nodes")->Arg(14)->ArgsProduct({sizes()});

/// The C++ library's partial_sort_copy into five places. The order among equals is undefined.
void BM_TopPartialSort(benchmark::State& state) {
  const auto scores = scores_of_nodes(state.range(0));
  std::array<double, 5> top{};
  const auto fill = [&] {
    std::partial_sort_copy(scores.begin(), scores.end(), top.begin(), top.end(), std::greater<>());
  };
  fill();
  auto sorted = scores;
  std::sort(sorted.rbegin(), sorted.rend());
  if (!std::equal(top.begin(), top.end(), sorted.begin())) return wrong_answer(state, "not the five best");
  for (auto _ : state) {
    fill();
    benchmark::DoNotOptimize(top.data());
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK(BM_TopPartialSort)->ArgName("nodes")->Arg(14)->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
