// Whether a group fits on a node, and what it would hold there (R-RANK-532, 533, 601 to 662).
//
// Two ways to one verdict. Where nobody asks for or holds ports, devices or cores, it follows from two lines of
// amounts: plain_fit(). Elsewhere each kind of resource (resource_table.h) tells by columns if it can; else an option
// is built step by step over the node's proposed allocations, and with `evict` each step that fails takes victims and
// is made again. Which one: is_special().
#pragma once

#include "base/prefetch.h"
#include "sched/node/resources/cores.h"

namespace berth::sched {

class NodeFit : public FitParts {
 public:
  using FitParts::FitParts;

  void start();

  /// Fit and, where it fits, score of the group on the node, or the dimension that is short; into fit, score and
  /// dimension of `cell`.
  void decide(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// Likewise where it does not fit as things are and somebody may go; who does is in `victims`.
  void decide_evicting(tables::NodeRow row, const GroupView& view, Cell& cell);
  /// True if amounts alone do not decide the group's fit on most nodes.
  [[nodiscard]] bool is_expensive(const tables::CompiledGroup& group) const {
    return !tables::serves(kPorts, needs_of(group)) && !cores_tell(*this, group);
  }
  [[nodiscard]] PortFit::Figures port_figures(const tables::CompiledGroup& group) {
    return attempt.by_amounts() && !is_expensive(group) ? ports.figures(group) : PortFit::Figures{};
  }
  /// Asks for what select() will read of the node.
  void ask_ahead(tables::NodeRow row, const tables::CompiledGroup& group) const {
    base::prefetch_to_write(&scratch.by_attempt.marks[row]);
    if (!asks_more(group)) return;
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    nodes.fixed->spec.prefetch(row);
    nodes.fixed->capacity.prefetch(row);
    if (!nodes.ports.empty()) nodes.ports.prefetch(row);
    scratch.shapes.ask_ahead(kind_of(group));
  }
  /// Asks for what is found by what ask_ahead() asked for.
  void ask_further(tables::NodeRow row, const tables::CompiledGroup& group) const {
    if (asks_more(group)) base::prefetch_all(attempt.snapshot->nodes.spec(row).ports);
  }
  /// The allocation that goes to the best node.
  [[nodiscard]] Selected select(const Found& best, const GroupView& view);
  /// What groups have in common for whose allocations memory is kept together (tables/shape_pool.h).
  [[nodiscard]] static std::uint8_t kind_of(const tables::CompiledGroup& group);

 private:
  bool decide_by_amounts(tables::NodeRow row, const tables::CompiledGroup& group, Cell& cell);
  void decide_special(tables::NodeRow row, const GroupView& view, bool evict, Cell& cell);
  /// What the group would hold on the node, into `option`; false where it does not fit, and `option.dimension` says
  /// why. `chosen`: it is known to fit.
  bool build_option(tables::NodeRow row, const GroupView& view, bool evict, bool chosen);
  bool assign_tasks(Building& building);
};

}  // namespace berth::sched
