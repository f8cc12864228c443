#include "living/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "model/job.h"
#include "model/predicates.h"
#include "rank/fit.h"
#include "tables/check.h"
#include "tables/export.h"

namespace berth::living {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

std::string named(const Snapshot& state, AllocRow row) {
  return tables::alloc_name(state, row) + " " + base::to_text(state.allocs.id[row]).substr(0, 8);
}

bool was_unknown(const Snapshot& state, AllocRow row) {
  const auto& cold = state.allocs.cold[row];
  return cold && std::any_of(cold->alloc_states.begin(), cold->alloc_states.end(),
                             [](const model::AllocState& entry) { return entry.value == "unknown"; });
}

void check_capacity(const Snapshot& state, Problems& problems) {
  const tables::AllocTable& allocs = state.allocs;
  network::NetworkIndex index;
  for (NodeRow node = 0; node < state.nodes.size(); ++node) {
    if (!state.nodes.exists(node)) continue;
    std::vector<AllocRow> rows;
    for (AllocRow a = state.nodes.use[node].alloc_head; a != kNoRow; a = allocs.next_on_node[a])
      if (!allocs.terminal(a)) rows.push_back(a);
    std::sort(rows.begin(), rows.end(), [&](AllocRow a, AllocRow b) { return allocs.id[a] < allocs.id[b]; });
    std::vector<std::string> ids;
    for (const AllocRow a : rows) ids.push_back(base::to_text(allocs.id[a]));
    std::vector<rank::FitEntry> entries;
    for (std::size_t i = 0; i < rows.size(); ++i)
      entries.push_back({allocs.shape_of(rows[i]).resources.get(), ids[i], nullptr});
    const model::Node& spec = state.nodes.spec(node).node;
    const rank::Fit fit = rank::allocs_fit(spec, network::read_node_ports(spec), entries, true, index);
    if (!fit.fits() && fit.dimension != rank::Dimension::max_allocs)
      problems.push_back(fmt::format("R-CTRL-1720: node {} is over-committed: {}", spec.name, fit.text()));
  }
}

void check_alloc(const Snapshot& state, AllocRow row, const Exceptions& exceptions, Problems& problems) {
  const tables::AllocTable& allocs = state.allocs;
  const model::Allocation alloc = tables::to_alloc(state, row);
  if (alloc.create_index > alloc.modify_index || alloc.modify_index > state.index)
    problems.push_back(fmt::format("R-CTRL-1730: {} has indexes {}, {} of {}", named(state, row), alloc.create_index,
                                   alloc.modify_index, state.index));
  if (tables::server_terminal(allocs.desired[row]) && alloc.desired_description.empty() &&
      !exceptions.replaced.contains(allocs.id[row]))
    problems.push_back(fmt::format("{} ({}) was stopped without a reason", named(state, row), alloc.client_status));
  const auto find = [&](const std::string& id) -> AllocRow {
    const auto uuid = base::parse_uuid(id);
    for (AllocRow other = 0; uuid && other < allocs.size(); ++other)
      if (allocs.exists(other) && allocs.id[other] == *uuid) return other;
    return kNoRow;
  };
  if (!alloc.next_allocation.empty()) {
    const AllocRow next = find(alloc.next_allocation);
    if (next == kNoRow && !exceptions.removed.contains(*base::parse_uuid(alloc.next_allocation)))
      problems.push_back(fmt::format("R-CTRL-1732: the successor of {} does not exist", named(state, row)));
    if (next != kNoRow)
      if (const model::Allocation after = tables::to_alloc(state, next);
          after.previous_allocation != alloc.id && after.name != alloc.name)
        problems.push_back(fmt::format("R-CTRL-1732: {} is no successor of {}", named(state, next), named(state, row)));
  }
  if (allocs.desired[row] == tables::Desired::evict) {
    const AllocRow by = find(alloc.preempted_by_allocation);
    if (by != kNoRow && allocs.job_key[by] == allocs.job_key[row])
      problems.push_back(fmt::format("R-CTRL-1732: {} was evicted by its own job", named(state, row)));
  }
}

void check_deployments(const Snapshot& state, Problems& problems) {
  std::map<std::pair<std::string, std::uint64_t>, int> active;
  for (std::uint32_t row = 0; row < state.deployments.size(); ++row) {
    const auto& deployment = state.deployments.object[row];
    if (!deployment) continue;
    if (model::is_active_deployment(deployment->status) &&
        ++active[{deployment->namespace_ + "/" + deployment->job_id, deployment->job_create_index}] == 2)
      problems.push_back(fmt::format("R-CTRL-1734: job {} has two active deployments", deployment->job_id));
    const tables::JobKeyRow key = state.deployments.job_key[row];
    const tables::VersionRow version = state.jobs.keys[key].current;
    const bool is_system = version != kNoRow && state.jobs.versions[version]->type == model::JobType::system;
    for (const auto& [name, group] : deployment->task_groups)
      // The sum may exceed the placed count: a change of health counts an allocation again without placing it
      // (R-RECON-236). An allocation that is unhealthy, healthy and unhealthy again is subtracted from the healthy
      // count, to which it was never added (R-CTRL-727). So that count may be negative, and the unhealthy one larger
      // than the placed count. System jobs have no upper limit: an update in place in the same deployment, as in a
      // failed one that stays (R-SCHED-138), resets health, which is then counted again (R-SCHED-118).
      if (const std::int64_t sum = group ? group->healthy_allocs + group->unhealthy_allocs : 0;
          group && (sum < 0 || group->unhealthy_allocs < 0 ||
                    (!is_system && sum > group->placed_allocs &&
                     (group->healthy_allocs > group->placed_allocs || group->unhealthy_allocs > group->placed_allocs))))
        problems.push_back(fmt::format("R-CTRL-1734: deployment of {}, group {}: {} placed, {} healthy, {} unhealthy",
                                       deployment->job_id, name, group->placed_allocs, group->healthy_allocs,
                                       group->unhealthy_allocs));
  }
}

}  // namespace

