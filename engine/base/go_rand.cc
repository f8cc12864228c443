#include "base/go_rand.h"

#include <algorithm>

#include "base/assert.h"
#include "base/prefetch.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "base/go_rand.cc"
#include <hwy/foreach_target.h>
// After foreach_target, or the first pass misses it.
#include <hwy/highway.h>

#ifndef BERTH_BASE_GO_RAND_ONCE
#define BERTH_BASE_GO_RAND_ONCE
namespace berth::base {
namespace {

inline constexpr std::size_t kWords = GoRand::kWords, kLag = GoRand::kLag;
inline constexpr std::uint64_t kModulus = (1u << 31) - 1;  // of the seeding generator, prime
inline constexpr std::uint64_t kStep = 48271;

// Word k of the reference's table is our history entry (333 - k) mod 607: entry i is the word that draw i overwrites.
struct SeedTable {
  alignas(64) std::uint64_t power[kWords + 16] = {};     // 48271^(20 + 3k + 1) mod 2^31-1: seed -> x1 of word k
  alignas(64) std::uint64_t constant[kWords + 16] = {};  // C[k]
};

constexpr SeedTable make_seed_table() {
  constexpr std::uint64_t kConstants[kWords] = {
#include "base/go_rand_table.inc"
  };
  SeedTable table;
  std::uint64_t power = 1;
  for (int i = 0; i < 21; ++i) power = power * kStep % kModulus;  // 20 discarded steps and the first used one
  for (std::size_t k = 0; k < kWords; ++k) {
    const std::size_t entry = (333 + kWords - k) % kWords;
    table.power[entry] = power;
    table.constant[entry] = kConstants[k];
    for (int i = 0; i < 3; ++i) power = power * kStep % kModulus;
  }
  return table;
}
constexpr SeedTable kSeedTable = make_seed_table();

}  // namespace
}  // namespace berth::base
#endif  // BERTH_BASE_GO_RAND_ONCE

HWY_BEFORE_NAMESPACE();
namespace berth::base {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR  // plain loops: the one-lane vectors of this target lack the shuffles used below

void seed_history(std::uint64_t s, std::uint64_t* HWY_RESTRICT history) {
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::uint64_t x1 = s * kSeedTable.power[i] % kModulus, x2 = x1 * kStep % kModulus, x3 = x2 * kStep % kModulus;
    history[i] = (x1 << 40) ^ (x2 << 20) ^ x3 ^ kSeedTable.constant[i];
  }
}

void advance_history(std::uint64_t* HWY_RESTRICT history) {
  for (std::size_t i = 0; i < kLag; ++i) history[i] += history[i + kWords - kLag];
  for (std::size_t i = kLag; i < kWords; ++i) history[i] += history[i - kLag];
}

std::size_t bounded_block(const std::uint64_t* HWY_RESTRICT draws, std::size_t count, std::uint32_t m_first,
                          std::uint32_t* HWY_RESTRICT picks) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t m = m_first - static_cast<std::uint32_t>(i);
    const std::uint32_t v = static_cast<std::uint32_t>(draws[i] >> 32) & static_cast<std::uint32_t>(kModulus);
    picks[i] = v % m;
    if (v - picks[i] + m > 1u << 31) return i;
  }
  return count;
}

#else

// a * b mod 2^31-1 for a, b in [1, 2^31-2], in the low halves of 64-bit lanes. The product is at most (M-1)^2, so one
// fold gives at most 2M-2, which one conditional subtraction reduces; the result is never 0 because M is prime. The
// subtraction is a 32-bit minimum: where it would go below zero, both halves wrap to large numbers.
template <class D64, class V>
HWY_INLINE V mul_mod(D64 d64, V a, V b) {
  const hn::Repartition<std::uint32_t, D64> d32;
  const V m = hn::Set(d64, kModulus);
  const V product = hn::MulEven(hn::BitCast(d32, a), hn::BitCast(d32, b));
  const V folded = hn::Add(hn::And(product, m), hn::ShiftRight<31>(product));
  return hn::BitCast(d64, hn::Min(hn::BitCast(d32, folded), hn::BitCast(d32, hn::Sub(folded, m))));
}

