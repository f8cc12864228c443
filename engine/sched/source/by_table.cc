#include "sched/source/by_table.h"

#include <algorithm>

#include "tables/state.h"

namespace berth::sched {

using rank::Known;
using tables::CompiledGroup;
using tables::NodeRow;

namespace {

/// Fewer nodes with room than this are decided one by one. More, up to the limit of a Select with spreads, are left to
/// the columns.
constexpr std::size_t kFewMost = 16;

}  // namespace

/// Returns the key of the group under the current options. A job cannot evict its own allocations, so a job that has
/// some does not share its key.
AskKey ByTable::key_of(const GroupView& v, bool evicts) const {
  const tables::CompiledJob& job = *attempt_.job;
  const bool of_any_job = tables::serves(kOfAnyJob, v.needs) && (!evicts || scratch_.by_attempt.overlays.empty());
  AskKey out;
  out.number =
      of_any_job ? v.group->ask->number : job.group_number + static_cast<std::uint64_t>(v.group - job.groups.data());
  out.base_set = candidates_.base_set_number;
  out.algorithm = attempt_.config.algorithm;
  if (evicts) out.evicted = fit_.victims.highest_evicted();
  return out;
}

void ByTable::drop(AskTable& table) {
  attempt_.error.clear();  // the source that visits all nodes next meets it again
  if (last_ == &table) last_ = nullptr;
  table.unlist();
}

ByTable::Room ByTable::look(GroupView& v, bool first_of_job, bool first) {
  AskTable* const table = scratch_.by_state.ask_tables.find(key_of(v, false));
  if (!table || !table->lists_open) return Room::unknown;
  checks_.distinct.properties(v, properties_);
  const bool followed =
      first ? attempt_.plan->allocs.empty() && follow(*table, v) && settle(*table, v) : is_current(*table);
  if (!followed) {
    drop(*table);
    return Room::unknown;
  }
  if (!find_fitting(*table, v) || (!fitting_.empty() && !properties_.empty())) {  // a placement takes a value
    attempt_.error.clear();  // the source that visits all nodes next meets the error again
    return Room::unknown;
  }
  list_filtered(*table, v);
  count(*table, first_of_job, first);
  for (const Decided& full : full_)
    count_failing(attempt_.snapshot->nodes.capacity(full.row).class_code, full.cell.dimension, full.filtered, 1);
  last_ = table;
  return fitting_.empty() ? Room::none : Room::few;
}

bool ByTable::is_current(const AskTable& table) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  return table.use.is_at(nodes) && table.ready.is_at(nodes) &&
         std::all_of(scratch_.by_attempt.overlays.begin(), scratch_.by_attempt.overlays.end(),
                     [&](const NodeOverlay& overlay) {
                       return overlay.first_alloc == tables::kNoRow || Known::may_have_room(table.of_row[overlay.row]);
                     });
}

/// Updates the table to the state of the attempt, whose plan is empty. False: too much changed.
bool ByTable::follow(AskTable& table, GroupView& v) {
  const tables::Snapshot& state = *attempt_.snapshot;
  const bool hosts = checks_.distinct.asks_hosts(v);
  const tables::JobKey& key = state.jobs.keys[attempt_.job->key];
  const bool same_allocs = table.job_changes == key.changes;
  if (!properties_.empty() && (!same_allocs || table.static_epoch != state.nodes.static_epoch))
    return false;  // a value that was taken may be free now
  if (!table.follow(scratch_.by_state.feed, state.nodes, *v.group, hosts, AskTable::changes_most(state.nodes)))
    return false;
  if (hosts && !same_allocs)  // which of the job's allocations count may have changed, stopped ones included
    for (tables::AllocRow row = key.alloc_head; row != tables::kNoRow; row = state.allocs.next_of_job[row])
      if (state.allocs.node[row] != tables::kNoRow) table.forget_used(state.allocs.node[row]);
  table.job_changes = key.changes;
  return true;
}

