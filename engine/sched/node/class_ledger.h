// Cache by attempt: the verdicts that the Selects so far left for computed classes (R-FEAS-409 to 415). Every Select is
// recorded here when it ends, by any source, so that any source may answer the next one.
//
// The general source writes the verdict of each node it visits itself. A fast source records only which places of the
// visiting order it visited, for which group and with which network parameters (R-FEAS-309). The verdicts of such
// visits are computed when the ledger is read: NodeChecks::class_verdicts().
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "feasible/class_cache.h"

namespace berth::sched {

class ClassLedger {
 public:
  /// Visited places of the order: `count` from `first` on, wrapping around at the end. All places: in any order.
  struct Visit {
    std::uint32_t group;    ///< position in the job's list
    std::uint32_t network;  ///< number of the network parameters that applied
    std::uint32_t first, count;
    bool all;
  };

  feasible::ClassCache classes;  ///< verdicts of all visits except the unread ones

  void start() {
    unread_.clear(), full_groups_.clear();
    selects_ = reached_ = 0;
    has_partial_ = false;
  }

  // Every Select ends with one of these calls.
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

  /// Number of Selects recorded in this attempt.
  [[nodiscard]] std::uint32_t selects() const { return selects_; }
  /// True if a recorded Select may not have visited every candidate.
  [[nodiscard]] bool has_partial() const { return has_partial_; }
  /// The groups passed to note_all(), in order.
  [[nodiscard]] const std::vector<std::uint32_t>& full_groups() const { return full_groups_; }
  [[nodiscard]] bool visited_all(std::uint32_t group) const {
    return std::find(full_groups_.begin(), full_groups_.end(), group) != full_groups_.end();
  }
  /// Fast sources visited no place from here on, apart from the Selects of note_all().
  [[nodiscard]] std::uint32_t reached() const { return reached_; }

  [[nodiscard]] bool has_unread() const { return !unread_.empty(); }
  /// Copies the visits whose verdicts are not in `classes` to `out`, in order, and marks them as read.
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