std::vector<std::shared_ptr<const model::Deployment>> deployments_of(const Snapshot& state) {
  std::vector<std::shared_ptr<const model::Deployment>> out;
  for (std::size_t row = 0; row < state.deployments.size(); ++row)
    if (state.deployments.object[row]) out.push_back(state.deployments.object[row]);
  return out;
}

void Exceptions::note(const plan::PlanRows& plan, const Snapshot& after) {
  for (const plan::PlannedStop& stop : plan.stops)
    if (stop.replaced) replaced.insert(after.allocs.id[stop.alloc]);
}

void Exceptions::note(const Snapshot& before, const Snapshot& after) {
  const tables::AllocTable &a = before.allocs, &b = after.allocs;
  for (AllocRow row = 0; row < a.size(); ++row) {
    if (!a.exists(row) || (b.exists(row) && a.id[row] == b.id[row])) continue;
    removed.insert(a.id[row]);
    collected.insert(a.job_key[row]);
  }
}

void check_state(const Snapshot& state, std::uint64_t since, const Exceptions& exceptions, Problems& problems) {
  for (std::string& problem : tables::check_tables(state)) problems.push_back(std::move(problem));
  if (!problems.empty()) return;  // the checks below rely on sound tables
  check_capacity(state, problems);
  for (AllocRow row = 0; row < state.allocs.size(); ++row)
    if (state.allocs.exists(row) && state.allocs.modify_index[row] > since)
      check_alloc(state, row, exceptions, problems);
  check_deployments(state, problems);
  for (NodeRow node = 0; node < state.nodes.size(); ++node)
    if (const std::uint8_t bits = state.nodes.state[node];
        state.nodes.exists(node) && (bits & tables::kDraining) && (bits & tables::kEligible))
      problems.push_back(fmt::format("R-CTRL-1731: node row {} drains and is eligible", node));
}

void check_summaries(const Snapshot& state, const fsm::StateLog& log, const Exceptions& exceptions,
                     Problems& problems) {
  const tables::AllocTable& allocs = state.allocs;
  for (tables::JobKeyRow key = 0; key < state.jobs.keys.size(); ++key) {
    const std::string &name_space = state.text(state.jobs.keys[key].job_namespace),
                      &job_id = state.text(state.jobs.keys[key].job_id);
    const fsm::JobRecord* record = log.record(name_space, job_id);
    if (!record || !record->current || !record->summary) continue;
    std::map<std::string, fsm::GroupSummary> counted;
    for (AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = allocs.next_of_job[row]) {
      const tables::VersionRow version = allocs.job[row];
      if (version == kNoRow || state.jobs.versions[version]->create_index != record->summary->create_index) continue;
      static constexpr fsm::Bin kBins[] = {fsm::Bin::starting, fsm::Bin::running, fsm::Bin::complete,
                                           fsm::Bin::failed,   fsm::Bin::lost,    fsm::Bin::unknown};
      ++counted[state.text(allocs.group[row])][kBins[static_cast<std::size_t>(allocs.client[row])]];
    }
    for (const auto& [name, group] : record->summary->groups)
      for (std::size_t bin = static_cast<std::size_t>(fsm::Bin::starting); bin < fsm::kBins; ++bin) {
        const bool only_grows = exceptions.collected.contains(key) ||
                                bin == static_cast<std::size_t>(fsm::Bin::failed) ||
                                bin == static_cast<std::size_t>(fsm::Bin::complete);
        const std::int64_t told = group.counts[bin], stored = counted[name].counts[bin];
        if (only_grows ? told < stored : told != stored)
          problems.push_back(fmt::format("R-CTRL-1729: the summary of {}, group {}: {} {}, and {} are stored", job_id,
                                         name, fsm::kBinNames[bin], told, stored));
      }
  }
}

