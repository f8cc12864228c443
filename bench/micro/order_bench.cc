// Visiting orders. One item is one candidate node.
#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "base/go_rand.h"
#include "micro/micro.h"
#include "rank/order.h"

namespace berth::micro {
namespace {

void BM_GoRandSeed(benchmark::State& state) {
  base::GoRand rand;
  rand.reseed(1);
  if (rand.next() != 5577006791947779410u) return wrong_answer(state, "differs from R-FEAS-205");
  std::int64_t seed = 0;
  for (auto _ : state) {
    rand.reseed(++seed);
    benchmark::DoNotOptimize(rand);
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_GoRandSeed);

bool is_permutation_of_ascending(std::vector<std::uint32_t> items) {
  std::sort(items.begin(), items.end());
  for (std::size_t i = 0; i < items.size(); ++i)
    if (items[i] != i) return false;
  return true;
}

/// Seeding, filling 0..n-1 and shuffling: the cost of one node list.
void BM_NomadShuffle(benchmark::State& state) {
  std::vector<std::uint32_t> items(static_cast<std::size_t>(state.range(0)));
  base::GoRand rand, plain(7);
  std::iota(items.begin(), items.end(), 0u);
  auto expected = items;
  rand.reseed(7);
  rand.shuffle(items);
  for (std::size_t i = expected.size(); i-- > 1;)
    std::swap(expected[i], expected[plain.bounded(static_cast<std::uint32_t>(i + 1))]);
  if (items != expected || !is_permutation_of_ascending(items)) return wrong_answer(state, "differs from R-FEAS-203");
  std::int64_t seed = 0;
  for (auto _ : state) {
    std::iota(items.begin(), items.end(), 0u);
    rand.reseed(++seed);
    rand.shuffle(items);
    benchmark::DoNotOptimize(items.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_NomadShuffle)->ArgName("nodes")->ArgsProduct({sizes()});

/// The C++ library's shuffle, with another order than Nomad's.
void BM_StdShuffle(benchmark::State& state) {
  std::vector<std::uint32_t> items(static_cast<std::size_t>(state.range(0)));
  std::uint64_t seed = 0;
  const auto order = [&] {
    std::iota(items.begin(), items.end(), 0u);
    std::shuffle(items.begin(), items.end(), std::mt19937_64(++seed));
  };
  order();
  if (!is_permutation_of_ascending(items)) return wrong_answer(state, "not a permutation");
  for (auto _ : state) {
    order();
    benchmark::DoNotOptimize(items.data());
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_StdShuffle)->ArgName("nodes")->ArgsProduct({sizes()});

/// Sets an order and visits its first 14 nodes, like a service evaluation at 10,000 nodes.
void BM_VisitFourteen(benchmark::State& state) {
  const auto provider = static_cast<rank::OrderProvider>(state.range(0));
  const auto n = static_cast<std::size_t>(state.range(1));
  rank::VisitingOrder order;
  const std::string eval_id = "8a2f3c4d-1111-2222-3333-0123456789ab";
  if (!order.set(provider, eval_id, 0, n)) return wrong_answer(state, "the order cannot be set");
  const auto all = order.all();
  if (!is_permutation_of_ascending({all.begin(), all.end()})) return wrong_answer(state, "not a permutation");
  std::uint64_t index = 0;
  for (auto _ : state) {
    static_cast<void>(order.set(provider, eval_id, index += 4, n));
    std::uint32_t sum = 0;
    for (std::size_t k = 0; k < 14; ++k) sum += order.at(k);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * 14);
  static constexpr const char* kNames[] = {"nomad", "mix", "lazy"};
  state.SetLabel(kNames[static_cast<std::size_t>(provider)]);
}
BENCHMARK(BM_VisitFourteen)
    ->ArgNames({"provider", "nodes"})
    ->ArgsProduct({{static_cast<long>(rank::OrderProvider::nomad), static_cast<long>(rank::OrderProvider::mix),
                    static_cast<long>(rank::OrderProvider::lazy)},
                   sizes()});

}  // namespace
}  // namespace berth::micro
