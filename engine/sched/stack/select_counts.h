// What the Select under way counts (R-FEAS-1602, R-RANK-1002): nodes evaluated, filtered and exhausted, with reasons.
// A Select meets few distinct reasons, so each list is searched from its beginning.
#pragma once

#include <array>
#include <vector>

#include "sched/scratch.h"

namespace berth::sched {

struct SelectCounts {
  std::int32_t evaluated = 0, filtered = 0, exhausted = 0;
  std::vector<Count> reasons, classes_filtered;      ///< ids of Reasons; codes of the class column
  std::vector<Count> dimensions, classes_exhausted;  ///< likewise
  std::uint32_t empty_class = 0;                     ///< code of the node class "", 0 if no node has it
  std::uint32_t port_events = 0;                     ///< port collisions met in the attempt (R-RANK-608)

  void clear();
  /// Times by code, of the first codes: which one comes next is as good as random, so a list is not searched each time.
  class Tally {
   public:
    static constexpr std::uint32_t kCodes = 64;
    [[nodiscard]] static constexpr bool takes(std::uint32_t code) { return code < kCodes; }
    void add(std::uint32_t code) {
      if (times_[code]++ == 0) met_[met_count_++] = static_cast<std::uint8_t>(code);
    }
    /// Calls visit(code, times) in the order in which they were met, and begins anew.
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
  /// Also of a dimension without a metric (R-RANK-612), which counts nothing.
  void exhaust(std::uint32_t node_class, std::uint32_t dimension, std::int32_t times = 1);

  /// Spans of the lists here, or, with an arena, of copies there; then into metrics that are empty.
  [[nodiscard]] SelectMetrics metrics() const;
  void metrics(Arena& arena, SelectMetrics& out) const;
};

}  // namespace berth::sched
