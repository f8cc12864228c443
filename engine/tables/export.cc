#include "tables/export.h"

#include <charconv>
#include <string>

#include "base/json.h"
#include "model/job.h"
#include "tables/state.h"

namespace berth::tables {

std::string node_id(const Snapshot& state, NodeRow row) {
  const NodeSpec& spec = state.nodes.spec(row);
  return spec.shared ? base::to_text(state.nodes.id(row)) : spec.node.id;
}

std::string node_id_of(const Snapshot& state, AllocRow alloc) {
  if (const NodeRow node = state.allocs.node[alloc]; node != kNoRow) return node_id(state, node);
  const auto& object = state.allocs.cold[alloc];
  return object ? object->node_id : std::string();
}

model::Node to_node(const Snapshot& state, NodeRow row) {
  const NodeTable& n = state.nodes;
  const NodeSpec& spec = n.spec(row);
  model::Node node = spec.node;
  if (spec.shared) {
    node.id = base::to_text(n.id(row));
    node.attributes.clear();
    node.meta.clear();
    for (ColumnId id = 0; id < n.fixed->columns.size(); ++id) {
      const std::string* value = state.value_text(id, row);
      if (!value) continue;
      const KeyedColumn& column = n.column(id);
      switch (column.kind) {
        case KeyKind::datacenter:
          node.datacenter = *value;
          break;
        case KeyKind::pool:
          node.node_pool = *value;
          break;
        case KeyKind::node_class:
          node.node_class = *value;
          break;
        case KeyKind::computed_class:
          node.computed_class = *value;
          break;
        case KeyKind::name:
          node.name = *value;
          break;
        case KeyKind::attribute:
          node.attributes[state.text(column.key)] = *value;
          break;
        case KeyKind::meta:
          node.meta[state.text(column.key)] = *value;
          break;
      }
    }
  }
  const std::uint8_t bits = n.state[row];
  if (parse_node_status(node.status).value_or(NodeStatus::initializing) != n.status(row))
    node.status = to_text(n.status(row));
  if ((node.scheduling_eligibility == "eligible") != ((bits & kEligible) != 0))
    node.scheduling_eligibility = bits & kEligible ? "eligible" : "ineligible";
  if (node.drain_strategy.has_value() != ((bits & kDraining) != 0)) {
    node.drain_strategy.reset();
    if (bits & kDraining) node.drain_strategy.emplace();
  }
  return node;
}

namespace {

/// Writes the name of a row without an API object, which is always a standard one.
void write_name(const Snapshot& state, AllocRow row, std::string& out) {
  const AllocTable& a = state.allocs;
  out = state.jobs.versions[a.job[row]]->name_base();
  out += '.';
  out += state.text(a.group[row]);
  out += '[';
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, a.name_index[row]).ptr);
  out += ']';
}

/// Writes the client's report, if there is one.
void write_report(const Snapshot& state, const std::optional<Reported>& report, model::Allocation& out) {
  if (!report) {
    out.client_description.clear();
    out.task_states.clear();
    return;
  }
  out.client_description = to_text(report->description);
  if (report->task == kEmptySymbol) return out.task_states.clear();
  const std::string& name = state.text(report->task);
  if (out.task_states.size() != 1 || out.task_states.begin()->first != name) {
    out.task_states.clear();
    out.task_states[name].emplace();
  }
  write_task(report->status(), *out.task_states.begin()->second);
}

}  // namespace

std::string alloc_name(const Snapshot& state, AllocRow row) {
  std::string out;
  if (state.allocs.cold[row])
    out = state.allocs.cold[row]->name;
  else
    write_name(state, row, out);
  return out;
}

