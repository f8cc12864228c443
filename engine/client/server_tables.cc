#include "client/server_tables.h"

#include <charconv>

#include "base/json.h"
#include "model/job.h"
#include "tables/export.h"
#include "tables/whole_row.h"

namespace berth::client {

using tables::AllocLinks;
using tables::AllocRow;
using tables::kNoRow;
using tables::NodeRow;
using tables::Snapshot;

namespace {

/// Appends the 16 hex digits of `value`.
void write_hex(std::uint64_t value, std::string& out) {
  for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[value >> shift & 15];
}

std::uint32_t group_index(const tables::CompiledJob& job, tables::Symbol name) {
  for (std::uint32_t i = 0; i < job.groups.size(); ++i)
    if (job.groups[i].name == name) return i;
  return kNoRow;
}

/// The allocations that `row` waits for (R-CTRL-1510): its predecessor, and its victims on its node.
void read_upstream(tables::StateStore& store, AllocRow row, const model::Allocation* object, ServerAllocs& out) {
  const Snapshot& state = store.current();
  const auto add = [&](AllocRow up) {
    if (up == kNoRow || !state.allocs.exists(up))
      out.upstream.push_back({up, tables::Client::pending, true});
    else
      out.upstream.push_back({up, state.allocs.client[up], false});
  };
  if (object == nullptr) {
    if (const AllocRow previous = state.allocs.relations[row].previous; previous != kNoRow) add(previous);
  } else if (!object->previous_allocation.empty()) {
    add(store.find_alloc(object->previous_allocation));
  }
  if (object == nullptr) return;  // victims are stored in objects only, so a preempting allocation has one
  const NodeRow node = state.allocs.node[row];
  for (AllocRow up = state.nodes.use[node].alloc_head; up != kNoRow; up = state.allocs.next_on_node[up]) {
    if (state.allocs.desired[up] == tables::Desired::run) continue;  // not evicted
    const model::Allocation* victim = state.allocs.cold[up].get();
    const AllocRow by = victim == nullptr                         ? state.allocs.relations[up].preempted_by
                        : victim->preempted_by_allocation.empty() ? kNoRow
                                                                  : store.find_alloc(victim->preempted_by_allocation);
    if (by == row) add(up);
  }
}

void read_object(tables::StateStore& store, const model::Allocation& object, const model::TaskGroup& group,
                 ServerAlloc& s, ServerAllocs& out) {
  s.alloc_modify_index = object.alloc_modify_index;
  s.create_time = object.create_time;
  s.migrate = object.desired_transition.migrate.value_or(false);
  s.no_shutdown_delay = object.desired_transition.no_shutdown_delay.value_or(false);
  s.has_health = object.deployment_status && object.deployment_status->healthy;
  s.deployment = object.deployment_id.empty() ? kNoRow : store.find_deployment(object.deployment_id);
  const auto handle_of = [&](const model::Task& task) {
    const auto state = object.task_states.find(task.name);
    if (state == object.task_states.end() || !state->second) return Handle{};
    return parse_handle(state->second->task_handle).value_or(Handle{});
  };
  s.handles_begin = static_cast<std::uint32_t>(out.handles.size());
  bool any = false;
  for (const model::Task& task : group.tasks) {
    out.handles.push_back(handle_of(task));
    any |= out.handles.back().work != 0;
  }
  if (any)
    s.handles_count = static_cast<std::uint32_t>(group.tasks.size());
  else
    out.handles.resize(s.handles_begin);
}

}  // namespace

namespace {

/// Appends the reported states of the allocation's tasks, if all have one.
void read_statuses(const Snapshot& state, AllocRow row, const model::TaskGroup& group, ServerAlloc& s,
                   ServerAllocs& out) {
  s.statuses_begin = static_cast<std::uint32_t>(out.statuses.size());
  const model::Allocation* const object = state.allocs.cold[row].get();
  const auto report = object ? std::nullopt : state.allocs.report_of(row);
  for (const model::Task& task : group.tasks) {
    if (object) {
      const auto found = object->task_states.find(task.name);
      if (found == object->task_states.end() || !found->second) return out.statuses.resize(s.statuses_begin);
      out.statuses.push_back(tables::status_of(*found->second));
    } else {
      if (!report || report->task == tables::kEmptySymbol || state.text(report->task) != task.name)
        return out.statuses.resize(s.statuses_begin);
      TaskStatus& status = out.statuses.emplace_back(report->status());
      status.event = tables::TaskEvent::none, status.event_at = tables::kNoTime;
    }
  }
  s.statuses_count = static_cast<std::uint32_t>(group.tasks.size());
  if (row < state.allocs.logs.size()) s.log = state.allocs.logs[row];
}

}  // namespace

void read_alloc(tables::StateStore& store, AllocRow row, ServerAllocs& out) {
  const Snapshot& state = store.current();
  if (!state.allocs.exists(row)) return out.removed.push_back(row);
  const tables::VersionRow job = state.allocs.job[row];
  if (job == kNoRow) return;
  const tables::CompiledJob& compiled = *state.jobs.versions[job];
  ServerAlloc s;
  s.alloc = row, s.job = job, s.spec = &compiled.spec;
  s.group = group_index(compiled, state.allocs.group[row]);
  if (s.group == kNoRow) return;
  s.name_index = state.allocs.name_index[row];
  s.desired = state.allocs.desired[row];
  s.client = state.allocs.client[row];
  const model::Allocation* object = state.allocs.cold[row].get();
  if (object != nullptr) {
    read_object(store, *object, (*s.spec)->task_groups[s.group], s, out);
  } else {
    const tables::AllocLink& links = state.allocs.links[row];
    // Without an object there is one index for all changes: a client may read an allocation once more than necessary.
    s.alloc_modify_index = state.allocs.modify_index[row];
    s.create_time = state.allocs.stamp_of(row).create_time;
    s.has_health = (links.health & (AllocLinks::kHealthy | AllocLinks::kUnhealthy)) != 0;
    s.deployment = links.deployment;
  }
  s.upstream_begin = static_cast<std::uint32_t>(out.upstream.size());
  if (s.client == tables::Client::pending && !s.terminal()) read_upstream(store, row, object, out);
  s.upstream_count = static_cast<std::uint32_t>(out.upstream.size()) - s.upstream_begin;
  if (out.resume && s.client != tables::Client::pending)
    read_statuses(state, row, (*s.spec)->task_groups[s.group], s, out);
  out.allocs.push_back(s);
}

void read_node(tables::StateStore& store, NodeRow node, ServerAllocs& out) {
  const Snapshot& state = store.current();
  out.complete = true;
  for (const AllocRow head : {state.nodes.use[node].alloc_head, state.nodes.use[node].ended_head})
    for (AllocRow row = head; row != kNoRow; row = state.allocs.next_on_node[row]) read_alloc(store, row, out);
}

std::optional<tables::ClientReport> to_row(tables::StateStore& store, NodeRow node, const AllocReport& report,
                                           const Outbox& out) {
  const Snapshot& state = store.current();
  const tables::CompiledJob& job = *state.jobs.versions[state.allocs.job[report.alloc]];
  const tables::CompiledGroup& group = job.groups[group_index(job, state.allocs.group[report.alloc])];
  const std::size_t tasks = std::min<std::size_t>(report.tasks_count, group.tasks.size());
  if (tasks > 1) return std::nullopt;
  tables::ClientReport row;
  row.id = state.allocs.id[report.alloc], row.row = report.alloc, row.node = node;
  row.status = report.status.status;
  row.said.description = report.status.description;
  if (report.health != Health::unknown) {
    row.health = report.health == Health::healthy ? AllocLinks::kHealthy : AllocLinks::kUnhealthy;
    row.said.health_at = report.health_at;
  }
  if (tasks == 0) return row;
  const TaskStatus& status = out.tasks[report.tasks_begin];
  const bool early = status.successful() && !tables::client_terminal(row.status);
  if (early || out.handles[report.tasks_begin].work != 0 || !row.said.take(group.tasks.front().name, status))
    return std::nullopt;
  return row;
}

model::Allocation to_update(const Snapshot& state, NodeRow node, const AllocReport& report, const Outbox& out) {
  model::Allocation update;
  update.id = base::to_text(state.allocs.id[report.alloc]);
  update.node_id = base::to_text(state.nodes.id(node));
  update.client_status = tables::to_text(report.status.status);
  update.client_description = to_text(report.status.description);
  if (report.health != Health::unknown) {
    update.deployment_status.emplace();
    update.deployment_status->healthy = report.health == Health::healthy;
    update.deployment_status->timestamp = base::Time{report.health_at};
  }
  const tables::CompiledJob& job = *state.jobs.versions[state.allocs.job[report.alloc]];
  const model::TaskGroup& group = job.spec->task_groups[group_index(job, state.allocs.group[report.alloc])];
  for (std::uint32_t i = 0; i < report.tasks_count && i < group.tasks.size(); ++i) {
    const TaskStatus& status = out.tasks[report.tasks_begin + i];
    model::TaskState& task = update.task_states[group.tasks[i].name].emplace();
    tables::write_task(status, task);
    task.events = tables::task_events(status.event, status.event_at);
    if (const Handle& handle = out.handles[report.tasks_begin + i]; handle.work != 0)
      task.task_handle = to_json(handle);
  }
  return update;
}

json::Value to_json(const Handle& handle) {
  std::string state;
  write_hex(handle.work, state);
  write_hex(static_cast<std::uint64_t>(handle.exit_at), state);
  std::string code;
  write_hex(static_cast<std::uint32_t>(handle.exit_code), code);
  state.append(code, 8);
  json::Value out;
  out.set("Version", 1), out.set("DriverState", state);
  return out;
}

std::optional<Handle> parse_handle(const json::Value& handle) {
  const std::string& text = handle["DriverState"].as_string();
  std::uint64_t parts[3];
  if (text.size() != 40) return std::nullopt;
  for (std::size_t i = 0; i < 3; ++i) {
    const char* end = text.data() + std::min<std::size_t>(16 * i + 16, 40);
    const auto read = std::from_chars(text.data() + 16 * i, end, parts[i], 16);
    if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  }
  return Handle{parts[0], static_cast<std::int64_t>(parts[1]), static_cast<std::int32_t>(parts[2])};
}

}  // namespace berth::client
