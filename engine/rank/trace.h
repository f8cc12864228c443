// The first entries of a shuffle without the shuffle.
//
// A Fisher-Yates shuffle of 0..n-1 (R-FEAS-203) swaps entry i with entry pick(i) <= i, for i = n-1 down to 1. Followed
// backwards, that is in ascending steps, the entry that ends at a place lay before at the lowest step that picked the
// place: a chain of about ln(n / kFirst) steps. So one store per draw replaces a swap:
//   place_of  4 B x kFirst   where the entry that ends at place k was before the last kFirst steps, which are undone
//   lowest    2 B x kTabled  by place: the lowest step from kFirst on that picked it. What an earlier shuffle left is
//                            told from that by its pick, so the table is never cleared
// Steps from kTabled on would pick places all over the caches: these are searched for the places of the entries
// instead, by vector (trace-inl.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace berth::rank {

/// Most places that kernels::undo_swaps() searches for at once.
inline constexpr std::size_t kMaxSearched = 32;

class ShuffleTrace {
 public:
  /// Another shuffle: entry n-1-k is swapped with entry picks[k], k ascending, picks.size() = n-1. `picks` stay.
  void begin(std::span<const std::uint32_t> picks);
  /// Entries first, first+1, ... of it, up to most(n).
  void find(std::size_t first, std::span<std::uint32_t> entries) const noexcept;

  /// So many entries of n cost less this way than by swaps (bench/micro/order_bench.cc).
  static constexpr std::size_t most(std::size_t n) { return n < 2048 ? 0 : n <= kTabled ? kFirst : 2 * kMaxSearched; }
  /// No search: several calls of find() cost as much as one.
  static constexpr bool is_tabled(std::size_t n) { return n <= kTabled; }

 private:
  static constexpr std::size_t kFirst = 128, kTabled = 16384;
  [[nodiscard]] std::uint32_t pick(std::size_t step) const noexcept { return picks_[picks_.size() - step]; }
  [[nodiscard]] std::uint32_t follow(std::uint32_t place) const noexcept;

  std::span<const std::uint32_t> picks_;
  std::array<std::uint32_t, kFirst> place_of_{};
  std::vector<std::uint16_t> lowest_;
};

}  // namespace berth::rank
