#include "broker/blocked.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace berth::broker {
namespace {

constexpr std::int64_t kMinute = 60'000'000'000;
constexpr std::int64_t kPruneEvery = 5 * kMinute, kPruneOlder = 15 * kMinute;  // R-CTRL-813

bool contains(const std::vector<Symbol>& list, Symbol symbol) {
  return std::find(list.begin(), list.end(), symbol) != list.end();
}

const ClassVerdict* verdict(const BlockedEval& blocked, Symbol node_class) {
  for (const ClassVerdict& v : blocked.classes)
    if (v.node_class == node_class) return &v;
  return nullptr;
}

void sort_released(std::vector<Eval>& released, std::size_t from) {  // R-CTRL-320 up to the order of rows
  std::sort(released.begin() + static_cast<std::ptrdiff_t>(from), released.end(), [](const Eval& a, const Eval& b) {
    return a.create_index != b.create_index ? a.create_index < b.create_index : a.row < b.row;
  });
}

}  // namespace

void BlockedTracker::enable(std::int64_t now_ns) {
  if (enabled_) return;
  enabled_ = true;
  next_prune_ns_ = now_ns + kPruneEvery;
}

void BlockedTracker::disable() {
  enabled_ = false;
  std::fill(recent_.begin(), recent_.end(), Recent());
  captured_.clear(), escaped_.clear(), jobs_.clear(), unblocks_.clear(), system_by_node_.clear();
  resource_unblocks_.clear();
  newest_unblock_ = 0;
  system_by_job_.clear(), duplicates_.clear(), by_job_.clear(), by_class_.clear();
  stats_ = {};
}

bool BlockedTracker::missed_unblock(const BlockedEval& blocked) const {  // R-CTRL-810
  if (newest_unblock_ <= blocked.snapshot_index) return false;           // the usual case
  std::uint64_t newest = 0;
  for (const auto& [key, unblock] : unblocks_) {
    newest = std::max(newest, unblock.index);
    const bool later = blocked.snapshot_index < unblock.index;
    if (blocked.quota != tables::kEmptySymbol) {
      if (blocked.quota == key) return later;
      continue;
    }
    if (quirks_.unblock_keys_shared && contains(blocked.missing_resources, key)) return later;
    const ClassVerdict* known = verdict(blocked, key);
    if (later && (!known || known->eligible)) return true;
  }
  if (blocked.escaped && blocked.snapshot_index < newest) return true;
  return blocked.quota == tables::kEmptySymbol &&
         std::any_of(blocked.missing_resources.begin(), blocked.missing_resources.end(), [&](Symbol resource) {
           const auto at = resource_unblocks_.find(resource);
           return at != resource_unblocks_.end() && blocked.snapshot_index < at->second.index;
         });
}

void BlockedTracker::book(const BlockedEval& blocked, int sign, std::int64_t now_ns) {  // R-CTRL-830
  const auto add = [&](Booked& row, std::int64_t cpu, std::int64_t memory) {
    row.cpu_mhz += sign * cpu, row.memory_mb += sign * memory, row.changed_ns = now_ns;
  };
  add(by_job_[blocked.eval.job], blocked.cpu_mhz, blocked.memory_mb);
  for (const Lack& lack : blocked.lacks)
    add(by_class_[{lack.datacenter, lack.node_class, lack.pool}], lack.cpu_mhz, lack.memory_mb);
}

BlockedTracker::Stats BlockedTracker::stats() const {
  if (quirks_.queue_counts_drift) return stats_;
  Stats out{.blocked = static_cast<std::int64_t>(captured_.size() + escaped_.size()),
            .escaped = static_cast<std::int64_t>(escaped_.size())};
  for (const Tracked* set : {&captured_, &escaped_})
    for (const auto& [row, blocked] : *set) out.quota_limited += blocked.quota != tables::kEmptySymbol;
  return out;
}

void BlockedTracker::count(const BlockedEval& blocked, std::int64_t now_ns) {
  ++stats_.blocked;
  if (blocked.quota != tables::kEmptySymbol) ++stats_.quota_limited;
  book(blocked, 1, now_ns);
}

/// Removes an evaluation from the counts.
void BlockedTracker::forget(const BlockedEval& blocked, std::int64_t now_ns) {
  --stats_.blocked;
  if (blocked.quota != tables::kEmptySymbol) --stats_.quota_limited;
  book(blocked, -1, now_ns);
}

