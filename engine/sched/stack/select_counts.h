// Counts of the current Select (R-FEAS-1602, R-RANK-1002): nodes evaluated, filtered and exhausted, with reasons.
// Distinct reasons are few, so each list is searched linearly.
#pragma once

#include <array>
#include <vector>

#include "sched/scratch.h"

namespace berth::sched {

struct SelectCounts {
  std::int32_t evaluated = 0, filtered = 0, exhausted = 0;
  std::vector<Count> reasons, classes_filtered;      ///< ids of Reasons; codes of the class column
  std::vector<Count> dimensions, classes_exhausted;  ///< the same for exhausted nodes
  std::uint32_t empty_class = 0;                     ///< code of the node class "", 0 if no node has it
  std::uint32_t port_events = 0;                     ///< port collisions in the attempt so far (R-RANK-608)

  void clear();
  /// Counts for the first kCodes codes. Codes come in random order, so an array is faster than searching a list each
  /// time.
  class Tally {
   public:
    static constexpr std::uint32_t kCodes = 64;
    [[nodiscard]] static constexpr bool takes(std::uint32_t code) { return code < kCodes; }
    void add(std::uint32_t code) {
      if (times_[code]++ == 0) met_[met_count_++] = static_cast<std::uint8_t>(code);
    }
    /// Calls visit(code, count) in the order of first occurrence, and resets the counts.
    template <class Visit>
    void take(Visit visit) {
      for (std::uint32_t i = 0; i < met_count_; ++i) {
        const std::uint32_t code = met_[i];
        visit(code, times_[code]);
        times_[code] = 0;
      }
      met_count_ = 0;
    }

   private:
    std::array<std::int32_t, kCodes> times_{};
    std::array<std::uint8_t, kCodes> met_{};
    std::uint32_t met_count_ = 0;
  };
  static void add(std::vector<Count>& counts, std::uint32_t what, std::int32_t times = 1) {
    for (Count& c : counts) {
      if (c.what != what) continue;
      c.count += times;
      return;
    }
    counts.push_back({what, times});
  }
  void add_class(std::vector<Count>& classes, std::uint32_t node_class, std::int32_t times = 1) const {
    if (node_class != empty_class) add(classes, node_class, times);
  }
  void filter(std::uint32_t node_class, std::uint32_t reason, std::int32_t times = 1);
  /// Counts an exhausted node. A dimension without a metric (R-RANK-612) is not counted.
  void exhaust(std::uint32_t node_class, std::uint32_t dimension, std::int32_t times = 1);

  /// The counts as metrics. The first overload returns spans of the lists above; the second copies them to `arena`,
  /// into empty metrics.
  [[nodiscard]] SelectMetrics metrics() const;
  void metrics(Arena& arena, SelectMetrics& out) const;
};

}  // namespace berth::sched
