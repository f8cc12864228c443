#include "rank/score_fit.h"

#include "rank/kernels.h"
#include "rank/numbers.h"
#include "rank/numbers_constants.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace berth::rank {
namespace {

// `s > 18` before `s < 0`, so that NaN passes both (R-RANK-104).
inline double clamped(FitAlgorithm algorithm, double total) {
  const double score = algorithm == FitAlgorithm::binpack ? 20.0 - total : total - 2.0;
  return score > 18.0 ? 18.0 : score < 0 ? 0.0 : score;
}

#if defined(__x86_64__)
// Both axes in one 128-bit register, with the same operations as pow10_unit (numbers-inl.h).
__attribute__((target("avx,fma"))) bool fit_total_fma(double free_cpu, double free_memory, double& total) {
  namespace c = constants;
  const __m128d y = _mm_set_pd(free_memory, free_cpu);
  const __m128d one = _mm_set1_pd(1.0), half = _mm_set1_pd(0.5), two = _mm_set1_pd(2.0);
  const __m128d in_unit = _mm_and_pd(_mm_cmpge_pd(y, _mm_setzero_pd()), _mm_cmple_pd(y, one));
  if (__builtin_expect(_mm_movemask_pd(in_unit) != 3, 0)) return false;
  const __m128d upper = _mm_cmpgt_pd(y, half);
  const __m128d x = _mm_mul_pd(_mm_sub_pd(y, _mm_and_pd(upper, one)), _mm_set1_pd(c::kLn10));
  const __m128d rounder = _mm_set1_pd(c::kRound);
  const __m128d shifted = _mm_add_pd(_mm_mul_pd(x, _mm_set1_pd(c::kLog2E)), rounder);
  const __m128d minus_k = _mm_sub_pd(rounder, shifted);
  __m128d r = _mm_fmadd_pd(minus_k, _mm_set1_pd(c::kLn2High), x);
  r = _mm_fmadd_pd(minus_k, _mm_set1_pd(c::kLn2Low), r);
  r = _mm_mul_pd(r, _mm_set1_pd(0.0625));
  __m128d p = _mm_set1_pd(c::kFirst);
  for (const double coefficient : c::kTaylor) p = _mm_fmadd_pd(p, r, _mm_set1_pd(coefficient));
  __m128d e = _mm_mul_pd(r, p);
  e = _mm_mul_pd(e, _mm_add_pd(e, two));
  e = _mm_mul_pd(e, _mm_add_pd(e, two));
  e = _mm_mul_pd(e, _mm_add_pd(e, two));
  e = _mm_fmadd_pd(_mm_add_pd(e, two), e, one);
  e = _mm_mul_pd(e, _mm_blendv_pd(one, _mm_set1_pd(0.625), upper));
  const __m128i k_bits = _mm_slli_epi64(_mm_castpd_si128(shifted), 52);
  const __m128i four = _mm_and_si128(_mm_castpd_si128(upper), _mm_set1_epi64x(std::int64_t{4} << 52));
  e = _mm_castsi128_pd(_mm_add_epi64(_mm_castpd_si128(e), _mm_add_epi64(k_bits, four)));
  e = _mm_blendv_pd(e, _mm_set1_pd(c::kSqrt10), _mm_cmpeq_pd(y, half));
  total = _mm_cvtsd_f64(e) + _mm_cvtsd_f64(_mm_unpackhi_pd(e, e));
  return true;
}
#endif

}  // namespace

double fit_score(FitAlgorithm algorithm, std::int64_t cpu_used, double cpu_capacity, std::int64_t memory_used,
                 double memory_capacity) noexcept {
  const double free_cpu = free_fraction(cpu_used, cpu_capacity);
  const double free_memory = free_fraction(memory_used, memory_capacity);
  double total = 0;
#if defined(__x86_64__)
  if (__builtin_expect(detail::hardware_fma, 1) && fit_total_fma(free_cpu, free_memory, total))
    return clamped(algorithm, total);
#endif
  total = exact_pow10(free_cpu) + exact_pow10(free_memory);
  return clamped(algorithm, total);
}

void fit_columns(FitAlgorithm algorithm, const FitFigures& of, std::size_t n, double* out) noexcept {
  kernels::fit_array(of, (n + kFitStep - 1) & ~(kFitStep - 1), algorithm == FitAlgorithm::binpack, out,
                     [](bool binpack, double free_cpu, double free_memory) {
                       const double total = exact_pow10(free_cpu) + exact_pow10(free_memory);
                       return clamped(binpack ? FitAlgorithm::binpack : FitAlgorithm::spread, total) / 18.0;
                     });
}

}  // namespace berth::rank
