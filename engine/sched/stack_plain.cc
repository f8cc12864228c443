// The usual case of a Select, fast: one group of a job, no ports or volumes asked, no distinct_*, nothing escapes the
// computed class, no eviction. Same decisions and the same metrics as the general path in stack.cc.
//
// Two observations carry it. (1) Which nodes pass the checks is settled once the class of each was seen, so the passing
// nodes form a list in visiting order that a Select walks without looking at the others; how many it passed over
// follows from the positions. (2) A node's components other than spread change only when the plan touches it, so the
// list holds them by column and spread is one look-up by the node's value.
//
//   by entry (a passing node, in visiting order):
//   position   4 B   in the visiting order; ascending
//   row        4 B   node row
//   prefix     8 B   sum of the appended components before spread; NaN while the node is exhausted
//   appended   8 B   how many these are, as double
//   dimension  4 B   exhausted: reason id
//   parts     32 B   binpack, devices, anti-affinity, affinity for the top list
//   codes      4 B   per spread set: value code
//
// Nodes are prepared in blocks ahead of the cursor. That a node was prepared is not visible: what counts as visited is
// where the cursor has been, and leave_plain() rebuilds the general path's state from exactly that.
#include <algorithm>
#include <cmath>
#include <limits>

#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::uint32_t kBlock = 64;
constexpr double kExhausted = std::numeric_limits<double>::quiet_NaN();

enum : std::uint8_t { kClassUnknown, kClassPasses, kClassFails };

}  // namespace

bool GenericStack::plain_group(const GroupView& v, const SelectOptions& options) const {
  const CompiledGroup& group = *v.group;
  return job_->groups.size() == 1 && !options.evict && options.penalty_nodes.empty() && !job_->escapes &&
         !group.escapes && !job_->distinct_hosts && !group.distinct_hosts && properties_.empty() &&
         group.distinct_properties.empty() && !group.has_host_volumes && !group.has_csi_volumes &&
         snapshot_->nodes.classes_exact;
}

void GenericStack::start_plain() {
  Plain& p = plain_;
  p.active = true;
  p.prepared = p.count = p.cursor = p.visited = 0;
  p.first_reasons.clear();
  p.next_reason = 0;
  Arena& arena = scratch_.arena;
  p.position = arena.take<std::uint32_t>(size_);
  p.row = arena.take<NodeRow>(size_);
  p.prefix = arena.take<double>(size_);
  p.appended = arena.take<double>(size_);
  p.dimension = arena.take<std::uint32_t>(size_);
  p.parts = arena.take<PlainParts>(size_);
  p.passes = arena.take<std::uint8_t>(size_);
  p.class_of = arena.take<std::uint32_t>(size_);
  p.class_state.assign(snapshot_->nodes.column(tables::kComputedClassColumn).values.size() + 1, kClassUnknown);
  p.one_class = true;
  p.exhausted_any = false;
  p.one_dimension = true;
  p.spread_sets = spread_group_ ? spread_group_->sets().size() : 0;
  if (spread_group_) {
    p.codes.resize(p.spread_sets);
    for (auto& codes : p.codes) codes = arena.take<std::uint32_t>(size_);
    p.spread = arena.take<double>(size_);
  }
}

void GenericStack::prepare_block(GroupView& v) {
  Plain& p = plain_;
  const std::uint32_t end = std::min(size_, p.prepared + kBlock);
  const tables::CowVector<tables::NodeCapacity>& capacities = snapshot_->nodes.fixed->capacity;
  for (std::uint32_t index = p.prepared; index < end; ++index) {
    const NodeRow row = nodes_->rows[order_.at(index)];
    const tables::NodeCapacity& capacity = capacities[row];
    p.class_of[index] = capacity.class_code;
    if (index > 0 && capacity.class_code != p.class_of[0]) p.one_class = false;
    std::uint8_t& state = p.class_state[capacity.computed_class_code];
    if (state == kClassUnknown) {
      const std::uint32_t reason = first_failing(row, v);
      state = reason == kReasonNone ? kClassPasses : kClassFails;
      if (reason != kReasonNone) p.first_reasons.push_back({index, reason});
    }
    p.passes[index] = state == kClassPasses;
    if (state != kClassPasses) continue;
    const std::uint32_t entry = p.count++;
    p.position[entry] = index;
    p.row[entry] = row;
    scratch_.mark(row).position = entry;
    for (std::size_t s = 0; s < p.spread_sets; ++s) p.codes[s][entry] = spread_group_->sets()[s].code_of_row(row);
    decide_entry(entry, v);
  }
  p.prepared = end;
}

