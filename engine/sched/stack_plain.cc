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
//   prefix     8 B   sum of the appended components before spread
//   appended   8 B   how many these are, as double; 0 while the node is exhausted
//   dimension  4 B   exhausted: reason id
//   capacity   4 B   which of the few distinct capacities
//   parts     32 B   binpack, devices, anti-affinity, affinity for the top list
//   codes      4 B   per spread set: value code
//
// Nodes are prepared in blocks ahead of the cursor. That a node was prepared is not visible: what counts as visited is
// where the cursor has been, and leave_plain() rebuilds the general path's state from exactly that.
#include <algorithm>
#include <array>
#include <cmath>

#include "rank/window.h"
#include "sched/stack.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::kNoRow;
using tables::NodeRow;

namespace {

constexpr std::uint32_t kBlock = 64, kDearBlock = 4;
constexpr std::uint32_t kFirstBlock = rank::VisitingOrder::kPrefix;  // what is cheap to know of a shuffle

enum : std::uint8_t { kClassUnknown, kClassPasses, kClassFails };

}  // namespace

bool GenericStack::plain_group(const GroupView& v, const SelectOptions& options) const {
  const CompiledGroup& group = *v.group;
  return config_.plain_path && !probed_ && job_->groups.size() == 1 && !options.evict &&
         options.penalty_nodes.empty() && !job_->escapes && !group.escapes && !job_->distinct_hosts &&
         !group.distinct_hosts && properties_.empty() && group.distinct_properties.empty() && !group.has_host_volumes &&
         !group.has_csi_volumes && snapshot_->nodes.classes_exact;
}

void GenericStack::start_plain() {
  Plain& p = plain_;
  p.active = true;
  p.prepared = p.count = p.cursor = p.visited = 0;
  p.first_reasons.clear();
  p.node_reasons.clear();
  p.next_reason = 0;
  Arena& arena = scratch_.arena;
  p.position = arena.take<std::uint32_t>(size_);
  p.row = arena.take<NodeRow>(size_);
  p.prefix = arena.take<double>(size_);
  p.appended = arena.take<double>(size_);
  p.dimension = arena.take<std::uint32_t>(size_);
  p.parts = arena.take<PlainParts>(size_);
  p.capacity = arena.take<std::uint32_t>(size_);
  p.memo.assign(nodes_->capacities.size(), {});
  p.passes = arena.take<std::uint8_t>(size_);
  p.class_of = arena.take<std::uint32_t>(size_);
  p.class_state.assign(snapshot_->nodes.column(tables::kComputedClassColumn).values.size() + 1, kClassUnknown);
  p.one_class = true;
  p.no_own_allocs = own_counts_.empty();
  p.exhausted_any = false;
  p.one_dimension = true;
  p.indexed = Plain::Indexed::not_yet;
  p.spread_sets = spread_group_ ? spread_group_->sets().size() : 0;
  if (spread_group_) {
    p.codes.resize(p.spread_sets);
    for (auto& codes : p.codes) codes = arena.take<std::uint32_t>(size_);
    p.spread = arena.take<double>(size_);
  }
}

/// fixed: as group_checks_by_node() would decide, each node once.
bool GenericStack::passes_by_node(std::uint32_t index, NodeRow row, std::uint32_t computed_class, GroupView& v) {
  Plain& p = plain_;
  std::uint8_t& state = p.class_state[computed_class];
  if (state == kClassFails) return false;
  bool of_node = false;
  const std::uint32_t reason =
      state == kClassUnknown ? first_failing(row, v, &of_node) : first_failing_group_check(row, v, true, &of_node);
  if (reason == kReasonNone) {
    state = kClassPasses;
    return true;
  }
  if (of_node) {
    p.node_reasons.push_back({index, reason, computed_class});
  } else {
    state = kClassFails;
    p.first_reasons.push_back({index, reason});
  }
  return false;
}

/// Looks at the classes of the nodes from `prepared` to `end` and appends those that pass.
template <bool kFixed>
void GenericStack::find_entries(std::uint32_t end, GroupView& v) {
  Plain& p = plain_;
  for (std::uint32_t index = p.prepared; index < end; ++index) {
    const ReadyNodes::Candidate& candidate = nodes_->candidates[order_.at(index)];
    const NodeRow row = candidate.row;
    const std::uint32_t node_class = candidate.node_class;
    p.class_of[index] = node_class;
    p.one_class = p.one_class && node_class == p.class_of[0];
    bool passes;
    if constexpr (kFixed) {
      passes = passes_by_node(index, row, candidate.computed_class, v);
    } else {
      std::uint8_t& state = p.class_state[candidate.computed_class];
      if (state == kClassUnknown) {
        const std::uint32_t reason = first_failing(row, v);
        state = reason == kReasonNone ? kClassPasses : kClassFails;
        if (reason != kReasonNone) p.first_reasons.push_back({index, reason});
      }
      passes = state == kClassPasses;
    }
    // Appended always, kept only when it passes: which nodes pass is as good as random, a branch would be mispredicted.
    p.passes[index] = passes;
    p.position[p.count] = index;
    p.row[p.count] = row;
    p.capacity[p.count] = candidate.capacity;
    p.count += passes;
  }
}

