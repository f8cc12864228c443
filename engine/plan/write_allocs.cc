// The allocations of a plan: stopped, updated, placed, evicted (R-CTRL-626, 701 to 714, 728, 729).
#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "fsm/deployment_counts.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "plan/apply.h"
#include "tables/export.h"

namespace berth::plan {

using tables::AllocLinks;
using tables::AllocRow;
using tables::CompiledGroup;
using tables::CompiledJob;
using tables::DeploymentRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;
using tables::VersionRow;

namespace {

/// Edits the API object of a row, creating it if the row has none.
template <class Edit>
void edit_object(tables::Commit& commit, AllocRow row, const CommitFacts& facts, Edit edit) {
  BERTH_ASSERT(commit.current().allocs.exists(row));
  auto object = std::make_shared<model::Allocation>(commit.to_alloc(row));
  edit(*object);
  object->modify_index = object->alloc_modify_index = facts.index;
  if (facts.now_ns != 0) object->modify_time = facts.now_ns;
  commit.replace_alloc(row, std::move(object));
}

/// The owner of an update's resources: the update itself, or a group of the plan's job.
std::shared_ptr<const tables::ResourceShape> owner_of(const PlannedUpdate& update, const CompiledJob& job) {
  BERTH_ASSERT(!update.shape || update.shape.get() == update.held);
  if (!update.held || update.shape) return update.shape;
  for (const CompiledGroup& group : job.groups)
    for (const auto& shape : {group.shape, group.shape_oversubscribed})
      if (shape.get() == update.held) return shape;
  return nullptr;
}

/// A unique claim ID, derived from the allocation that makes the claim, so that equal runs have equal IDs.
std::string claim_id(base::Uuid alloc, std::string_view volume) {
  std::uint64_t mixed = 0xcbf29ce484222325;  // FNV-1a
  for (const char byte : volume) mixed = (mixed ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  return base::to_text(base::Uuid{alloc.hi ^ mixed, alloc.lo ^ ~mixed});
}

const CompiledGroup* group_of(const CompiledJob& job, tables::Symbol name) {
  for (const CompiledGroup& group : job.groups)
    if (group.name == name) return &group;
  return nullptr;
}

void note(model::Allocation& alloc, PlannedUpdate::Note note) {
  if (note == PlannedUpdate::Note::none) return;
  if (!alloc.reschedule_tracker) alloc.reschedule_tracker.emplace();
  alloc.reschedule_tracker->last_reschedule = note == PlannedUpdate::Note::ok ? "ok" : "no placement";
}

}  // namespace

base::Uuid Applier::home_of(const Snapshot& state, AllocRow row) {
  if (const NodeRow node = state.allocs.node[row]; node != kNoRow) return state.nodes.id(node);
  const auto& cold = state.allocs.cold[row];
  return cold ? base::parse_uuid(cold->node_id).value_or(base::Uuid{}) : base::Uuid{};
}

void Applier::write_stop(Writing& w, const PlannedStop& stop) {  // R-CTRL-626, 702, 703
  const tables::AllocTable& allocs = w.state.allocs;
  const AllocRow row = stop.alloc;
  BERTH_ASSERT(!stop.evict && allocs.exists(row));
  ++w.result.stopped;
  const bool sets_status = stop.client == tables::Client::lost || stop.client == tables::Client::unknown;
  if (log_) stop_changes_.push_back({row, allocs.client[row], false});
  if (stop.given != kNoRow) {
    edit_object(w.commit, row, w.facts, [&](model::Allocation& alloc) {
      const model::Allocation& given = *w.plan.given[stop.given];
      alloc.desired_status = "stop";
      alloc.desired_description = given.desired_description;
      // A second stop is also made from the stored allocation; states that the first one added stay.
      if (quirks_.stop_erases_states || given.alloc_states.size() >= alloc.alloc_states.size())
        alloc.alloc_states = given.alloc_states;
      if (given.client_status == "lost" || given.client_status == "unknown") alloc.client_status = given.client_status;
      if (!given.followup_eval_id.empty()) alloc.followup_eval_id = given.followup_eval_id;
      if (!quirks_.reschedule_loses_description && given.reschedule_tracker)
        alloc.reschedule_tracker = given.reschedule_tracker;
    });
    return;
  }
  const bool adds_states = !quirks_.stop_erases_states && (stop.client || stop.came_back);
  const bool has_more = adds_states || (!quirks_.reschedule_loses_description && stop.replaced);  // states, tracker
  if (!has_more && !allocs.cold[row] && stop.followup == kNoRow && allocs.relations[row].preempted_by == kNoRow) {
    AllocLinks links = allocs.links_of(row);
    if (!stop.replaced || stop.keeps_description) links.description = stop.description;
    w.commit.set_links(row, links);
    w.commit.set_desired_status(row, tables::Desired::stop);
    if (sets_status && !stop.replaced) w.commit.set_client_status(row, *stop.client);
    w.commit.set_modified(row, w.facts.now_ns);
    return;
  }
  edit_object(w.commit, row, w.facts, [&](model::Allocation& alloc) {
    alloc.desired_status = "stop";
    if (quirks_.stop_erases_states) alloc.alloc_states.clear();
    if (!stop.replaced || stop.keeps_description) alloc.desired_description = to_text(stop.description);
    if (stop.replaced) {  // the entry is the stored allocation (R-SCHED-94)
      if (!quirks_.reschedule_loses_description) note(alloc, PlannedUpdate::Note::ok);
      return;
    }
    if (adds_states && stop.came_back) model::note_client_status(alloc, w.facts.now_ns);
    if (adds_states && stop.client)
      alloc.alloc_states.push_back({0, std::string(to_text(*stop.client)), base::Time{w.facts.now_ns}});
    if (sets_status) alloc.client_status = to_text(*stop.client);
    if (stop.followup != kNoRow) alloc.followup_eval_id = base::to_text(w.plan.followups[stop.followup]);
  });
}

void Applier::write_update(Writing& w, const PlannedUpdate& update) {  // R-CTRL-703, 710, 713
  using Kind = PlannedUpdate::Kind;
  const Snapshot& state = w.state;
  const AllocRow row = update.alloc;
  if (update.kind == Kind::given) {
    write_given(w, *w.plan.given[update.given], row);
    return;
  }
  const VersionRow current = state.jobs.keys[state.allocs.job_key[row]].current;
  const std::shared_ptr<const model::Job> job = state.jobs.objects[state.allocs.job_key[row]];
  std::shared_ptr<const tables::ResourceShape> shape;
  DeploymentRow joins = kNoRow;
  if (update.kind == Kind::in_place) {
    BERTH_ASSERT(w.plan.job != kNoRow);  // a plan without a job only stops
    shape = owner_of(update, *state.jobs.versions[w.plan.job]);
    BERTH_ASSERT(shape.get() == update.held);  // otherwise it would silently keep its resources
    if (update.to_deployment) joins = deployments_.front();
    const auto& cold = state.allocs.cold[row];
    const DeploymentRow theirs =
        cold ? store_.find_deployment(cold->deployment_id) : state.allocs.links[row].deployment;
    if (joins != kNoRow && joins != theirs) count_placed(joins, state.allocs.group[row], kNoRow);  // R-CTRL-727
  }
  const bool plain = update.kind == Kind::in_place && !state.allocs.cold[row] && !update.came_back &&
                     update.followup == kNoRow && update.note == PlannedUpdate::Note::none && job &&
                     group_of(*state.jobs.versions[current], state.allocs.group[row]);
  if (plain) {
    w.commit.update_in_place(row, current, shape);
    w.commit.set_modified(row, w.facts.now_ns);
    w.commit.set_eval(row, eval_);
    if (update.metrics && w.facts.metrics) w.commit.set_metrics(row, (*w.facts.metrics)(*update.metrics));
    if (update.to_deployment) {
      AllocLinks links = state.allocs.links_of(row);
      links.deployment = joins;
      links.health = 0;
      w.commit.set_links(row, links);
    }
    return;
  }
  const bool ended = state.allocs.terminal(row);
  edit_object(w.commit, row, w.facts, [&](model::Allocation& alloc) {
    if (update.followup != kNoRow) alloc.followup_eval_id = base::to_text(w.plan.followups[update.followup]);
    switch (update.kind) {
      case Kind::in_place:
        if (!w.facts.eval.is_nil()) alloc.eval_id = base::to_text(w.facts.eval);
        if (update.held) alloc.allocated_resources = *update.held->resources;
        if (update.metrics && w.facts.metrics) alloc.metrics = *(*w.facts.metrics)(*update.metrics);
        if (update.to_deployment) {
          const base::Uuid id = w.plan.deployment_ids.front();
          alloc.deployment_id = id.is_nil() ? std::string() : base::to_text(id);
          alloc.deployment_status.reset();
        }
        if (update.came_back) model::note_client_status(alloc, w.facts.now_ns);
        break;
      case Kind::unknown:
        model::become_unknown(alloc, w.facts.now_ns);
        break;
      case Kind::reconnects:
        model::note_client_status(alloc, w.facts.now_ns);
        break;
      case Kind::annotated:
      case Kind::given:  // handled above
        break;
      case Kind::not_placed:
        BERTH_ASSERT(w.plan.job != kNoRow);
        alloc.job = state.jobs.versions[w.plan.job]->spec;
        break;
    }
    if (update.kind != Kind::unknown && update.kind != Kind::not_placed && !ended && job) alloc.job = job;
    note(alloc, update.note);
  });
}

std::span<const std::pair<std::uint32_t, std::uint32_t>> Applier::victims_of(std::uint32_t position) const {
  const auto less = [](const auto& a, const auto& b) { return a.first < b.first; };
  const auto range = std::equal_range(victims_.begin(), victims_.end(), std::pair(position, 0u), less);
  return {range.first, range.second};
}

/// Row of the new allocation; kNoRow if its job is gone or stopped (R-CTRL-712).
AllocRow Applier::write_alloc(Writing& w, const PlannedAlloc& planned) {
  const Snapshot& state = w.state;
  const VersionRow version = planned.job == kNoRow ? w.plan.job : planned.job;
  BERTH_ASSERT(version != kNoRow);
  const CompiledJob& job = *state.jobs.versions[version];
  BERTH_ASSERT(planned.group < job.groups.size() && planned.deployment < deployments_.size());
  const VersionRow current = state.jobs.keys[job.key].current;
  if (current == kNoRow || state.jobs.versions[current]->stopped) return kNoRow;

  tables::PlainAlloc alloc;
  alloc.id = planned.id;
  alloc.node = planned.node;
  alloc.job = version;
  alloc.group = planned.group;
  alloc.name_index = planned.name_index;
  alloc.eval = eval_;
  alloc.modify_time = w.facts.now_ns;
  alloc.links.deployment = deployments_[planned.deployment];
  alloc.links.score = planned.score;
  if (planned.canary) alloc.links.health = AllocLinks::kHasStatus | AllocLinks::kCanary;
  const tables::Symbol group = job.groups[planned.group].name;
  const AllocRow previous = planned.previous;
  std::string odd_name;
  if (previous != kNoRow) {
    alloc.links.previous = previous;
    if (planned.keeps_name) {
      const VersionRow theirs = state.allocs.job[previous];
      alloc.name_index = state.allocs.name_index[previous];
      if (alloc.name_index == tables::kOddName || state.allocs.group[previous] != group || theirs == kNoRow ||
          state.jobs.versions[theirs]->name_base() != job.name_base()) {
        alloc.name_index = tables::kOddName;
        odd_name = tables::alloc_name(state, previous);
      }
    }
  }
  const AllocRow row = w.commit.insert_plain(alloc, planned.shape);
  if (w.facts.metrics) w.commit.set_metrics(row, (*w.facts.metrics)(planned.metrics));
  // Uses the job's current version (R-CTRL-503, 710), unless the plan names another one.
  const bool moves = planned.job == kNoRow && current != version;
  const CompiledJob& now = *state.jobs.versions[moves ? current : version];
  const bool same_names = !moves || (group_of(now, group) && now.name_base() == job.name_base());
  if (moves && same_names) w.commit.update_in_place(row, current, nullptr);
  const auto victims = victims_of(static_cast<std::uint32_t>(&planned - w.plan.allocs.data()));
  if (!victims.empty() || planned.tracker != kNoRow || planned.task_states != kNoRow || !odd_name.empty() ||
      !same_names)
    edit_object(w.commit, row, w.facts, [&](model::Allocation& object) {
      object.job = now.spec;
      if (!odd_name.empty()) object.name = odd_name;
      if (!w.facts.eval.is_nil()) object.eval_id = base::to_text(w.facts.eval);
      object.create_time = w.facts.now_ns;
      if (object.deployment_status) object.deployment_status->modify_index = w.facts.index;
      if (planned.tracker != kNoRow) object.reschedule_tracker = w.plan.trackers[planned.tracker];
      if (planned.task_states != kNoRow) object.task_states = w.plan.task_states[planned.task_states];  // R-SEED-18
      for (const auto& [by, stop] : victims)
        object.preempted_allocations.push_back(base::to_text(state.allocs.id[w.plan.stops[stop].alloc]));
    });
  if (alloc.links.deployment != kNoRow) count_placed(alloc.links.deployment, group, planned.canary ? row : kNoRow);
  if (const CompiledGroup& own = job.groups[planned.group]; own.has_host_volumes) claim_volumes(w, row, *own.spec);
  return row;
}

/// Writes a given allocation; `row` kNoRow: a new one (R-CTRL-711 to 713). Returns its row; kNoRow if the job of a new
/// one is gone or stopped.
AllocRow Applier::write_given(Writing& w, const model::Allocation& given, AllocRow row) {
  const Snapshot& state = w.state;
  const std::uint64_t index = w.facts.index;
  model::Allocation alloc = given;
  if (alloc.create_time == 0 && !w.facts.decided) alloc.create_time = w.facts.now_ns;  // R-CTRL-625
  alloc.modify_time = w.facts.now_ns;
  std::optional<model::Allocation> before;
  if (row == kNoRow) {
    const VersionRow current = state.jobs.keys[w.commit.job_key(alloc.namespace_, alloc.job_id)].current;
    if (current == kNoRow || state.jobs.versions[current]->stopped) return kNoRow;
    alloc.create_index = index;
    if (alloc.deployment_status) alloc.deployment_status->modify_index = index;
  } else {
    BERTH_ASSERT(base::parse_uuid(given.id) == state.allocs.id[row]);
    before = w.commit.to_alloc(row);
    alloc.create_index = before->create_index;
    if (!before->next_allocation.empty()) alloc.next_allocation = before->next_allocation;
    alloc.task_states = before->task_states;
    if (alloc.client_status != "lost" && alloc.client_status != "unknown") {
      alloc.client_status = before->client_status;
      alloc.client_description = before->client_description;
    }
    if (!alloc.job) alloc.job = before->job;
  }
  alloc.modify_index = alloc.alloc_modify_index = index;
  if (const tables::DeploymentRow deployment = store_.find_deployment(alloc.deployment_id); deployment != kNoRow)
    if (auto changed = fsm::counted(*state.deployments.object[deployment], alloc, before ? &*before : nullptr, index))
      store_deployment(w, std::move(*changed));
  if (row == kNoRow) {
    const AllocRow inserted = w.commit.insert_alloc(alloc);
    const model::TaskGroup* group = alloc.job ? alloc.job->group(alloc.task_group) : nullptr;
    if (inserted != kNoRow && group) claim_volumes(w, inserted, *group);
    return inserted;
  }
  w.commit.replace_alloc(row, std::make_shared<model::Allocation>(std::move(alloc)));
  return row;
}

void Applier::note_live_claimants(Writing& w) {
  const PlanRows& plan = w.plan;
  const Snapshot& state = w.state;
  const auto claims = [&](const PlannedAlloc& alloc) {
    if (alloc.given != kNoRow) return true;
    const VersionRow version = alloc.job == kNoRow ? plan.job : alloc.job;
    return state.jobs.versions[version]->groups[alloc.group].has_host_volumes;
  };
  if (std::none_of(plan.allocs.begin(), plan.allocs.end(), claims)) return;
  const auto note_live = [&](const auto& entry) {
    if (!entry.dropped && !state.allocs.terminal(entry.alloc)) live_claimants_.push_back(entry.alloc);
  };
  for (const PlannedStop& stop : plan.stops) note_live(stop);
  for (const PlannedUpdate& update : plan.updates) note_live(update);
  std::sort(live_claimants_.begin(), live_claimants_.end());
}

void Applier::claim_volumes(Writing& w, AllocRow row, const model::TaskGroup& group) {
  const Snapshot& state = w.state;
  BERTH_ASSERT(state.allocs.exists(row));
  const NodeRow node = state.allocs.node[row];
  if (node == kNoRow) return;
  const auto& offered = state.nodes.spec(node).node.host_volumes;
  const tables::JobKeyRow key = state.allocs.job_key[row];
  const tables::JobKey& names = state.jobs.keys[key];
  for (const auto& [alias, request] : group.volumes) {
    if (!request || request->type != "host" || !request->sticky) continue;
    const auto volume = offered.find(request->source);
    if (volume == offered.end() || !volume->second || volume->second->id.empty()) continue;
    const auto known = state.jobs.claims_of(key);
    const auto before = std::find_if(known.begin(), known.end(), [&](const auto& claim) {
      return claim->task_group_name == group.name && claim->volume_id == volume->second->id;
    });
    model::HostVolumeClaim claim;
    claim.namespace_ = state.text(names.job_namespace), claim.job_id = state.text(names.job_id);
    claim.task_group_name = group.name;
    claim.volume_id = volume->second->id, claim.volume_name = request->source;
    claim.alloc_id = base::to_text(state.allocs.id[row]);
    claim.create_index = claim.modify_index = w.facts.index;
    claim.id = claim_id(state.allocs.id[row], claim.volume_id);
    if (before != known.end()) {
      claim.create_index = (*before)->create_index;
      const AllocRow claimant = store_.find_alloc((*before)->alloc_id);
      const bool ended = claimant != kNoRow && state.allocs.exists(claimant) && state.allocs.terminal(claimant) &&
                         !std::binary_search(live_claimants_.begin(), live_claimants_.end(), claimant);
      if (ended) claim.id = (*before)->id;  // R-STORE-222
    }
    w.commit.upsert_claim(std::move(claim));
  }
}

/// Every write of an allocation with a predecessor updates that predecessor's link (R-CTRL-714).
void Applier::written(const Snapshot& state, AllocRow row) {
  const auto& cold = state.allocs.cold[row];
  if (cold ? !cold->previous_allocation.empty() : state.allocs.relations[row].previous != kNoRow)
    written_.push_back(row);
}

/// Links the predecessors of the rows that one list of the plan wrote, by ascending node (R-CTRL-705). The last link
/// wins.
void Applier::link_previous(Writing& w) {
  const tables::AllocTable& allocs = w.state.allocs;
  std::stable_sort(written_.begin(), written_.end(),
                   [&](AllocRow a, AllocRow b) { return home_of(w.state, a) < home_of(w.state, b); });
  for (const AllocRow row : written_) {
    AllocRow previous = allocs.relations[row].previous;
    if (const auto& cold = allocs.cold[row]) previous = store_.find_alloc(cold->previous_allocation);
    if (previous == kNoRow || !allocs.exists(previous)) continue;
    if (allocs.cold[previous]) {
      auto object = std::make_shared<model::Allocation>(w.commit.to_alloc(previous));
      object->next_allocation = base::to_text(allocs.id[row]);
      object->modify_index = w.facts.index;
      w.commit.replace_alloc(previous, std::move(object));
    } else {
      AllocLinks links = allocs.links_of(previous);
      links.next = row;
      w.commit.set_links(previous, links);
      w.commit.set_modify_index(previous);
    }
  }
  written_.clear();
}

/// True if a later entry of the plan replaces this update: updates in plan order, then stops (R-CTRL-704). Each entry
/// is made from the stored allocation, so the last one wins.
bool Applier::overwritten(const PlanRows& plan, std::uint32_t update) const {
  const AllocRow row = plan.updates[update].alloc;
  if (std::binary_search(stopped_.begin(), stopped_.end(), row)) return true;
  BERTH_DEBUG_ASSERT(std::is_sorted(rows_updated_.begin(), rows_updated_.end()));
  const auto later = std::upper_bound(rows_updated_.begin(), rows_updated_.end(), std::pair(row, update));
  return later != rows_updated_.end() && later->first == row;
}

/// An allocation that the plan also stops still becomes unknown: a later entry keeps the stored status (R-CTRL-704,
/// 713), unless it brings its own.
void Applier::keep_unknown(Writing& w, const PlannedUpdate& update) {
  for (const PlannedStop& stop : w.plan.stops)
    if (stop.alloc == update.alloc && !stop.evict && !stop.dropped && !stop.replaced &&
        (stop.client == tables::Client::lost || stop.client == tables::Client::unknown))
      return;
  edit_object(w.commit, update.alloc, w.facts, [](model::Allocation& alloc) {
    alloc.client_status = "unknown";
    alloc.client_description = model::kUnknownNode;
  });
  BERTH_ASSERT(w.state.allocs.client[update.alloc] == tables::Client::unknown);
}

void Applier::write_eviction(Writing& w, const PlannedStop& stop) {  // R-CTRL-701
  const Snapshot& state = w.state;
  const AllocRow row = stop.alloc;
  BERTH_ASSERT(stop.evict && !stop.dropped);
  ++w.result.stopped;
  note_change({row, state.allocs.client[row]});
  const AllocRow by = stop.by < inserted_.size() ? inserted_[stop.by] : kNoRow;
  const auto before = std::find_if(twice_.begin(), twice_.end(), [&](const model::Allocation& alloc) {
    return base::parse_uuid(alloc.id) == state.allocs.id[row];
  });
  if (by != kNoRow && !state.allocs.cold[row] && before == twice_.end()) {
    AllocLinks links = state.allocs.links_of(row);
    links.preempted_by = by;
    w.commit.set_links(row, links);
    w.commit.set_desired_status(row, tables::Desired::evict);
    w.commit.set_modified(row, w.facts.now_ns);
  } else {
    edit_object(w.commit, row, w.facts, [&](model::Allocation& alloc) {
      if (before != twice_.end()) {
        // Both entries were made from the stored allocation, and this one comes last (R-CTRL-606, 704). Fields of the
        // other one that no entry overwrites stay (R-CTRL-713).
        model::Allocation written = std::exchange(alloc, *before);
        if (!written.next_allocation.empty()) alloc.next_allocation = std::move(written.next_allocation);
        if (alloc.client_status != "lost" && alloc.client_status != "unknown") {
          alloc.client_status = std::move(written.client_status);
          alloc.client_description = std::move(written.client_description);
        }
      }
      alloc.desired_status = "evict";
      if (stop.by >= kDroppedBy && stop.by != kNoRow)
        alloc.preempted_by_allocation = base::to_text(w.plan.dropped[stop.by - kDroppedBy].id);
      else if (stop.by < w.plan.allocs.size())
        alloc.preempted_by_allocation = base::to_text(w.plan.allocs[stop.by].id);
      alloc.desired_description = "Preempted by alloc ID " + alloc.preempted_by_allocation;
    });
  }
  BERTH_ASSERT(state.allocs.desired[row] == tables::Desired::evict);
  const tables::JobKeyRow key = state.allocs.job_key[row];
  std::vector<tables::JobKeyRow>& jobs = w.result.preempted_jobs;
  if (state.jobs.keys[key].current != kNoRow && std::find(jobs.begin(), jobs.end(), key) == jobs.end())
    jobs.push_back(key);
}

}  // namespace berth::plan