void GenericStack::decide_entry(std::uint32_t entry, GroupView& v) {
  Plain& p = plain_;
  const Position position{p.row[entry], 0, p.class_of[p.position[entry]], kPass};
  Cell cell;
  decide_fit(position, v, cell);
  if (cell.fit == kFail) {
    p.prefix[entry] = kExhausted;
    p.dimension[entry] = cell.dimension;
    if (p.exhausted_any && cell.dimension != p.exhausted_dimension) p.one_dimension = false;
    p.exhausted_any = true;
    p.exhausted_dimension = cell.dimension;
    if (cell.dimension == kReasonNone || cell.dimension == kDimensionInvalidNode ||
        cell.dimension == kDimensionPortCollision)
      p.one_dimension = false;  // counted one by one
    return;
  }
  p.prefix[entry] = cell.prefix;
  p.appended[entry] = static_cast<double>(cell.appended);
  p.parts[entry] = {cell.binpack, cell.devices, cell.anti_affinity, cell.affinity, cell.has_devices};
}

bool GenericStack::fill_spread_tables() {
  plain_.tables.resize(spread_group_->sets().size());
  for (std::size_t s = 0; s < plain_.tables.size(); ++s)
    if (!spread_group_->sets()[s].table(plain_.tables[s])) return false;
  return true;
}

std::optional<Selected> GenericStack::select_plain(GroupView& v) {
  Plain& p = plain_;
  if (!p.active) start_plain();
  if (offset_ == size_) offset_ = 0;
  const std::uint32_t start = offset_;
  std::uint32_t skipped[3], skip_count = 0, best = kNoRow, exhausted = 0;
  double skipped_score[3], best_score = 0;
  std::int64_t returned = 0;
  const std::size_t sets = p.spread_sets;
  // One entry: its final score, or counted as exhausted. Returns false where nothing was scored.
  auto visit = [&](std::uint32_t e) {
    double sum = p.prefix[e];
    if (std::isnan(sum)) {
      ++exhausted;
      return;
    }
    double count = p.appended[e];
    if (sets != 0) {
      double total = 0.0;
      for (std::size_t s = 0; s < sets; ++s) {
        const std::uint32_t code = p.codes[s][e];
        total += code == rank::kNoValue ? -1.0 : p.tables[s][code];
      }
      p.spread[e] = total;
      if (total != 0.0) sum += total, count += 1.0;
    }
    const double value = sum / count;
    top_.push(e, value);
    if (value <= 0.0 && skip_count < 3) {
      skipped[skip_count] = e;
      skipped_score[skip_count++] = value;
      return;
    }
    ++returned;
    if (best == kNoRow || value > best_score) best = e, best_score = value;
  };

  std::uint32_t e = p.cursor, entries = 0;
  for (; returned < limit_; ++e, ++entries) {  // from the cursor to the end of the order
    while (e == p.count && p.prepared < size_) prepare_block(v);
    if (e == p.count) break;
    visit(e);
  }
  if (!error_.empty()) return std::nullopt;
  std::uint32_t end;  // one past the last visited position, counted from `start` on and past the wrap
  if (returned == limit_) {
    end = p.position[e - 1] + 1;
  } else {
    for (e = 0; returned < limit_ && e < p.count && p.position[e] < start; ++e, ++entries) visit(e);
    end = size_ + (returned == limit_ ? p.position[e - 1] + 1 : start);
  }
  for (std::uint32_t i = 0; i < skip_count && returned < limit_; ++i) {
    ++returned;
    if (best == kNoRow || skipped_score[i] > best_score) best = skipped[i], best_score = skipped_score[i];
  }

  evaluated_ = static_cast<std::int32_t>(end - start);
  filtered_ = evaluated_ - static_cast<std::int32_t>(entries);
  exhausted_ = static_cast<std::int32_t>(exhausted);
  count_window(start, end);
  if (exhausted > 0) count_exhausted(start, end, exhausted);
  p.visited = std::max(p.visited, std::min(end, size_));
  // A Select that took every node leaves the cursor where it was (R-FEAS-210).
  offset_ = end > size_ ? end - size_ : end;
  p.cursor = offset_ == size_ ? 0 : e;
  if (end - start == size_) {
    offset_ = start;
    p.cursor = static_cast<std::uint32_t>(std::lower_bound(p.position.begin(), p.position.begin() + p.count, start) -
                                          p.position.begin());
  }
  if (best == kNoRow) {
    leave_plain(v);
    return std::nullopt;
  }
  return chosen(p.row[best], best_score, v, Position{p.row[best], 0, 0, kPass});
}

