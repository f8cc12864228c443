#include "conform/recorded_plan.h"

#include <algorithm>
#include <optional>

#include "model/job.h"
#include "model/predicates.h"

namespace berth::conform {

using plan::PlannedStop;
using tables::Description;
using tables::kNoRow;

namespace {

base::Uuid uuid_of(std::string_view id) { return base::parse_uuid(id).value_or(base::Uuid{}); }

std::optional<Description> parse_description(std::string_view text) {
  for (int value = 0; value <= static_cast<int>(Description::node_tainted); ++value)
    if (to_text(static_cast<Description>(value)) == text) return static_cast<Description>(value);
  return std::nullopt;
}

}  // namespace

RecordedPlan::RecordedPlan(tables::StateStore& store, const model::Plan& plan, const model::Quirks& quirks)
    : store_(store), job_(plan.job) {
  const tables::JobKeyRow key = job_ ? store.find_job_key(job_->namespace_, job_->id) : kNoRow;
  if (key != kNoRow) rows_.job = store.current().jobs.keys[key].current;
  if (plan.deployment) {
    rows_.has_deployment = true;
    rows_.deployment = std::make_shared<const model::Deployment>(*plan.deployment);
  }
  for (const model::DeploymentStatusUpdate& update : plan.deployment_updates)
    rows_.deployment_updates.push_back({uuid_of(update.deployment_id), texts_.emplace_back(update.status),
                                        texts_.emplace_back(update.status_description)});
  add_allocs(plan.node_allocation);
  add_stops(plan.node_update, quirks);
  add_preemptions(plan.node_preemptions);
}

tables::NodeRow RecordedPlan::node_row(const std::string& id) {
  const tables::NodeRow known = store_.find_node(id);
  if (known != kNoRow) return known;
  model::Node node;
  node.id = id;
  tables::Commit commit = store_.begin_commit();
  const tables::NodeRow row = commit.upsert_node(node);
  commit.remove_node(row);
  return row;
}

tables::AllocRow RecordedPlan::alloc_row(const model::Allocation& alloc) {
  const tables::AllocRow known = store_.find_alloc(alloc.id);
  if (known != kNoRow) return known;
  tables::Commit commit = store_.begin_commit();
  const tables::AllocRow row = commit.insert_alloc(alloc);
  commit.remove_alloc(row);
  return row;
}

std::uint32_t RecordedPlan::give(model::Allocation alloc) {
  rows_.given.push_back(std::make_shared<const model::Allocation>(std::move(alloc)));
  return static_cast<std::uint32_t>(rows_.given.size() - 1);
}

void RecordedPlan::add_allocs(const NodeAllocs& lists) {
  for (const auto& [node_id, allocs] : lists) {
    std::uint32_t last = kNoRow;
    const tables::NodeRow node = node_row(node_id);
    for (model::Allocation alloc : allocs) {
      if (!alloc.job && !model::is_terminal(alloc)) alloc.job = job_;
      if (const tables::AllocRow row = store_.find_alloc(alloc.id); row != kNoRow) {
        plan::PlannedUpdate& update = rows_.updates.emplace_back();
        update.alloc = row;
        update.kind = plan::PlannedUpdate::Kind::given;
        update.given = give(std::move(alloc));
        continue;
      }
      const auto at = static_cast<std::uint32_t>(rows_.allocs.size());
      plan::PlannedAlloc& planned = rows_.allocs.emplace_back();
      planned.id = uuid_of(alloc.id);
      planned.node = node;
      planned.given = give(std::move(alloc));
      planned.first_on_node = last == kNoRow;
      if (last != kNoRow) rows_.allocs[last].next_on_node = at;
      last = at;
    }
  }
}

void RecordedPlan::add_stops(const NodeAllocs& lists, const model::Quirks& quirks) {
  const bool plain = quirks.stop_erases_states && quirks.reschedule_loses_description;  // else stops carry more
  for (const auto& [node_id, allocs] : lists)
    for (const model::Allocation& stop : allocs) {
      PlannedStop& planned = rows_.stops.emplace_back();
      planned.alloc = alloc_row(stop);
      const auto description = parse_description(stop.desired_description);
      const auto client = tables::parse_client(stop.client_status);
      if (!plain || !description || (!client && !stop.client_status.empty())) {
        planned.given = give(stop);
        continue;
      }
      planned.description = *description;
      planned.client = client;
      if (stop.followup_eval_id.empty()) continue;
      planned.followup = static_cast<std::uint32_t>(rows_.followups.size());
      rows_.followups.push_back(uuid_of(stop.followup_eval_id));
    }
}

void RecordedPlan::add_preemptions(const NodeAllocs& lists) {
  for (const auto& [node_id, allocs] : lists)
    for (const model::Allocation& preempted : allocs) {
      PlannedStop& planned = rows_.stops.emplace_back();
      planned.alloc = alloc_row(preempted);
      planned.evict = true;
      const base::Uuid by = uuid_of(preempted.preempted_by_allocation);
      const auto placed = std::find_if(rows_.allocs.begin(), rows_.allocs.end(),
                                       [&](const plan::PlannedAlloc& alloc) { return alloc.id == by; });
      if (placed != rows_.allocs.end()) {
        planned.by = static_cast<std::uint32_t>(placed - rows_.allocs.begin());
        continue;
      }
      planned.by = plan::kDroppedBy + static_cast<std::uint32_t>(rows_.dropped.size());
      rows_.dropped.push_back({by, 0});
    }
}

}  // namespace berth::conform
