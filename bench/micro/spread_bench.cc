// Spread. One item is one node scored by a group with one targeted and one even spread.
#include <numeric>
#include <string>
#include <vector>

#include "micro/micro.h"
#include "rank/spread.h"

namespace berth::micro {
namespace {

struct Attempt {
  static constexpr std::uint32_t kRows = 4096;
  std::vector<std::string> dc_names, rack_names;
  std::vector<std::string_view> dc_text, rack_text;
  std::vector<std::uint32_t> dc_codes, rack_codes, dc_order, rack_order;
  std::vector<model::Spread> spreads = {{"${node.datacenter}", 50, {{"dc0", 50}, {"dc1", 30}}},
                                        {"${meta.rack}", 50, {}}};
  rank::SpreadState state;
  rank::SpreadGroup* group = nullptr;

  explicit Attempt(std::uint32_t racks) {
    fill("dc", 4, dc_names, dc_text, dc_order);
    fill("rack", racks, rack_names, rack_text, rack_order);
    for (std::uint32_t row = 0; row < kRows; ++row) dc_codes.push_back(row % 4), rack_codes.push_back(row * 7 % racks);
    const rank::SpreadProperty properties[] = {{dc_codes, dc_text, dc_order}, {rack_codes, rack_text, rack_order}};
    group = &state.prepare(0, spreads, {}, 100, properties);
    for (std::uint32_t row = 0; row < 50; ++row) group->count_existing(row);
    state.begin_select(*group);
    state.begin_select(*group);  // from the second Select on counts follow the plan one by one
  }

 private:
  static void fill(const char* prefix, std::uint32_t n, std::vector<std::string>& names,
                   std::vector<std::string_view>& text, std::vector<std::uint32_t>& order) {
    for (std::uint32_t i = 0; i < n; ++i) names.push_back(prefix + std::to_string(1'000'000 * (n > 9) + i));
    text.assign(names.begin(), names.end());
    order.resize(n);
    std::iota(order.begin(), order.end(), 0u);
  }
};

void BM_SpreadScore(benchmark::State& state) {
  Attempt attempt(64);
  // dc0: 13 of 50 used; its boost is halved by the other spread's weight. Racks 0..49 have one use each, 50 to 63 none.
  if (attempt.state.score(*attempt.group, 0) != (50.0 - 14) / 50 * 0.5 - 1) return wrong_answer(state, "R-RANK-831");
  for (auto _ : state) {
    double sum = 0;
    for (std::uint32_t row = 0; row < Attempt::kRows; ++row) sum += attempt.state.score(*attempt.group, row);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * Attempt::kRows);
}
BENCHMARK(BM_SpreadScore);

/// Between two Selects: one placement enters the plan, and the next Select begins.
void BM_SpreadPlaceAndBegin(benchmark::State& state) {
  Attempt attempt(static_cast<std::uint32_t>(state.range(0)));
  int change = 1;
  for (auto _ : state) {
    attempt.group->count_proposed(17, change);
    change = -change;
    attempt.state.begin_select(*attempt.group);
  }
  if (attempt.group->sets()[1].combined_use(attempt.rack_codes[17]) > 2) return wrong_answer(state, "R-RANK-818");
}
BENCHMARK(BM_SpreadPlaceAndBegin)->ArgName("racks")->Arg(64)->Arg(4096);

}  // namespace
}  // namespace berth::micro
