// Shared by all resource kinds (resource_kind.h): the attempt, the allocations of the current node, port lookups by
// column, and memory reused for each option. Threads: one worker.
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
  Needs added;                ///< by the resource kinds in use, to those of every group
  bool examines_all = false;  ///< some kind reads every allocation of the node

  /// The needs that decide by which columns the fit can be decided.
  [[nodiscard]] Needs needs_of(const tables::CompiledGroup& group) const { return group.needs | added; }
  /// True if the group requests more than cpu, memory and disk.
  [[nodiscard]] bool asks_more(const tables::CompiledGroup& group) const {
    return !tables::serves(kNoResource, needs_of(group));
  }
  /// True if the node holds more than cpu, memory and disk, or its ports are invalid.
  [[nodiscard]] bool holds_more(const tables::NodeUse& use, const tables::NodeCapacity& capacity,
                                const NodeOverlay* overlay) const {
    return (use.port_allocs != 0 && !ports.no_conflicts()) || use.core_allocs != 0 || capacity.network_invalid != 0 ||
           (overlay && overlay->complex_allocs != 0);
  }
  /// True if the group requests, or the node holds, ports, devices or cores.
  [[nodiscard]] bool is_special(tables::NodeRow row, const tables::CompiledGroup& group) const {
    if (asks_more(group)) return true;
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    return holds_more(nodes.use[row], nodes.capacity(row), scratch.overlay(row));
  }
  /// True if the amounts alone decide the fit on the node: ports, devices and cores are neither requested nor held, or
  /// only ports and cores are held, they do not collide, and the requested ports are certainly free.
  [[nodiscard]] bool amounts_decide(tables::NodeRow row, const tables::CompiledGroup& group) {
    return !is_special(row, group) ||
           (attempt.by_amounts() && tables::serves(kPorts, needs_of(group)) && ports.free_for_certain(row, group));
  }
  /// The fit by cpu, memory, disk and number of allocations alone.
  [[nodiscard]] PlainFit plain(tables::NodeRow row, const tables::CompiledGroup& group) const {
    const NodeOverlay* const overlay = scratch.overlay(row);
    const tables::NodeTable& nodes = attempt.snapshot->nodes;
    return plain_fit(nodes.capacity(row), nodes.use[row], overlay ? *overlay : kUntouched, group);
  }
  /// Writes the verdict of `fit` to `cell`, and the score if the group fits.
  void decide_by(const PlainFit& fit, tables::NodeRow row, const tables::CompiledGroup& group, const Option* built,
                 Cell& cell) {
    cell.fit = fit.dimension == kReasonNone ? kPass : kFail;
    cell.dimension = fit.dimension;
    if (cell.fit == kPass) scorer.score(row, group, fit.use, built, cell.score);
  }

  // The option under construction; reused for the next one.
  Option option;
  model::AllocatedTask evicting_task;  ///< evict mode adds a task once it is complete
  std::vector<model::AllocatedPort> offered_ports;
  std::vector<std::uint16_t> cores;  ///< in use on the node, those of the option included
  model::AllocatedDevice device;
  model::FlatResources flat, rest;
  rank::NodeFit room;
  std::string text;
};

}  // namespace berth::sched