void check_change(const Snapshot& before, const Snapshot& after, Problems& problems) {
  const tables::AllocTable &a = before.allocs, &b = after.allocs;
  for (AllocRow row = 0; row < a.size(); ++row) {
    if (!a.exists(row) || !b.exists(row)) continue;
    const tables::ResourceShape &held = a.shape_of(row), &holds = b.shape_of(row);
    // R-SCHED-118: an update in place on the system stack may give other cores, here of the same speed.
    const tables::VersionRow version = b.job[row];
    const bool other_cores =
        !held.cores.empty() && version != kNoRow && is_of_system(after.jobs.versions[version]->type);
    const bool same_amounts = held.cpu_mhz == holds.cpu_mhz && held.memory_mb == holds.memory_mb &&
                              held.disk_mb == holds.disk_mb && held.cores.size() == holds.cores.size() &&
                              (other_cores || held.cores == holds.cores);
    // R-CTRL-710: an allocation that became unknown got the newer job but kept its old amounts. The next update in
    // place finds no difference between the jobs and gives it the new amounts.
    const bool same = a.id[row] == b.id[row] && a.node[row] == b.node[row] && a.job_key[row] == b.job_key[row] &&
                      a.group[row] == b.group[row] && a.name_index[row] == b.name_index[row] &&
                      (same_amounts || was_unknown(before, row));
    if (!same) problems.push_back(fmt::format("R-CTRL-1723: {} is not what it was", named(after, row)));
    if (tables::server_terminal(a.desired[row]) && !tables::server_terminal(b.desired[row]))
      problems.push_back(fmt::format("R-CTRL-1723: {} was stopped and should run again", named(after, row)));
  }
}

void check_commit(const Snapshot& after, const plan::PlanRows& plan, const plan::ApplyResult& result,
                  tables::StateStore& store, Problems& problems) {
  const auto rejected = [&](NodeRow node) {
    return std::find(result.rejected_nodes.begin(), result.rejected_nodes.end(), node) != result.rejected_nodes.end();
  };
  const bool nothing = result.index == 0;  // an error, or an all-at-once plan that lost a node
  for (const plan::PlannedAlloc& alloc : plan.allocs) {
    const AllocRow row = store.find_alloc(alloc.id);
    const bool stored = row != kNoRow;
    if (stored == (rejected(alloc.node) || nothing || result.placements_refused))
      problems.push_back(fmt::format("R-CTRL-1733: a planned allocation is {}", stored ? "stored" : "missing"));
    const std::uint8_t bits = after.nodes.state[alloc.node];
    if (stored && (after.nodes.status(alloc.node) != tables::NodeStatus::ready || !(bits & tables::kEligible) ||
                   (bits & tables::kDraining)))
      problems.push_back(fmt::format("R-CTRL-1731: {} was placed on a node that takes nothing", named(after, row)));
  }
  for (const plan::PlannedStop& stop : plan.stops)
    if (!stop.evict && !stop.dropped && !nothing && !rejected(after.allocs.node[stop.alloc]) &&
        !tables::server_terminal(after.allocs.desired[stop.alloc]))
      problems.push_back(fmt::format("R-CTRL-1733: the stop of {} got lost", named(after, stop.alloc)));
}

