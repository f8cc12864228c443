// The order in which an accepted plan is written into the tables (R-CTRL-616, 625 to 627, 701 to 714). Allocations are
// in write_allocs.cc, deployments in write_deployments.cc.
#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "fsm/deployment_counts.h"
#include "model/job.h"
#include "model/plan_predicates.h"
#include "model/predicates.h"
#include "plan/apply.h"
#include "tables/export.h"

namespace berth::plan {

using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;
using tables::VersionRow;

namespace {

constexpr const char* kIneligibleMessage =
    "Node marked as ineligible for scheduling due to multiple plan rejections, refer to "
    "https://developer.hashicorp.com/nomad/s/port-plan-failure for more information";

/// True if the allocation becomes unknown, even if other entries of the plan change it too.
bool makes_unknown(const PlanRows& plan, const PlannedUpdate& update) {
  if (update.kind != PlannedUpdate::Kind::given) return update.kind == PlannedUpdate::Kind::unknown;
  BERTH_ASSERT(update.given < plan.given.size());
  return plan.given[update.given]->client_status == "unknown";
}

/// R-SCHED-47: true if the entry of a live allocation has no job.
bool takes_job(const Snapshot& state, const PlannedUpdate& update) {
  using Kind = PlannedUpdate::Kind;
  const bool has_none =
      update.kind == Kind::in_place || update.kind == Kind::reconnects || update.kind == Kind::annotated;
  return has_none && !state.allocs.terminal(update.alloc);
}

}  // namespace

bool Applier::refuses(NodeRow node) const {
  return !rejected_->empty() && std::find(rejected_->begin(), rejected_->end(), node) != rejected_->end();
}

/// A stop of an allocation that no longer exists fails the whole plan before any node is checked (R-CTRL-606).
std::string Applier::missing_alloc(const Snapshot& view, const PlanRows& plan) const {
  for (const PlannedStop& stop : plan.stops)
    if (!stop.dropped && (stop.alloc >= view.allocs.size() || !view.allocs.exists(stop.alloc)))
      return "alloc " + base::to_text(store_.current().allocs.id[stop.alloc]) + " doesn't exist";
  return "";
}

/// True if nodes were rejected and the plan had entries for them alone: no entry is written (R-CTRL-621).
bool Applier::nothing_left(const PlanRows& plan) const {
  return !rejected_->empty() && !plan.has_deployment && plan.deployment_updates.empty() &&
         std::all_of(plan.allocs.begin(), plan.allocs.end(), [&](const auto& alloc) { return refuses(alloc.node); }) &&
         std::all_of(plan.updates.begin(), plan.updates.end(),
                     [&](const auto& update) { return update.dropped || refuses(node_of(update.alloc)); }) &&
         std::all_of(plan.stops.begin(), plan.stops.end(),
                     [&](const auto& stop) { return stop.evict || stop.dropped || refuses(node_of(stop.alloc)); });
}

/// Why writing the accepted entries fails (R-CTRL-704, 707); "" if it does not.
std::string Applier::why_not(const Snapshot& state, const PlanRows& plan, const CommitFacts& facts) {
  if (!facts.decided && nothing_left(plan)) return "";
  if (!plan.given.empty())
    for (const PlannedAlloc& alloc : plan.allocs)
      if (alloc.given != kNoRow && !plan.given[alloc.given]->job && !refuses(alloc.node))
        return "attempting to upsert allocation \"" + plan.given[alloc.given]->id + "\" without a job";
  if (!facts.eval.is_nil() && store_.find_eval(facts.eval) == kNoRow)
    return "failed to get evaluation \"" + base::to_text(facts.eval) + "\"";
  const model::Deployment* deployment = plan.deployment ? plan.deployment.get() : facts.deployment;
  if (!plan.has_deployment || !deployment) return "";
  const tables::DeploymentRow row = store_.find_deployment(deployment->id);
  if (row == kNoRow) return "";
  const bool undone = model::undoes_promotion(*deployment, *state.deployments.object[row]);
  return std::string(undone ? model::kPromotionUndone : "");
}

/// Chooses the preemptions that count, on the state before the plan (R-CTRL-616).
void Applier::choose_evictions(Writing& w) {
  const PlanRows& plan = w.plan;
  const Snapshot& state = w.state;
  const Snapshot& view = w.facts.view ? *w.facts.view : state;
  BERTH_DEBUG_ASSERT(std::is_sorted(updates_.begin(), updates_.end()));
  std::vector<NodeRow> nodes;  // ascending: where the plan places or stops
  bool nodes_known = false;
  const auto listed = [&](NodeRow node) {  // R-CTRL-608: a node with preemptions alone is not checked
    if (!std::exchange(nodes_known, true)) {
      for (const PlannedAlloc& alloc : plan.allocs) nodes.push_back(alloc.node);
      for (const PlannedStop& stop : plan.stops)
        if (!stop.evict && !stop.dropped) nodes.push_back(node_of(stop.alloc));
      std::sort(nodes.begin(), nodes.end());
    }
    return !updates_on(node).empty() || std::binary_search(nodes.begin(), nodes.end(), node);
  };
  evictions_.clear();
  for (std::uint32_t i = 0; i < plan.stops.size(); ++i) {
    const PlannedStop& stop = plan.stops[i];
    BERTH_ASSERT(stop.by < plan.allocs.size() || stop.by >= kDroppedBy);
    const NodeRow node = node_of(stop.alloc);
    if (!stop.evict || stop.dropped || placements_refused_ || refuses(node)) continue;
    if (!w.facts.decided) {
      if (view.allocs.terminal(stop.alloc)) continue;
      const bool beside = stop.by < kDroppedBy && plan.allocs[stop.by].node == node;  // its placement's node
      if (!beside && !listed(node)) continue;
    }
    evictions_.push_back(i);
  }
  twice_.clear();
  if (evictions_.empty()) return;
  std::vector<AllocRow> others;  // ascending: what the plan updates or stops
  for (const auto& update : plan.updates)
    if (!update.dropped) others.push_back(update.alloc);
  for (const PlannedStop& stop : plan.stops)
    if (!stop.evict && !stop.dropped) others.push_back(stop.alloc);
  std::sort(others.begin(), others.end());
  for (const std::uint32_t i : evictions_)
    if (std::binary_search(others.begin(), others.end(), plan.stops[i].alloc))
      twice_.push_back(w.commit.to_alloc(plan.stops[i].alloc));
}

void Applier::write(Writing& w) {
  ApplyResult& result = w.result;
  changes_.allocs.clear(), stop_changes_.clear(), changes_.deployments.clear(), changes_.preemption_evals.clear();
  changes_.wrote_nodes = !result.ineligible_nodes.empty();
  eval_ = store_.find_eval(w.facts.eval);
  for (const NodeRow row : result.ineligible_nodes) mark_ineligible(w, row);
  const bool emptied = w.facts.all_at_once && !rejected_->empty();  // R-CTRL-618
  if (!emptied) write_content(w);
  BERTH_ASSERT(!emptied || result.committed + result.stopped == 0);
  BERTH_ASSERT(result.stopped <= w.plan.stops.size());

  const PlanRows& plan = w.plan;
  if (!w.facts.decided && result.ineligible_nodes.empty() && result.committed == 0 && result.stopped == 0 &&
      !plan.has_deployment && plan.deployment_updates.empty())
    return;  // R-CTRL-621
  w.commit.raise_index();
  result.index = w.facts.index;
  result.index_used = true;
  if (result.refresh_index != 0) result.refresh_index = std::max(result.refresh_index, w.facts.index);
  changes_.eval = eval_;
  if (eval_ != kNoRow) w.commit.set_eval_modified(eval_, std::nullopt);
}

void Applier::write_content(Writing& w) {
  const PlanRows& plan = w.plan;
  const Snapshot& state = w.state;
  ApplyResult& result = w.result;
  placed_.clear();
  placements_refused_ = false;
  if (!quirks_.placement_of_stopped_vanishes && !plan.allocs.empty()) {
    const VersionRow current =
        plan.job == kNoRow ? kNoRow : state.jobs.keys[state.jobs.versions[plan.job]->key].current;
    placements_refused_ = current == kNoRow || state.jobs.versions[current]->stopped;
  }
  if (placements_refused_) {
    result.placements_refused = true;
    result.refresh_index = std::max(result.refresh_index, state.index);
  }
  choose_evictions(w);

  const model::Deployment* deployment = plan.deployment ? plan.deployment.get() : w.facts.deployment;
  if (plan.has_deployment && deployment) write_deployment(w, *deployment);
  write_statuses(w);
  BERTH_ASSERT(!plan.deployment_ids.empty());
  deployments_.clear();
  for (const base::Uuid id : plan.deployment_ids) deployments_.push_back(store_.find_deployment(id));

  live_claimants_.clear();
  if (!plan.stops.empty() || !plan.updates.empty()) note_live_claimants(w);
  for (const PlannedStop& stop : plan.stops)
    if (!stop.evict && !stop.dropped && !refuses(node_of(stop.alloc))) write_stop(w, stop);
  write_updates(w);
  write_placements(w);
  link_previous(w);
  if (log_) changes_.allocs.insert(changes_.allocs.end(), stop_changes_.begin(), stop_changes_.end());
  for (const PlannedStop& stop : plan.stops)
    if (!stop.evict && !stop.dropped && !refuses(node_of(stop.alloc))) written(state, stop.alloc);
  link_previous(w);
  for (const std::uint32_t i : evictions_) {
    write_eviction(w, plan.stops[i]);
    written(state, plan.stops[i].alloc);
  }
  link_previous(w);
  write_counts(w);
  // Every entry is written or refused.
  BERTH_ASSERT(result.committed + result.refused ==
               plan.allocs.size() + static_cast<std::size_t>(std::count_if(plan.updates.begin(), plan.updates.end(),
                                                                           [](const auto& u) { return !u.dropped; })));

  std::sort(result.preempted_jobs.begin(), result.preempted_jobs.end(), [&](auto a, auto b) {
    const tables::JobKey &x = state.jobs.keys[a], &y = state.jobs.keys[b];
    return std::pair(std::string_view(state.text(x.job_namespace)), std::string_view(state.text(x.job_id))) <
           std::pair(std::string_view(state.text(y.job_namespace)), std::string_view(state.text(y.job_id)));
  });
  // One evaluation per job, however many of its allocations are evicted (R-CTRL-627).
  BERTH_ASSERT(std::adjacent_find(result.preempted_jobs.begin(), result.preempted_jobs.end()) ==
               result.preempted_jobs.end());
  if (w.facts.draw_id) write_preemption_evals(w);
  if (w.facts.decided) changes_.preemption_evals = w.facts.decided->evals;
}

void Applier::write_updates(Writing& w) {
  const PlanRows& plan = w.plan;
  const Snapshot& state = w.state;
  stopped_.clear();
  if (!plan.updates.empty())
    for (const PlannedStop& stop : plan.stops)
      if (!stop.evict && !stop.dropped) stopped_.push_back(stop.alloc);
  std::sort(stopped_.begin(), stopped_.end());
  rows_updated_.clear();
  for (std::uint32_t i = 0; i < plan.updates.size(); ++i)
    if (!plan.updates[i].dropped) rows_updated_.emplace_back(plan.updates[i].alloc, i);
  std::sort(rows_updated_.begin(), rows_updated_.end());
  for (std::uint32_t i = 0; i < plan.updates.size(); ++i) {
    const PlannedUpdate& update = plan.updates[i];
    if (update.dropped) continue;
    if (refuses(node_of(update.alloc))) {
      ++w.result.refused;
      continue;
    }
    BERTH_ASSERT(state.allocs.exists(update.alloc));  // one that is gone is refused with its node
    // If the plan also stops this allocation, record only the stop.
    if (!std::binary_search(stopped_.begin(), stopped_.end(), update.alloc))
      note_change({update.alloc, state.allocs.client[update.alloc], false, takes_job(state, update)});
    if (!overwritten(plan, i))
      write_update(w, update);
    else if (makes_unknown(plan, update))
      keep_unknown(w, update);
    written(state, update.alloc);
    ++w.result.committed;
  }
}

void Applier::write_placements(Writing& w) {
  const PlanRows& plan = w.plan;
  // The columns that a placement changes; a plan that was checked early has not read them here.
  const tables::NodeTable& nodes = w.state.nodes;
  const auto prefetch = [&](std::size_t at) {
    if (at >= plan.allocs.size()) return;
    const NodeRow node = plan.allocs[at].node;
    if (w.facts.early) nodes.use.prefetch(node);
    if (node >= nodes.eviction.size()) return;
    nodes.eviction.prefetch(node);
    base::prefetch(&store_.writer_columns().priorities[node]);
  };
  constexpr std::size_t kAhead = 4;
  for (std::size_t at = 0; at < kAhead; ++at) prefetch(at);
  const bool any_evicts =
      std::any_of(plan.stops.begin(), plan.stops.end(), [](const PlannedStop& stop) { return stop.evict; });
  if (any_evicts) inserted_.assign(plan.allocs.size(), kNoRow);
  victims_.clear();
  for (std::uint32_t i = 0; any_evicts && i < plan.stops.size(); ++i)
    if (const PlannedStop& stop = plan.stops[i]; stop.evict && !stop.dropped) victims_.emplace_back(stop.by, i);
  std::sort(victims_.begin(), victims_.end());
  for (std::uint32_t i = 0; i < plan.allocs.size(); ++i) {
    prefetch(i + kAhead);
    if (refuses(plan.allocs[i])) {
      ++w.result.refused;
      continue;
    }
    const std::uint32_t given = plan.allocs[i].given;
    BERTH_ASSERT(!plan.allocs[i].shape || plan.allocs[i].shape.get() == plan.allocs[i].held);
    const AllocRow row = given == kNoRow ? write_alloc(w, plan.allocs[i]) : write_given(w, *plan.given[given], kNoRow);
    if (row != kNoRow) {
      BERTH_ASSERT(w.state.allocs.exists(row) && (given != kNoRow || w.state.allocs.node[row] == plan.allocs[i].node));
      note_change({row, tables::Client::pending, true, true});
      written(w.state, row);
    }
    if (any_evicts) inserted_[i] = row;
    ++w.result.committed;
  }
}

/// R-CTRL-627: written with the plan; the status of their jobs stays unchanged (R-CTRL-709).
void Applier::write_preemption_evals(Writing& w) {
  BERTH_ASSERT(log_ && changes_.preemption_evals.empty());  // written once
  for (const tables::JobKeyRow key : w.result.preempted_jobs) {
    const tables::JobKey& names = w.state.jobs.keys[key];
    BERTH_ASSERT(names.current != kNoRow);  // the job of a purged key gets no evaluation
    const model::Job& job = *w.state.jobs.versions[names.current]->spec;
    model::Evaluation& eval = changes_.preemption_evals.emplace_back();
    eval.id = base::to_text((*w.facts.draw_id)());
    eval.namespace_ = job.namespace_;
    eval.job_id = job.id;
    eval.triggered_by = "preemption";
    eval.type = job.type;
    eval.priority = job.priority;
    eval.status = "pending";
    eval.create_time = eval.modify_time = w.facts.now_ns;
  }
}

void Applier::mark_ineligible(Writing& w, NodeRow row) {  // R-CTRL-631
  BERTH_ASSERT(log_);                                     // events of nodes are records
  if (w.state.nodes.exists(row))
    log_->mark_ineligible(w.commit, row, {kIneligibleMessage, "Scheduler", w.facts.now_ns, {}});
}

}  // namespace berth::plan