/// The evaluation tracked under the key of `blocked`: its job, or its job and node.
EvalRow* BlockedTracker::tracked_of(const BlockedEval& blocked) {
  if (!has_place_of_its_own(blocked)) {
    const auto at = jobs_.find(blocked.eval.job);
    return at == jobs_.end() ? nullptr : &at->second;
  }
  const auto nodes = system_by_job_.find(blocked.eval.job);
  if (nodes == system_by_job_.end()) return nullptr;
  const auto at = nodes->second.find(blocked.node);
  return at == nodes->second.end() ? nullptr : &at->second;
}

/// Removes the index entries of an evaluation that is taken out.
void BlockedTracker::unlink(const BlockedEval& blocked) {
  if (!has_place_of_its_own(blocked)) {
    // Without the quirk the entry is always its own (R-CTRL-803).
    BERTH_ASSERT(quirks_.one_blocked_per_group || jobs_.at(blocked.eval.job) == blocked.eval.row);
    jobs_.erase(blocked.eval.job);
    return;
  }
  if (const auto nodes = system_by_job_.find(blocked.eval.job); nodes != system_by_job_.end()) {
    nodes->second.erase(blocked.node);
    if (nodes->second.empty()) system_by_job_.erase(nodes);
  }
  if (const auto at = system_by_node_.find(blocked.node); at != system_by_node_.end()) {
    at->second.erase(blocked.eval.row);
    if (at->second.empty()) system_by_node_.erase(at);
  }
}

/// Takes out a tracked evaluation, with its index entries and counts.
BlockedEval BlockedTracker::take(EvalRow row, std::int64_t now_ns) {
  Tracked* set = &captured_;
  if (!set->contains(row)) set = &escaped_, --stats_.escaped;
  const auto at = set->find(row);
  BERTH_ASSERT(at != set->end());  // the indexes name tracked evaluations alone
  BlockedEval out = std::move(at->second);
  BERTH_ASSERT(out.eval.row == row && out.escaped == (set == &escaped_));
  set->erase(at);
  unlink(out);
  forget(out, now_ns);
  return out;
}

/// Releases the evaluations of the set for which `wanted` is true.
template <class Wanted>
void BlockedTracker::release_if(Tracked& set, std::int64_t now_ns, std::vector<Eval>& released, Wanted wanted) {
  for (auto at = set.begin(); at != set.end();) {
    if (!wanted(at->second)) {
      ++at;
      continue;
    }
    unlink(at->second);
    forget(at->second, now_ns);
    released.push_back(at->second.eval);
    at = set.erase(at);
  }
}

/// R-CTRL-803, 804: true if `blocked` itself is the duplicate.
bool BlockedTracker::replace_duplicate(const BlockedEval& blocked, std::int64_t now_ns) {
  const auto latest = [](const BlockedEval& b) { return std::max(b.eval.create_index, b.snapshot_index); };
  if (!quirks_.one_blocked_per_group) {
    const EvalRow* tracked = tracked_of(blocked);
    if (!tracked) return false;
    const auto captured = captured_.find(*tracked);
    const BlockedEval& existing = captured != captured_.end() ? captured->second : escaped_.at(*tracked);
    if (existing.eval.row != blocked.eval.row && latest(existing) > latest(blocked)) {
      duplicates_.push_back(blocked.eval.row);
      return true;
    }
    const bool stays_counted = quirks_.queue_counts_drift && captured == captured_.end();  // R-CTRL-831
    const BlockedEval replaced = take(*tracked, now_ns);
    if (stays_counted) count(replaced, now_ns);
    if (replaced.eval.row != blocked.eval.row) duplicates_.push_back(replaced.eval.row);
    return false;
  }
  const auto job = jobs_.find(blocked.eval.job);
  if (job == jobs_.end()) return false;
  const EvalRow existing = job->second;
  // The entry may name a row that was given to another job's evaluation since: then the job tracks none.
  if (const auto at = captured_.find(existing); at != captured_.end() && at->second.eval.job == blocked.eval.job) {
    if (latest(at->second) > latest(blocked)) {
      duplicates_.push_back(blocked.eval.row);
      return true;
    }
    forget(at->second, now_ns);
    captured_.erase(at);
    duplicates_.push_back(existing);
  } else if (const auto escaped = escaped_.find(existing);
             escaped != escaped_.end() && escaped->second.eval.job == blocked.eval.job) {
    if (latest(escaped->second) > latest(blocked)) {
      duplicates_.push_back(blocked.eval.row);
      return true;
    }
    --stats_.escaped;
    if (!quirks_.queue_counts_drift) forget(escaped->second, now_ns);  // R-CTRL-831
    escaped_.erase(escaped);
    duplicates_.push_back(existing);
  } else {
    jobs_.erase(job);
  }
  return false;  // a replaced one's entry stays if the new one is released at once (R-CTRL-804)
}