void GenericStack::prepare_block(GroupView& v) {
  Plain& p = plain_;
  // Where a node's fit is more than a look at its figures, no further ahead than a Select will hardly go.
  const CompiledGroup& ask = *v.group;
  const bool dear = ask.has_network || ask.has_task_network || ask.has_devices || ask.has_cores;
  const std::uint32_t block = dear ? kDearBlock : p.prepared == 0 ? kFirstBlock : kBlock;
  const std::uint32_t end = std::min(size_, p.prepared + block);
  const std::uint32_t first_entry = p.count;
  if (detail_) detail_->enter(base::Stage::filter);
  if (fixed_)
    find_entries<true>(end, v);
  else
    find_entries<false>(end, v);
  p.prepared = end;
  if (detail_) detail_->enter(base::Stage::rank);
  const tables::CowVector<tables::NodeUse>& uses = snapshot_->nodes.use;
  for (std::uint32_t entry = first_entry; entry < p.count; ++entry) uses.prefetch(p.row[entry]);
  for (std::size_t s = 0; s < p.spread_sets; ++s)
    for (std::uint32_t entry = first_entry; entry < p.count; ++entry)
      p.codes[s][entry] = std::min(spread_group_->sets()[s].code_of_row(p.row[entry]),
                                   static_cast<std::uint32_t>(p.tables[s].size() - 1));
  const CompiledGroup& group = *v.group;
  const bool simple = !group.has_network && !group.has_task_network && !group.has_devices && !group.has_cores &&
                      group.affinities.empty() && p.no_own_allocs;
  if (scratch_.strategy_fit) return score_by_strategy(first_entry, v, simple);
  for (std::uint32_t entry = first_entry; entry < p.count; ++entry) {
    const tables::NodeUse& use = uses[p.row[entry]];
    const tables::NodeCapacity& capacity = nodes_->capacities[p.capacity[entry]];
    if (!simple || (use.port_allocs | use.core_allocs | capacity.network_invalid) != 0) {
      decide_entry(entry, v);
      continue;
    }
    const PlainFit fit = plain_fit(capacity, use, kUntouched, group);
    if (fit.dimension != kReasonNone) {
      exhaust_entry(entry, fit.dimension);
      continue;
    }
    const std::int64_t cpu = fit.use.cpu_mhz, memory = fit.use.memory_mb;
    CapacityMemo& memo = p.memo[p.capacity[entry]];
    if (memo.cpu != cpu || memo.memory != memory)
      memo = {cpu, memory, fit_component(cpu, capacity.cpu_score, memory, capacity.memory_score)};
    const double component = memo.component;
    p.prefix[entry] = component;
    p.appended[entry] = 1.0;
    p.parts[entry] = {component, 0, 0, 0, false};
  }
}

/// The end of prepare_block() where a strategy scores the fit: all nodes of the block by one call of it, but for those
/// that are decided one by one.
void GenericStack::score_by_strategy(std::uint32_t first_entry, GroupView& v, bool simple) {
  static_assert(kBlock <= StrategyFit::kBlock);
  Plain& p = plain_;
  const CompiledGroup& group = *v.group;
  std::array<std::uint32_t, kBlock> entries;
  std::array<FitUse, kBlock> uses;
  std::size_t count = 0;
  for (std::uint32_t entry = first_entry; entry < p.count; ++entry) {
    const tables::NodeUse& use = snapshot_->nodes.use[p.row[entry]];
    const tables::NodeCapacity& capacity = nodes_->capacities[p.capacity[entry]];
    if (!simple || (use.port_allocs | use.core_allocs | use.device_allocs | capacity.network_invalid) != 0) {
      decide_entry(entry, v);
      continue;
    }
    const PlainFit fit = plain_fit(capacity, use, kUntouched, group);
    if (fit.dimension != kReasonNone) {
      exhaust_entry(entry, fit.dimension);
      continue;
    }
    entries[count] = entry;
    uses[count++] = fit.use;
  }
  StrategyFit& strategy = scratch_.strategy_fit;
  strategy.begin(group, job_->priority);
  for (std::size_t i = 0; i < count; ++i) {
    const NodeRow row = p.row[entries[i]];
    strategy.add(*snapshot_, row, uses[i], snapshot_->nodes.use[row].alloc_count);
  }
  const std::span<const double> components = strategy.take();
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t entry = entries[i];
    p.prefix[entry] = components[i];
    p.appended[entry] = 1.0;
    p.parts[entry] = {components[i], 0, 0, 0, false};
  }
}

