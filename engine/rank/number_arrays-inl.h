// exp and powers of ten of arrays (rank/numbers.h); included once per instruction set (Highway).
#if defined(BERTH_RANK_NUMBER_ARRAYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_RANK_NUMBER_ARRAYS_INL_H_
#undef BERTH_RANK_NUMBER_ARRAYS_INL_H_
#else
#define BERTH_RANK_NUMBER_ARRAYS_INL_H_
#endif

#include <hwy/highway.h>

#include "rank/numbers-inl.h"
#include "rank/score_fit.h"

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {

// Rewrites the lanes of one vector that left the fast domain, in program order of the array.
template <class Scalar>
HWY_INLINE void patch(const double* x, double* out, std::size_t count, double limit, Scalar scalar) {
  for (std::size_t i = 0; i < count; ++i)
    if (!(std::fabs(x[i]) <= limit)) out[i] = scalar(x[i]);
}

/// Lanes up to |x| = 700 stay normal numbers with |k| < 1023; the others go to the scalar form.
void exp_array(const double* x, double* out, std::size_t n, double (*scalar)(double)) {
  const hn::ScalableTag<double> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, x + i);
    const auto fast = hn::Le(hn::Abs(v), hn::Set(d, 700.0));
    hn::Vec<decltype(di)> k_bits;
    const auto e = exp_reduced(d, v, k_bits);
    const auto result = hn::BitCast(d, hn::Add(hn::BitCast(di, e), k_bits));
    if (HWY_LIKELY(hn::AllTrue(d, fast))) {
      hn::StoreU(result, d, out + i);
    } else {
      alignas(64) double in[HWY_MAX_BYTES / 8];
      hn::Store(v, d, in);
      hn::StoreU(result, d, out + i);
      patch(in, out + i, lanes, 700.0, scalar);
    }
  }
  for (; i < n; ++i) out[i] = scalar(x[i]);
}

void pow10_array(const double* y, double* out, std::size_t n, double (*scalar)(double)) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto v = hn::LoadU(d, y + i);
    const auto magnitude = hn::Abs(v);
    const auto negative = hn::Lt(v, zero);
    auto result = pow10_unit(d, magnitude);
    // 10^-0.5 is 1/sqrt(10) by rule; the division rounds to the same bits (numbers_test.cc).
    if (HWY_UNLIKELY(!hn::AllFalse(d, negative))) result = hn::IfThenElse(negative, hn::Div(one, result), result);
    if (HWY_LIKELY(hn::AllTrue(d, hn::Le(magnitude, one)))) {
      hn::StoreU(result, d, out + i);
    } else {
      alignas(64) double in[HWY_MAX_BYTES / 8];
      hn::Store(v, d, in);
      hn::StoreU(result, d, out + i);
      patch(in, out + i, lanes, 1.0, scalar);
    }
  }
  for (; i < n; ++i) out[i] = scalar(y[i]);
}

/// See fit_columns(); n is a multiple of kFitStep. `scalar` takes the free fractions, for lanes outside [-1, 1].
void fit_array(const FitFigures& of, std::size_t n, bool binpack, double* out, double (*scalar)(bool, double, double)) {
  const hn::CappedTag<double, kFitStep> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d), one = hn::Set(d, 1.0), most = hn::Set(d, 18.0);
  const auto free = [&](const double* used, const double* capacity) {
    return hn::Sub(one, hn::Div(hn::LoadU(d, used), hn::LoadU(d, capacity)));
  };
  const auto pow10 = [&](auto y) {
    const auto negative = hn::Lt(y, zero);
    const auto result = pow10_unit(d, hn::Abs(y));
    if (HWY_LIKELY(hn::AllFalse(d, negative))) return result;
    return hn::IfThenElse(negative, hn::Div(one, result), result);  // as pow10_array()
  };
  for (std::size_t i = 0; i < n; i += lanes) {
    const auto cpu = free(of.cpu_used + i, of.cpu_capacity + i);
    const auto memory = free(of.memory_used + i, of.memory_capacity + i);
    const auto total = hn::Add(pow10(cpu), pow10(memory));
    const auto score = binpack ? hn::Sub(hn::Set(d, 20.0), total) : hn::Sub(total, hn::Set(d, 2.0));
    // NaN passes both (R-RANK-104).
    const auto least = hn::IfThenElse(hn::Lt(score, zero), zero, score);
    hn::StoreU(hn::Div(hn::IfThenElse(hn::Gt(score, most), most, least), most), d, out + i);
    const auto in_domain = hn::And(hn::Le(hn::Abs(cpu), one), hn::Le(hn::Abs(memory), one));
    if (HWY_LIKELY(hn::AllTrue(d, in_domain))) continue;
    alignas(64) double cpus[kFitStep], memories[kFitStep];
    hn::Store(cpu, d, cpus), hn::Store(memory, d, memories);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      if (!(std::fabs(cpus[lane]) <= 1.0 && std::fabs(memories[lane]) <= 1.0))
        out[i + lane] = scalar(binpack, cpus[lane], memories[lane]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