namespace {

/// Writes the links of a row and what its deployment records of it. The report, if any, has the times of its health.
void write_links(const Snapshot& state, const AllocLinks& links, const std::optional<Reported>& report,
                 model::Allocation& out) {
  const auto write_id = [&](std::string& text, AllocRow other) {
    if (other == kNoRow)
      text.clear();
    else
      base::write_text(state.allocs.id[other], text);
  };
  write_id(out.previous_allocation, links.previous);
  write_id(out.next_allocation, links.next);
  write_id(out.preempted_by_allocation, links.preempted_by);
  out.desired_description = to_text(links.description);
  if (links.preempted_by != kNoRow) out.desired_description = "Preempted by alloc ID " + out.preempted_by_allocation;
  if (links.deployment == kNoRow)
    out.deployment_id.clear();
  else
    base::write_text(state.deployments.id[links.deployment], out.deployment_id);
  out.deployment_status.reset();
  if (!(links.health & AllocLinks::kHasStatus)) return;
  model::DeploymentStatus& status = out.deployment_status.emplace();
  status.canary = links.health & AllocLinks::kCanary;
  if (!(links.health & (AllocLinks::kHealthy | AllocLinks::kUnhealthy))) return;
  status.healthy = (links.health & AllocLinks::kHealthy) != 0;
  if (report) status.timestamp.ns = report->health_at, status.modify_index = report->health_index;
}

}  // namespace

void write_plain(const Snapshot& state, AllocRow row, model::Allocation& out) {
  const AllocTable& a = state.allocs;
  const CompiledJob& job = *state.jobs.versions[a.job[row]];
  base::write_text(a.id[row], out.id);
  out.namespace_ = job.spec->namespace_;
  out.job_id = job.spec->id;
  out.job = job.spec;
  out.task_group = state.text(a.group[row]);
  write_name(state, row, out.name);
  if (a.node[row] == kNoRow)
    out.node_id.clear();
  else
    base::write_text(state.nodes.id(a.node[row]), out.node_id);
  out.desired_status = to_text(a.desired[row]);
  out.client_status = to_text(a.client[row]);
  out.create_index = a.create_index[row];
  out.modify_index = a.modify_index[row];
  const AllocStamp stamp = a.stamp_of(row);
  if (stamp.eval == kNoRow)
    out.eval_id.clear();
  else
    base::write_text(state.evals.id[stamp.eval], out.eval_id);
  out.modify_time = stamp.modify_time;
  out.create_time = stamp.create_time;
  const std::optional<Reported> report = a.report_of(row);
  out.alloc_modify_index = report ? report->alloc_modify_index : out.modify_index;
  write_report(state, report, out);
  const AllocLinks links = a.links_of(row);
  write_links(state, links, report, out);
  if (links.score == 0) {
    out.metrics.reset();
    return;
  }
  if (!out.metrics) out.metrics.emplace();
  out.metrics->score_meta_data.resize(1);
  out.metrics->score_meta_data.front().node_id = out.node_id;
  out.metrics->score_meta_data.front().norm_score = links.score;
}

model::Allocation to_update(const Snapshot& state, const ClientReport& report) {
  model::Allocation out;
  out.id = base::to_text(report.id);
  out.node_id = base::to_text(state.nodes.id(report.node));
  out.client_status = to_text(report.status);
  write_report(state, report.said, out);
  if (report.said.task != kEmptySymbol)
    out.task_states.begin()->second->events = task_events(report.said.event, report.said.event_at);
  if (report.health != 0) {
    out.deployment_status.emplace().healthy = report.health == AllocLinks::kHealthy;
    out.deployment_status->timestamp.ns = report.said.health_at;
  }
  out.modify_time = report.modify_time;
  return out;
}

void lay_over(const AllocTable& allocs, AllocRow row, model::Allocation& object) {
  if (parse_desired(object.desired_status).value_or(Desired::run) != allocs.desired[row])
    object.desired_status = to_text(allocs.desired[row]);
  if (parse_client(object.client_status).value_or(Client::pending) != allocs.client[row])
    object.client_status = to_text(allocs.client[row]);
  object.create_index = allocs.create_index[row];
  object.modify_index = allocs.modify_index[row];
}