/// Decides the open nodes; those with room stay open. False: an error, or too many nodes have room.
bool ByTable::settle(AskTable& table, GroupView& v) {
  std::vector<NodeRow>& open = table.open;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const NodeRow row = open[i];
    if (std::find(open.begin(), open.begin() + static_cast<std::ptrdiff_t>(kept), row) !=
        open.begin() + static_cast<std::ptrdiff_t>(kept))
      continue;
    if (!decide_open(table, row, v)) return false;
    if (!Known::may_have_room(table.of_row[row])) continue;
    open[kept++] = row;
    if (kept == kFewMost) return false;
  }
  open.resize(kept);
  return true;
}

bool ByTable::decide_open(AskTable& table, NodeRow row, GroupView& v) {
  std::uint64_t& known = table.of_row[row];
  const bool passed = known == Known::kPasses;  // the checks, and the node itself was not filtered
  if (known == Known::kUnknown) {
    const bool passes = candidates_.nodes->has(row) && checks_.first_failing_known(row, v) == kReasonNone;
    known = passes ? Known::kPasses : Known::kFails;
  }
  if (known != Known::kPasses) return true;
  if (passed && !checks_.distinct.asks_hosts(v) && is_short_by_amounts(table, row, *v.group)) return true;
  Decided node{row, {}};
  decide(row, v, table.key.evicts(), node);
  if (!attempt_.error.empty()) return false;
  if (node.cell.fit == kFail)
    table.enter(row, attempt_.snapshot->nodes.capacity(row).class_code, node.cell.dimension, node.filtered);
  return true;
}

/// Decides the fit of a node that passes the checks of its class; `out` gets the score or the reason.
void ByTable::decide(NodeRow row, GroupView& v, bool evicts, Decided& out) {
  const auto filter = [&](std::uint32_t reason) {
    out.filtered = true;
    out.cell.fit = kFail;
    out.cell.dimension = reason;
  };
  if (v.group->has_host_volumes && !checks_.volumes.node_has(row)) return filter(kReasonHostVolumes);
  if (checks_.distinct.asks_hosts(v) && checks_.distinct.shares_host(row, v)) return filter(kReasonDistinctHosts);
  for (const feasible::PropertySet* property : properties_)
    if (!property->passes(checks_.distinct.code_of(*property, row)))
      return filter(checks_.distinct.reason_of(*property, row));
  fit_.decide(row, v, out.cell);
  if (!evicts || out.cell.fit != kFail) return;
  out.cell = parts_.evicting.decide(0, row, v, out.cell, parts_.evicting.room(row, *v.group)).cell;
  parts_.evicting.clear();
}

/// True if amounts alone show that the node, which passes the checks, has no room; the table then has the reason.
bool ByTable::is_short_by_amounts(AskTable& table, NodeRow row, const CompiledGroup& group) {
  if (group.has_devices || group.has_cores) return false;  // devices are decided before amounts; cores set the cpu
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeCapacity& capacity = nodes.capacity(row);
  const tables::NodeUse& use = nodes.use[row];
  if (table.key.evicts() && use.least_priority <= table.key.evicted) return false;
  const bool plain = !group.has_network && (use.port_allocs | use.core_allocs | capacity.network_invalid) == 0;
  if (!plain && !fit_.amounts_decide(row, group)) return false;
  const std::uint32_t dimension = plain_fit(capacity, use, kUntouched, group).dimension;
  if (dimension == kReasonNone) return false;
  table.enter(row, capacity.class_code, dimension, false);
  return !Known::may_have_room(table.of_row[row]);
}

