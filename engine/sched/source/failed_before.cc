#include "sched/source/failed_before.h"

#include <algorithm>
#include <limits>

namespace berth::sched {

using tables::CompiledGroup;
using tables::NodeRow;

namespace {

/// So many nodes with room are looked at one by one. A memo with more is not kept, and more, which a Select with
/// spreads may return, are a matter for the columns.
constexpr std::int64_t kFewMost = 16;
/// So many changes are read one by one on the smallest cluster, as a batch of reports from clients makes.
constexpr std::size_t kChangesLeast = 64;

}  // namespace

/// The key of the group under the present options. A job cannot evict its own allocations, so one that holds some has
/// a key of its own.
FailureKey FailedBefore::key_of(const GroupView& v, bool evicts) const {
  const tables::CompiledJob& job = *attempt_.job;
  const bool of_any_job = tables::serves(kOfAnyJob, v.needs) && (!evicts || scratch_.by_attempt.overlays.empty());
  FailureKey out;
  out.number =
      of_any_job ? v.group->ask->number : job.group_number + static_cast<std::uint64_t>(v.group - job.groups.data());
  out.base_set = candidates_.base_set;
  if (evicts) out.evicted = fit_.victims.highest_evicted();
  return out;
}

void FailedBefore::drop(FailureMemo& memo) {
  attempt_.error.clear();  // as in look()
  if (last_ == &memo) last_ = nullptr;
  scratch_.by_state.failures.drop(memo);
}

FailedBefore::Room FailedBefore::look(GroupView& v, bool first_of_job, bool first) {
  FailureMemo* const memo = scratch_.by_state.failures.find(key_of(v, false));
  if (!memo) return Room::unknown;
  checks_.distinct.properties(v, properties_);
  const bool followed = first ? attempt_.plan->allocs.empty() && follow(*memo, v) : is_current(*memo);
  if (!followed) {
    drop(*memo);
    return Room::unknown;
  }
  if (!find_few(*memo, v) || (!few_.empty() && !properties_.empty())) {  // a placement takes a value
    attempt_.error.clear();  // of a node that has room but for its addresses: who looks at all meets it again
    return Room::unknown;
  }
  list_filtered(*memo, v);
  count(*memo, first_of_job, first);
  for (const Few& full : full_)
    count_failing(attempt_.snapshot->nodes.capacity(full.row).class_code, full.cell.dimension, full.filtered, 1);
  last_ = memo;
  return few_.empty() ? Room::nobody : Room::few;
}

bool FailedBefore::is_current(const FailureMemo& memo) const {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  return memo.use.is_at(nodes) && memo.ready.is_at(nodes) &&
         std::all_of(scratch_.by_attempt.overlays.begin(), scratch_.by_attempt.overlays.end(),
                     [&](const NodeOverlay& overlay) {
                       return overlay.first_alloc == tables::kNoRow || memo.shorts[overlay.row] == FailureMemo::kRoomy;
                     });
}

/// Of a node that passes the checks of its class: whether it does, or why not.
void FailedBefore::decide(NodeRow row, GroupView& v, bool evicts, Few& out) {
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

void FailedBefore::count_failing(std::uint32_t node_class, std::uint32_t why, bool filtered, std::int32_t times) {
  if (filtered)
    counts_.filter(node_class, why, times);
  else
    counts_.exhaust(node_class, why, times);
}

/// Which of the memo's nodes with room have some beside what the plan placed. False: too many, or an error.
bool FailedBefore::find_few(const FailureMemo& memo, GroupView& v) {
  few_.clear(), full_.clear();
  const std::int64_t most = std::min(candidates_.limit, kFewMost);
  for (const NodeRow row : memo.roomy) {
    Few node{row, {}};
    decide(row, v, false, node);
    if (!attempt_.error.empty()) return false;
    (node.cell.fit == kPass ? few_ : full_).push_back(node);
    if (static_cast<std::int64_t>(few_.size()) >= most) return false;
  }
  return static_cast<std::int64_t>(few_.size()) < most;
}

bool FailedBefore::holds_by_figures(FailureMemo& memo, const tables::CompiledJob& job) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const bool alike = memo.filtered.evaluated != 0 && memo.filtered.epoch == nodes.epoch &&
                     memo.filtered.kinds_left == nodes.kinds_left && memo.ready.is_at(nodes);
  if (!alike || ((!memo.use.is_at(nodes) || !memo.roomy.empty()) && !follow_by_figures(memo, job))) return false;
  const bool only_pass = !memo.key.evicts();
  count(memo, only_pass, only_pass);
  if (only_pass || counts_.port_events == 0) return true;
  counts_.clear();  // the pass before met the same ports in use
  count(memo, false, false);
  return true;
}

bool FailedBefore::follow_by_figures(FailureMemo& memo, const tables::CompiledJob& job) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const CompiledGroup& group = job.groups.front();
  if (!memo.use.follows(nodes)) return false;
  NodeFeed::Changes changes;
  if (scratch_.by_state.feed.amounts_since(memo.use, nodes, changes)) {
    if ((job.distinct_hosts || group.distinct_hosts) && !changes.rows.empty()) return false;
    if (!are_short_as_before(memo, changes, group)) return false;
  } else {
    if (!read_changes(memo)) return false;
    if ((job.distinct_hosts || group.distinct_hosts) && !changed_.empty()) return false;
    for (const NodeRow row : changed_)
      if (memo.shorts[row] != 0 && !is_short_by_figures(memo, row, group)) return false;
  }
  while (!memo.roomy.empty()) {
    const NodeRow row = memo.roomy.back();
    if (memo.shorts[row] == FailureMemo::kRoomy && !is_short_by_figures(memo, row, group)) return false;
    memo.roomy.pop_back();
  }
  memo.use.move_to(nodes);
  return true;
}

