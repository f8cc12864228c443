// What every kind of resource works with (resource_kind.h): the attempt, the allocations of the node under way, what
// columns tell of its ports, and memory that is used again for each option. Threads: one worker.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "sched/node/plain_fit.h"
#include "sched/node/port_fit.h"
#include "sched/node/scorer.h"
#include "sched/node/victim_search.h"

namespace berth::sched {

struct FitParts {
  FitParts(Attempt& of, PlanEffects& effects)
      : attempt(of),
        scratch(of.scratch),
        proposed(of, effects),
        scorer(of, effects, proposed),
        victims(of, effects, proposed),
        ports(of, proposed) {}

  Attempt& attempt;
  Scratch& scratch;
  Proposed proposed;
  Scorer scorer;
  VictimSearch victims;
  PortFit ports;
  Needs added;                ///< by the kinds of resources in use, to those of every group
  bool examines_all = false;  ///< some kind reads every allocation of the node

  /// The needs that decide which columns tell what fits.
  [[nodiscard]] Needs needs_of(const tables::CompiledGroup& group) const { return group.needs | added; }
  /// Whether the group requests more than cpu, memory and disk.
  [[nodiscard]] bool asks_more(const tables::CompiledGroup& group) const {
    return !tables::serves(kNoResource, needs_of(group));
  }
  /// Whether a node holds more than amounts, or its ports are invalid.
  [[nodiscard]] bool holds_more(const tables::NodeUse& use, const tables::NodeCapacity& capacity,
                                const NodeOverlay* overlay) const {
    return (use.port_allocs != 0 && !ports.no_conflicts()) || use.core_allocs != 0 || capacity.network_invalid != 0 ||
           (overlay && overlay->complex_allocs != 0);
  }
  /// Whether ports, devices or cores are asked for or held on the node.
  [[nodiscard]] bool is_special(tables::NodeRow row, const tables::CompiledGroup& group) const {
    if (asks_more(group)) return true;
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    return holds_more(nodes.use[row], nodes.capacity(row), scratch.overlay(row));
  }
  /// Whether amounts do for the node, but for what the chosen one is given: nothing is special there, or ports and
  /// cores are all that is, and those asked for are free for certain.
  [[nodiscard]] bool figures_do(tables::NodeRow row, const tables::CompiledGroup& group) {
    return !is_special(row, group) ||
           (attempt.by_amounts() && tables::serves(kPorts, needs_of(group)) && ports.free_for_certain(row, group));
  }
  /// What the group asks of the amounts of a node, before anything else does.
  [[nodiscard]] PlainFit plain(tables::NodeRow row, const tables::CompiledGroup& group) const {
    const NodeOverlay* const overlay = scratch.overlay(row);
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    return plain_fit(nodes.capacity(row), nodes.use[row], overlay ? *overlay : kUntouched, group);
  }
  /// The verdict and, where it fits, the score that follow from such a fit, into `cell`.
  void decide_by(const PlainFit& fit, tables::NodeRow row, const tables::CompiledGroup& group, const Option* built,
                 Cell& cell) {
    cell.fit = fit.dimension == kReasonNone ? kPass : kFail;
    cell.dimension = fit.dimension;
    if (cell.fit == kPass) scorer.score(row, group, fit.use, built, cell.score);
  }

  // Of the option being built, used again for the next one.
  Option option;
  model::AllocatedTask evicting_task;  ///< evict mode enters a task once it has all
  std::vector<model::AllocatedPort> offered_ports;
  std::vector<std::uint16_t> cores;  ///< taken on the node, the option's own included
  model::AllocatedDevice device;
  model::FlatResources flat, rest;
  rank::NodeFit room;
  std::string text;
};

}  // namespace berth::sched