/// Fills history[0..607) for the reduced seed s in [1, 2^31-2] (R-FEAS-205); writes up to 16 words past the end.
void seed_history(std::uint64_t s, std::uint64_t* HWY_RESTRICT history) {
  const hn::ScalableTag<std::uint64_t> d;
  const auto seed = hn::Set(d, s);
  const auto step = hn::Set(d, kStep);
  for (std::size_t i = 0; i < kWords; i += hn::Lanes(d)) {
    const auto x1 = mul_mod(d, seed, hn::LoadU(d, kSeedTable.power + i));
    const auto x2 = mul_mod(d, x1, step);
    const auto x3 = mul_mod(d, x2, step);
    const auto word = hn::Xor(hn::Xor(hn::ShiftLeft<40>(x1), hn::ShiftLeft<20>(x2)),
                              hn::Xor(x3, hn::LoadU(d, kSeedTable.constant + i)));
    hn::StoreU(word, d, history + i);
  }
}

/// Replaces the last 607 outputs by the next 607.
void advance_history(std::uint64_t* HWY_RESTRICT history) {
  const hn::ScalableTag<std::uint64_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto add_range = [&](std::size_t begin, std::size_t end, std::ptrdiff_t other) {
    std::size_t i = begin;
    const auto add = [&](std::size_t at) {
      hn::StoreU(hn::Add(hn::LoadU(d, history + at), hn::LoadU(d, history + static_cast<std::ptrdiff_t>(at) + other)),
                 d, history + at);
    };
    for (; i + 4 * lanes <= end; i += 4 * lanes) add(i), add(i + lanes), add(i + 2 * lanes), add(i + 3 * lanes);
    for (; i + lanes <= end; i += lanes) add(i);
    for (; i < end; ++i) history[i] += history[static_cast<std::ptrdiff_t>(i) + other];
  };
  add_range(0, kLag, kWords - kLag);                            // x[t-273] is still the old block's
  add_range(kLag, kWords, -static_cast<std::ptrdiff_t>(kLag));  // x[t-273] was written above, at least 273 words back
}

/// floor(v / m) or one more or one less, for v < 2^31 and 512 <= m < 2^30, of floats.
///
/// A division: v and m converted and divided carry three roundings of 2^-24, so the quotient is off by less than
/// 2^31/512 * 3.01 * 2^-24 < 0.76. On x86 it would be half of what a draw costs, so from m = 1,024 on the reciprocal is
/// estimated to 1.5 * 2^-12 and improved by a Newton step. That leaves 2.25 * 2^-24 and at most 5.5 roundings of 2^-24:
/// less than 2^31/1024 * 7.75 * 2^-24 < 0.97. Rounding to the nearest integer of 0.5 less is then off by at most one.
template <bool kByReciprocal, class DF, class V>
HWY_INLINE auto quotient(DF df, V v, V m) {
  const hn::RebindToUnsigned<DF> d;
#if HWY_ARCH_X86
  if constexpr (kByReciprocal) {
    const auto estimate = hn::ApproximateReciprocal(m);
    const auto reciprocal = hn::Mul(estimate, hn::NegMulAdd(m, estimate, hn::Set(df, 2.0F)));
    const auto magic = hn::Set(df, 0x1p23F - 0.5F);  // sums have the nearest integer in their last bits
    return hn::Sub(hn::BitCast(d, hn::MulAdd(v, reciprocal, magic)), hn::Set(d, 0x4b000000));
  }
#endif
  return hn::BitCast(d, hn::ConvertTo(hn::RebindToSigned<DF>(), hn::Div(v, m)));
}