std::optional<EvalRow> BlockedTracker::block(BlockedEval blocked, std::int64_t now_ns, std::vector<Eval>& released) {
  if (!enabled_) return std::nullopt;
  if (replace_duplicate(blocked, now_ns)) return std::nullopt;
  if (missed_unblock(blocked)) {  // R-CTRL-805
    released.push_back(blocked.eval);
    return std::nullopt;
  }
  const EvalRow row = blocked.eval.row;
  BERTH_ASSERT(!(blocked.escaped ? captured_ : escaped_).contains(row));  // it is in one of both
  if (has_place_of_its_own(blocked))
    system_by_job_[blocked.eval.job][blocked.node] = row;
  else
    jobs_[blocked.eval.job] = row;
  count(blocked, now_ns);
  if (blocked.escaped) {
    escaped_.insert_or_assign(row, std::move(blocked));
    ++stats_.escaped;
    return std::nullopt;
  }
  std::optional<EvalRow> replaced;
  if (has_place_of_its_own(blocked)) {
    system_by_node_[blocked.node].insert_or_assign(row, blocked);
  } else if (quirks_.one_blocked_per_group && blocked.eval.type == Queue::system) {
    const auto [at, added] = system_by_job_[blocked.eval.job].try_emplace(blocked.node, row);
    if (!added && at->second != row) {
      replaced = std::exchange(at->second, row);
      system_by_node_[blocked.node].erase(*replaced);
    }
    system_by_node_[blocked.node].insert_or_assign(row, blocked);
  }
  captured_.insert_or_assign(row, std::move(blocked));
  return replaced;
}

/// Takes out all evaluations of the job that are tracked by node.
void BlockedTracker::untrack_nodes(JobKeyRow job, std::int64_t now_ns, std::vector<EvalRow>& taken) {
  const auto nodes = system_by_job_.find(job);
  if (nodes == system_by_job_.end()) return;
  const std::map<Symbol, EvalRow> rows = nodes->second;
  for (const auto& [node, row] : rows) take(row, now_ns), taken.push_back(row);
}

void BlockedTracker::untrack(JobKeyRow job, std::int64_t now_ns, std::vector<EvalRow>& taken) {  // R-CTRL-820
  if (!enabled_) return;
  if (!quirks_.one_blocked_per_group) untrack_nodes(job, now_ns, taken);
  if (const auto seen = system_by_job_.find(job); seen != system_by_job_.end()) {
    for (const auto& [node, row] : seen->second) {
      const auto at = system_by_node_.find(node);
      if (at == system_by_node_.end()) continue;
      if (const auto held = at->second.find(row); held != at->second.end()) {
        forget(held->second, now_ns);
        at->second.erase(held);
        taken.push_back(row);
      }
      if (at->second.empty()) system_by_node_.erase(at);
    }
    seen->second.clear();
    return;
  }
  const auto tracked = jobs_.find(job);
  if (tracked == jobs_.end()) return;
  const EvalRow row = tracked->second;
  if (const auto at = captured_.find(row); at != captured_.end() && at->second.eval.job == job) {
    forget(at->second, now_ns);
    captured_.erase(at);
  } else if (const auto escaped = escaped_.find(row); escaped != escaped_.end() && escaped->second.eval.job == job) {
    forget(escaped->second, now_ns);
    --stats_.escaped;
    escaped_.erase(escaped);
  } else {
    return;  // released since, or another job's evaluation has the row
  }
  jobs_.erase(tracked);
  taken.push_back(row);
}

void BlockedTracker::note(Symbol key, std::uint64_t index, std::int64_t now_ns) {
  Recent& recent = recent_[key % recent_.size()];
  if (!recent.at || recent.key != key) recent = {key, &unblocks_[key]};
  BERTH_DEBUG_ASSERT(recent.at == &unblocks_.at(key));  // no entry was erased since
  *recent.at = {index, now_ns};
  newest_unblock_ = std::max(newest_unblock_, index);
}

void BlockedTracker::release(Symbol node_class, Symbol quota, std::int64_t now_ns, std::vector<Eval>& released) {
  // note() must come first: evaluations that are being decided now find the unblock when they block.
  BERTH_ASSERT(node_class == tables::kEmptySymbol || unblocks_.contains(node_class));
  const std::size_t from = released.size();
  if (node_class != tables::kEmptySymbol)
    release_if(escaped_, now_ns, released, [](const BlockedEval&) { return true; });
  release_if(captured_, now_ns, released, [&](const BlockedEval& b) {
    // R-CTRL-815; with class and quota, both must match.
    if (quota != tables::kEmptySymbol && b.quota != tables::kEmptySymbol && b.quota != quota) return false;
    if (node_class == tables::kEmptySymbol) return quota != tables::kEmptySymbol;
    const ClassVerdict* known = verdict(b, node_class);  // R-CTRL-814
    return !known || known->eligible;
  });
  if (released.size() > from) stats_.escaped = 0;  // R-CTRL-831
  sort_released(released, from);
}

