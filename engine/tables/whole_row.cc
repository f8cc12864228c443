#include "tables/whole_row.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/job.h"

namespace berth::tables {
TaskStatus status_of(const model::TaskState& state) {
  TaskStatus out;
  out.state = state.state == "running" ? TaskState::running
              : state.state == "dead"  ? TaskState::dead
                                       : TaskState::pending;
  out.failed = state.failed, out.restarts = static_cast<std::uint32_t>(state.restarts);
  out.started_at = state.started_at.ns, out.finished_at = state.finished_at.ns;
  out.last_restart = state.last_restart.ns;
  return out;
}

namespace {

using model::Allocation;

/// The enumerator of this text, up to `last`.
template <class Enum>
std::optional<Enum> from_text(std::string_view text, Enum last) {
  for (unsigned i = 0; i <= static_cast<unsigned>(last); ++i)
    if (to_text(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  return std::nullopt;
}

/// True if the row's ID would be written as this text.
bool is_lower(std::string_view id) {
  return std::none_of(id.begin(), id.end(), [](char c) { return c >= 'A' && c <= 'F'; });
}

/// Data of an allocation that only its API object can hold.
bool has_irregular_parts(const Allocation& a) {
  return !a.alloc_states.empty() || a.reschedule_tracker || !a.followup_eval_id.empty() ||
         !a.preempted_allocations.empty() || !a.preempted_by_allocation.empty() || !a.allocated_resources ||
         a.task_states.size() > 1 || a.desired_transition != model::DesiredTransition();
}

/// Sets the status of a task, without its events. False: write_task() would not give back this state.
bool take_status(const model::TaskState& from, TaskStatus& out) {
  out = status_of(from);
  model::TaskState same;
  write_task(out, same);
  return same.state == from.state && same.restarts == from.restarts && from.paused.empty() &&
         from.task_handle.is_null();
}

/// Sets a task's event if there is one that a column can hold. False: the events need another place.
bool take_event(const json::Value& events, TaskStatus& out) {
  if (events.is_null()) return true;
  if (events.size() != 1) return false;
  const json::Value& event = events.items().front();
  const auto kind = from_text(event["Type"].as_string(), TaskEvent::max_run_exceeded);
  if (!kind || *kind == TaskEvent::none || event.size() != 2 || task_events(*kind, event["Time"].as_int()) != events)
    return false;
  out.event = *kind, out.event_at = event["Time"].as_int();
  return true;
}

/// Sets the data that no rule reads; `events` null: none of its task.
void take_rest(const Allocation& alloc, const json::Retained* events, WholeRow& out) {
  AllocRest rest;
  rest.resources = alloc.resources, rest.shared_resources = alloc.shared_resources;
  rest.task_resources = alloc.task_resources, rest.extra = alloc.extra;
  rest.network_status = alloc.network_status;
  if (events) rest.events = *events;
  const auto parts = {&rest.resources, &rest.shared_resources, &rest.task_resources,
                      &rest.extra,     &rest.network_status,   &rest.events};
  if (!std::all_of(parts.begin(), parts.end(), [](const json::Retained* one) { return one->is_null(); }))
    out.rest = std::make_shared<const AllocRest>(std::move(rest));
}

/// Sets health, the client's report, and the rest. False: they do not fit into the columns.
bool take_report(StateStore& store, const Allocation& alloc, WholeRow& out) {
  Reported said;
  const auto description = from_text(alloc.client_description, ClientDescription::not_restored);
  if (!description) return false;
  said.description = *description;
  said.alloc_modify_index = alloc.alloc_modify_index;
  const json::Retained* other_events = nullptr;
  for (const auto& [name, state] : alloc.task_states) {
    TaskStatus status;
    if (name.empty() || !state || !take_status(*state, status)) return false;
    // Schedulers read a success that the client status does not show yet from the object (R-MODEL-154).
    if (status.successful() && !client_terminal(out.client)) return false;
    if (!take_event(state->events, status)) other_events = &state->events;
    if (!said.take(store.symbols().intern(name), status)) return false;
  }
  take_rest(alloc, other_events, out);
  bool is_judged = false;
  if (const auto& status = alloc.deployment_status) {
    model::DeploymentStatus same;
    same.canary = status->canary, same.healthy = status->healthy;
    unsigned bits = AllocLink::kHasStatus | (same.canary ? AllocLink::kCanary : 0U);
    if (status->healthy) {
      is_judged = true;
      bits |= *status->healthy ? AllocLink::kHealthy : AllocLink::kUnhealthy;
      said.health_at = status->timestamp.ns, said.health_index = status->modify_index;
    } else if (!(same == *status)) {
      return false;
    }
    out.links.health = static_cast<std::uint8_t>(bits);
  }
  if (is_judged || said.task != kEmptySymbol || said.description != ClientDescription::none ||
      said.alloc_modify_index != alloc.modify_index)
    out.report = said;
  return true;
}

/// Sets evaluation, deployment and stop reason. False: they are not stored, or a column cannot hold them.
bool take_links(StateStore& store, const Allocation& alloc, WholeRow& out) {
  out.stamp.modify_time = alloc.modify_time, out.stamp.create_time = alloc.create_time;
  if (!alloc.eval_id.empty()) {
    out.stamp.eval = store.find_eval(alloc.eval_id);
    if (out.stamp.eval == kNoRow || !is_lower(alloc.eval_id)) return false;
  }
  if (!alloc.deployment_id.empty()) {
    out.links.deployment = store.find_deployment(alloc.deployment_id);
    if (out.links.deployment == kNoRow || !is_lower(alloc.deployment_id)) return false;
  }
  const auto description = from_text(alloc.desired_description, Description::node_tainted);
  if (description) out.links.description = *description;
  return description.has_value();
}

/// Metrics of which only the score of the chosen node is known are stored as that score.
void take_metrics(const Allocation& alloc, WholeRow& out) {
  if (!alloc.metrics) return;
  if (alloc.metrics->score_meta_data.size() == 1) {
    model::AllocMetric same;
    model::ScoreMeta& score = same.score_meta_data.emplace_back();
    score.node_id = alloc.node_id, score.norm_score = alloc.metrics->score_meta_data.front().norm_score;
    if (score.norm_score != 0 && same == *alloc.metrics) {
      out.links.score = score.norm_score;
      return;
    }
  }
  out.metrics = std::make_shared<const model::AllocMetric>(*alloc.metrics);
}

/// The group's own shape if the allocation holds just that.
std::shared_ptr<const ResourceShape> shape_for(const CompiledGroup& group, const model::AllocatedResources& held) {
  for (const auto& shape : {group.shape, group.shape_oversubscribed})
    if (shape && shape->resources && *shape->resources == held) return shape;
  return make_shape(std::make_shared<const model::AllocatedResources>(held));
}

}  // namespace

std::uint32_t standard_index(std::string_view name, std::string_view name_base, std::string_view group) {
  const std::size_t prefix = name_base.size() + group.size() + 2;  // "." and "["
  if (name.size() < prefix + 2 || !name.starts_with(name_base) || name[name_base.size()] != '.' ||
      name.substr(name_base.size() + 1, group.size()) != group || name[prefix - 1] != '[' || name.back() != ']')
    return kOddName;
  const std::string_view digits = name.substr(prefix, name.size() - prefix - 1);
  const auto value = base::parse_uint64(digits);
  if (!value || *value >= kOddName || std::to_string(*value) != digits) return kOddName;
  return static_cast<std::uint32_t>(*value);
}

std::optional<WholeRow> whole_row(StateStore& store, const Allocation& alloc, VersionRow job) {
  const auto id = base::parse_uuid(alloc.id);
  if (!id || job == kNoRow || has_irregular_parts(alloc) || !is_lower(alloc.id) || !is_lower(alloc.node_id))
    return std::nullopt;
  const Snapshot& state = store.current();
  const CompiledJob& compiled = *state.jobs.versions[job];
  if (compiled.spec != alloc.job || alloc.namespace_ != compiled.spec->namespace_ || alloc.job_id != compiled.spec->id)
    return std::nullopt;
  WholeRow out;
  out.id = *id, out.key = compiled.key;
  const auto group = std::find_if(compiled.groups.begin(), compiled.groups.end(),
                                  [&](const CompiledGroup& one) { return one.spec->name == alloc.task_group; });
  if (group == compiled.groups.end()) return std::nullopt;
  out.group = group->name;
  out.name_index = standard_index(alloc.name, compiled.name_base(), alloc.task_group);
  out.node = store.find_node(alloc.node_id);
  if (out.name_index == kOddName || out.node == kNoRow) return std::nullopt;
  const std::string* const node_name = state.value_text(kNameColumn, out.node);
  if (alloc.node_name != (node_name ? std::string_view(*node_name) : std::string_view())) return std::nullopt;
  const auto desired = parse_desired(alloc.desired_status);
  const auto client = parse_client(alloc.client_status);
  if (!desired || !client) return std::nullopt;
  out.desired = *desired, out.client = *client;
  if (!take_links(store, alloc, out) || !take_report(store, alloc, out)) return std::nullopt;
  take_metrics(alloc, out);
  out.shape = shape_for(*group, *alloc.allocated_resources);
  return out;
}

bool relate(StateStore& store, const Allocation& alloc, AllocLinks& links) {
  const auto find = [&](const std::string& id, AllocRow& row) {
    if (id.empty()) return true;
    row = store.find_alloc(id);
    return row != kNoRow && is_lower(id);
  };
  return find(alloc.previous_allocation, links.previous) && find(alloc.next_allocation, links.next);
}

}  // namespace berth::tables