/// Lists the table's open nodes that have room in addition to the plan's placements. False: too many, or an error.
bool ByTable::find_fitting(const AskTable& table, GroupView& v) {
  fitting_.clear(), full_.clear();
  const auto most = static_cast<std::size_t>(std::min<std::int64_t>(candidates_.limit, kFewMost));
  for (const NodeRow row : table.open) {
    if (!Known::may_have_room(table.of_row[row])) continue;
    Decided node{row, {}};
    decide(row, v, false, node);
    if (!attempt_.error.empty()) return false;
    (node.cell.fit == kPass ? fitting_ : full_).push_back(node);
    if (fitting_.size() >= most) return false;
  }
  return fitting_.size() < most;
}

std::optional<Found> ByTable::select_fitting() {
  BERTH_ASSERT(candidates_.offset == 0);
  if (fitting_.size() > 1) put_in_order();
  Best best(attempt_.config.exhaustive);
  for (std::uint32_t i = 0; i < fitting_.size(); ++i) {
    const double value = fit_.scorer.final_score(fitting_[i].row, fitting_[i].cell.score);
    top_.push(i, value);
    best.offer(i, value);
  }
  best.take_aside(candidates_.limit);
  return Found{fitting_[best.id].row, best.score, {}};
}

/// Sorts `fitting_` by visiting order.
void ByTable::put_in_order() {
  std::size_t placed = 0;
  for (std::uint32_t at = 0; placed + 1 < fitting_.size() && at < candidates_.size; ++at) {
    const NodeRow row = candidates_.nodes->candidates[candidates_.order.at(at)].row;
    for (std::size_t i = placed; i < fitting_.size(); ++i)
      if (fitting_[i].row == row) {
        std::swap(fitting_[placed++], fitting_[i]);
        break;
      }
  }
}

bool ByTable::fails_again(AskTable& table, const tables::CompiledJob& job) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const CompiledGroup& group = job.groups.front();
  const bool hosts = job.distinct_hosts || group.distinct_hosts;
  if (!table.lists_open || table.filtered.evaluated == 0 || table.filtered.epoch != nodes.epoch ||
      table.filtered.kinds_left != nodes.kinds_left ||
      !table.follow(scratch_.by_state.feed, nodes, group, hosts, AskTable::changes_most(nodes)) ||
      (hosts && !table.open.empty()) || !settle_by_amounts(table, group))
    return false;
  const bool only_pass = !table.key.evicts();
  count(table, only_pass, only_pass);
  if (only_pass || counts_.port_events == 0) return true;
  counts_.clear();  // the pass before counted the same events for ports in use
  count(table, false, false);
  return true;
}

/// Like settle(), by amounts alone. True: no open node has room. False: amounts do not decide it.
bool ByTable::settle_by_amounts(AskTable& table, const CompiledGroup& group) {
  for (; !table.open.empty(); table.open.pop_back()) {
    const NodeRow row = table.open.back();
    if (!Known::may_have_room(table.of_row[row])) continue;
    if (table.of_row[row] != Known::kPasses || !is_short_by_amounts(table, row, group)) return false;
  }
  return true;
}

void ByTable::count_failing(std::uint32_t node_class, std::uint32_t why, bool filtered, std::int32_t times) {
  if (filtered)
    counts_.filter(node_class, why, times);
  else
    counts_.exhaust(node_class, why, times);
}

