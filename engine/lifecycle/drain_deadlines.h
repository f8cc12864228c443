// Deadlines of draining nodes, coalesced (R-CTRL-1040, 1041): nodes whose deadlines are less than five seconds apart
// end together, at the last of these deadlines.
//
// One entry per node that drains, at most a few hundred: a sorted array, 16 bytes each. Threads: one.
#pragma once

#include <cstdint>
#include <vector>

#include "lifecycle/timers.h"
#include "tables/node_table.h"

namespace berth::lifecycle {

class DrainDeadlines {
 public:
  static constexpr std::int64_t kCoalesceNs = 5'000'000'000;

  explicit DrainDeadlines(std::int64_t coalesce_ns = kCoalesceNs) : coalesce_ns_(coalesce_ns) {}

  /// Watches the node's deadline; replaces an earlier one.
  void watch(tables::NodeRow node, std::int64_t deadline);
  /// A forced drain: due at once, never together with a regular deadline (R-CTRL-1041).
  void watch_forced(tables::NodeRow node);
  void remove(tables::NodeRow node);

  /// Time at which the next nodes are due; kNever without any. Forced nodes are due at the smallest instant.
  [[nodiscard]] std::int64_t next_deadline() const {
    return forced_.empty() && deadlines_.empty() ? kNever : due_together();
  }
  /// Moves the nodes that are due together at `now` into `nodes`, unordered; false if there are none.
  [[nodiscard]] bool take_due(std::int64_t now, std::vector<tables::NodeRow>& nodes);

 private:
  struct Deadline {
    std::int64_t at;
    tables::NodeRow node;
    friend bool operator<(const Deadline& a, const Deadline& b) { return a.at != b.at ? a.at < b.at : a.node < b.node; }
  };
  [[nodiscard]] std::int64_t due_together() const;

  std::int64_t coalesce_ns_;
  std::vector<Deadline> deadlines_;      // ascending
  std::vector<tables::NodeRow> forced_;  // in the order of watching
};

}  // namespace berth::lifecycle
