#include "rank/score_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "on_every_target.h"
#include "rank/numbers.h"

namespace berth::rank {
namespace {

struct ScoreCase {
  const char* name;
  std::int64_t cpu, memory, cpu_reserved, memory_reserved, cpu_used, memory_used;
  double binpack, spread;  // components
};
class FitScore : public ::testing::TestWithParam<ScoreCase> {};

TEST_P(FitScore, FollowsTheFormula) {  // R-RANK-651, 652; examples E1 to E3
  const ScoreCase& c = GetParam();
  const double cpu = fit_capacity(c.cpu, c.cpu_reserved), memory = fit_capacity(c.memory, c.memory_reserved);
  EXPECT_EQ(fit_component(FitAlgorithm::binpack, c.cpu_used, cpu, c.memory_used, memory), c.binpack);
  EXPECT_EQ(fit_component(FitAlgorithm::spread, c.cpu_used, cpu, c.memory_used, memory), c.spread);
}
INSTANTIATE_TEST_SUITE_P(
    Examples, FitScore,
    ::testing::Values(ScoreCase{"E1", 4096, 4096, 1024, 1024, 1024, 1024, 0.59537901848746899, 0.40462098151253101},
                      ScoreCase{"E2", 4000, 8192, 0, 0, 500, 256, 0.17751874985435853, 0.82248125014564144},
                      ScoreCase{"E2b", 4000, 8192, 0, 0, 1500, 1280, 0.48915161761752862, 0.51084838238247132},
                      ScoreCase{"E3Empty", 4000, 5120, 0, 0, 0, 0, 0, 1},
                      ScoreCase{"E3Full", 4000, 5120, 0, 0, 4000, 5120, 1, 0},
                      ScoreCase{"E3Over", 4000, 5120, 0, 0, 5000, 7168, 1, 0}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(FitScoreEdges, NanPassesTheClampsAndNoCapacityCountsAsFull) {  // R-RANK-104, R-MODEL-454
  EXPECT_TRUE(std::isnan(fit_component(FitAlgorithm::binpack, 0, 0.0, 10, 100.0)));
  // free_cpu = -inf gives 10^free = 0; free_memory = 0 gives 1; 20 - 1 is clamped to 18.
  EXPECT_EQ(fit_component(FitAlgorithm::binpack, 5, 0.0, 100, 100.0), 1);
  EXPECT_EQ(fit_component(FitAlgorithm::spread, 5, 0.0, 100, 100.0), 0);
}

TEST(FitComponent, EqualsTheFormulaBitByBitWithAndWithoutFma) {
  std::mt19937_64 random(4097);
  const bool hardware = detail::hardware_fma;
  for (int i = 0; i < 20'000; ++i) {
    const auto cpu = static_cast<double>(random() % 64 * 500), memory = static_cast<double>(random() % 64 * 1024);
    // Mostly within capacity and often exactly half or full; sometimes over it, sometimes 0 of 0.
    const std::int64_t cpu_used = static_cast<std::int64_t>(cpu) * static_cast<std::int64_t>(random() % 17) / 16;
    auto memory_used = static_cast<std::int64_t>(random() % 16 == 0 ? memory * 1.3 : memory / 2);
    if (random() % 2) memory_used = static_cast<std::int64_t>(random() % 30000);
    const double total = exact_pow10(1 - static_cast<double>(cpu_used) / cpu) +
                         exact_pow10(1 - static_cast<double>(memory_used) / memory);
    for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread}) {
      double score = algorithm == FitAlgorithm::binpack ? 20 - total : total - 2;
      if (score > 18) score = 18;
      if (score < 0) score = 0;
      for (const bool fused : {hardware, false}) {
        detail::hardware_fma = fused;
        EXPECT_EQ(bits_of(fit_component(algorithm, cpu_used, cpu, memory_used, memory)), bits_of(score / 18))
            << cpu_used << " of " << cpu << " MHz, " << memory_used << " of " << memory << " MiB";
      }
      detail::hardware_fma = hardware;
    }
  }
}

TEST(FitColumns,
     EqualTheScoresOfSingleNodesBitByBit) {  // inside and outside their domain; values after n do not matter
  on_every_target([] {
    std::mt19937_64 random(651);
    for (int round = 0; round < 400; ++round) {
      const std::size_t n = random() % 65, size = 72;
      std::vector<std::int64_t> cpu_used(size), memory_used(size);
      std::vector<double> cpu(size), cpu_of(size), memory(size), memory_of(size), out(size);
      for (std::size_t i = 0; i < size; ++i) {
        const std::uint64_t kind = random() % 24;  // 0: no capacity; 1: far over it; 2: 0 of 0
        cpu_of[i] = kind == 0 || kind == 2 ? 0 : static_cast<double>(1 + random() % 64) * 500;
        memory_of[i] = static_cast<double>(1 + random() % 64) * 1024;
        cpu_used[i] = kind == 2 ? 0 : static_cast<std::int64_t>(random() % (kind == 1 ? 900'000 : 34'000));
        memory_used[i] =
            static_cast<std::int64_t>(kind == 3 ? memory_of[i] / 2 : static_cast<double>(random() % 70'000));
        cpu[i] = static_cast<double>(cpu_used[i]), memory[i] = static_cast<double>(memory_used[i]);
      }
      for (const FitAlgorithm algorithm : {FitAlgorithm::binpack, FitAlgorithm::spread}) {
        fit_columns(algorithm, {cpu.data(), cpu_of.data(), memory.data(), memory_of.data()}, n, out.data());
        for (std::size_t i = 0; i < n; ++i)
          ASSERT_EQ(bits_of(out[i]),
                    bits_of(fit_component(algorithm, cpu_used[i], cpu_of[i], memory_used[i], memory_of[i])))
              << "round " << round << ", node " << i;
      }
    }
  });
}

}  // namespace
}  // namespace berth::rank
