#include "sched/node/node_fit.h"

#include <algorithm>

#include "model/job.h"
#include "sched/node/resource_table.h"
#include "sched/node/set_keys.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

void NodeFit::start() {
  added = {};
  examines_all = false;
  for (const ResourceKind& kind : scratch.resources) {
    added = added | kind.adds;
    examines_all = examines_all || kind.examines_all;
  }
  ports.start();
  scorer.start();
  victims.start();
}

std::uint8_t NodeFit::kind_of(const CompiledGroup& group) {
  const auto tasks = static_cast<unsigned>(std::min<std::size_t>(group.tasks.size(), 15));
  const unsigned asks = unsigned{group.has_network} | unsigned{group.has_task_network} << 1 |
                        unsigned{group.has_devices} << 2 | unsigned{group.has_cores} << 3;
  return static_cast<std::uint8_t>(tasks << 4 | asks);
}

/// Like decide(), for the usual case that amounts alone decide. False: they do not.
inline bool NodeFit::decide_by_amounts(NodeRow row, const CompiledGroup& group, Cell& cell) {
  if (asks_more(group)) return false;
  const tables::NodeUse& use = attempt.snapshot->nodes.use[row];
  const tables::NodeCapacity& capacity = attempt.snapshot->nodes.capacity(row);
  const NodeOverlay* const overlay = scratch.overlay(row);
  if (holds_more(use, capacity, overlay)) return false;
  const PlainFit fit = plain_fit(capacity, use, overlay ? *overlay : kUntouched, group);
  cell.fit = fit.dimension == kReasonNone ? kPass : kFail;
  cell.dimension = fit.dimension;
  if (cell.fit == kPass) scorer.score(row, capacity, overlay, group, fit.use, nullptr, cell.score);
  return true;
}

void NodeFit::decide(NodeRow row, const GroupView& v, Cell& cell) {
  if (decide_by_amounts(row, *v.group, cell)) return;
  if (!decide_by_columns(*this, row, v, cell)) decide_special(row, v, false, cell);
}

void NodeFit::decide_special(NodeRow row, const GroupView& v, bool evict, Cell& cell) {
  ++scratch.source_counts.options;
  if (!build_option(row, v, evict, false)) {
    cell.fit = kFail;
    cell.dimension = option.dimension;
    return;
  }
  cell.fit = kPass;
  scorer.score(row, *v.group, option.use, &option, cell.score);
}

void NodeFit::decide_evicting(NodeRow row, const GroupView& v, Cell& cell) {
  BERTH_DEBUG_ASSERT(cell.fit == kFail);
  if (is_special(row, *v.group))
    decide_special(row, v, true, cell);
  else
    evict_by_amounts(*this, row, v, cell);
}

bool NodeFit::build_option(NodeRow row, const GroupView& v, bool evict, bool chosen) {
  const CompiledGroup& group = *v.group;
  option.resources = &scratch.shapes.next(kind_of(group));
  option.dimension = kReasonNone;
  option.device_weight = option.device_matched = 0;
  victims.victims.clear();
  // Choosing victims needs every allocation, everything else only those that hold ports, devices or cores. A strategy
  // gets the devices in use as input.
  if (evict || examines_all)
    proposed.collect(row);
  else
    proposed.collect_special(row, scratch.strategy_fit ? Proposed::Devices::each
                                  : group.has_devices  ? Proposed::Devices::by_column
                                                       : Proposed::Devices::none);
  model::AllocatedResources& resources = *option.resources;
  if (evict) {  // the search for victims reads the resources assigned so far
    resources.tasks.clear(), resources.task_lifecycles.clear();
    resources.shared.networks.clear(), resources.shared.ports.clear();
  } else {
    const auto name = [](const model::Task& task) -> const std::string& { return task.name; };
    set_keys(resources.tasks, group.spec->tasks, name), set_keys(resources.task_lifecycles, group.spec->tasks, name);
  }
  resources.shared.disk_mb = group.disk_mb;
  Building building{*this, row, v, evict, option, v.devices};
  const auto enter = [&](const ResourceKind& kind) { return !kind.enter || kind.enter(building); };
  const auto judge = [&](const ResourceKind& kind) { return !kind.judge || kind.judge(building); };
  if (!each_resource(scratch, enter) || !assign_tasks(building)) return false;
  if (!chosen) return each_resource(scratch, judge);
  BERTH_DEBUG_ASSERT(each_resource(scratch, judge));  // the chosen node has room
  return true;
}

/// Assigns the resources of each kind to the group's tasks.
bool NodeFit::assign_tasks(Building& b) {
  const CompiledGroup& group = b.group();
  model::AllocatedResources& resources = *option.resources;
  for (std::size_t t = 0; t < group.tasks.size(); ++t) {
    const model::Task& spec = group.spec->tasks[t];
    const tables::CompiledTask& ask = group.tasks[t];
    if (b.evict) evicting_task = {};
    model::AllocatedTask& out = b.evict ? evicting_task : resources.tasks.find(spec.name)->second;
    out.cpu.cpu_shares = ask.cpu_mhz;
    out.cpu.reserved_cores.clear();
    out.memory.memory_mb = ask.memory_mb;
    out.memory.memory_max_mb = attempt.config.memory_oversubscription ? ask.memory_max_mb : 0;
    out.networks.clear();
    TaskGets gets{spec, ask, out};
    if (!each_resource(scratch, [&](const ResourceKind& kind) { return !kind.assign || kind.assign(b, gets); }))
      return false;
    resources.task_lifecycles[spec.name] = spec.lifecycle;
    if (b.evict) resources.tasks[spec.name] = std::move(evicting_task);
  }
  return true;
}

Selected NodeFit::select(const Found& best, const GroupView& v) {
  BERTH_ASSERT(best.node != kNoRow);
  const CompiledGroup& group = *v.group;
  Selected out{best};
  // A group that requests only amounts gets exactly these, whatever other allocations hold.
  if (asks_more(group) || (!best.victims.empty() && is_special(best.node, group))) {
    const bool evicts = !best.victims.empty();
    [[maybe_unused]] const bool built = build_option(best.node, v, evicts, !evicts);
    BERTH_ASSERT(built);
    out.shape = scratch.shapes.share(kind_of(group));
  } else if (attempt.config.memory_oversubscription) {
    out.shape = group.shape_oversubscribed;
  }
  out.held = out.shape ? out.shape.get() : group.shape.get();
  return out;
}

}  // namespace berth::sched