void check_names(const Snapshot& state, const std::set<tables::JobKeyRow>& unsettled,
                 const std::set<tables::JobKeyRow>& once_refused, Problems& problems) {
  const tables::AllocTable& allocs = state.allocs;
  // R-RECON-167, 170: a canary replaces its namesake only if more allocations run than the group's count. Until a
  // failed one of the group is replaced both stay, even after the promotion.
  const auto waits_for_surplus = [&](AllocRow row, const model::Allocation& alloc) {
    const auto deployments = deployments_of(state);
    const bool was_canary = std::any_of(deployments.begin(), deployments.end(), [&](const auto& deployment) {
      const auto group = deployment->task_groups.find(alloc.task_group);
      if (group == deployment->task_groups.end() || !group->second) return false;
      const auto& placed = group->second->placed_canaries;
      return std::find(placed.begin(), placed.end(), alloc.id) != placed.end();
    });
    const tables::VersionRow current = state.jobs.keys[allocs.job_key[row]].current;
    const model::TaskGroup* group =
        current == kNoRow ? nullptr : state.jobs.versions[current]->spec->group(alloc.task_group);
    if (!was_canary || !group) return false;
    std::int64_t running = 0;
    for (AllocRow other = 0; other < allocs.size(); ++other)
      running += allocs.exists(other) && allocs.job_key[other] == allocs.job_key[row] &&
                 allocs.group[other] == allocs.group[row] && allocs.desired[other] == tables::Desired::run &&
                 !tables::client_terminal(allocs.client[other]) && allocs.client[other] != tables::Client::unknown &&
                 !model::is_canary(tables::to_alloc(state, other));
    return running <= group->count;
  };
  std::map<std::pair<tables::JobKeyRow, std::string>, AllocRow> seen;
  for (AllocRow row = 0; row < allocs.size(); ++row) {
    if (!allocs.exists(row) || allocs.desired[row] != tables::Desired::run ||
        tables::client_terminal(allocs.client[row]) || allocs.client[row] == tables::Client::unknown ||
        unsettled.contains(allocs.job_key[row]))
      continue;
    const NodeRow node = allocs.node[row];
    if (node == kNoRow || !state.nodes.exists(node) || state.nodes.status(node) != tables::NodeStatus::ready) continue;
    const model::Allocation alloc = tables::to_alloc(state, row);
    if (model::is_canary(alloc)) continue;
    const tables::VersionRow version = allocs.job[row];
    std::string name = alloc.name;
    if (version != kNoRow && is_of_system(state.jobs.versions[version]->type)) name += " " + alloc.node_id;
    const auto [other, added] = seen.emplace(std::pair(allocs.job_key[row], name), row);
    // R-RECON-122, trap 18: if a link of the chain was stopped, a returning allocation and its replacement both stay.
    // R-RECON-195: while canaries are out, a rescheduled allocation may be placed twice.
    const bool twins = !added && !alloc.previous_allocation.empty() &&
                       alloc.previous_allocation == tables::to_alloc(state, other->second).previous_allocation;
    const bool left_behind = !added && once_refused.contains(allocs.job_key[row]) &&
                             (alloc.previous_allocation == base::to_text(allocs.id[other->second]) ||
                              tables::to_alloc(state, other->second).previous_allocation == alloc.id);
    if (!added && !twins && !left_behind && !was_unknown(state, row) && !was_unknown(state, other->second) &&
        !waits_for_surplus(row, alloc) && !waits_for_surplus(other->second, tables::to_alloc(state, other->second)))
      problems.push_back(
          fmt::format("R-CTRL-1722: {} and {} have one name", named(state, row), named(state, other->second)));
  }
}

void check_counts(const Snapshot& state, tables::JobKeyRow key, const model::Job& job, Problems& problems) {
  if (job.stop || (job.type != "service" && job.type != "batch")) return;
  const tables::AllocTable& allocs = state.allocs;
  std::map<std::string, std::pair<std::int64_t, std::int64_t>> counts;  // by group: used slots, working allocations
  for (AllocRow row = 0; row < allocs.size(); ++row) {
    if (!allocs.exists(row) || allocs.job_key[row] != key) continue;
    const model::Allocation alloc = tables::to_alloc(state, row);
    auto& [slots, working] = counts[alloc.task_group];
    // An ended allocation of a batch job keeps its slot (R-RECON-113). So does a failed one of a service whose
    // attempts are used up or not yet due (R-RECON-112). A drained batch allocation is not replaced (R-RECON-245).
    const bool runs = alloc.desired_status == "run" && !model::is_client_terminal(alloc);
    slots += runs || (alloc.desired_status == "run" && (job.type == "batch" || alloc.client_status == "failed")) ||
             (job.type == "batch" && (model::is_set(alloc.desired_transition.migrate_disable_placement) ||
                                      (alloc.desired_status == "stop" && model::ran_successfully(alloc))));
    working += runs && alloc.client_status != "unknown";  // R-RECON-167
  }
  for (const model::TaskGroup& group : job.task_groups) {
    const auto [slots, working] = counts[group.name];
    if (slots < group.count || working > group.count)
      problems.push_back(fmt::format("R-CTRL-1728: group {} of {} asks for {}, has {} and runs {}", group.name, job.id,
                                     group.count, slots, working));
  }
}