void GenericStack::exhaust_entry(std::uint32_t entry, std::uint32_t dimension) {
  Plain& p = plain_;
  p.prefix[entry] = 0;
  p.appended[entry] = 0;
  p.dimension[entry] = dimension;
  if (p.exhausted_any && dimension != p.exhausted_dimension) p.one_dimension = false;
  p.exhausted_any = true;
  p.exhausted_dimension = dimension;
  if (dimension == kReasonNone || dimension == kDimensionInvalidNode || dimension == kDimensionPortCollision)
    p.one_dimension = false;  // counted one by one
}

void GenericStack::decide_entry(std::uint32_t entry, GroupView& v) {
  Plain& p = plain_;
  const Position position{p.row[entry], 0, p.class_of[p.position[entry]], kPass};
  Cell cell;
  decide_fit(position, v, cell);
  if (cell.fit == kFail) return exhaust_entry(entry, cell.dimension);
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
  if (config_.exhaustive && p.spread_sets == 0 && offset_ == 0 && p.indexed != Plain::Indexed::never && build_index(v))
    return select_indexed(v);
  const std::uint32_t start = offset_;
  std::uint32_t skipped[kSetAside], skip_count = config_.exhaustive ? kSetAside : 0, best = kNoRow, exhausted = 0;
  double skipped_score[kSetAside], best_score = 0;
  std::int64_t returned = 0;
  const std::size_t sets = p.spread_sets;
  // One entry: its final score, or counted as exhausted.
  auto visit = [&](std::uint32_t e) {
    double scores = p.prefix[e], appended = p.appended[e];
    if (appended == 0) {
      ++exhausted;
      return;
    }
    if (sets != 0) {
      double total = 0.0;
      for (std::size_t s = 0; s < sets; ++s) total += p.tables[s][p.codes[s][e]];
      p.spread[e] = total;
      if (total != 0.0) scores += total, appended += 1.0;
    }
    const double value = scores / appended;
    top_.push(e, value);
    if (value <= 0.0 && skip_count < kSetAside) {
      skipped[skip_count] = e;
      skipped_score[skip_count++] = value;
      return;
    }
    ++returned;
    if (best == kNoRow || value > best_score) best = e, best_score = value;
  };
  // Entries [first, last), as many as the limit takes: runs without a decision by vector, the others one by one.
  const rank::WindowColumns columns{p.prefix.data(), p.appended.data(), sets == 1 ? p.codes[0].data() : nullptr,
                                    sets == 1 ? p.tables[0].data() : nullptr, sets == 1 ? p.spread.data() : nullptr};
  const bool by_vector = sets <= 1 && limit_ >= 32;
  auto visit_range = [&](std::uint32_t first, std::uint32_t last) {
    while (first < last && returned < limit_) {
      if (by_vector && best != kNoRow) {
        const rank::WindowRun run = rank::score_run(columns, first, last, top_.floor(), skip_count < kSetAside,
                                                    static_cast<std::size_t>(limit_ - returned));
        returned += static_cast<std::int64_t>(run.live);
        exhausted += static_cast<std::uint32_t>(run.exhausted);
        first = static_cast<std::uint32_t>(run.next);
      }
      for (std::uint32_t step = 0; step < 8 && first < last && returned < limit_; ++step) visit(first++);
    }
    return first;
  };

  std::uint32_t e = p.cursor, entries = 0;
  for (;;) {  // from the cursor to the end of the order
    const std::uint32_t reached = visit_range(e, p.count);
    entries += reached - e;
    e = reached;
    if (returned == limit_ || p.prepared == size_) break;
    prepare_block(v);
  }
  if (!error_.empty()) return std::nullopt;
  std::uint32_t end;  // one past the last visited position, counted from `start` on and past the wrap
  if (returned == limit_) {
    end = p.position[e - 1] + 1;
  } else {
    const auto wrapped = static_cast<std::uint32_t>(
        std::lower_bound(p.position.begin(), p.position.begin() + p.count, start) - p.position.begin());
    e = visit_range(0, wrapped);
    entries += e;
    end = size_ + (returned == limit_ ? p.position[e - 1] + 1 : start);
  }
  for (std::uint32_t i = 0; !config_.exhaustive && i < skip_count && returned < limit_; ++i) {
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
  p.chosen = best;
  return chosen(p.row[best], best_score, v, Position{p.row[best], 0, 0, kPass});
}

// ---------------------------------------------------------------- the best of all, by an index

/// Decides every entry, once per attempt, and indexes their final scores. False when they cannot be indexed: a score is
/// not finite, as on a node without capacity (R-RANK-104), and comparisons with it depend on the order of visits.
bool GenericStack::build_index(GroupView& v) {
  Plain& p = plain_;
  if (p.indexed == Plain::Indexed::yes) return true;
  while (p.prepared < size_) prepare_block(v);
  p.exhausted_count = 0;
  p.scores.resize(p.count);
  p.indexed = Plain::Indexed::never;
  for (std::uint32_t e = 0; e < p.count; ++e) {
    p.scores[e] = rank::BestIndex::kAbsent;
    if (p.appended[e] == 0) {
      ++p.exhausted_count;
      continue;
    }
    p.scores[e] = p.prefix[e] / p.appended[e];
    if (!std::isfinite(p.scores[e])) return false;
  }
  p.index.build(p.scores);
  p.indexed = Plain::Indexed::yes;
  return true;
}

/// After a placement changed an entry.
void GenericStack::reindex(std::uint32_t entry) {
  Plain& p = plain_;
  if (p.indexed != Plain::Indexed::yes) return;
  if (p.index[entry] == rank::BestIndex::kAbsent) --p.exhausted_count;
  double score = rank::BestIndex::kAbsent;
  if (p.appended[entry] == 0)
    ++p.exhausted_count;
  else if (score = p.prefix[entry] / p.appended[entry]; !std::isfinite(score))
    p.indexed = Plain::Indexed::never;
  if (p.indexed == Plain::Indexed::yes) p.index.set(entry, score);
}

/// select_plain() when every node is taken: the same node, counts and list of the best, without looking at each.
std::optional<Selected> GenericStack::select_indexed(GroupView& v) {
  Plain& p = plain_;
  if (!error_.empty()) return std::nullopt;
  top_ = p.index.top();
  evaluated_ = static_cast<std::int32_t>(size_);
  filtered_ = static_cast<std::int32_t>(size_ - p.count);
  exhausted_ = static_cast<std::int32_t>(p.exhausted_count);
  count_window(0, size_);
  if (p.exhausted_count > 0) count_exhausted(0, size_, p.exhausted_count);
  p.visited = size_;
  p.cursor = 0;
  const rank::BestIndex::Best best = p.index.best();
  if (best.i == p.index.size()) {
    leave_plain(v);
    return std::nullopt;
  }
  p.chosen = best.i;
  return chosen(p.row[best.i], best.score, v, Position{p.row[best.i], 0, 0, kPass});
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
  if (!p.node_reasons.empty()) first += count_node_reasons(start, end);
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

/// fixed: a node that fails a check of its own does so at every visit, unless its class was found to fail since the
/// first one. What was prepared is visited for the second time only after all was for the first.
std::int32_t GenericStack::count_node_reasons(std::uint32_t start, std::uint32_t end) {
  const Plain& p = plain_;
  std::int32_t counted = 0;
  for (const NodeReason& node : p.node_reasons) {
    if (!((node.position >= start && node.position < end) || node.position + size_ < end)) continue;
    if (node.position < p.visited && p.class_state[node.computed_class] == kClassFails) continue;
    count(reasons_, node.reason, 1);
    ++counted;
  }
  return counted;
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
    if (!in_window || p.appended[e] != 0) continue;
    const std::uint32_t dimension = p.dimension[e];
    if (dimension == kReasonNone) continue;  // dropped without a metric (R-RANK-612)
    if (dimension == kDimensionInvalidNode || dimension == kDimensionPortCollision) ++port_events_;
    exhaust(Position{p.row[e], 0, p.class_of[position], kPass}, dimension);
  }
}

void GenericStack::plain_top(std::uint32_t entry, ScoredNode& node, double* values, std::uint16_t& count) const {
  const Plain& p = plain_;
  const PlainParts& parts = p.parts[entry];
  node.node = p.row[entry];
  node.log(Component::binpack, parts.binpack, values, count);
  if (parts.has_devices) node.log(Component::devices, parts.devices, values, count);
  node.log(Component::anti_affinity, parts.anti_affinity, values, count);
  node.log(Component::penalty, 0, values, count);
  node.log(Component::affinity, parts.affinity, values, count);
  if (p.spread_sets != 0 && p.spread[entry] != 0.0) node.log(Component::spread, p.spread[entry], values, count);
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
    if (p.passes[index]) v.cells[index].group_checks = kPass;
    const auto own = std::lower_bound(p.node_reasons.begin(), p.node_reasons.end(), index,
                                      [](const NodeReason& node, std::uint32_t at) { return node.position < at; });
    if (own != p.node_reasons.end() && own->position == index) continue;
    if (classes_.group_status(0, class_id) == feasible::ClassStatus::unknown)
      classes_.set_group(0, class_id, p.class_state[class_id] == kClassPasses);
  }
}

}  // namespace berth::sched
