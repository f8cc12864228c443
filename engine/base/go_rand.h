// The seeded generator of Go's math/rand, version 1, and the shuffle that Nomad drives with it (R-FEAS-202 to 206).
//
// The generator is x[t] = x[t-607] + x[t-273] mod 2^64. `history_` holds the last 607 outputs in order, so the next
// 607 are two vector passes over one array. A shuffle takes its draws block by block:
//   seeding    the 1,821 steps of the multiplicative generator are independent once its powers are tabled
//   bounded    `v mod m` of a whole block by floating-point division, exact by the argument in go_rand.cc
//   swaps      serial, with prefetch where the items exceed the caches
// Same results on every instruction set. No allocation. An object belongs to one thread at a time; it is 7.3 KiB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace berth::base {

class GoRand {
 public:
  static constexpr std::size_t kWords = 607, kLag = 273;

  GoRand() noexcept : GoRand(1) {}
  explicit GoRand(std::int64_t seed) noexcept { reseed(seed); }

  /// Restarts the sequence of `seed`. Cost: bench/micro/order_bench.cc.
  void reseed(std::int64_t seed) noexcept;

  /// The next 64-bit output (R-FEAS-205).
  [[nodiscard]] std::uint64_t next() noexcept;

  /// Uniform in [0, m), 1 <= m < 2^31, by rejection (R-FEAS-204).
  [[nodiscard]] std::uint32_t bounded(std::uint32_t m) noexcept;

  /// Fisher-Yates from the end (R-FEAS-203): for i = n-1 down to 1 swaps items i and bounded(i+1). n < 2^30; lists of 0
  /// and 1 items take no draw. The generator continues where the last draw left it.
  void shuffle(std::span<std::uint32_t> items) noexcept;

  /// The draws of shuffle() without the swaps: picks[k] is what item n-1-k is swapped with, n-1 = picks.size(). Writes
  /// kPadding elements past the end.
  void shuffle_picks(std::span<std::uint32_t> picks) noexcept;

  static constexpr std::size_t kPadding = 16;  ///< vector passes may read and write this many elements past the end

 private:
  /// Draws for m, m - 1, ... into picks[0..count) until the history ends or a draw is rejected; returns the number
  /// written.
  std::size_t draw_block(std::size_t m, std::uint32_t* picks) noexcept;

  alignas(64) std::array<std::uint64_t, kWords + kPadding> history_{};
  alignas(64) std::array<std::uint32_t, kWords + kPadding> picks_{};  // shuffle: the j of a block
  std::size_t next_ = 0;                                              // history_[next_] is the next output
};

/// Seed of Nomad's visiting order: the last 8 bytes of the evaluation ID text, big-endian, XOR the snapshot's latest
/// index, shifted right by 2 (R-FEAS-202). Needs at least 8 bytes of text.
[[nodiscard]] std::uint64_t eval_tail(std::span<const char> eval_id) noexcept;
[[nodiscard]] inline std::int64_t shuffle_seed(std::span<const char> eval_id, std::uint64_t index) noexcept {
  return static_cast<std::int64_t>((eval_tail(eval_id) ^ index) >> 2);
}

}  // namespace berth::base