/// As is_short_by_figures() for all of them: mostly each is short of what it was short of, as no change crosses the
/// ask.
bool FailedBefore::are_short_as_before(FailureMemo& memo, const NodeFeed::Changes& changes,
                                       const CompiledGroup& group) {
  const std::size_t count = changes.rows.size();
  const auto is_short = [&](NodeRow row) { return memo.shorts[row] == 0 || is_short_by_figures(memo, row, group); };
  // Figures are told of nodes that hold no ports: whether ports asked for are free there does not change either. Whom
  // one may evict may change.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (memo.key.evicts() || group.has_devices || group.has_cores ||
      std::max({group.cpu_mhz, group.memory_mb, group.disk_mb}) > kMost)
    return std::all_of(changes.rows.begin(), changes.rows.end(), is_short);
  const rank::LeftAsk ask{static_cast<std::int32_t>(group.cpu_mhz), static_cast<std::int32_t>(group.memory_mb),
                          static_cast<std::int32_t>(group.disk_mb)};
  if (crossing_.size() < count) crossing_.resize(count);
  const std::size_t crossing = rank::crossings(changes.ranges, count, ask, crossing_.data());
  return std::all_of(crossing_.begin(), crossing_.begin() + static_cast<std::ptrdiff_t>(crossing),
                     [&](std::uint32_t i) { return is_short(changes.rows[i]); });
}

/// Whether it follows from figures that the node, one of those that pass and whose use changed, has no room; then the
/// memo has it.
bool FailedBefore::is_short_by_figures(FailureMemo& memo, NodeRow row, const CompiledGroup& group) {
  const std::uint8_t before = memo.shorts[row];
  if (before != FailureMemo::kRoomy && memo.counts[before].filtered && memo.counts[before].why != kReasonDistinctHosts)
    return true;                                           // as it was
  if (group.has_devices || group.has_cores) return false;  // they come first, or say how much is asked
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  const tables::NodeCapacity& capacity = nodes.capacity(row);
  const tables::NodeUse& use = nodes.use[row];
  if (memo.key.evicts() && use.least_priority <= memo.key.evicted) return false;
  const bool plain = !group.has_network && (use.port_allocs | use.core_allocs | capacity.network_invalid) == 0;
  if (!plain && !fit_.figures_do(row, group)) return false;
  const std::uint32_t dimension = plain_fit(capacity, use, kUntouched, group).dimension;
  if (dimension == kReasonNone) return false;
  if (before != FailureMemo::kRoomy && dimension == memo.counts[before].why) return true;  // as most are
  memo.leave(row);
  return memo.enter(row, capacity.class_code, dimension, false);
}

