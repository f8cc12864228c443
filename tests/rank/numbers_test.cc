#include "rank/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "on_every_target.h"
#include "rank/numbers_constants.h"
#include "rank/score_fit.h"

namespace berth::rank {
namespace {

/// R-RANK-106, one line per step, with the C library's correctly rounded fma.
double plain_exp(double x) {
  using constants::bits;
  if (std::isnan(x)) return x;
  if (x == INFINITY || x > 709.78271289338397) return INFINITY;
  if (x < -1e6) return 0;
  const double k = std::nearbyint(x * bits(0x3ff71547652b82fe));
  double r = std::fma(-k, bits(0x3fe62e42fefa3000), x);
  r = std::fma(-k, bits(0x3d53de6af278ece6), r);
  r = r * 0.0625;
  double p = bits(0x3efa01a01a01a01a);
  for (const std::uint64_t c : {0x3f2a01a01a01a01au, 0x3f56c16c16c16c17u, 0x3f81111111111111u, 0x3fa5555555555555u,
                                0x3fc5555555555555u, 0x3fe0000000000000u, 0x3ff0000000000000u})
    p = std::fma(p, r, bits(c));
  double y = r * p;
  for (int i = 0; i < 3; ++i) y = y * (y + 2);
  const double e = std::fma(y + 2, y, 1.0);
  if (k >= 1024) return INFINITY;
  if (k + 1023 < -52) return 0;
  return std::ldexp(e, static_cast<int>(k));
}

/// R-RANK-105.
double plain_pow10(double y) {
  if (y == 0) return 1;
  if (y == 1) return 10;
  if (y == 0.5) return std::sqrt(10.0);
  if (y == -0.5) return 1 / std::sqrt(10.0);
  if (std::isnan(y)) return y;
  if (std::isinf(y)) return y > 0 ? y : 0;
  double yi = 0, yf = std::modf(std::fabs(y), &yi);
  if (yf > 0.5) yf -= 1, yi += 1;
  double a = yf == 0 ? 1 : plain_exp(yf * constants::bits(0x40026bb1bbb55516));
  double m = 0.625;
  long me = 4, ae = 0;
  if (yi > 1e15) return y > 0 ? INFINITY : 0;
  for (auto rest = static_cast<std::uint64_t>(yi); rest != 0; rest >>= 1) {
    if (me > 4096) {
      ae += me;
      break;
    }
    if (rest & 1) a = a * m, ae += me;
    m = m * m, me = 2 * me;
    if (m < 0.5) m = m + m, me -= 1;
  }
  if (y < 0) a = 1 / a, ae = -ae;
  return std::ldexp(a, static_cast<int>(ae));
}

std::vector<double> arguments(std::uint64_t seed, double low, double high) {
  std::vector<double> out = {0.0,  -0.0, 1.0,   -1.0,     0.5,       -0.5,     0.25,      -0.25,   1.5,      -1.5,
                             2.0,  3.5,  -2.5,  17.25,    307.9,     308.3,    309.0,     -307.7,  -308.5,   -323.2,
                             -324, -400, 401,   1e300,    -1e300,    INFINITY, -INFINITY, NAN,     5e-324,   1e-300,
                             709,  710,  709.5, 709.7827, 709.43613, -708.4,   -745.1,    -745.13, -745.134, -746,
                             0.3,  -760, 700,   -700,     700.1,     -700.1};
  for (const double edge : {0.5, 1.0, -0.5, -1.0}) {
    out.push_back(std::nextafter(edge, 10));
    out.push_back(std::nextafter(edge, -10));
  }
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(low, high);
  while (out.size() < 4001) out.push_back(uniform(random));
  return out;
}

TEST(ExactPow10, GivesTheNumbersOfTheExamples) {  // E1, E2, E3
  EXPECT_EQ(exact_pow10(0.66666666666666674), 4.6415888336127793);
  EXPECT_EQ(exact_pow10(0.875), 7.4989420933245574);
  EXPECT_EQ(exact_pow10(0.96875), 9.3057204092969883);
  EXPECT_EQ(exact_pow10(-0.25), 0.56234132519034907);
  EXPECT_EQ(exact_pow10(-0.39999999999999991), 0.39810717055349731);
  EXPECT_EQ(exact_pow10(1), 10);
  EXPECT_EQ(exact_pow10(0), 1);
}

TEST(ExactNumbers, FollowTheRulesStepByStep) {  // R-RANK-105, 106
  for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {-30.0, 30.0}, {-760.0, 720.0}})
    for (const double x : arguments(11, low, high)) {
      ASSERT_EQ(bits_of(exact_exp(x)), bits_of(plain_exp(x))) << x;
      ASSERT_EQ(bits_of(exact_pow10(x)), bits_of(plain_pow10(x))) << x;
    }
}

TEST(ExactNumbers, DoNotDependOnHardwareFma) {  // R-RANK-107
  const bool hardware = detail::hardware_fma;
  for (const double x : arguments(13, -1.0, 1.0)) {
    const std::int64_t use = std::fabs(x) <= 2 ? static_cast<std::int64_t>(x * 5000) : 0;
    const double e = exact_exp(x), p = exact_pow10(x);
    const double fit = fit_component(FitAlgorithm::binpack, use, 5000, 1234, 5678);
    detail::hardware_fma = false;
    EXPECT_EQ(bits_of(exact_exp(x)), bits_of(e)) << x;
    EXPECT_EQ(bits_of(exact_pow10(x)), bits_of(p)) << x;
    EXPECT_EQ(bits_of(fit_component(FitAlgorithm::binpack, use, 5000, 1234, 5678)), bits_of(fit));
    detail::hardware_fma = hardware;
  }
}

TEST(ExactNumbers, ArraysHaveTheScalarBitsOnEveryInstructionSet) {
  on_every_target([] {
    for (const auto& [low, high] : {std::pair{0.0, 1.0}, {-1.0, 1.0}, {-760.0, 720.0}}) {
      const std::vector<double> x = arguments(12, low, high);
      for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, x.size()}) {
        std::vector<double> in(x.end() - static_cast<std::ptrdiff_t>(n), x.end()), e(n + 1, 7), p(n + 1, 7);
        in.push_back(1e300);  // past the end
        exact_exp(std::span(in).first(n), std::span(e).first(n));
        exact_pow10(std::span(in).first(n), std::span(p).first(n));
        EXPECT_TRUE(e[n] == 7 && p[n] == 7) << "written past the end of " << n;
        for (std::size_t i = 0; i < n; ++i) {
          ASSERT_EQ(bits_of(e[i]), bits_of(exact_exp(in[i]))) << in[i];
          ASSERT_EQ(bits_of(p[i]), bits_of(exact_pow10(in[i]))) << in[i];
        }
      }
    }
  });
}

}  // namespace
}  // namespace berth::rank
