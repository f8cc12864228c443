// Vector forms of R-RANK-105 and 106 for kernels of this folder; included once per instruction set (Highway).
#if defined(BERTH_RANK_NUMBERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_RANK_NUMBERS_INL_H_
#undef BERTH_RANK_NUMBERS_INL_H_
#else
#define BERTH_RANK_NUMBERS_INL_H_
#endif

#include <hwy/highway.h>

#include <cmath>

#include "rank/numbers_constants.h"

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// a * b + c rounded once. Instruction sets without fused multiply-add take the C library's exact one, lane by lane.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V fma(D d, V a, V b, V c) {
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128 || HWY_TARGET == HWY_SSSE3 || HWY_TARGET == HWY_SSE4
  alignas(64) double x[HWY_MAX_BYTES / 8], y[HWY_MAX_BYTES / 8], z[HWY_MAX_BYTES / 8];
  hn::Store(a, d, x), hn::Store(b, d, y), hn::Store(c, d, z);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i) x[i] = std::fma(x[i], y[i], z[i]);
  return hn::Load(d, x);
#else
  (void)d;
  return hn::MulAdd(a, b, c);
#endif
}

/// e^x = result * 2^k for |x| < 750: the result is in [0.7, 1.5], `k_bits` holds k in place of an exponent (k << 52).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V exp_reduced(D d, V x, hn::Vec<hn::RebindToSigned<D>>& k_bits) {
  namespace c = constants;
  const hn::RebindToSigned<D> di;
  const V rounder = hn::Set(d, c::kRound);
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, c::kLog2E)), rounder);
  k_bits = hn::ShiftLeft<52>(hn::BitCast(di, shifted));  // what is above the integer is shifted out
  const V minus_k = hn::Sub(rounder, shifted);
  V r = fma(d, minus_k, hn::Set(d, c::kLn2High), x);
  r = fma(d, minus_k, hn::Set(d, c::kLn2Low), r);
  r = hn::Mul(r, hn::Set(d, 0.0625));
  V p = hn::Set(d, c::kFirst);
  for (const double coefficient : c::kTaylor) p = fma(d, p, r, hn::Set(d, coefficient));
  const V two = hn::Set(d, 2.0);
  V y = hn::Mul(r, p);
  y = hn::Mul(y, hn::Add(y, two));
  y = hn::Mul(y, hn::Add(y, two));
  y = hn::Mul(y, hn::Add(y, two));
  return fma(d, hn::Add(y, two), y, hn::Set(d, 1.0));
}

/// 10^y for y in [0, 1]; any other lane, NaN included, is undefined.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V pow10_unit(D d, V y) {
  namespace c = constants;
  const hn::RebindToSigned<D> di;
  const V one = hn::Set(d, 1.0), half = hn::Set(d, 0.5);
  // The integer part after R-RANK-105 step 2 is 1 above one half, else 0; 10 = 0.625 * 2^4. exp(0) is exactly 1, so
  // 0 and 1 need no case of their own.
  const auto upper = hn::Gt(y, half);
  const V fraction = hn::Sub(y, hn::IfThenElseZero(upper, one));
  hn::Vec<decltype(di)> k_bits;
  const V e = exp_reduced(d, hn::Mul(fraction, hn::Set(d, c::kLn10)), k_bits);
  const V a = hn::Mul(e, hn::IfThenElse(upper, hn::Set(d, 0.625), one));
  const auto shift =
      hn::Add(k_bits, hn::BitCast(di, hn::IfThenElseZero(upper, hn::BitCast(d, hn::Set(di, std::int64_t{4} << 52)))));
  const V result = hn::BitCast(d, hn::Add(hn::BitCast(di, a), shift));
  return hn::IfThenElse(hn::Eq(y, half), hn::Set(d, c::kSqrt10), result);
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
