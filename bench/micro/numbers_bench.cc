// exp and 10^y, compared with the C library's. One item is one value.
#include <cmath>
#include <random>
#include <span>
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

using Scalar = double (*)(double);
using Array = void (*)(std::span<const double>, std::span<double>);

void time_array(benchmark::State& state, Array array, Scalar scalar) {
  const std::vector<double> x = fractions(static_cast<std::size_t>(state.range(0)));
  std::vector<double> out(x.size());
  array(x, out);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (out[i] != scalar(x[i])) return wrong_answer(state, "differs from the scalar form");
  for (auto _ : state) {
    array(x, out);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 16);
}
void BM_Pow10Array(benchmark::State& state) { time_array(state, rank::exact_pow10, rank::exact_pow10); }
BENCHMARK(BM_Pow10Array)->ArgName("values")->ArgsProduct({sizes()});
void BM_ExpArray(benchmark::State& state) { time_array(state, rank::exact_exp, rank::exact_exp); }
BENCHMARK(BM_ExpArray)->ArgName("values")->ArgsProduct({sizes()});

/// The C library's functions, whose last bits differ: `differing` is the share of such values.
void time_library(benchmark::State& state, Scalar library, Scalar exact) {
  const std::vector<double> x = fractions(static_cast<std::size_t>(state.range(0)));
  std::vector<double> out(x.size());
  std::size_t differing = 0;
  for (const double v : x) {
    if (std::abs(library(v) - exact(v)) > 1e-14 * exact(v))
      return wrong_answer(state, "differs in more than the last bits");
    differing += library(v) != exact(v);
  }
  for (auto _ : state) {
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = library(x[i]);
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 16);
  state.counters["differing"] = static_cast<double>(differing) / static_cast<double>(x.size());
}
void BM_Pow10Library(benchmark::State& state) {
  time_library(
      state, [](double y) { return std::pow(10.0, y); }, rank::exact_pow10);
}
BENCHMARK(BM_Pow10Library)->ArgName("values")->ArgsProduct({sizes()});
void BM_ExpLibrary(benchmark::State& state) {
  time_library(
      state, [](double x) { return std::exp(x); }, rank::exact_exp);
}
BENCHMARK(BM_ExpLibrary)->ArgName("values")->ArgsProduct({sizes()});

}  // namespace
}  // namespace berth::micro
