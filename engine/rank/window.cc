#include "rank/window.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "rank/window.cc"
#include <hwy/foreach_target.h>
// After foreach_target, or the first pass misses it.
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

WindowRun run(const WindowColumns& c, std::size_t first, std::size_t last, double threshold, bool stop_at_nonpositive,
              std::size_t max_live) {
  const hn::ScalableTag<double> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::int32_t, decltype(d)> di32;
  const std::size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const auto one = hn::Set(d, 1.0);
  const auto limit = hn::Set(d, threshold);
  WindowRun out;
  out.next = first;
  for (; out.next + lanes <= last; out.next += lanes) {
    auto sum = hn::LoadU(d, c.prefix + out.next);
    auto count = hn::LoadU(d, c.appended + out.next);
    const auto has_room = hn::Gt(count, zero);
    if (c.code) {
      const auto code = hn::LoadU(di32, reinterpret_cast<const std::int32_t*>(c.code) + out.next);
      const auto total = hn::GatherIndex(d, c.spread, hn::PromoteTo(di, code));
      hn::StoreU(total, d, c.spread_total + out.next);
      sum = hn::Add(sum, total);
      count = hn::Add(count, hn::IfThenElseZero(hn::Ne(total, zero), one));
    }
    const auto value = hn::Div(sum, count);
    auto decisive = hn::Gt(value, limit);
    if (stop_at_nonpositive) decisive = hn::Or(decisive, hn::Le(value, zero));
    decisive = hn::And(decisive, has_room);
    const std::size_t live = hn::CountTrue(d, has_room);
    if (!hn::AllFalse(d, decisive) || out.live + live >= max_live) return out;
    out.live += live;
    out.exhausted += lanes - live;
  }
  return out;
}

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::rank {

HWY_EXPORT(run);

WindowRun score_run(const WindowColumns& columns, std::size_t first, std::size_t last, double threshold,
                    bool stop_at_nonpositive, std::size_t max_live) noexcept {
  return HWY_DYNAMIC_DISPATCH(run)(columns, first, last, threshold, stop_at_nonpositive, max_live);
}

}  // namespace berth::rank
#endif  // HWY_ONCE
