#include "sched/stack/job_allocs.h"

#include <algorithm>

#include "model/job.h"
#include "tables/export.h"

namespace berth::sched {

using reconcile::AllocFacts;
using tables::AllocRow;
using tables::kNoRow;

const model::Allocation& JobAllocs::make(AllocRow row) {
  if (plain_used_ == plain_.size()) plain_.emplace_back();
  model::Allocation& plain = plain_[plain_used_++];
  tables::write_plain(*snapshot_, row, plain);
  return plain;
}

/// Same result as read_facts(make(row)), without building the object.
AllocFacts JobAllocs::plain_facts(AllocRow row, std::uint32_t group) {
  const tables::AllocTable& allocs = snapshot_->allocs;
  const tables::CompiledJob& job = *snapshot_->jobs.versions[allocs.job[row]];
  // The index is parsed after a prefix as long as the job's ID, but the name begins with the job's name (R-RECON-41).
  // If their lengths differ, the parsed index is not the stored one.
  if (job.name_base().size() != job.spec->id.size())
    return reconcile::read_facts(make(row), group, taint_of(*snapshot_, allocs.node[row]), deployment_text_);
  const tables::AllocLink& links = allocs.links[row];
  AllocFacts out;
  out.alloc = {*this, row};
  out.group = group;
  out.taint = taint_of(*snapshot_, allocs.node[row]);
  out.name_index = allocs.name_index[row];
  out.desired = widened(allocs.desired[row]);
  out.client = widened(allocs.client[row]);
  out.job_version = job.version;
  out.job_create_index = job.spec->create_index;
  const auto bit = [](bool set, std::uint8_t value) { return set ? value : std::uint8_t{0}; };
  const auto health = [&](std::uint8_t one) {
    return (links.health & tables::AllocLinks::kHasStatus) != 0 && (links.health & one) != 0;
  };
  out.flags = static_cast<std::uint8_t>(
      bit(health(tables::AllocLinks::kCanary), AllocFacts::kCanary) |
      bit(health(tables::AllocLinks::kHealthy), AllocFacts::kHealthy) |
      bit(health(tables::AllocLinks::kUnhealthy) && !health(tables::AllocLinks::kHealthy), AllocFacts::kUnhealthy) |
      bit(job.type == model::JobType::batch, AllocFacts::kBatchJob) |
      bit(allocs.relations[row].next != kNoRow, AllocFacts::kHasNext) |
      bit(links.deployment != kNoRow && !deployment_id_.is_nil() &&
              snapshot_->deployments.id[links.deployment] == deployment_id_,
          AllocFacts::kOfDeployment));
  return out;
}

void JobAllocs::read(const tables::Snapshot& snapshot, tables::JobKeyRow key, base::Uuid deployment_id) {
  snapshot_ = &snapshot;
  deployment_id_ = deployment_id;
  deployment_text_ = deployment_id.is_nil() ? std::string() : base::to_text(deployment_id);
  rows_.clear();
  facts_.clear();
  slots_.clear();
  group_names_.clear();
  groups_.clear();
  made_.clear();
  plain_used_ = 0;
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
  slots_.reserve(rows_.size());
  // The rows of a large job are spread over all columns.
  const auto prefetch = [&](std::size_t at) {
    if (at >= rows_.size()) return;
    const AllocRow row = rows_[at];
    allocs.group.prefetch(row), allocs.job.prefetch(row), allocs.node.prefetch(row), allocs.links.prefetch(row);
    allocs.name_index.prefetch(row), allocs.desired.prefetch(row), allocs.client.prefetch(row);
  };
  constexpr std::size_t kAhead = 8;
  for (std::size_t at = 0; at < kAhead; ++at) prefetch(at);
  for (std::size_t at = 0; at < rows_.size(); ++at) {
    prefetch(at + kAhead);
    const AllocRow row = rows_[at];
    const tables::Symbol name = allocs.group[row];
    std::uint32_t group = 0;
    while (group < groups_.size() && groups_[group] != name) ++group;
    if (group == groups_.size()) {
      groups_.push_back(name);
      group_names_.push_back(snapshot.text(name));
    }
    const model::Allocation* alloc = allocs.cold[row].get();
    if (!alloc) {
      facts_.push_back(plain_facts(row, group));
      slots_.push_back(facts_.back().slot());
      continue;
    }
    if (tables::parse_desired(alloc->desired_status).value_or(tables::Desired::run) != allocs.desired[row] ||
        tables::parse_client(alloc->client_status).value_or(tables::Client::pending) != allocs.client[row])
      alloc = &made_.emplace_back(tables::to_alloc(snapshot, row));
    facts_.push_back(reconcile::read_facts(*alloc, group, taint_of(snapshot, allocs.node[row]), deployment_text_));
    slots_.push_back(facts_.back().slot());
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
