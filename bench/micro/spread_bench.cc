// Spread. One item is one node scored by a group with one targeted and one even spread.
#include <algorithm>
#include <numeric>
#include <string>
#include <unordered_map>
#include <vector>

#include "micro/micro.h"
#include "rank/spread.h"

namespace berth::micro {
namespace {

struct Attempt {
  std::vector<std::string> dc_names, rack_names;
  std::vector<std::string_view> dc_text, rack_text;
  std::vector<std::uint32_t> dc_codes, rack_codes, dc_order, rack_order;
  std::vector<model::Spread> spreads = {{"${node.datacenter}", 50, {{"dc0", 50}, {"dc1", 30}}},
                                        {"${meta.rack}", 50, {}}};
  rank::SpreadState state;
  rank::SpreadGroup* group = nullptr;

  explicit Attempt(std::uint32_t racks, std::uint32_t rows = 4096) {
    fill("dc", 4, dc_names, dc_text, dc_order);
    fill("rack", racks, rack_names, rack_text, rack_order);
    for (std::uint32_t row = 0; row < rows; ++row) dc_codes.push_back(row % 4), rack_codes.push_back(row * 7 % racks);
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
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  Attempt attempt(64, rows);
  // dc0: 13 of 50 used; its boost is halved by the other spread's weight. Racks 0..49 have one use each, 50 to 63 none.
  if (attempt.state.score(*attempt.group, 0) != (50.0 - 14) / 50 * 0.5 - 1) return wrong_answer(state, "R-RANK-831");
  for (auto _ : state) {
    double sum = 0;
    for (std::uint32_t row = 0; row < rows; ++row) sum += attempt.state.score(*attempt.group, row);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
  state.SetBytesProcessed(state.iterations() * state.range(0) * 8);
}
BENCHMARK(BM_SpreadScore)->ArgName("nodes")->ArgsProduct({sizes()});

/// Counts and targets by text, as in the API: the alternative to codes.
void BM_SpreadScoreByText(benchmark::State& state) {
  const auto rows = static_cast<std::uint32_t>(state.range(0));
  Attempt attempt(64, rows);
  std::unordered_map<std::string, double> boost;
  for (std::uint32_t row = 0; row < std::min(rows, 4U * 64); ++row)
    for (const rank::PropertySet& set : attempt.group->sets()) {
      double lowest = -1;
      const bool dc = &set == &attempt.group->sets()[0];
      boost[dc ? attempt.dc_names[attempt.dc_codes[row]] : attempt.rack_names[attempt.rack_codes[row]]] =
          set.score(row, lowest);
    }
  const auto score = [&](std::uint32_t row) {
    return boost.find(attempt.dc_names[attempt.dc_codes[row]])->second +
           boost.find(attempt.rack_names[attempt.rack_codes[row]])->second;
  };
  for (std::uint32_t row = 0; row < rows; ++row)
    if (score(row) != attempt.state.score(*attempt.group, row)) return wrong_answer(state, "differs from the codes");
  for (auto _ : state) {
    double sum = 0;
    for (std::uint32_t row = 0; row < rows; ++row) sum += score(row);
    benchmark::DoNotOptimize(sum);
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(BM_SpreadScoreByText)->ArgName("nodes")->ArgsProduct({sizes()});

/// Work between two Selects: a placement enters the plan, and the next Select begins.
void BM_SpreadPlaceAndBegin(benchmark::State& state) {
  Attempt attempt(static_cast<std::uint32_t>(state.range(0)));
  const double before = attempt.state.score(*attempt.group, 17);
  int change = 1;
  for (auto _ : state) {
    attempt.group->count_proposed(17, change);
    change = -change;
    attempt.state.begin_select(*attempt.group);
  }
  if (change == 1 && attempt.state.score(*attempt.group, 17) != before) return wrong_answer(state, "R-RANK-818");
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_SpreadPlaceAndBegin)->ArgName("racks")->Arg(64)->Arg(4096);

}  // namespace
}  // namespace berth::micro
