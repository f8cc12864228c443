#include "sched/source/walk.h"

#include <algorithm>

#include "tables/state.h"

namespace berth::sched {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

std::optional<Found> Walk::select(GroupView& v) { return parts_.detail ? visit<true>(v) : visit<false>(v); }

/// `kDetailed`: measures the time of checks and of scores apart.
template <bool kDetailed>
std::optional<Found> Walk::visit(GroupView& v) {
  checks_.begin_general();
  const bool check_distinct = checks_.distinct.asks(v);
  const bool evicts = parts_.options.evict;
  Best best(attempt_.config.exhaustive);
  for (std::uint32_t seen = 0; seen < candidates_.size && best.returned < candidates_.limit; ++seen) {  // R-FEAS-208
    if (candidates_.offset == candidates_.size) candidates_.offset = 0;
    const std::uint32_t index = candidates_.offset++;
    ++counts_.evaluated;
    if constexpr (kDetailed) parts_.detail->enter(base::Stage::filter);
    if (evicts) prefetch_evicting(index);
    if (index >= candidates_.frontier) candidates_.reach(attempt_, index);
    Position& position = candidates_.positions[index];
    if (!checks_.passes(position, v, v.cells[index])) continue;
    if (check_distinct && !checks_.distinct.passes(position, v)) continue;
    if constexpr (kDetailed) parts_.detail->enter(base::Stage::rank);
    double value;
    if (!rank(index, v, value)) {
      if (!attempt_.error.empty()) return std::nullopt;
      continue;
    }
    top_.push(index, value);
    best.offer(index, value);
  }
  if (!attempt_.config.exhaustive) best.take_aside(candidates_.limit);
  if (best.id == kNoRow) return std::nullopt;
  return found(best.id, best.score);
}

std::optional<Found> Walk::select_one(NodeRow row, GroupView& v) {
  checks_.begin_general();
  const std::uint32_t behind = candidates_.size;
  const tables::NodeCapacity& capacity = attempt_.snapshot->nodes.capacity(row);
  Position& position = candidates_.positions[behind];
  position = {row, capacity.computed_class_code, capacity.class_code, kUnknown};
  v.cells[behind].group_checks = v.cells[behind].fit = kUnknown;
  counts_.evaluated = 1;
  double value;
  if (!checks_.passes(position, v, v.cells[behind]) ||
      (checks_.distinct.asks(v) && !checks_.distinct.passes(position, v)) || !rank(behind, v, value))
    return std::nullopt;
  top_.push(behind, value);
  return found(behind, value);
}

Found Walk::found(std::uint32_t index, double score) const {
  Found out{candidates_.positions[index].row, score, {}};
  if (parts_.options.evict) out.victims = parts_.evicting.at(index).victims;
  return out;
}

const Cell& Walk::ranked(std::uint32_t index) const {
  return parts_.options.evict ? parts_.evicting.at(index).cell : parts_.view->cells[index];
}

bool Walk::rank(std::uint32_t index, GroupView& v, double& final_score) {
  const Position& position = candidates_.positions[index];
  Cell* cell = &v.cells[index];
  if (cell->fit == kUnknown) fit_.decide(position.row, v, *cell);
  if (parts_.options.evict) {
    tables::EvictionBound room;
    if (cell->fit == kFail) {
      room = parts_.evicting.room(position.row, *v.group);
      if (parts_.evicting.is_outdone(position.row, v, *cell, room, top_, final_score)) return true;
    }
    cell = &parts_.evicting.decide(index, position.row, v, *cell, room).cell;
  }
  if (cell->fit == kFail) {
    counts_.exhaust(position.node_class, cell->dimension);
    return false;
  }
  final_score = fit_.scorer.final_score(position.row, cell->score);
  return true;
}

/// Prefetches the data that the visits of the next two nodes read first.
void Walk::prefetch_evicting(std::uint32_t position) {
  const std::uint32_t size = candidates_.size;
  if (size < 4) return;
  const auto row_at = [&](std::uint32_t p) {
    return candidates_.nodes->candidates[candidates_.order.at(p < size ? p : p - size)].row;
  };
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const NodeRow later = row_at(position + 2), next = row_at(position + 1);
  nodes.use.prefetch(later);
  if (!nodes.eviction.empty()) nodes.eviction.prefetch(later);
  nodes.fixed->capacity.prefetch(later);
  if (const AllocRow head = nodes.use[next].alloc_head; head != kNoRow) {
    attempt_.snapshot->allocs.next_on_node.prefetch(head);
    fit_.proposed.prefetch(head);
  }
}

}  // namespace berth::sched
