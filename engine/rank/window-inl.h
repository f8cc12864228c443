// Scores of a window by vector (rank/window.h); included once per instruction set (Highway).
#if defined(BERTH_RANK_WINDOW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_RANK_WINDOW_INL_H_
#undef BERTH_RANK_WINDOW_INL_H_
#else
#define BERTH_RANK_WINDOW_INL_H_
#endif

#include <hwy/highway.h>

#include "rank/window.h"

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

WindowScores score_columns(const WindowColumns& c, std::size_t first, std::size_t last, double threshold,
                           double* values) {
  const hn::CappedTag<double, 8> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int32_t, decltype(d)> di32;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const auto limit = hn::Set(d, threshold);
  WindowScores out;
  std::size_t i = first;
  for (; i + lanes <= last; i += lanes) {
    auto sum = hn::LoadU(d, c.prefix + i);
    auto count = hn::LoadU(d, c.appended + i);
    const auto has_room = hn::Gt(count, zero);
    if (c.code) {
      const auto code = hn::LoadU(di32, reinterpret_cast<const std::int32_t*>(c.code) + i);
      const auto total = hn::GatherIndex(d, c.spread, hn::PromoteTo(di, code));
      hn::StoreU(total, d, c.spread_total + i);
      sum = hn::Add(sum, total);
      count = hn::Add(count, hn::IfThenElseZero(hn::Ne(total, zero), one));
    }
    const auto value = hn::Div(sum, count);
    hn::StoreU(value, d, values + i);
    const auto is_counted = hn::And(hn::Le(value, limit), hn::Gt(value, zero));  // NaN counts as decisive
    std::uint8_t bits[8] = {}, room[8] = {};
    hn::StoreMaskBits(d, hn::AndNot(is_counted, has_room), bits);
    hn::StoreMaskBits(d, hn::Not(has_room), room);
    out.decisive[(i - first) / 64] |= std::uint64_t{bits[0]} << (i - first) % 64;
    out.exhausted[(i - first) / 64] |= std::uint64_t{room[0]} << (i - first) % 64;
  }
  for (; i < last; ++i) {
    double sum = c.prefix[i], count = c.appended[i];
    if (count == 0) {
      out.exhausted[(i - first) / 64] |= std::uint64_t{1} << (i - first) % 64;
      continue;
    }
    if (c.code) {
      const double total = c.spread_total[i] = c.spread[c.code[i]];
      if (total != 0.0) sum += total, count += 1.0;
    }
    const double value = values[i] = sum / count;
    out.decisive[(i - first) / 64] |= std::uint64_t{!(value <= threshold && value > 0.0)} << (i - first) % 64;
  }
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
