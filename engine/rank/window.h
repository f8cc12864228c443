// Final scores of a window of prepared nodes, many at a time.
//
// A Select visits its candidates one after the other, yet most of them change nothing: they do not enter the list of
// best nodes, are not set aside (R-RANK-411) and are only counted. So their scores are computed by vector before the
// visit. Same bits on every instruction set: one addition, one division (R-RANK-901).
#pragma once

#include <cstddef>
#include <cstdint>

namespace berth::rank {

/// Columns of the window, by entry. An exhausted entry has appended = 0.
struct WindowColumns {
  const double* prefix;       ///< sum of the appended components before spread
  const double* appended;     ///< their number
  const std::uint32_t* code;  ///< index into `spread`; null: the group has no spread
  const double* spread;       ///< spread total by code
  double* spread_total;       ///< out: the total of each entry; null without spread
};

/// Maximum number of entries at a time.
inline constexpr std::size_t kWindowMost = 256;

/// Bit i % 64 of word i / 64 belongs to entry first + i.
struct WindowScores {
  static constexpr std::size_t kWords = kWindowMost / 64;
  std::uint64_t decisive[kWords] = {};   ///< has room, and a score that is above the threshold or not above 0
  std::uint64_t exhausted[kWords] = {};  ///< has no room
};

/// Writes the final scores of entries [first, last) to `values`, by entry; values of exhausted entries are meaningless.
/// `threshold`: scores that are not above it do not enter the list of best nodes.
[[nodiscard]] WindowScores score_window(const WindowColumns& columns, std::size_t first, std::size_t last,
                                        double threshold, double* values) noexcept;

}  // namespace berth::rank
