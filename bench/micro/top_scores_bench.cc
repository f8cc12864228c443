// The five best nodes. One item is one push.
#include <algorithm>
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/top_scores.h"

namespace berth::micro {
namespace {

void BM_TopScores(benchmark::State& state) {
  std::mt19937_64 random(8);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> scores(static_cast<std::size_t>(state.range(0)));
  for (double& s : scores) s = uniform(random);
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
}
BENCHMARK(BM_TopScores)->ArgName("nodes")->Arg(14)->Arg(100)->Arg(10'000);

}  // namespace
}  // namespace berth::micro
