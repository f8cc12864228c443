#include "whatif/watch.h"

#include <algorithm>

#include "model/job.h"

namespace berth::whatif {

using tables::Client;
using tables::Desired;

Watch::Seen& Watch::seen(AllocRow row) {
  while (seen_.size() <= row) seen_.push_back({});
  return seen_[row];
}

/// The wanted count of this group in the job's current version.
std::int64_t Watch::wanted(const GroupKey& key) const {
  const tables::VersionRow version = state().jobs.keys[key.job].current;
  if (version == tables::kNoRow) return 0;
  const tables::CompiledJob& job = *state().jobs.versions[version];
  if (job.stopped || model::is_of_system(job.type)) return 0;
  for (const tables::CompiledGroup& group : job.groups)
    if (group.name == key.name) return group.count;
  return 0;
}

/// Updates the integrals to now, and `away` to the running allocations.
void Watch::settle(Group& group) {
  const std::int64_t now = cluster_->now();
  const std::int64_t length = now - group.since_ns;
  if (group.away > 0) {
    group.below_ns += length;
    group.missing_s += static_cast<double>(group.away) * static_cast<double>(length) / 1e9;
  }
  group.since_ns = now;
  group.away = std::max<std::int64_t>(0, std::min(group.ran, group.wanted) - group.running);
  group.away_most = std::max(group.away_most, group.away);
}

/// Applies the present state of the row.
void Watch::look(AllocRow row, bool removed) {
  Seen& last = seen(row);
  const tables::AllocTable& allocs = state().allocs;
  if (!last.there) {
    if (removed) return;
    last.there = true;
    last.group = {allocs.job_key[row], allocs.group[row]};
  }
  const bool wanted = !removed && allocs.desired[row] == Desired::run;
  const Client client = removed ? Client::complete : allocs.client[row];
  const tables::NodeRow node = removed ? tables::kNoRow : allocs.node[row];
  const bool on_machine = node != tables::kNoRow && (node >= gone_.size() || !gone_[node]);
  const bool running = client == Client::running && on_machine;
  const bool live = wanted && !tables::client_terminal(client);
  const bool waits =
      (wanted && client == Client::pending) ||
      (!removed && !wanted && !tables::client_terminal(client) && client != Client::unknown && on_machine);
  auto [found, is_new] = groups_.try_emplace(last.group);
  Group& group = found->second;
  if (is_new) group.wanted = this->wanted(last.group), group.since_ns = cluster_->now();
  group.live += static_cast<int>(live) - static_cast<int>(last.live);
  group.running += static_cast<int>(running) - static_cast<int>(last.running);
  waiting_for_clients_ += static_cast<int>(waits) - static_cast<int>(last.waits);
  if (last.live && !live && !removed && last.placed_at != step_ && last.ended_at != step_) {
    last.ended_at = step_;
    ended_.push_back(ended_of(row));
  }
  last.live = live, last.running = running, last.waits = waits, last.there = !removed;
  settle(group);
}

/// A new allocation, with the one from before the step that it replaces.
Placed Watch::placed_of(AllocRow row) const {
  const tables::AllocTable& allocs = state().allocs;
  AllocRow previous = allocs.relations[row].previous;
  if (const auto& object = allocs.cold[row])
    previous = cluster_->server().store().find_alloc(object->previous_allocation);
  if (previous == tables::kNoRow || !allocs.exists(previous)) return {.row = row};
  if (!is_new(previous)) return {row, previous, allocs.node[previous]};
  const Placed& between = placed_[seen_[previous].placed_index];
  return {row, between.replaced, between.from};
}

Ended Watch::ended_of(AllocRow row) const {
  const tables::AllocTable& allocs = state().allocs;
  Ended out{row, {allocs.job_key[row], allocs.group[row]}, allocs.name_index[row], allocs.node[row]};
  out.evicted = allocs.desired[row] == Desired::evict;
  if (!out.evicted) return out;
  AllocRow by = allocs.relations[row].preempted_by;
  if (const auto& object = allocs.cold[row])
    by = cluster_->server().store().find_alloc(object->preempted_by_allocation);
  if (by != tables::kNoRow && allocs.exists(by)) out.evictor = allocs.job_key[by];
  return out;
}

std::optional<std::int64_t> Watch::missing(JobKeyRow job, std::string_view group) const {
  for (auto at = groups_.lower_bound({job, 0}); at != groups_.end() && at->first.job == job; ++at)
    if (at->second.wanted > 0 && state().text(at->first.name) == group)
      return std::max<std::int64_t>(0, at->second.wanted - at->second.live);
  return std::nullopt;
}

void Watch::take_state() {
  for (AllocRow row = 0; row < state().allocs.size(); ++row)
    if (state().allocs.exists(row)) look(row, false);
}

void Watch::begin_step() {
  ++step_;
  placed_.clear(), ended_.clear();
  last_written_ns_ = cluster_->now();
  for (auto& [key, group] : groups_) {
    group.wanted = wanted(key);
    group.ran = group.running;
    group.away = group.away_most = group.below_ns = 0;
    group.missing_s = 0;
    group.since_ns = cluster_->now();
  }
}

void Watch::end_step() {
  for (auto& [key, group] : groups_) settle(group);
}

void Watch::machine_gone(tables::NodeRow node) {
  if (gone_.size() <= node) gone_.resize(node + std::size_t{1});
  gone_[node] = true;
  for (AllocRow row = state().nodes.use[node].alloc_head; row != tables::kNoRow; row = state().allocs.next_on_node[row])
    look(row, false);
}

void Watch::alloc_changed(const living::AllocChange& change) {
  if (change.is_new) {
    seen(change.row) = {.placed_at = step_, .placed_index = static_cast<std::uint32_t>(placed_.size())};
    placed_.push_back(placed_of(change.row));
  }
  if (change.removed && is_new(change.row)) placed_[seen_[change.row].placed_index].row = tables::kNoRow;
  look(change.row, change.removed);
}

void Watch::job_changed(JobKeyRow job) {
  for (auto at = groups_.lower_bound({job, 0}); at != groups_.end() && at->first.job == job; ++at) {
    at->second.wanted = wanted(at->first);
    settle(at->second);
  }
}

}  // namespace berth::whatif
