// Kept by attempt: which verdicts the Selects so far left for computed classes (R-FEAS-409 to 415). Every Select is
// noted here when it ends, whichever source answered it, so that any source may answer the next one.
//
// The general source writes the verdict of each node that it visits itself. A fast source notes only which places of
// the visiting order it visited, for which group and under which network parameters (R-FEAS-309). The verdicts of such
// visits are computed when something reads the ledger: NodeChecks::class_verdicts().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "feasible/class_cache.h"

namespace berth::sched {

class ClassLedger {
 public:
  /// Visited places of the order, from `first` on and past its end to its beginning; all of them: in any order.
  struct Visit {
    std::uint32_t group;    ///< position in the job's list
    std::uint32_t network;  ///< number of the network parameters in force
    std::uint32_t first, count;
    bool all;
  };

  feasible::ClassCache classes;  ///< the verdicts of all visits but the unread ones

  void start() {
    unread_.clear(), full_groups_.clear();
    selects_ = reached_ = 0;
    has_partial_ = false;
  }

  // One of these ends each Select.
  /// The Select wrote its verdicts itself.
  void note_general() {
    ++selects_;
    has_partial_ = true;
  }
  /// The Select visited `count` of `size` places from `first` on.
  void note_places(std::uint32_t group, std::uint32_t network, std::uint32_t first, std::uint32_t count,
                   std::uint32_t size) {
    ++selects_;
    has_partial_ = true;
    reached_ = std::max(reached_, std::min(first + count, size));
    if (!unread_.empty()) {
      Visit& last = unread_.back();
      const std::uint32_t end = last.first + last.count;
      const bool goes_on = last.count == size || (end < size ? end : end - size) == first;
      if (goes_on && last.group == group && last.network == network && !last.all)
        return static_cast<void>(last.count = std::min(last.count + count, size));
    }
    unread_.push_back({group, network, first, count, false});
  }
  /// The Select visited every candidate.
  void note_all(std::uint32_t group, std::uint32_t network) {
    ++selects_;
    if (visited_all(group)) return;
    full_groups_.push_back(group);
    unread_.push_back({group, network, 0, 0, true});
  }

  /// Selects noted in this attempt.
  [[nodiscard]] std::uint32_t selects() const { return selects_; }
  /// Whether some Select was noted that may not have visited every candidate.
  [[nodiscard]] bool has_partial() const { return has_partial_; }
  /// Groups noted by note_all(), in order.
  [[nodiscard]] const std::vector<std::uint32_t>& full_groups() const { return full_groups_; }
  [[nodiscard]] bool visited_all(std::uint32_t group) const {
    return std::find(full_groups_.begin(), full_groups_.end(), group) != full_groups_.end();
  }
  /// Fast sources visited no place from here on, but for those of note_all().
  [[nodiscard]] std::uint32_t reached() const { return reached_; }

  [[nodiscard]] bool has_unread() const { return !unread_.empty(); }
  /// The visits whose verdicts are not in `classes`, in order, into `out`; they count as read.
  void take_unread(std::vector<Visit>& out) {
    out.clear();
    out.swap(unread_);
  }

 private:
  std::vector<Visit> unread_;
  std::vector<std::uint32_t> full_groups_;
  std::uint32_t selects_ = 0, reached_ = 0;
  bool has_partial_ = false;
};

}  // namespace berth::sched
