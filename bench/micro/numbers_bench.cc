// exp and 10^y. One item is one value.
#include <random>
#include <vector>

#include "micro/micro.h"
#include "rank/numbers.h"

namespace berth::micro {
namespace {

std::vector<double> fractions(std::size_t n) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<double> out(n);
  for (double& y : out) y = uniform(random);
  return out;
}

void BM_Pow10Scalar(benchmark::State& state) {
  const std::vector<double> y = fractions(1024);
  if (rank::exact_pow10(0.875) != 7.4989420933245574) return wrong_answer(state, "differs from example E2");
  for (auto _ : state) {
    double sum = 0;
    for (const double v : y) sum += rank::exact_pow10(v);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_Pow10Scalar);

void BM_Pow10Array(benchmark::State& state) {
  const std::vector<double> y = fractions(1024);
  std::vector<double> out(y.size());
  rank::exact_pow10(y, out);
  for (std::size_t i = 0; i < y.size(); ++i)
    if (out[i] != rank::exact_pow10(y[i])) return wrong_answer(state, "differs from the scalar form");
  for (auto _ : state) {
    rank::exact_pow10(y, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_Pow10Array);

void BM_ExpArray(benchmark::State& state) {
  const std::vector<double> x = fractions(1024);
  std::vector<double> out(x.size());
  rank::exact_exp(x, out);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (out[i] != rank::exact_exp(x[i])) return wrong_answer(state, "differs from the scalar form");
  for (auto _ : state) {
    rank::exact_exp(x, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * 1024);
}
BENCHMARK(BM_ExpArray);

}  // namespace
}  // namespace berth::micro
