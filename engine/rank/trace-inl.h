// Undoes the swaps of traced entries, by vector (rank/trace.h); included once per instruction set (Highway).
#if defined(BERTH_RANK_TRACE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef BERTH_RANK_TRACE_INL_H_
#undef BERTH_RANK_TRACE_INL_H_
#else
#define BERTH_RANK_TRACE_INL_H_
#endif

#include <hwy/highway.h>

#include <bit>

#include "rank/trace.h"

HWY_BEFORE_NAMESPACE();
namespace berth::rank {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

void undo_swaps(const std::uint32_t* picks, std::size_t n, std::size_t from, std::uint32_t* places) {
  for (std::size_t i = from; i < n; ++i)
    for (std::size_t t = 0; t < kMaxSearched; ++t)
      if (places[t] == picks[n - 1 - i]) places[t] = static_cast<std::uint32_t>(i);
}

#else

/// Filter of the places that may hold a traced entry: a register full of bits, looked up by a few bits of the place.
/// Two filters over different bits pass about one wrong place in a hundred.
template <int kShift>
struct PlaceFilter {
  static constexpr hn::ScalableTag<std::uint32_t> d{};
  using V = hn::VFromD<decltype(d)>;

  V bits;  // set on use: the compiler's own constructor would not use the target's instructions

  void add(std::uint32_t place) {
    const std::uint32_t hash = place >> kShift;
    const auto word = hn::Set(d, hash / 32 % static_cast<std::uint32_t>(hn::Lanes(d)));
    bits = hn::Or(bits, hn::IfThenElseZero(hn::Eq(hn::Iota(d, 0), word), hn::Set(d, 1u << hash % 32)));
  }

  /// Bit 0 of each lane: set if the place may hold a traced entry.
  [[nodiscard]] HWY_INLINE V test(V places) const {
    const V hash = hn::ShiftRight<kShift>(places);
    const V word = hn::And(hn::ShiftRight<5>(hash), hn::Set(d, static_cast<std::uint32_t>(hn::Lanes(d) - 1)));
    const V looked_up = hn::TableLookupLanes(bits, hn::IndicesFromVec(d, word));
    return hn::Shr(looked_up, hn::And(hash, hn::Set(d, 31)));
  }
};

/// Undoes swaps from, from+1, ..., n-1, in this order. `places` holds the places of the traced entries, kMaxSearched of
/// them; unused ones are ~0. None may be at `from` or beyond.
void undo_swaps(const std::uint32_t* picks, std::size_t n, std::size_t from, std::uint32_t* places) {
  const hn::ScalableTag<std::uint32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  PlaceFilter<0> low;
  PlaceFilter<5> high;
  std::size_t stale = 0;  // places that the filters contain but no entry occupies any more
  const auto fill = [&] {
    low.bits = high.bits = hn::Zero(d);
    for (std::size_t t = 0; t < kMaxSearched; ++t)
      if (places[t] != ~0u) low.add(places[t]), high.add(places[t]);
    stale = 0;
  };
  // Moves the entry that is at `pick` to i, if there is one.
  const auto undo = [&](std::uint32_t pick, std::size_t i) {
    for (std::size_t t = 0; t < kMaxSearched; t += lanes) {
      const auto found = hn::Eq(hn::Load(d, places + t), hn::Set(d, pick));
      if (hn::AllFalse(d, found)) continue;
      const auto place = static_cast<std::uint32_t>(i);
      places[t + static_cast<std::size_t>(hn::FindFirstTrue(d, found))] = place;
      low.add(place), high.add(place);
      if (++stale == 8) fill();
      return true;
    }
    return false;
  };
  fill();
  std::size_t i = from;
  for (; i + lanes <= n; i += lanes) {
    const std::uint32_t* const first = picks + (n - i - lanes);  // pick of swap i + k at first[lanes - 1 - k]
    const auto block = hn::LoadU(d, first);
    const auto maybe = hn::And(hn::And(low.test(block), high.test(block)), hn::Set(d, 1));
    const auto mask = hn::Ne(maybe, hn::Zero(d));
    if (HWY_LIKELY(hn::AllFalse(d, mask))) continue;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(d, mask, bytes);
    std::uint32_t open = bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8;
    while (open != 0) {
      const int lane = 31 - std::countl_zero(open);
      open &= ~(1u << lane);
      const std::size_t swap = i + lanes - 1 - static_cast<std::size_t>(lane);
      if (!undo(first[lane], swap)) continue;
      // A later swap of this block may move it on from there.
      hn::StoreMaskBits(d, hn::Eq(block, hn::Set(d, static_cast<std::uint32_t>(swap))), bytes);
      open |= (bytes[0] | static_cast<std::uint32_t>(bytes[1]) << 8) & ((1u << lane) - 1);
    }
  }
  for (; i < n; ++i) undo(picks[n - 1 - i], i);
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace berth::rank
HWY_AFTER_NAMESPACE();

#endif  // per-target guard
