#include "sched/stack/stack.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sched/node/component_table.h"
#include "tables/state.h"

namespace berth::sched {

using tables::CompiledGroup;
using tables::CompiledJob;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

void GenericStack::start(const Snapshot& snapshot, PlanRows& plan) {
  parts_.start(snapshot, plan, false);
  columns_.start();
  index_.forget();
  table_.start();
  run_ = {};
}

void GenericStack::set_job(const CompiledJob& job, const StackConfig& config) {
  if (!parts_.is_new_version(job)) return;
  parts_.set_job(job, config);
  columns_.start();
  index_.forget();
  run_ = {};
}

Result<void> GenericStack::set_nodes(const ReadyNodes& nodes, std::uint32_t base_set, std::string_view eval_id,
                                     std::size_t placements) {
  parts_.checks.class_verdicts();  // those of nodes visited in the old order
  if (auto done = parts_.candidates.set(parts_.attempt, nodes, base_set, eval_id, placements); !done) return done;
  columns_.start();
  index_.forget();
  run_ = {};
  return {};
}

bool GenericStack::rows_read(std::vector<NodeRow>& out) const {
  const Attempt& attempt = parts_.attempt;
  const ClassLedger& ledger = parts_.checks.ledger();
  if (!attempt.job || attempt.config.exhaustive || !ledger.full_groups().empty()) return false;
  for (const CompiledGroup& group : attempt.job->groups)
    if (group.has_host_volumes || group.has_csi_volumes) return false;  // claims on other nodes matter
  parts_.checks.rows_visited(out);
  columns_.rows_read(out);
  return true;
}

GroupView& GenericStack::begin_select(std::uint32_t group_index, const SelectOptions& options) {
  const model::Quirks& quirks = parts_.attempt.quirks;
  Candidates& candidates = parts_.candidates;
  if (!quirks.reasons_of_evicting_pass && options.evict && !parts_.options.evict)
    first_pass_reasons_.swap(parts_.counts.reasons);
  if (!quirks.limit_stays_raised) candidates.limit = candidates.list_limit;
  GroupView& v = parts_.begin_select(group_index, options);
  const CompiledGroup& group = *v.group;
  const StackConfig& config = parts_.attempt.config;
  if (!group.affinities.empty() || !group.spreads.empty() || parts_.attempt.spread_job)
    candidates.limit = group.count < config.node_limit ? config.node_limit : group.count;  // R-RANK-403
  if (config.exhaustive) candidates.limit = std::numeric_limits<std::int64_t>::max();
  parts_.checks.begin_select(v);
  parts_.checks.distinct.begin_select(v);
  parts_.checks.volumes.begin_select(v, options);
  if (parts_.detail) parts_.detail->enter(base::Stage::rank);
  parts_.fit.scorer.begin_select(v, options);
  if (config.sources.seed() != 0)
    parts_.attempt.enabled = config.sources.drawn(parts_.attempt.snapshot->index, parts_.checks.ledger().selects());
  parts_.find_needs();
  return v;
}

std::optional<Selected> GenericStack::select_one(NodeRow row, std::uint32_t group, const SelectOptions& options) {
  run_ = {};
  parts_.detail = nullptr;  // part of the calling stage
  GroupView& v = begin_select(group, options);
  const std::optional<Found> found = walk_.select_one(row, v);
  return found ? std::optional(parts_.fit.select(*found, v)) : std::nullopt;
}

std::optional<Selected> GenericStack::select(std::uint32_t group, const SelectOptions& options) {
  parts_.detail = options.evict ? nullptr : base::detailed_clock();
  const base::StageScope selecting(parts_.detail, base::Stage::filter);
  if (continues(group, options)) return select_again(options);
  GroupView& v = begin_select(group, options);
  const std::optional<Found> found = find(v);
  return found ? std::optional(parts_.fit.select(*found, v)) : std::nullopt;
}

/// Like select(), but reuses the state of the identical previous Select.
std::optional<Selected> GenericStack::select_again(const SelectOptions& options) {
  GroupView& v = *parts_.view;
  parts_.begin_again(options);
  use(SourceKind::columns);
  if (const std::optional<Found> found = columns_.select(v)) return parts_.fit.select(*found, v);
  run_.repeats = false;
  if (parts_.attempt.error.empty()) table_.remember(v);
  return std::nullopt;
}

std::optional<Found> GenericStack::find(GroupView& v) {
  const Run before = std::exchange(run_, Run{v.group});
  if (may(Switch::index, BestByIndex::kServes) && index_.is_ready(v))
    if (auto found = index_.select(v)) {
      use(SourceKind::index);
      return found;  // on failure, a pass counts the reasons
    }
  if ((parts_.options.evict || parts_.options.then_evict) && fails_evicting_again(v)) return std::nullopt;
  const Room room = known_room(v, before.source == SourceKind::few_fit);
  if (room == Room::none) return std::nullopt;
  if (room == Room::few) return table_.select_fitting();
  const bool was_full = before.source == SourceKind::full && before.group == v.group;
  if (was_full && may(Switch::bounds, BestByBounds::kServes) && bounds_.is_ready()) {
    use(SourceKind::bounds);
    return bounds_.select(v);
  }
  const bool by_columns = parts_.attempt.enabled.has(Switch::columns);
  Needs unmet = parts_.needs - Columns::kServes;
  if (by_columns && unmet.empty() && parts_.needs.has(Need::spread))
    unmet.add(Need::odd_spread, !columns_.fill_spread_tables());
  if (by_columns && unmet.empty()) {
    use(SourceKind::columns);
    auto found = columns_.select(v);
    run_.repeats = found && columns_.settled() && parts_.attempt.config.sources.seed() == 0;
    if (found || !parts_.attempt.error.empty()) return found;
    table_.remember(v);
    return found;
  }
  use(SourceKind::general);
  parts_.attempt.scratch.source_counts.add_unmet(unmet);
  parts_.attempt.scratch.source_counts.unmet.back() += by_columns ? 0 : 1;
  auto found = walk_.select(v);
  if (found || !parts_.attempt.error.empty() || !parts_.options.evict) return found;
  if (parts_.attempt.quirks.reasons_of_evicting_pass)
    table_.remember_evicting(v);
  else
    parts_.counts.reasons.swap(first_pass_reasons_);
  return found;
}

/// True if a pass that may evict is known to find no node, from an earlier failure. Then it is recorded as a pass over
/// all nodes.
bool GenericStack::fails_evicting_again(GroupView& v) {
  if (!parts_.attempt.quirks.reasons_of_evicting_pass || !may(Switch::table, ByTable::kServesEvicting) ||
      !table_.fails_evicting(v))
    return false;
  use(SourceKind::none_fits);
  parts_.checks.note_all(v);
  return true;
}

/// The nodes that have room, if known without visiting all. Then the Select is recorded as one over all nodes.
GenericStack::Room GenericStack::known_room(GroupView& v, bool was_few) {
  const Attempt& attempt = parts_.attempt;
  if (parts_.options.then_evict && may(Switch::full, FullCheck::kServes) && full_.holds(v)) {
    use(SourceKind::full);
    parts_.checks.note_all(v);
    return Room::none;
  }
  // Counts depend on the class verdicts so far, so tables are exact only if each earlier Select visited all nodes.
  if (!may(Switch::table, ByTable::kServes)) return Room::unknown;
  const ClassLedger& ledger = parts_.checks.ledger();
  const bool first = !parts_.checks.noted_all(v);
  if (ledger.has_partial() || (first ? !attempt.plan->allocs.empty() : !was_few)) return Room::unknown;
  const Room room = table_.look(v, ledger.selects() == 0, first);
  if (room == Room::unknown) return room;
  use(room == Room::few ? SourceKind::few_fit : SourceKind::none_fits);
  parts_.checks.note_all(v);
  return room;
}

bool GenericStack::fails_again(const AskKey& key, const CompiledJob& job) {
  parts_.counts.clear();
  parts_.top.clear();
  AskTable* const table = parts_.attempt.scratch.by_state.ask_tables.find(key);
  if (!table || !table_.fails_again(*table, job)) return false;
  use(SourceKind::failed_attempt);
  parts_.candidates.size = static_cast<std::uint32_t>(parts_.counts.evaluated);
  parts_.candidates.base_set = job.base_set;
  return true;
}

const AskTable* GenericStack::only_failure() const {
  const Attempt& attempt = parts_.attempt;
  const bool evicts = parts_.options.evict;  // then it is the second pass of one placement
  const bool alone = parts_.checks.ledger().selects() == (evicts ? 2 : 1) && run_.source != SourceKind::few_fit &&
                     attempt.given.size() == 1 && attempt.job && attempt.job->groups.size() == 1;
  const AskTable* const last = table_.last();
  return alone && last && last->key.evicts() == evicts ? last : nullptr;
}

void GenericStack::take_metrics(SelectMetrics& out) {
  Arena& arena = parts_.attempt.scratch.arena;
  const bool by_index = run_.source == SourceKind::index;
  if (by_index)
    out.evaluated = parts_.counts.evaluated;
  else
    parts_.counts.metrics(arena, out);
  out.in_pool = static_cast<std::int32_t>(parts_.candidates.size);
  out.base_set = parts_.candidates.base_set;
  out.has_pool = true;
  out.deferred = by_index;
  if (by_index) return;
  const auto best = parts_.top.take();
  const std::span<ScoredNode> list = arena.pack<ScoredNode>(best.size());
  out.top = list;
  double values[rank::TopScores::kCapacity * rank::kComponentPlaces];
  std::uint16_t stored = 0;
  if (run_.source == SourceKind::columns) {
    stored = columns_.log(best, list, values);
  } else {
    for (std::size_t i = 0; i < best.size(); ++i) {
      ScoredNode& node = list[i];
      node = {};
      node.first = stored;
      node.norm = best[i].score;
      const bool few = run_.source == SourceKind::few_fit;
      node.node = few ? table_.ranked(best[i].id).row : parts_.candidates.positions[best[i].id].row;
      node.log(few ? table_.ranked(best[i].id).cell.score : walk_.ranked(best[i].id).score, kLoggedAlways, values,
               stored);
    }
  }
  double* const kept = arena.pack<double>(stored).data();
  for (std::uint16_t i = 0; i < stored; ++i) kept[i] = values[i];
  out.values = kept;
}

void GenericStack::class_verdicts(tables::ClassVerdicts& out) {
  // Selects over all nodes leave the same verdicts while the nodes do not change.
  const ClassLedger& ledger = parts_.checks.ledger();
  AskTable* const table = !ledger.full_groups().empty() && !ledger.has_partial() && parts_.attempt.given.size() == 1
                              ? table_.last()
                              : nullptr;
  if (table && !table->filtered.classes.empty() && table->filtered.classes_groups == ledger.full_groups()) {
    out = table->filtered.classes;
    return;
  }
  if (table) table->filtered.classes_groups = ledger.full_groups();
  parts_.checks.class_map(class_codes_);
  const tables::NodeTable& nodes = parts_.attempt.snapshot->nodes;
  out.clear();
  out.reserve(class_codes_.size());
  for (const auto& [code, eligible] : class_codes_) out.push_back({nodes.computed_class(code), eligible});
  if (table) table->filtered.classes = out;
}

/// Drops what this attempt has computed for the node.
void GenericStack::touch(NodeRow row) {
  if (row == kNoRow || !parts_.candidates.nodes) return;  // no node, or no candidates yet
  run_.repeats = false;
  index_.touch(row);
  columns_.touched(row);
  parts_.candidates.forget_fit(parts_.attempt.scratch, row);
}

void GenericStack::placed(const PlannedAlloc& alloc) {
  parts_.effects.placed(alloc);
  index_.touch(alloc.node);
  if (run_.source == SourceKind::columns) columns_.placed(alloc.node);
  parts_.candidates.forget_fit(parts_.attempt.scratch, alloc.node);
}

void GenericStack::stopped(std::uint32_t index) {
  parts_.effects.stopped(index);
  touch(parts_.attempt.snapshot->allocs.node[parts_.attempt.plan->stops[index].alloc]);
}

void GenericStack::updated(std::uint32_t index) {
  parts_.effects.updated(index);
  touch(parts_.attempt.snapshot->allocs.node[parts_.attempt.plan->updates[index].alloc]);
}

bool GenericStack::pop_stop(tables::AllocRow alloc) {
  if (!parts_.effects.pop_stop(alloc)) return false;
  touch(parts_.attempt.snapshot->allocs.node[alloc]);
  return true;
}

}  // namespace berth::sched