/// Lists the nodes that the class checks filter, unless the list is current.
void ByTable::list_filtered(AskTable& table, GroupView& v) {
  const ReadyNodes& ready = *candidates_.nodes;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  auto& filtered = table.filtered;
  if (filtered.evaluated != 0 && filtered.epoch == nodes.epoch && filtered.kinds_left == nodes.kinds_left) return;
  filtered.epoch = nodes.epoch, filtered.kinds_left = nodes.kinds_left;
  filtered.evaluated = static_cast<std::int32_t>(ready.size());
  filtered.counts.clear(), filtered.classes.clear();
  const auto add = [&](std::uint32_t node_class, std::uint32_t reason, bool by_job, std::int32_t times) {
    for (AskTable::Filtered& known : filtered.counts)
      if (known.node_class == node_class && known.reason == reason && known.by_job == by_job)
        return static_cast<void>(known.count += times);
    filtered.counts.push_back({node_class, reason, times, by_job});
  };
  for (std::size_t i = 0; i < ready.of_class.size(); ++i) {
    const ReadyNodes::Candidate& candidate = ready.of_class[i];
    const std::uint32_t reason = checks_.first_failing_of_class(candidate.row, candidate.computed_class, v);
    if (reason == kReasonNone) continue;
    // The first node of a class is counted with the reason, the others as of an ineligible class (R-FEAS-410).
    add(candidate.node_class, reason, !checks_.job_holds(candidate.row), 1);
    if (const auto others = static_cast<std::int32_t>(ready.class_count(i)) - 1; others > 0)
      add(candidate.node_class, kReasonClassIneligible, false, others);
  }
}

/// `first_of_job`, `first`: first Select of the attempt, of the group. Later Selects already have the class verdicts.
void ByTable::count(const AskTable& table, bool first_of_job, bool first) {
  counts_.evaluated = table.filtered.evaluated;
  for (const AskTable::Filtered& f : table.filtered.counts)
    counts_.filter(f.node_class, (f.by_job ? first_of_job : first) ? f.reason : kReasonClassIneligible, f.count);
  for (const AskTable::Short& s : table.counts)
    if (s.count > 0) count_failing(s.node_class, s.why, s.filtered, s.count);
}

void ByTable::remember(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::table) || !tables::serves(kServes, parts_.needs)) return;
  // The plan's placements take values that other nodes have as well, and the plan may be rejected.
  checks_.distinct.properties(v, properties_);
  if (!properties_.empty() && !attempt_.plan->allocs.empty()) return;
  AskTable& table = renew(key_of(v, false));
  columns_.each_that_fails([&](NodeRow row, std::uint32_t node_class, std::uint32_t why, bool filtered) {
    const NodeOverlay* const overlay = scratch_.overlay(row);
    if (overlay && overlay->first_alloc != tables::kNoRow)  // the plan placed there, and may be rejected
      table.of_row[row] = Known::kUnknown, table.open.push_back(row);
    else
      table.enter(row, node_class, why, filtered);
  });
  last_ = &table;
}

/// Returns the table of the key, reset to this state with every node failing a check.
AskTable& ByTable::renew(const AskKey& key) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  scratch_.by_state.feed.gather(nodes);
  AskTable& table = scratch_.by_state.ask_tables.add(key, nodes.size());
  table.fill(nodes, Known::kFails);
  table.lists_open = true;
  table.job_changes = attempt_.snapshot->jobs.keys[attempt_.job->key].changes;
  if (table.filtered.epoch != nodes.epoch || table.filtered.kinds_left != nodes.kinds_left) table.filtered = {};
  return table;
}

bool ByTable::fails_evicting(GroupView& v) {
  if (!attempt_.plan->allocs.empty()) return false;
  AskTable* const table = scratch_.by_state.ask_tables.find(key_of(v, true));
  if (!table || !table->lists_open) return false;
  properties_.clear();
  if (!follow(*table, v) || !settle(*table, v)) {
    drop(*table);
    return false;
  }
  if (!table->open.empty()) return false;
  list_filtered(*table, v);
  count(*table, false, false);
  last_ = table;
  return true;
}

void ByTable::remember_evicting(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::table) || !tables::serves(kServesEvicting, parts_.needs) ||
      !attempt_.plan->allocs.empty())
    return;
  AskTable& table = renew(key_of(v, true));
  for (const EvictOption& option : parts_.evicting.decided()) {
    const Position& position = candidates_.positions[option.position];
    BERTH_DEBUG_ASSERT(option.cell.fit == kFail);
    table.enter(position.row, position.node_class, option.cell.dimension, false);
  }
  last_ = &table;
}

}  // namespace berth::sched
