// Decides whether a node accepts a plan's entries (R-CTRL-609 to 614). These are the rules, for entries of any plan
// format.
//
// Threads: one owner; scratch memory is reused from call to call.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bit_hash.h"
#include "rank/fit.h"
#include "tables/job_table.h"

namespace berth::plan {

/// One allocation that a plan lists for the node, new or existing.
struct NodeEntry {
  base::Uuid id;
  tables::Client client = tables::Client::pending;
  bool consumes = true;                                  ///< false: client-terminal, uses nothing
  const model::AllocatedResources* resources = nullptr;  ///< what it holds
  const model::TaskGroup* group = nullptr;               ///< null: job or group unknown
};
/// Converts `alloc` to an entry. Without an embedded job it belongs to `job`, which may be null. Both must outlive it.
[[nodiscard]] NodeEntry entry_of(const model::Allocation& alloc, const model::Job* job);

struct NodeVerdict {
  bool fit = true;
  std::string reason;  ///< of the rejection, verbatim
  std::string error;   ///< not empty: the whole plan fails (R-CTRL-614)
};

class NodeCheck {
 public:
  /// `entries`: in plan order, at least one. `leaving`: IDs of the plan's stops and preemptions on the node.
  /// `row` kNoRow: no such node.
  [[nodiscard]] NodeVerdict check(const tables::Snapshot& state, tables::NodeRow row,
                                  std::span<const NodeEntry> entries, std::span<const base::Uuid> leaving);

 private:
  void list(const tables::Snapshot& state, std::span<const NodeEntry> entries);

  std::vector<tables::AllocRow> rows_;
  std::vector<std::string> ids_;  // only for the text of a collision
  std::vector<rank::FitEntry> fit_entries_;
  network::NetworkIndex network_index_;
};

}  // namespace berth::plan
