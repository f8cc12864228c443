// Decides by the columns of the tables whether a node accepts a plan's placements and updates. They count at least what
// the rule counts: allocations that were stopped and still run are included (R-CTRL-612). So true is certain; after
// false, node_check.h decides.
//
// Threads: one owner; scratch memory is reused from call to call.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "network/network_index.h"
#include "plan/plan_rows.h"
#include "tables/job_table.h"

namespace berth::plan {

/// The group of a planned allocation, in the version of its job that it is placed with.
[[nodiscard]] const tables::CompiledGroup& planned_group(const tables::Snapshot& state, const PlanRows& plan,
                                                         const PlannedAlloc& alloc);

/// An update of a plan by its node, with its position in PlanRows::updates.
using UpdateOnNode = std::pair<tables::NodeRow, std::uint32_t>;

class ColumnCheck {
 public:
  /// True if a node accepts all allocations planned for it (R-CTRL-610 to 613). `first`: the first of them in the plan.
  /// `updates`: the plan's in-place updates on this node.
  [[nodiscard]] bool fits(const tables::Snapshot& state, const PlanRows& plan, std::uint32_t first,
                          std::span<const UpdateOnNode> updates = {});
  /// True if the node accepts these updates, all that the plan lists for it.
  [[nodiscard]] static bool accepts(const tables::Snapshot& state, const PlanRows& plan, tables::NodeRow node,
                                    std::span<const UpdateOnNode> updates);

 private:
  struct Change {
    std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  };
  /// Adds to `sum` by how much the updates change what their allocations hold. False: node_check.h decides.
  [[nodiscard]] bool add_updates(const tables::Snapshot& state, const PlanRows& plan, tables::NodeRow node,
                                 std::span<const UpdateOnNode> updates, Change& sum);
  [[nodiscard]] bool may_collide(const tables::Snapshot& state, const PlanRows& plan, tables::NodeRow node,
                                 std::uint32_t first);
  [[nodiscard]] bool may_share(const tables::Snapshot& state, const PlanRows& plan, tables::NodeRow node,
                               std::uint32_t first);
  [[nodiscard]] bool take_instances(const tables::ResourceShape& shape);

  network::NetworkIndex ports_;
  std::vector<tables::AllocRow> updated_;                                                // on the node
  std::vector<const tables::ResourceShape*> shapes_;                                     // holders of ports
  std::vector<std::pair<const model::AllocatedDevice*, const std::string*>> instances_;  // held on the node
  std::vector<std::uint64_t> marks_;  // by instance: last bytes of its ID, see mark_of()
  std::vector<std::uint16_t> cores_;  // held on the node, ascending
};

}  // namespace berth::plan
