// May a node take what a plan has for it (R-CTRL-609 to 614)? The rules, over entries of whatever form a plan has.
//
// Threads: one owner; scratch memory is reused from call to call.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/bit_hash.h"
#include "rank/fit.h"
#include "tables/state.h"

namespace berth::plan {

/// One allocation that a plan lists for the node, new or existing.
struct NodeEntry {
  base::Uuid id;
  tables::Client client = tables::Client::pending;
  bool consumes = true;                                  ///< false: client-terminal, uses nothing
  const model::AllocatedResources* resources = nullptr;  ///< what it would hold
  const model::TaskGroup* group = nullptr;               ///< null: job or group unknown
};
/// `alloc` as an entry; without a job of its own it is of `job`, which may be null. Both outlive it.
[[nodiscard]] NodeEntry entry_of(const model::Allocation& alloc, const model::Job* job);

struct NodeVerdict {
  bool fit = true;
  std::string reason;  ///< of a rejection, verbatim
  std::string error;   ///< not empty: the whole plan fails (R-CTRL-614)
};

class NodeCheck {
 public:
  /// `entries`: in plan order, at least one. `leaving`: IDs of the plan's stops and preemptions on the node.
  /// `row` kNoRow: no such node.
  [[nodiscard]] NodeVerdict check(const tables::Snapshot& state, tables::NodeRow row,
                                  std::span<const NodeEntry> entries, std::span<const base::Uuid> leaving);

  /// Whether two of the holders of ports, or one and `held` (may be null), may hold the same on a node; false is
  /// certain.
  [[nodiscard]] bool may_collide(const std::shared_ptr<const tables::NodeSpec>& spec, const tables::HeldPorts* held,
                                 std::span<const tables::ResourceShape* const> holders);

 private:
  const rank::NodePorts& node_ports(const std::shared_ptr<const tables::NodeSpec>& spec);

  struct SpecPorts {
    std::shared_ptr<const tables::NodeSpec> spec;  // pins the spec, so that the key stays its own
    std::unique_ptr<rank::NodePorts> ports;
  };
  tsl::robin_map<const tables::NodeSpec*, SpecPorts, base::BitHash> ports_;
  std::vector<tables::AllocRow> rows_;
  std::vector<std::string> ids_;
  std::vector<rank::FitEntry> fit_entries_;
  rank::NetworkIndex network_index_;
};

}  // namespace berth::plan