void BlockedTracker::unblock_class(Symbol node_class, std::uint64_t index, std::int64_t now_ns,
                                   std::vector<Eval>& released) {
  if (!enabled_) return;
  note(node_class, index, now_ns);
  release(node_class, tables::kEmptySymbol, now_ns, released);
}

void BlockedTracker::unblock_quota(Symbol quota, std::uint64_t index, std::int64_t now_ns,
                                   std::vector<Eval>& released) {
  if (!enabled_ || quota == tables::kEmptySymbol) return;
  note(quota, index, now_ns);
  release(tables::kEmptySymbol, quota, now_ns, released);
}

void BlockedTracker::unblock_class_and_quota(Symbol node_class, Symbol quota, std::uint64_t index, std::int64_t now_ns,
                                             std::vector<Eval>& released) {
  if (!enabled_) return;
  if (quota != tables::kEmptySymbol) note(quota, index, now_ns);
  note(node_class, index, now_ns);
  release(node_class, quota, now_ns, released);
}

void BlockedTracker::unblock_node(Symbol node, std::int64_t now_ns, std::vector<Eval>& released) {  // R-CTRL-816
  if (!enabled_) return;
  const auto at = system_by_node_.find(node);
  if (at == system_by_node_.end()) return;
  const std::size_t from = released.size();
  if (!quirks_.one_blocked_per_group) {
    const TrackedOfNode of_node = at->second;
    for (const auto& [row, blocked] : of_node) released.push_back(take(row, now_ns).eval);
    stats_.escaped = 0;
    return sort_released(released, from);
  }
  for (const auto& [row, blocked] : at->second) {
    system_by_job_[blocked.eval.job].erase(node);
    forget(blocked, now_ns);
    released.push_back(blocked.eval);
  }
  system_by_node_.erase(at);
  stats_.escaped = 0;
  sort_released(released, from);
}

void BlockedTracker::unblock_resources(std::span<const Symbol> resources, std::uint64_t index, std::int64_t now_ns,
                                       std::vector<Eval>& released) {  // R-CTRL-817
  if (!enabled_) return;
  for (const Symbol resource : resources) {
    if (quirks_.unblock_keys_shared)
      note(resource, index, now_ns);
    else
      resource_unblocks_[resource] = {index, now_ns}, newest_unblock_ = std::max(newest_unblock_, index);
  }
  const std::size_t from = released.size();
  release_if(escaped_, now_ns, released, [&](const BlockedEval& blocked) {
    return std::any_of(resources.begin(), resources.end(),
                       [&](Symbol resource) { return contains(blocked.missing_resources, resource); });
  });
  if (released.size() > from) stats_.escaped = 0;
  sort_released(released, from);
}

void BlockedTracker::unblock_failed(std::int64_t now_ns, std::vector<Eval>& released) {  // R-CTRL-819
  if (!enabled_) return;
  const std::size_t from = released.size();
  const auto wanted = [](const BlockedEval& blocked) { return blocked.max_plan_attempts; };
  const std::size_t escaped = escaped_.size();
  for (Tracked* set : {&captured_, &escaped_}) release_if(*set, now_ns, released, wanted);
  stats_.escaped -= static_cast<std::int64_t>(escaped - escaped_.size());
  sort_released(released, from);
}

void BlockedTracker::take_duplicates(std::vector<EvalRow>& out) {
  out.insert(out.end(), duplicates_.begin(), duplicates_.end());
  duplicates_.clear();
}

void BlockedTracker::advance(std::int64_t now_ns) {
  if (!enabled_) return;
  for (; next_prune_ns_ <= now_ns; next_prune_ns_ += kPruneEvery) {
    const std::int64_t oldest = next_prune_ns_ - kPruneOlder;
    std::fill(recent_.begin(), recent_.end(), Recent());
    for (auto* unblocks : {&unblocks_, &resource_unblocks_})
      std::erase_if(*unblocks, [&](const auto& entry) { return entry.second.at_ns < oldest; });
    const auto idle = [&](const auto& entry) {
      const Booked& row = entry.second;
      return row.cpu_mhz == 0 && row.memory_mb == 0 && row.changed_ns < oldest;
    };
    by_job_.erase_if(idle);
    std::erase_if(by_class_, idle);
  }
  BERTH_ASSERT(next_prune_ns_ > now_ns);  // next_deadline() is in the future
}

}  // namespace berth::broker