/// picks[i] = draw i mod (m_first - i) for i in [i, end), m_first - end >= 511. Returns the largest draw.
template <bool kByReciprocal>
std::uint32_t reduce_draws(const std::uint64_t* HWY_RESTRICT draws, std::size_t i, std::size_t end,
                           std::uint32_t m_first, std::uint32_t* HWY_RESTRICT picks) {
  const hn::ScalableTag<std::uint32_t> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToFloat<decltype(d)> df;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  auto m = hn::Sub(hn::Set(d, m_first - static_cast<std::uint32_t>(i)), hn::Iota(d, 0));
  const auto step = hn::Set(d, static_cast<std::uint32_t>(hn::Lanes(d)));
  auto most = hn::Zero(d);
  for (; i < end; i += hn::Lanes(d), m = hn::Sub(m, step)) {
    const auto low = hn::BitCast(d, hn::LoadU(d64, draws + i));
    const auto high = hn::BitCast(d, hn::LoadU(d64, draws + i + hn::Lanes(d64)));
    const auto v = hn::AndNot(hn::Set(d, 1u << 31), hn::ConcatOdd(d, high, low));  // bits 32 to 62 of each draw
    most = hn::Max(most, v);
    const auto q =
        quotient<kByReciprocal>(df, hn::ConvertTo(df, hn::BitCast(di, v)), hn::ConvertTo(df, hn::BitCast(di, m)));
    // v is in [-m, 2m); adding or subtracting m, selected by an unsigned minimum, gives [0, m). m < 2^30 keeps 3m below
    // 2^32.
    auto r = hn::Sub(v, hn::Mul(q, m));
    r = hn::Min(r, hn::Add(r, m));
    r = hn::Min(r, hn::Sub(r, m));
    hn::StoreU(r, d, picks + i);
  }
  return hn::GetLane(hn::MaxOfLanes(d, most));
}

/// reduce_draws() for m < 512.
std::uint32_t reduce_last_draws(const std::uint64_t* HWY_RESTRICT draws, std::size_t i, std::size_t end,
                                std::uint32_t m_first, std::uint32_t* HWY_RESTRICT picks) {
  // binary64: v / m that is no integer is at least 1/m away from one, far more than its rounding, so the integer part
  // is exact, and so are q m and v - q m. Integers enter and leave doubles by the 2^52 trick.
  const hn::ScalableTag<double> d;
  const hn::RebindToUnsigned<decltype(d)> d64;
  const hn::Rebind<std::int32_t, decltype(d)> d32;
  const auto magic = hn::Set(d, 0x1p52);
  auto most = hn::Zero(d);
  for (; i < end; i += hn::Lanes(d)) {
    const auto bits = hn::And(hn::ShiftRight<32>(hn::LoadU(d64, draws + i)), hn::Set(d64, kModulus));
    const auto v = hn::Sub(hn::BitCast(d, hn::Or(bits, hn::BitCast(d64, magic))), magic);
    most = hn::Max(most, v);
    const auto m = hn::Sub(hn::Set(d, static_cast<double>(m_first - i)), hn::Iota(d, 0.0));
    const auto r = hn::Sub(v, hn::Mul(hn::Trunc(hn::Div(v, m)), m));
    hn::StoreU(hn::DemoteTo(d32, r), d32, reinterpret_cast<std::int32_t*>(picks) + i);
  }
  return static_cast<std::uint32_t>(hn::GetLane(hn::MaxOfLanes(d, most)));
}

/// picks[i] = bounded(m_first - i) from draws[i], i < count, up to the first draw that R-FEAS-204 rejects; returns its
/// position, or count. Reads and writes up to 16 entries past count. m_first - count >= 1.
///
/// A draw v < 2^31 with q = floor(v / m) is accepted iff (q + 1) m <= 2^31, that is v - v mod m + m <= 2^31: the
/// largest accepted one is floor(2^31 / m) m - 1. Powers of two accept every v, and there v & (m-1) is v mod m. So
/// none is rejected while v <= 2^31 - m: few blocks have a larger one (3 % of blocks at 100,000 items).
std::size_t bounded_block(const std::uint64_t* HWY_RESTRICT draws, std::size_t count, std::uint32_t m_first,
                          std::uint32_t* HWY_RESTRICT picks) {
  const auto below = [&](std::uint32_t m) {  // position of the first draw for less than m
    return m_first < m ? std::size_t{0} : std::min<std::size_t>(count, m_first - m + 1);
  };
  const std::size_t large = below(1024), middle = below(512);
  std::uint32_t most = reduce_draws<true>(draws, 0, large, m_first, picks);
  if (HWY_UNLIKELY(large < count)) {
    most = std::max({most, reduce_draws<false>(draws, large, middle, m_first, picks),
                     reduce_last_draws(draws, middle, count, m_first, picks)});
  }
  if (HWY_LIKELY(most <= (1u << 31) - m_first)) return count;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t v = static_cast<std::uint32_t>(draws[i] >> 32) & static_cast<std::uint32_t>(kModulus);
    if (v - picks[i] + (m_first - static_cast<std::uint32_t>(i)) > 1u << 31) return i;
  }
  return count;
}

