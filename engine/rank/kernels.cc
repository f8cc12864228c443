#include "rank/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rank/kernels.cc"
#include <hwy/foreach_target.h>
// After foreach_target, or the first pass misses it.
#include <hwy/highway.h>

#include "rank/crossings-inl.h"
#include "rank/number_arrays-inl.h"
#include "rank/trace-inl.h"
#include "rank/window-inl.h"

#if HWY_ONCE
namespace berth::rank {

HWY_EXPORT(exp_array);
HWY_EXPORT(pow10_array);
HWY_EXPORT(fit_array);
HWY_EXPORT(undo_swaps);
HWY_EXPORT(score_columns);
HWY_EXPORT(list_crossings);

namespace kernels {

void exp_array(const double* x, double* out, std::size_t n, double (*scalar)(double)) noexcept {
  HWY_DYNAMIC_DISPATCH(exp_array)(x, out, n, scalar);
}

void pow10_array(const double* y, double* out, std::size_t n, double (*scalar)(double)) noexcept {
  HWY_DYNAMIC_DISPATCH(pow10_array)(y, out, n, scalar);
}

void fit_array(const FitFigures& of, std::size_t n, bool binpack, double* out,
               double (*scalar)(bool, double, double)) noexcept {
  HWY_DYNAMIC_DISPATCH(fit_array)(of, n, binpack, out, scalar);
}

void undo_swaps(const std::uint32_t* picks, std::size_t n, std::size_t from, std::uint32_t* places) noexcept {
  HWY_DYNAMIC_DISPATCH(undo_swaps)(picks, n, from, places);
}

WindowScores score_columns(const WindowColumns& columns, std::size_t first, std::size_t last, double threshold,
                           double* values) noexcept {
  return HWY_DYNAMIC_DISPATCH(score_columns)(columns, first, last, threshold, values);
}

std::size_t list_crossings(const LeftRanges& ranges, std::size_t n, const AskedAmounts& ask,
                           std::uint32_t* out) noexcept {
  return HWY_DYNAMIC_DISPATCH(list_crossings)(ranges, n, ask, out);
}

}  // namespace kernels
}  // namespace berth::rank
#endif  // HWY_ONCE