namespace {

/// Writes the stored events of tasks instead of the newest ones that rules read.
void write_logs(const Snapshot& state, AllocRow row, model::Allocation& out) {
  const AllocTable& a = state.allocs;
  if (row >= a.logs.size() || !a.logs[row] || a.job[row] == kNoRow) return;
  const model::TaskGroup* group = state.jobs.versions[a.job[row]]->spec->group(out.task_group);
  for (std::size_t i = 0; group && i < group->tasks.size() && i < a.logs[row]->size(); ++i) {
    const auto task = out.task_states.find(group->tasks[i].name);
    if (task == out.task_states.end() || !task->second || (*a.logs[row])[i].empty()) continue;
    json::Value events = json::Value::array();
    for (const TaskLogEvent& event : (*a.logs[row])[i]) events.push(to_json(event));
    task->second->events = std::move(events);
  }
}

}  // namespace

model::Allocation to_alloc(const Snapshot& state, AllocRow row) {
  const AllocTable& a = state.allocs;
  if (const auto& cold = a.cold[row]) {
    model::Allocation out = *cold;
    lay_over(a, row, out);
    write_logs(state, row, out);
    return out;
  }
  model::Allocation out;
  write_plain(state, row, out);
  if (const model::AllocMetric* metrics = a.metrics_of(row)) out.metrics = *metrics;
  if (a.node[row] != kNoRow)
    if (const std::string* name = state.value_text(kNameColumn, a.node[row])) out.node_name = *name;
  if (const auto& resources = a.shape_of(row).resources) out.allocated_resources = *resources;
  if (const std::optional<Reported> report = a.report_of(row); report && report->task != kEmptySymbol)
    out.task_states.begin()->second->events = task_events(report->event, report->event_at);
  if (const auto& rest = a.rest[row]) {
    out.resources = rest->resources, out.shared_resources = rest->shared_resources;
    out.task_resources = rest->task_resources, out.extra = rest->extra;
    out.network_status = rest->network_status;
    if (!rest->events.is_null()) out.task_states.begin()->second->events = rest->events;
  }
  write_logs(state, row, out);
  return out;
}

std::shared_ptr<const model::Evaluation> Snapshot::eval(StoredEvalRow row) const {
  if (!evals.exists(row)) return nullptr;
  return std::make_shared<const model::Evaluation>(
      unpack(evals.packed[row], evals.more[row].get(), eval_columns(row), *symbols));
}

model::ClusterState to_cluster(const Snapshot& state) {
  model::ClusterState out;
  out.index = state.index;
  out.scheduler_config = state.cold->scheduler_config;
  out.node_pools = state.cold->node_pools;
  out.namespaces = state.cold->namespaces;
  out.host_volumes = state.cold->host_volumes;
  out.csi_volumes = state.cold->csi_volumes;
  out.csi_plugins = state.cold->csi_plugins;
  for (NodeRow row = 0; row < state.nodes.size(); ++row)
    if (state.nodes.exists(row)) out.nodes.push_back(to_node(state, row));
  for (JobKeyRow row = 0; row < state.jobs.keys.size(); ++row) {
    if (const auto& job = state.jobs.objects[row]) out.jobs.push_back(job);
    for (const auto& claim : state.jobs.claims_of(row)) out.host_volume_claims.push_back(*claim);
  }
  for (VersionRow row = 0; row < state.jobs.versions.size(); ++row) {
    if (!state.jobs.stored[row]) continue;
    const CompiledJob& version = *state.jobs.versions[row];
    const bool current = state.jobs.keys[version.key].current == row;
    out.job_versions.push_back(current ? state.jobs.objects[version.key] : version.spec);
  }
  out.allocs.reserve(state.allocs.size());
  for (AllocRow row = 0; row < state.allocs.size(); ++row)
    if (state.allocs.exists(row)) out.allocs.push_back(to_alloc(state, row));
  for (std::size_t row = 0; row < state.deployments.size(); ++row)
    if (state.deployments.object[row]) out.deployments.push_back(*state.deployments.object[row]);
  for (std::size_t row = 0; row < state.evals.size(); ++row)
    if (const auto eval = state.eval(static_cast<StoredEvalRow>(row))) out.evals.push_back(*eval);
  return out;
}

}  // namespace berth::tables