#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace HWY_NAMESPACE
}  // namespace berth::base
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace berth::base {

HWY_EXPORT(seed_history);
HWY_EXPORT(advance_history);
HWY_EXPORT(bounded_block);

void GoRand::reseed(std::int64_t seed) noexcept {
  std::int64_t s = seed % static_cast<std::int64_t>(kModulus);
  if (s < 0) s += static_cast<std::int64_t>(kModulus);
  if (s == 0) s = 89482311;
  HWY_DYNAMIC_DISPATCH(seed_history)(static_cast<std::uint64_t>(s), history_.data());
  next_ = kWords;
}

std::uint64_t GoRand::next() noexcept {
  if (next_ == kWords) {
    HWY_DYNAMIC_DISPATCH(advance_history)(history_.data());
    next_ = 0;
  }
  return history_[next_++];
}

std::uint32_t GoRand::bounded(std::uint32_t m) noexcept {
  BERTH_DEBUG_ASSERT(m >= 1 && m < (1u << 31));
  constexpr std::uint32_t kMask = (1u << 31) - 1;
  const std::uint32_t max = kMask - (1u << 31) % m;  // a power of two leaves no remainder and accepts every draw
  for (;;) {
    const std::uint32_t v = static_cast<std::uint32_t>(next() >> 32) & kMask;
    if (v <= max) return v % m;
  }
}

std::size_t GoRand::draw_block(std::size_t m, std::uint32_t* picks) noexcept {
  if (next_ == kWords) {
    HWY_DYNAMIC_DISPATCH(advance_history)(history_.data());
    next_ = 0;
  }
  const std::size_t count = std::min(kWords - next_, m - 1);
  const std::size_t accepted =
      HWY_DYNAMIC_DISPATCH(bounded_block)(history_.data() + next_, count, static_cast<std::uint32_t>(m), picks);
  next_ += accepted + (accepted < count ? 1 : 0);  // a rejected draw is used up
  return accepted;
}

void GoRand::shuffle_picks(std::span<std::uint32_t> picks) noexcept {
  BERTH_ASSERT(picks.size() < (std::size_t{1} << 30) - 1);
  for (std::size_t done = 0; done < picks.size();) done += draw_block(picks.size() + 1 - done, picks.data() + done);
}

void GoRand::shuffle(std::span<std::uint32_t> items) noexcept {
  BERTH_ASSERT(items.size() < (std::size_t{1} << 30));
  // Larger lists exceed the second-level cache, so each swap would wait for memory without a prefetch.
  constexpr std::size_t kPrefetchFrom = 1u << 18, kAhead = 24;
  std::uint32_t* const data = items.data();
  std::size_t m = items.size();
  while (m > 1) {
    const std::size_t accepted = draw_block(m, picks_.data());
    const std::uint32_t* const picks = picks_.data();
    std::uint32_t* const last = data + (m - 1);
    if (m >= kPrefetchFrom) {
      for (std::size_t k = 0; k < std::min(kAhead, accepted); ++k) base::prefetch_to_write(data + picks[k]);
      for (std::size_t k = 0; k < accepted; ++k) {
        if (k + kAhead < accepted) base::prefetch_to_write(data + picks[k + kAhead]);
        std::swap(last[-static_cast<std::ptrdiff_t>(k)], data[picks[k]]);
      }
    } else {
      for (std::size_t k = 0; k < accepted; ++k) std::swap(last[-static_cast<std::ptrdiff_t>(k)], data[picks[k]]);
    }
    m -= accepted;
  }
}

std::uint64_t eval_tail(std::span<const char> eval_id) noexcept {
  BERTH_ASSERT(eval_id.size() >= 8);
  std::uint64_t tail = 0;
  for (const char c : eval_id.last(8)) tail = tail << 8 | static_cast<unsigned char>(c);
  return tail;
}

}  // namespace berth::base
#endif  // HWY_ONCE
