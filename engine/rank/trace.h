// Finds the first entries of a shuffle without shuffling.
//
// A Fisher-Yates shuffle of 0..n-1 (R-FEAS-203) swaps entry i with entry pick(i) <= i, for i = n-1 down to 1. It is
// followed backwards, in ascending steps. The entry that ends at a place came from the lowest step that picked that
// place: a chain of about ln(n / kFirst) steps. So one store per draw replaces a swap:
//   place_of  4 B x kFirst   where the entry that ends at place k was before the last kFirst steps, which are undone
//   lowest    2 B x kTabled  by place: the lowest step from kFirst on that picked it. Entries of an earlier shuffle are
//                            recognised by their pick, so the table is never cleared
// Steps from kTabled on would pick places all over the caches. Instead, these steps are searched by vector for the
// places of the entries (trace-inl.h).
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
  /// Starts another shuffle: entry n-1-k is swapped with entry picks[k], k ascending, picks.size() = n-1. Keeps a
  /// reference to `picks`.
  void begin(std::span<const std::uint32_t> picks);
  /// Writes entries first, first+1, ... of the shuffle, up to most(n).
  void find(std::size_t first, std::span<std::uint32_t> entries) const noexcept;

  /// Largest number of entries of n that are cheaper to trace than to shuffle (bench/micro/order_bench.cc).
  static constexpr std::size_t most(std::size_t n) { return n < 2048 ? 0 : n <= kTabled ? kFirst : 2 * kMaxSearched; }
  /// True if no search is needed: several calls of find() then cost as much as one.
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