void GenericStack::count_window(std::uint32_t start, std::uint32_t end) {
  Plain& p = plain_;
  if (filtered_ == 0) return;
  // Nodes that failed a check themselves, the first of their class, carry its reason at their first visit.
  std::int32_t first = 0;
  while (p.next_reason < p.first_reasons.size() && p.first_reasons[p.next_reason].position < std::min(end, size_)) {
    count(reasons_, p.first_reasons[p.next_reason].reason, 1);
    ++p.next_reason;
    ++first;
  }
  if (filtered_ > first) count(reasons_, kReasonClassIneligible, filtered_ - first);
  if (p.one_class) {
    if (p.class_of[0] != empty_class_) count(classes_filtered_, p.class_of[0], filtered_);
    return;
  }
  for (std::uint32_t i = start; i < end; ++i) {
    const std::uint32_t position = i < size_ ? i : i - size_;
    if (!p.passes[position] && p.class_of[position] != empty_class_) count(classes_filtered_, p.class_of[position], 1);
  }
}

void GenericStack::count_exhausted(std::uint32_t start, std::uint32_t end, std::uint32_t exhausted) {
  Plain& p = plain_;
  if (p.one_class && p.one_dimension) {
    count(dimensions_, p.exhausted_dimension, static_cast<std::int32_t>(exhausted));
    if (p.class_of[0] != empty_class_) count(classes_exhausted_, p.class_of[0], static_cast<std::int32_t>(exhausted));
    return;
  }
  exhausted_ = 0;
  for (std::uint32_t e = 0; e < p.count; ++e) {
    const std::uint32_t position = p.position[e];
    const bool in_window = (position >= start && position < end) || position + size_ < end;
    if (!in_window || !std::isnan(p.prefix[e])) continue;
    const std::uint32_t dimension = p.dimension[e];
    if (dimension == kReasonNone) continue;  // dropped without a metric (R-RANK-612)
    if (dimension == kDimensionInvalidNode || dimension == kDimensionPortCollision) ++port_events_;
    exhaust(Position{p.row[e], 0, p.class_of[position], kPass}, dimension);
  }
}

void GenericStack::plain_top(std::uint32_t entry, double norm, ScoredNode& node) const {
  const Plain& p = plain_;
  const PlainParts& parts = p.parts[entry];
  node.node = p.row[entry];
  node.norm = norm;
  node.logged = 1u << static_cast<unsigned>(Component::binpack) |
                1u << static_cast<unsigned>(Component::anti_affinity) |
                1u << static_cast<unsigned>(Component::penalty) | 1u << static_cast<unsigned>(Component::affinity);
  node.value[static_cast<std::size_t>(Component::binpack)] = parts.binpack;
  node.value[static_cast<std::size_t>(Component::anti_affinity)] = parts.anti_affinity;
  node.value[static_cast<std::size_t>(Component::penalty)] = 0;
  node.value[static_cast<std::size_t>(Component::affinity)] = parts.affinity;
  if (parts.has_devices) {
    node.logged |= 1u << static_cast<unsigned>(Component::devices);
    node.value[static_cast<std::size_t>(Component::devices)] = parts.devices;
  }
  if (p.spread_sets != 0 && p.spread[entry] != 0.0) {
    node.logged |= 1u << static_cast<unsigned>(Component::spread);
    node.value[static_cast<std::size_t>(Component::spread)] = p.spread[entry];
  }
}

void GenericStack::leave_plain(GroupView& v) {
  Plain& p = plain_;
  p.active = false;
  p.left = true;
  // The general path's state after the cursor has been everywhere up to `visited`: reach the positions in order and
  // store the verdicts that their classes got.
  for (std::uint32_t index = 0; index < p.visited; ++index) {
    reach(index);
    Position& position = positions_[index];
    const std::uint32_t class_id = position.computed_class;
    if (classes_.job_status(class_id) == feasible::ClassStatus::ineligible) continue;
    bool job_passes = true;
    for (const tables::ConstraintId id : job_->constraints)
      job_passes = job_passes && scratch_.verdicts.holds(*snapshot_, id, position.row);
    classes_.set_job(class_id, job_passes);
    if (!job_passes) continue;
    position.job_checks = kPass;
    if (p.class_state[class_id] == kClassPasses) v.cells[index].group_checks = kPass;
    if (classes_.group_status(0, class_id) == feasible::ClassStatus::unknown)
      classes_.set_group(0, class_id, p.class_state[class_id] == kClassPasses);
  }
}

}  // namespace berth::sched
