#include "sched/job_allocs.h"

#include <algorithm>

#include "tables/export.h"

namespace berth::sched {

using reconcile::AllocFacts;
using reconcile::NodeTaint;
using tables::AllocRow;
using tables::kNoRow;

NodeTaint taint_of(const tables::Snapshot& snapshot, tables::NodeRow node) {
  if (node == kNoRow || !snapshot.nodes.exists(node)) return NodeTaint::gone;
  switch (snapshot.nodes.status(node)) {
    case tables::NodeStatus::down:
      return NodeTaint::down;
    case tables::NodeStatus::disconnected:
      return NodeTaint::disconnected;
    case tables::NodeStatus::initializing:
      return snapshot.nodes.state[node] & tables::kDraining ? NodeTaint::initializing : NodeTaint::none;
    case tables::NodeStatus::ready:
      return snapshot.nodes.state[node] & tables::kDraining ? NodeTaint::ready : NodeTaint::none;
  }
  return NodeTaint::none;
}

void JobAllocs::read(const tables::Snapshot& snapshot, tables::JobKeyRow key, base::Uuid deployment_id) {
  rows_.clear();
  facts_.clear();
  group_names_.clear();
  groups_.clear();
  made_.clear();
  const tables::JobKey& job = snapshot.jobs.keys[key];
  if (job.current != kNoRow)
    for (const tables::CompiledGroup& group : snapshot.jobs.versions[job.current]->groups) {
      if (std::find(groups_.begin(), groups_.end(), group.name) != groups_.end()) continue;
      groups_.push_back(group.name);
      group_names_.push_back(group.spec->name);
    }
  const tables::AllocTable& allocs = snapshot.allocs;
  for (AllocRow row = job.alloc_head; row != kNoRow; row = allocs.next_of_job[row]) rows_.push_back(row);
  std::reverse(rows_.begin(), rows_.end());
  facts_.reserve(rows_.size());
  const std::string deployment_text = deployment_id.is_nil() ? std::string() : base::to_text(deployment_id);
  std::size_t plains = 0;
  for (const AllocRow row : rows_) {
    const tables::Symbol name = allocs.group[row];
    std::uint32_t group = 0;
    while (group < groups_.size() && groups_[group] != name) ++group;
    if (group == groups_.size()) {
      groups_.push_back(name);
      group_names_.push_back(snapshot.text(name));
    }
    const model::Allocation* alloc = allocs.cold[row].get();
    if (!alloc) {
      if (plains == plain_.size()) plain_.emplace_back();
      model::Allocation& plain = plain_[plains++];
      tables::write_plain(snapshot, row, plain);
      alloc = &plain;
    } else if (tables::parse_desired(alloc->desired_status).value_or(tables::Desired::run) != allocs.desired[row] ||
               tables::parse_client(alloc->client_status).value_or(tables::Client::pending) != allocs.client[row]) {
      alloc = &made_.emplace_back(tables::to_alloc(snapshot, row));
    }
    facts_.push_back(reconcile::read_facts(*alloc, group, taint_of(snapshot, allocs.node[row]), deployment_text));
  }
}

void JobAllocs::write_followup(AllocRow row, const std::string& eval_id) {
  const auto at = std::find(rows_.begin(), rows_.end(), row);
  if (at == rows_.end()) return;
  AllocFacts& facts = facts_[static_cast<std::size_t>(at - rows_.begin())];
  model::Allocation& copy = made_.emplace_back(*facts.alloc);
  copy.followup_eval_id = eval_id;
  facts.alloc = &copy;
  facts.flags = static_cast<std::uint8_t>(facts.flags | AllocFacts::kHasFollowup);
}

}  // namespace berth::sched
