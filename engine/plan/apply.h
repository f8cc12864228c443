// The plan applier: checks a plan against the newest state and commits what still fits (R-CTRL-601 ff.).
//
// Check and commit happen under one Commit, so no other change comes between, and a snapshot shows the whole plan or
// nothing of it. Nodes are checked one by one: a plan made on an older snapshot is refused where its node has filled up
// or gone away meanwhile. For most nodes the columns decide: they count at least what the rule counts (allocations that
// were told to stop but still run stand in them, R-CTRL-612), so what fits by them fits. Ports, devices, cores, volume
// claims and nodes that look full go through rank::allocs_fit.
//
// In-place updates (R-CTRL-610 row 5), the rejected-node tracker and preemption evaluations (R-CTRL-627) are the
// caller's: PlanRows does not hold the first, and the others need a clock and the broker.
#pragma once

#include <string>
#include <vector>

#include "plan/plan_rows.h"
#include "rank/fit.h"
#include "tables/commit.h"

namespace berth::plan {

struct ApplyResult {
  std::uint64_t index = 0;                      ///< of the commit; 0 when nothing was committed (R-CTRL-621)
  std::uint64_t refresh_index = 0;              ///< of a partial plan: state the worker must see next (R-CTRL-617, 622)
  std::uint32_t committed = 0, refused = 0;     ///< planned allocations
  std::uint32_t stopped = 0;                    ///< stops and preemptions that were written
  std::vector<tables::NodeRow> rejected_nodes;  ///< ascending node ID
  std::vector<std::string> reasons;             ///< beside rejected_nodes, verbatim (R-CTRL-610, 613)
  std::string error;  ///< not empty: the whole plan failed and the evaluation is nacked (R-CTRL-614, 620)
  [[nodiscard]] bool full() const { return refused == 0; }  ///< R-CTRL-624
};

class Applier {
 public:
  explicit Applier(tables::StateStore& store) : store_(store) {}

  /// Commits at `index` what passes. A rejected node loses all the plan had for it (R-CTRL-615); with `all_at_once` the
  /// first one empties the plan (R-CTRL-618). Cost: O(planned allocations and stops); no heap allocation in the steady
  /// state while the columns decide. In debug builds the tables are checked afterwards.
  void apply(const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result);

 private:
  struct Failure {
    tables::NodeRow node;
    std::string reason;
    bool is_error;
  };
  /// Whether the node of the planned allocation `first` takes what the plan has for it (R-CTRL-610 to 613).
  bool check(const tables::Snapshot& state, const PlanRows& plan, std::uint32_t first);
  bool check_exactly(const tables::Snapshot& state, const PlanRows& plan, std::uint32_t first);
  bool fail(tables::NodeRow node, std::string reason, bool is_error = false);
  const rank::NodePorts& node_ports(const std::shared_ptr<const tables::NodeSpec>& spec);

  tables::StateStore& store_;
  std::vector<Failure> failures_;
  std::vector<tables::AllocRow> rows_;
  std::vector<std::string> ids_;
  std::vector<rank::FitEntry> entries_;
  rank::NetworkIndex network_index_;
  struct SpecPorts {
    std::shared_ptr<const tables::NodeSpec> spec;  // pins the spec, so that the key stays its own
    std::unique_ptr<rank::NodePorts> ports;
  };
  tsl::robin_map<const tables::NodeSpec*, SpecPorts> ports_;
};

/// One plan, without keeping an Applier's memory.
void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result);

}  // namespace berth::plan
