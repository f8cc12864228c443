// Chooses the victims on a node one kind of resource at a time: each choice is among the allocations that still stay.
#include "sched/node/victim_search.h"

#include <algorithm>
#include "base/assert.h"
#include "base/wrap.h"
#include "model/job.h"
#include "rank/components.h"
#include "tables/state.h"

namespace berth::sched {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;

void VictimSearch::count(AllocRow victim) {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  if (!attempt_.quirks.max_parallel_ignored) ++preempted_[{allocs.job_key[victim], allocs.group[victim]}];
}

/// Returns the job's priority for the search for victims, adjusted because the search uses Nomad's fixed delta
/// (R-SEED-80).
std::int64_t VictimSearch::evicting_priority() const {
  return attempt_.job->priority + preempt::kMinPriorityDelta - scratch_.options.preemption_min_delta;
}

/// True if the i-th proposed allocation is a victim.
bool VictimSearch::is_victim(std::size_t i) const {
  return i < proposed_.rows.size() && std::find(victims.begin(), victims.end(), proposed_.rows[i]) != victims.end();
}

bool VictimSearch::has_preemptible(NodeRow row) const {  // R-PREEMPT-202 to 204
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  if (attempt_.snapshot->nodes.use[row].least_priority > highest_evicted()) return false;
  // Without an overlay, the plan stops no allocation here, and none belongs to the job (load_own_allocs()).
  const NodeOverlay* overlay = scratch_.overlay(row);
  if (!attempt_.system && !overlay) return true;
  for (AllocRow a = attempt_.snapshot->nodes.use[row].alloc_head; a != kNoRow; a = allocs.next_on_node[a]) {
    if (allocs.job_key[a] == attempt_.job->key || allocs.job[a] == kNoRow) continue;
    if (attempt_.job->priority - attempt_.snapshot->jobs.versions[allocs.job[a]]->priority >=
            scratch_.options.preemption_min_delta &&
        !effects_.leaves(overlay, a))
      return true;
  }
  return false;
}

/// Lists the candidates among the current proposed allocations (R-PREEMPT-202, 305). The plan's placements belong to
/// the job itself, so only rows of the snapshot can be victims.
void VictimSearch::collect_candidates() {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  candidates_.clear();
  candidate_rows_.clear();
  for (std::size_t i = 0; i < proposed_.rows.size(); ++i) {
    const AllocRow a = proposed_.rows[i];
    if (allocs.job_key[a] == attempt_.job->key) continue;
    const tables::ResourceShape& shape = *proposed_.shapes[i];  // as stored, because it is never the job's own
    preempt::Candidate& c = candidates_.emplace_back();
    c.cpu_mhz = shape.cpu_mhz;
    c.memory_mb = shape.memory_mb;
    c.disk_mb = shape.disk_mb;
    c.cores = &shape.cores;
    c.resources = shape.resources.get();
    c.has_job = allocs.job[a] != kNoRow;
    if (c.has_job) c.priority = attempt_.snapshot->jobs.versions[allocs.job[a]]->priority;
    if (!attempt_.quirks.max_parallel_ignored && c.has_job) count_preempted(a, c);
    candidate_rows_.push_back(a);
  }
}

/// Counts the preempted allocations of the candidate's group (R-PREEMPT-413). In Nomad the plan's entries have no
/// group, so the limit is never exceeded (R-PREEMPT-414); here they count under the victim's group.
void VictimSearch::count_preempted(AllocRow alloc, preempt::Candidate& candidate) const {
  const tables::AllocTable& allocs = attempt_.snapshot->allocs;
  const auto& groups = attempt_.snapshot->jobs.versions[allocs.job[alloc]]->groups;
  const auto group = std::find_if(groups.begin(), groups.end(),
                                  [&](const tables::CompiledGroup& g) { return g.name == allocs.group[alloc]; });
  if (group == groups.end() || !group->spec->migrate || group->spec->migrate->max_parallel <= 0) return;
  candidate.max_parallel = group->spec->migrate->max_parallel;
  const auto known = preempted_.find({allocs.job_key[alloc], allocs.group[alloc]});
  if (known != preempted_.end()) candidate.preempted = known->second;
}

/// Appends the chosen candidates to V and takes them out of the proposed allocations (R-PREEMPT-303).
bool VictimSearch::take_chosen() {
  if (chosen_.empty()) return false;
  for (const std::uint32_t c : chosen_) victims.push_back(candidate_rows_[c]);
  proposed_.remove(victims);
  return true;
}

bool VictimSearch::for_network(const model::NetworkResource& ask, const network::NodePorts& ports,
                               const model::AllocatedResources& so_far) {
  collect_candidates();
  chosen_.clear();
  network::NetworkIndex& index = scratch_.work.network_index;
  preempt::choose_for_network(evicting_priority(), ask, index, candidates_, preempt_scratch_, chosen_, attempt_.quirks);
  if (!take_chosen()) return false;
  proposed_.enter_ports(ports);  // R-PREEMPT-515: without the option's reservations
  if (attempt_.quirks.eviction_forgets_option) return true;
  if (!so_far.shared.ports.empty()) index.add_ports(so_far.shared.ports);
  for (const auto& [name, task] : so_far.tasks)
    for (const model::NetworkResource& network : task.networks) index.add_network(network);
  return true;
}

bool VictimSearch::for_device(const match::DeviceRequest& request, NodeRow row, const model::AllocatedResources& so_far,
                              const model::AllocatedTask& task) {
  collect_candidates();
  chosen_.clear();
  const auto done = preempt::choose_for_device(evicting_priority(), request, *proposed_.accounter, candidates_,
                                               scratch_.work.patterns, preempt_scratch_, chosen_, attempt_.quirks);
  BERTH_ASSERT(done);  // the offer before compared the same values, and none was NaN
  if (!take_chosen()) return false;
  proposed_.enter_devices(row);  // R-PREEMPT-607, 608: without the option's reservations
  if (attempt_.quirks.eviction_forgets_option) return true;
  for (const auto& [name, earlier] : so_far.tasks)
    for (const model::AllocatedDevice& device : earlier.devices) proposed_.accounter->add(device);
  for (const model::AllocatedDevice& device : task.devices) proposed_.accounter->add(device);
  return true;
}

bool VictimSearch::for_resources(NodeRow row, const model::FlatResources& ask, const model::FlatResources& room) {
  collect_candidates();
  chosen_.clear();
  model::FlatResources left = room;
  if (!attempt_.quirks.own_use_ignored)  // the job's own allocations use the room as well (R-PREEMPT-403)
    for (std::size_t i = 0; i < proposed_.shapes.size(); ++i) {
      if (i < proposed_.rows.size() && attempt_.snapshot->allocs.job_key[proposed_.rows[i]] != attempt_.job->key)
        continue;
      base::wrap_sub_from(left.cpu_mhz, proposed_.shapes[i]->cpu_mhz);
      base::wrap_sub_from(left.memory_mb, proposed_.shapes[i]->memory_mb);
      base::wrap_sub_from(left.disk_mb, proposed_.shapes[i]->disk_mb);
      model::remove_cores(left.cores, proposed_.shapes[i]->cores);
    }
  std::int64_t fewest = 1;
  if (!attempt_.quirks.needless_victim) {  // only as many victims as the limit requires (R-PREEMPT-406)
    const std::int64_t limit = attempt_.snapshot->nodes.capacity(row).max_allocs;
    fewest = limit == 0 ? 0 : static_cast<std::int64_t>(proposed_.shapes.size()) + 1 - limit;
  }
  preempt::choose_for_resources(evicting_priority(), left, ask, candidates_, preempt_scratch_, chosen_, fewest);
  for (const std::uint32_t c : chosen_) victims.push_back(candidate_rows_[c]);
  return !chosen_.empty();
}

void VictimSearch::sum_staying(FitUse& use) const {
  for (std::size_t i = 0; i < proposed_.shapes.size(); ++i) {
    if (is_victim(i)) continue;
    base::wrap_add_to(use.cpu_mhz, proposed_.shapes[i]->cpu_mhz);
    base::wrap_add_to(use.memory_mb, proposed_.shapes[i]->memory_mb);
    base::wrap_add_to(use.disk_mb, proposed_.shapes[i]->disk_mb);
  }
}

double VictimSearch::score() const {
  BERTH_DEBUG_ASSERT(!victims.empty());
  priorities_.clear();
  for (const AllocRow a : victims)
    priorities_.push_back(attempt_.snapshot->jobs.versions[attempt_.snapshot->allocs.job[a]]->priority);
  return rank::preemption_score(rank::net_priority(priorities_));
}

}  // namespace berth::sched
