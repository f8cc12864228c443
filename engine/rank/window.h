// Final scores of a window of prepared nodes, many at a time, as long as nothing about them needs a decision.
//
// A Select looks at its candidates one after the other, yet nearly all of them change nothing: they do not enter the
// list of best nodes, are not set aside (R-RANK-411) and are only counted. These runs are scored by vector; the caller
// looks at the rest. Same bits on every instruction set: one addition, one division (R-RANK-901).
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
  double* spread_total;       ///< out: the total of each entry looked at; null without spread
};

struct WindowRun {
  std::size_t next = 0;       ///< first entry not looked at
  std::size_t live = 0;       ///< entries looked at that have room
  std::size_t exhausted = 0;  ///< entries looked at that have none
};

/// Looks at entries [first, last) in steps of a vector and stops before the first step that holds an entry with a final
/// score above `threshold`, or, with `stop_at_nonpositive`, one of 0 or less, or that would reach `max_live`: the
/// Select ends at its last candidate, not at the end of a step.
[[nodiscard]] WindowRun score_run(const WindowColumns& columns, std::size_t first, std::size_t last, double threshold,
                                  bool stop_at_nonpositive, std::size_t max_live) noexcept;

}  // namespace berth::rank