/// False: too much changed.
bool FailedBefore::read_changes(const FailureMemo& memo) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  changed_.clear();
  if (!memo.use.read(nodes, changed_, std::max<std::size_t>(nodes.size() / 4, kChangesLeast))) return false;
  used_ = changed_.size();
  return memo.ready.read(nodes, changed_);
}

/// Looks at what changed. False: the memo is of no more use, as too many have room now, or too much changed.
bool FailedBefore::follow(FailureMemo& memo, GroupView& v) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  if (!read_changes(memo)) return false;
  const bool hosts = checks_.distinct.asks_hosts(v);
  if (!properties_.empty() && (memo.job_changes != attempt_.snapshot->jobs.keys[attempt_.job->key].changes ||
                               memo.static_epoch != nodes.static_epoch))  // a value that is left may be taken
    return false;
  if (hosts && memo.job_changes != attempt_.snapshot->jobs.keys[attempt_.job->key].changes) add_nodes_of_job();
  memo.job_changes = attempt_.snapshot->jobs.keys[attempt_.job->key].changes;
  scratch_.by_state.feed.gather(nodes);
  memo.use.move_to(nodes), memo.ready.move_to(nodes);
  memo.shorts.resize(nodes.size(), 0);
  for (const NodeRow row : memo.roomy)
    if (memo.shorts[row] == FailureMemo::kRoomy) memo.shorts[row] = 0, changed_.push_back(row);
  memo.roomy.clear();
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    const NodeRow row = changed_[i];
    if (memo.shorts[row] == FailureMemo::kRoomy) continue;  // it changed more than once
    if (i < used_ && memo.shorts[row] != 0 && !hosts && is_short_by_figures(memo, row, *v.group)) continue;
    memo.leave(row);
    if (!candidates_.nodes->has(row) || checks_.first_failing_known(row, v) != kReasonNone) continue;
    Few node{row, {}};
    decide(row, v, memo.key.evicts(), node);
    if (!attempt_.error.empty()) return false;
    if (node.cell.fit != kFail)
      memo.enter_roomy(row);
    else if (!memo.enter(row, nodes.capacity(row).class_code, node.cell.dimension, node.filtered))
      return false;
  }
  return static_cast<std::int64_t>(memo.roomy.size()) < kFewMost;
}

/// Those that hold allocations of the job, whatever became of them: which of these count may have changed.
void FailedBefore::add_nodes_of_job() {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  for (tables::AllocRow row = attempt_.snapshot->jobs.keys[attempt_.job->key].alloc_head; row != tables::kNoRow;
       row = allocs.next_of_job[row])
    if (allocs.node[row] != tables::kNoRow) changed_.push_back(allocs.node[row]);
}

/// What classes tell of nodes as they are now, unless it is known.
void FailedBefore::list_filtered(FailureMemo& memo, GroupView& v) {
  const ReadyNodes& ready = *candidates_.nodes;
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  auto& filtered = memo.filtered;
  if (filtered.evaluated != 0 && filtered.epoch == nodes.epoch && filtered.kinds_left == nodes.kinds_left) return;
  filtered.epoch = nodes.epoch, filtered.kinds_left = nodes.kinds_left;
  filtered.evaluated = static_cast<std::int32_t>(ready.size());
  filtered.counts.clear(), filtered.classes.clear();
  const auto add = [&](std::uint32_t node_class, std::uint32_t reason, bool by_job, std::int32_t times) {
    for (FailureMemo::Filtered& known : filtered.counts)
      if (known.node_class == node_class && known.reason == reason && known.by_job == by_job)
        return static_cast<void>(known.count += times);
    filtered.counts.push_back({node_class, reason, times, by_job});
  };
  for (std::size_t i = 0; i < ready.of_class.size(); ++i) {
    const ReadyNodes::Candidate& candidate = ready.of_class[i];
    const std::uint32_t reason = checks_.first_failing_of_class(candidate.row, candidate.computed_class, v);
    if (reason == kReasonNone) continue;
    // The first one of a class tells why, the others that their class does not do (R-FEAS-410).
    add(candidate.node_class, reason, !checks_.job_holds(candidate.row), 1);
    if (const auto others = static_cast<std::int32_t>(ready.class_count(i)) - 1; others > 0)
      add(candidate.node_class, kReasonClassIneligible, false, others);
  }
}

