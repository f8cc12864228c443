// Decides whether a group fits on a node, and what it would hold there (R-RANK-532, 533, 601 to 662).
//
// The verdict is found in one of three ways. If ports, devices and cores are neither requested nor held, it follows
// from the amounts: plain_fit(), two cache lines. Otherwise a resource kind (resource_table.h) may decide by columns.
// If none can, an option is built step by step over the node's proposed allocations; with `evict`, a step that fails
// evicts victims and is repeated. is_special() is false in the first case only.
#pragma once

#include "base/prefetch.h"
#include "sched/node/resources/cores.h"

namespace berth::sched {

class NodeFit : public FitParts {
 public:
  using FitParts::FitParts;

  void start();

  /// Writes to `cell` whether the group fits on the node, and its score or else the dimension that is exhausted.
  void decide(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// The same with eviction, if the group does not fit without. The victims are in `victims`.
  void decide_evicting(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// True if amounts alone do not decide the group's fit on most nodes.
  [[nodiscard]] bool is_expensive(const tables::CompiledGroup& group) const {
    return !tables::serves(kPorts, needs_of(group)) && !cores_decide(*this, group);
  }
  [[nodiscard]] PortFit::ByProfile ports_by_profile(const tables::CompiledGroup& group) {
    return attempt.by_amounts() && !is_expensive(group) ? ports.by_profile(group) : PortFit::ByProfile{};
  }
  /// Prefetches what select() reads of the node.
  void prefetch_node(tables::NodeRow row, const tables::CompiledGroup& group) const {
    base::prefetch_to_write(&scratch.by_attempt.marks[row]);
    if (!asks_more(group)) return;
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    nodes.fixed->spec.prefetch(row);
    nodes.fixed->capacity.prefetch(row);
    if (!nodes.ports.empty()) nodes.ports.prefetch(row);
    scratch.shapes.prefetch(kind_of(group));
  }
  /// Prefetches what the data prefetched by prefetch_node() refers to.
  void prefetch_ports(tables::NodeRow row, const tables::CompiledGroup& group) const {
    if (asks_more(group)) base::prefetch_all(attempt.snapshot->nodes.spec(row).ports);
  }
  /// Returns the allocation for the best node.
  [[nodiscard]] Selected select(const Found& best, const GroupView& view);
  /// Number of the pool of reused resources for such groups (tables/shape_pool.h): by tasks and kinds requested.
  [[nodiscard]] static std::uint8_t kind_of(const tables::CompiledGroup& group);

 private:
  bool decide_by_amounts(tables::NodeRow row, const tables::CompiledGroup& group, Cell& cell);
  void decide_special(tables::NodeRow row, const GroupView& view, bool evict, Cell& cell);
  /// Writes what the group would hold on the node to `option`. False if it does not fit; the reason is then in
  /// `option.dimension`. `chosen`: it is known to fit.
  bool build_option(tables::NodeRow row, const GroupView& view, bool evict, bool chosen);
  bool assign_tasks(Building& building);
};

}  // namespace berth::sched
