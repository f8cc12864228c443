#include "sched/node/resources/amounts.h"

#include <utility>

#include "base/wrap.h"
#include "model/flatten.h"
#include "tables/state.h"

namespace berth::sched {

using tables::NodeRow;

namespace {

void add_cores(const tables::HeldCores& held, std::vector<std::uint16_t>& out) {
  held.each([&](std::uint16_t core) { out.push_back(core); });
}

void add_amounts(const tables::ResourceShape& shape, FitUse& use) {
  base::wrap_add_to(use.cpu_mhz, shape.cpu_mhz);
  base::wrap_add_to(use.memory_mb, shape.memory_mb);
  base::wrap_add_to(use.disk_mb, shape.disk_mb);
}

/// Adds the allocations that `proposed` left out to the fit sum: one entry with their amounts, and with all held cores
/// of the state if these are stored as a set. If the number of allocations is limited, empty entries stand for the
/// others. False: `proposed` has all allocations.
bool sum_others(FitParts& parts, NodeRow row, bool count_each) {
  const tables::NodeUse& use = parts.attempt.snapshot->nodes.use[row];
  const Proposed& proposed = parts.proposed;
  model::FlatResources& rest = parts.rest;
  rest.clear();
  rest.cpu_mhz = use.cpu_mhz;
  rest.memory_mb = use.memory_mb;
  rest.disk_mb = use.disk_mb;
  std::int64_t entries = static_cast<std::int64_t>(use.alloc_count) - static_cast<std::int64_t>(proposed.shapes.size());
  if (const NodeOverlay* overlay = parts.scratch.overlay(row)) {
    base::wrap_add_to(rest.cpu_mhz, overlay->cpu_mhz);
    base::wrap_add_to(rest.memory_mb, overlay->memory_mb);
    base::wrap_add_to(rest.disk_mb, overlay->disk_mb);
    entries += overlay->allocs;
  }
  for (const tables::ResourceShape* shape : proposed.shapes) {
    base::wrap_sub_from(rest.cpu_mhz, shape->cpu_mhz);
    base::wrap_sub_from(rest.memory_mb, shape->memory_mb);
    base::wrap_sub_from(rest.disk_mb, shape->disk_mb);
  }
  if (entries <= 0) return false;
  if (proposed.held_cores()) add_cores(*proposed.held_cores(), rest.cores);
  parts.scratch.work.fit.add(&rest);
  for (std::int64_t i = 1; count_each && i < entries; ++i) parts.scratch.work.fit.add(nullptr);
  return true;
}

}  // namespace

bool judge_amounts(Building& b) {
  FitParts& parts = b.parts;
  const Proposed& proposed = parts.proposed;
  const tables::NodeCapacity& capacity = parts.attempt.snapshot->nodes.capacity(b.row);
  rank::FitSum& fit = parts.scratch.work.fit;
  fit.clear();
  bool cores_are_in = !proposed.held_cores();
  if (!b.evict) cores_are_in = sum_others(parts, b.row, capacity.max_allocs != 0) || cores_are_in;
  model::FlatResources& flat = parts.flat;
  flat.clear();
  for (std::size_t i = 0; i < proposed.shapes.size(); ++i) {
    const tables::ResourceShape* const shape = proposed.shapes[i];
    flat.cpu_mhz = shape->cpu_mhz;
    flat.memory_mb = shape->memory_mb;
    flat.disk_mb = shape->disk_mb;
    if (proposed.held_cores() && i < proposed.rows.size()) {  // all held cores are in one entry
      flat.cores.clear();
      if (!std::exchange(cores_are_in, true)) add_cores(*proposed.held_cores(), flat.cores);
    } else {
      flat.cores = shape->cores;
    }
    fit.add(&flat);
  }
  model::flatten(*b.option.resources, flat);
  fit.add(&flat);
  rank::NodeFit& room = parts.room;
  room.available.cpu_mhz = capacity.cpu_mhz;
  room.available.memory_mb = capacity.memory_mb;
  room.available.disk_mb = capacity.disk_mb;
  room.available.cores = b.spec().cores;
  room.max_allocs = capacity.max_allocs;
  const rank::Dimension dimension = fit.judge(room);
  if (dimension != rank::Dimension::none && !(b.evict && parts.victims.for_resources(b.row, flat, room.available)))
    return b.fail("", rank::dimension_text(dimension));
  b.option.ask_cpu_mhz = flat.cpu_mhz;
  b.option.use = {fit.used().cpu_mhz, fit.used().memory_mb, fit.used().disk_mb};
  if (!parts.attempt.quirks.fit_counts_victims && dimension != rank::Dimension::none) {
    b.option.use = {flat.cpu_mhz, flat.memory_mb, flat.disk_mb};
    parts.victims.sum_staying(b.option.use);
  }
  return true;
}

void evict_by_amounts(FitParts& parts, NodeRow row, const GroupView& v, Cell& cell) {
  const tables::NodeCapacity& capacity = parts.attempt.snapshot->nodes.capacity(row);
  parts.proposed.collect(row);
  parts.victims.victims.clear();
  model::FlatResources room, ask;
  room.cpu_mhz = capacity.cpu_mhz, room.memory_mb = capacity.memory_mb, room.disk_mb = capacity.disk_mb;
  ask.cpu_mhz = v.group->cpu_mhz, ask.memory_mb = v.group->memory_mb, ask.disk_mb = v.group->disk_mb;
  if (!parts.victims.for_resources(row, ask, room)) return;
  // R-RANK-647: the use that did not fit, with the victims; it is 0 if the node had too many allocations.
  FitUse use;
  if (!parts.attempt.quirks.fit_counts_victims) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    parts.victims.sum_staying(use);
  } else if (cell.dimension != kDimensionMaxAllocs) {
    use = {ask.cpu_mhz, ask.memory_mb, ask.disk_mb};
    for (const tables::ResourceShape* shape : parts.proposed.shapes) add_amounts(*shape, use);
  }
  cell.fit = kPass;
  parts.option.ask_cpu_mhz = ask.cpu_mhz;
  parts.option.device_weight = 0;
  parts.scorer.score(row, *v.group, use, &parts.option, cell.score);
}

}  // namespace berth::sched