/// `first_of_job`, `first`: of the attempt, of the group; later ones know the verdicts of classes.
void FailedBefore::count(const FailureMemo& memo, bool first_of_job, bool first) {
  counts_.evaluated = memo.filtered.evaluated;
  for (const FailureMemo::Filtered& f : memo.filtered.counts)
    counts_.filter(f.node_class, (f.by_job ? first_of_job : first) ? f.reason : kReasonClassIneligible, f.count);
  for (const FailureMemo::Short& s : memo.counts)
    if (s.count > 0) count_failing(s.node_class, s.why, s.filtered, s.count);
}

void FailedBefore::remember(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::failed_before) || !tables::serves(kServes, parts_.needs)) return;
  // What the plan placed takes values that other nodes have as well, and may not come to pass.
  checks_.distinct.properties(v, properties_);
  if (!properties_.empty() && !attempt_.plan->allocs.empty()) return;
  scratch_.by_state.feed.gather(attempt_.snapshot->nodes);
  FailureMemo& memo = renew(key_of(v, false));
  bool fine = true;
  columns_.each_that_fails([&](NodeRow row, std::uint32_t node_class, std::uint32_t why, bool filtered) {
    if (const NodeOverlay* const overlay = scratch_.overlay(row); overlay && overlay->first_alloc != tables::kNoRow)
      memo.enter_roomy(row);  // what the plan placed there may not come to pass
    else
      fine = fine && memo.enter(row, node_class, why, filtered);
  });
  if (!fine) return drop(memo);
  last_ = &memo;
}

/// The memo of the key, of this state, in which no node is entered yet.
FailureMemo& FailedBefore::renew(const FailureKey& key) {
  const tables::NodeTable& nodes = attempt_.snapshot->nodes;
  FailureMemo& memo = scratch_.by_state.failures.add(key, nodes.size());
  memo.use.move_to(nodes), memo.ready.move_to(nodes);
  memo.job_changes = attempt_.snapshot->jobs.keys[attempt_.job->key].changes;
  memo.static_epoch = nodes.static_epoch;
  memo.shorts.assign(nodes.size(), 0);
  memo.counts.assign(1, {});
  memo.roomy.clear();
  if (memo.filtered.epoch != nodes.epoch || memo.filtered.kinds_left != nodes.kinds_left) memo.filtered = {};
  return memo;
}

bool FailedBefore::fails_evicting(GroupView& v) {
  if (!attempt_.plan->allocs.empty()) return false;
  FailureMemo* const memo = scratch_.by_state.failures.find(key_of(v, true));
  if (!memo) return false;
  properties_.clear();
  if (!follow(*memo, v)) {
    drop(*memo);
    return false;
  }
  if (!memo->roomy.empty()) return false;
  list_filtered(*memo, v);
  count(*memo, false, false);
  last_ = memo;
  return true;
}

void FailedBefore::remember_evicting(const GroupView& v) {
  if (!attempt_.enabled.has(Switch::failed_before) || !tables::serves(kServesEvicting, parts_.needs) ||
      !attempt_.plan->allocs.empty())
    return;
  FailureMemo& memo = renew(key_of(v, true));
  bool fine = true;
  for (const EvictOption& option : parts_.evicting.decided()) {
    const Position& position = candidates_.positions[option.position];
    BERTH_ASSERT(option.cell.fit == kFail);
    fine = fine && memo.enter(position.row, position.node_class, option.cell.dimension, false);
  }
  if (!fine) return drop(memo);
  last_ = &memo;
}

}  // namespace berth::sched