void check_queue(server::Server& server, Problems& problems) {
  using broker::EvalRow;
  server::EvalBook& book = server.book();
  const auto id_of = [&](EvalRow row) { return base::to_text(book[row].id); };
  const broker::Contents held = server.broker().contents();
  std::set<EvalRow> again;  // delivered before and given back
  for (const auto& known : held.known)
    if (known.deliveries > 0) again.insert(known.row);
  std::map<base::Uuid, int> places;  // number of broker queues that hold the evaluation
  std::map<tables::JobKeyRow, int> active;
  const auto stands = [&](EvalRow row, bool is_active) {
    ++places[book[row].id];
    if (is_active && ++active[book[row].job] == 2)
      problems.push_back(fmt::format("R-CTRL-1724: two evaluations of a job are active, one is {}", id_of(row)));
  };
  for (const auto& queue : held.ready)
    for (const EvalRow row : queue) stands(row, true);
  for (const auto& outstanding : held.outstanding) stands(outstanding.row, true);
  for (const auto& [job, rows] : held.pending)
    for (const EvalRow row : rows) stands(row, false);
  for (const EvalRow row : held.cancelable) stands(row, false);
  for (const EvalRow row : held.time_wait) stands(row, again.contains(row));
  for (const EvalRow row : held.delayed) stands(row, false);

  const broker::BlockedTracker& tracker = server.tracker();
  std::map<tables::JobKeyRow, EvalRow> tracked;
  std::set<base::Uuid> blocked;
  for (const auto* rows : {&tracker.captured(), &tracker.escaped()})
    for (const auto& [row, eval] : *rows) {
      const server::EvalRecord& record = book[row];
      blocked.insert(record.id);
      if (record.type == broker::Queue::system || record.type == broker::Queue::sysbatch) continue;  // one per node
      if (!tracked.emplace(record.job, row).second)
        problems.push_back(fmt::format("R-CTRL-1727: two evaluations of a job are tracked, one is {}", id_of(row)));
      const auto named = tracker.jobs().find(broker::JobKeyRow{record.job});
      if (named == tracker.jobs().end() || named->second != row)
        problems.push_back(fmt::format("R-CTRL-1727: the tracked evaluation {} is not its job's", id_of(row)));
    }
  for (const auto& [node, rows] : tracker.system_by_node())
    for (const auto& [row, eval] : rows) blocked.insert(book[row].id);
  const tables::Snapshot& state = server.store().current();
  for (tables::StoredEvalRow row = 0; row < state.evals.size(); ++row) {
    if (!state.evals.exists(row)) continue;
    const std::uint8_t status = state.evals.status[row];
    if (status != tables::kEvalPending && status != tables::kEvalBlocked) continue;
    const auto at = places.find(state.evals.id[row]);
    const int count = at == places.end() ? 0 : at->second;
    if (status == tables::kEvalPending && count != 1) {
      const auto eval = state.eval(row);
      problems.push_back(fmt::format("R-CTRL-1725: the pending evaluation {} ({}) stands in {} places of the broker",
                                     eval->id, eval->triggered_by, count));
    }
    if (status == tables::kEvalBlocked && count == 0 && !blocked.contains(state.evals.id[row]))
      problems.push_back(
          fmt::format("R-CTRL-1726: the blocked evaluation {} waits nowhere", base::to_text(state.evals.id[row])));
  }
}

void check_heartbeats(const Snapshot& state, const lifecycle::Heartbeats& heartbeats, Problems& problems) {
  for (NodeRow node = 0; node < state.nodes.size(); ++node) {
    const bool expected = state.nodes.exists(node) && state.nodes.status(node) != tables::NodeStatus::down;
    if (heartbeats.has(node) != expected)
      problems.push_back(fmt::format("R-CTRL-1731: node row {} {}", node + 0U,
                                     expected ? "has no heartbeat timer" : "has a heartbeat timer"));
  }
}

}  // namespace berth::living
