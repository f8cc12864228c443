#include "rank/numbers.h"

#include <bit>
#include <cmath>

#include "base/assert.h"
#include "rank/kernels.h"
#include "rank/numbers_constants.h"

namespace berth::rank {
namespace {

#define BERTH_INLINE inline __attribute__((always_inline))

// Inlined into callers with and without hardware FMA: __builtin_fma becomes the instruction or the C library's exact
// function, whichever the caller is compiled for.
BERTH_INLINE double exp_core(double x, std::int64_t& k) {
  namespace c = constants;
  const double shifted = x * c::kLog2E + c::kRound;
  k = std::bit_cast<std::int64_t>(shifted) - std::bit_cast<std::int64_t>(c::kRound);
  const double minus_k = c::kRound - shifted;
  double r = __builtin_fma(minus_k, c::kLn2High, x);
  r = __builtin_fma(minus_k, c::kLn2Low, r);
  r *= 0.0625;
  double p = c::kFirst;
  for (const double coefficient : c::kTaylor) p = __builtin_fma(p, r, coefficient);
  double y = r * p;
  y *= y + 2;
  y *= y + 2;
  y *= y + 2;
  return __builtin_fma(y + 2, y, 1.0);
}

BERTH_INLINE double times_power_of_two(double normal, std::int64_t k) {
  return std::bit_cast<double>(std::bit_cast<std::int64_t>(normal) + (k << 52));
}

BERTH_INLINE double exp_any(double x) {
  std::int64_t k = 0;
  if (std::fabs(x) <= 700) {
    const double e = exp_core(x, k);
    return times_power_of_two(e, k);
  }
  if (std::isnan(x)) return x;
  if (x > 709.78271289338397) return HUGE_VAL;
  if (x < -760) return 0;
  const double e = exp_core(x, k);
  if (k >= 1024) return HUGE_VAL;
  if (k + 1023 < -52) return 0;
  return std::ldexp(e, static_cast<int>(k));
}

BERTH_INLINE double pow10_any(double y) {
  namespace c = constants;
  const double magnitude = std::fabs(y);
  if (!(magnitude <= 400)) return std::isnan(y) ? y : y > 0 ? HUGE_VAL : 0.0;  // far beyond both ends of the range
  if (magnitude == 0.5) return y > 0 ? c::kSqrt10 : c::kInvSqrt10;
  auto integer = static_cast<std::int64_t>(magnitude);
  double fraction = magnitude - static_cast<double>(integer);
  if (fraction > 0.5) fraction -= 1, integer += 1;
  std::int64_t k = 0;
  double a = exp_core(fraction * c::kLn10, k);  // exp_core(0) is exactly 1 with k = 0
  a = times_power_of_two(a, k);
  std::int64_t exponent = 0;
  double m = 0.625;
  std::int64_t m_exponent = 4;
  for (std::int64_t bits = integer; bits != 0; bits >>= 1) {  // at most 9 bits, so m_exponent stays below 4096
    if (bits & 1) a *= m, exponent += m_exponent;
    m *= m, m_exponent *= 2;
    if (m < 0.5) m += m, m_exponent -= 1;
  }
  if (y < 0) a = 1 / a, exponent = -exponent;
  return exponent > -900 && exponent < 900 ? times_power_of_two(a, exponent)
                                           : std::ldexp(a, static_cast<int>(exponent));
}

#if defined(__x86_64__)
__attribute__((target("avx,fma"))) double exp_fma(double x) { return exp_any(x); }
__attribute__((target("avx,fma"))) double pow10_fma(double y) { return pow10_any(y); }
double exp_exact_soft(double x) { return exp_any(x); }
double pow10_exact_soft(double y) { return pow10_any(y); }
#endif

}  // namespace

#if defined(__x86_64__)
bool detail::hardware_fma = __builtin_cpu_supports("avx") && __builtin_cpu_supports("fma");
#else
bool detail::hardware_fma = true;  // __builtin_fma is an instruction there
#endif

double exact_exp(double x) noexcept {
#if defined(__x86_64__)
  return detail::hardware_fma ? exp_fma(x) : exp_exact_soft(x);
#else
  return exp_any(x);
#endif
}

double exact_pow10(double y) noexcept {
#if defined(__x86_64__)
  return detail::hardware_fma ? pow10_fma(y) : pow10_exact_soft(y);
#else
  return pow10_any(y);
#endif
}

void exact_exp(std::span<const double> x, std::span<double> out) noexcept {
  BERTH_ASSERT(x.size() == out.size());
  kernels::exp_array(x.data(), out.data(), x.size(), [](double v) { return exact_exp(v); });
}

void exact_pow10(std::span<const double> y, std::span<double> out) noexcept {
  BERTH_ASSERT(y.size() == out.size());
  kernels::pow10_array(y.data(), out.data(), y.size(), [](double v) { return exact_pow10(v); });
}

}  // namespace berth::rank
