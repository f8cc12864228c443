#include <algorithm>
#include <tuple>

#include "api/impl.h"
#include "io/export_import.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth {

using tables::kNoRow;

namespace {

/// Finds the row of a job by linear search, because a View may be read on any thread and the store's index may not.
tables::JobKeyRow find_key(const tables::Snapshot& state, std::string_view job_namespace, std::string_view job_id) {
  for (tables::JobKeyRow row = 0; row < state.jobs.keys.size(); ++row) {
    const tables::JobKey& key = state.jobs.keys[row];
    if (state.text(key.job_id) == job_id && state.text(key.job_namespace) == job_namespace) return row;
  }
  return kNoRow;
}

}  // namespace

std::uint64_t View::index() const { return impl_->state->index; }

Counts View::counts() const {
  const tables::Snapshot& state = *impl_->state;
  Counts out;
  for (tables::NodeRow row = 0; row < state.nodes.size(); ++row) {
    if (!state.nodes.exists(row)) continue;
    ++out.nodes;
    out.ready_nodes += state.nodes.ready(row);
    const tables::NodeCapacity& capacity = state.nodes.capacity(row);
    const tables::NodeUse& use = state.nodes.use[row];
    out.cpu_usable_mhz += capacity.cpu_mhz;
    out.memory_usable_mb += capacity.memory_mb;
    out.disk_usable_mb += capacity.disk_mb;
    out.cpu_used_mhz += use.cpu_mhz;
    out.memory_used_mb += use.memory_mb;
    out.disk_used_mb += use.disk_mb;
  }
  for (tables::JobKeyRow row = 0; row < state.jobs.keys.size(); ++row)
    out.jobs += state.jobs.keys[row].current != kNoRow;
  out.allocs = state.allocs.size();
  for (tables::AllocRow row = 0; row < state.allocs.size(); ++row)
    out.live_allocs += !tables::client_terminal(state.allocs.client[row]);
  return out;
}

std::vector<NodeInfo> View::nodes() const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<NodeInfo> out;
  out.reserve(state.nodes.fixed->by_id->size());
  auto value = [&](tables::ColumnId column, tables::NodeRow row) {
    const std::string* text = state.value_text(column, row);
    return text ? *text : std::string();
  };
  for (const tables::NodeRow row : *state.nodes.fixed->by_id) {
    NodeInfo& node = out.emplace_back();
    node.id = base::to_text(state.nodes.id(row));
    node.name = value(tables::kNameColumn, row);
    node.datacenter = value(tables::kDatacenterColumn, row);
    node.pool = value(tables::kPoolColumn, row);
    node.node_class = value(tables::kClassColumn, row);
    node.status = to_text(state.nodes.status(row));
    node.ready = state.nodes.ready(row);
    const tables::NodeCapacity& capacity = state.nodes.capacity(row);
    const tables::NodeUse& use = state.nodes.use[row];
    node.allocs = use.alloc_count;
    node.cpu_usable_mhz = capacity.cpu_mhz;
    node.cpu_used_mhz = use.cpu_mhz;
    node.memory_usable_mb = capacity.memory_mb;
    node.memory_used_mb = use.memory_mb;
    node.disk_usable_mb = capacity.disk_mb;
    node.disk_used_mb = use.disk_mb;
  }
  return out;
}

namespace {

AllocInfo info_of(const tables::Snapshot& state, tables::AllocRow row) {
  const tables::AllocTable& a = state.allocs;
  AllocInfo out;
  out.id = base::to_text(a.id[row]);
  out.name = tables::alloc_name(state, row);
  if (a.job[row] != kNoRow) {
    const model::Job& job = *state.jobs.versions[a.job[row]]->spec;
    out.job_namespace = job.namespace_, out.job_id = job.id;
  }
  out.task_group = state.text(a.group[row]);
  if (a.node[row] != kNoRow) out.node_id = base::to_text(state.nodes.id(a.node[row]));
  out.desired_status = to_text(a.desired[row]);
  out.client_status = to_text(a.client[row]);
  out.create_index = a.create_index[row];
  out.modify_index = a.modify_index[row];
  return out;
}

/// Finds the row of a node by binary search. `by_id` is sorted and contains no removed nodes.
tables::NodeRow find_row(const tables::Snapshot& state, base::Uuid id) {
  const auto& rows = *state.nodes.fixed->by_id;
  const auto at = std::lower_bound(rows.begin(), rows.end(), id, [&](tables::NodeRow row, base::Uuid wanted) {
    return state.nodes.id(row) < wanted;
  });
  return at != rows.end() && state.nodes.id(*at) == id ? *at : kNoRow;
}

}  // namespace

std::vector<AllocInfo> View::allocs_of(std::string_view job_namespace, std::string_view job_id) const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<AllocInfo> out;
  const tables::JobKeyRow key = find_key(state, job_namespace, job_id);
  if (key == kNoRow) return out;
  for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = state.allocs.next_of_job[row]) {
    out.push_back(info_of(state, row));
    out.back().job_namespace = job_namespace, out.back().job_id = job_id;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<AllocInfo> View::allocs_on(std::string_view node_id) const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<AllocInfo> out;
  const auto id = base::parse_uuid(node_id);
  const tables::NodeRow node = id ? find_row(state, *id) : kNoRow;
  if (node == kNoRow) return out;
  const tables::NodeUse& use = state.nodes.use[node];
  for (const tables::AllocRow head : {use.alloc_head, use.ended_head})
    for (tables::AllocRow row = head; row != kNoRow; row = state.allocs.next_on_node[row])
      out.push_back(info_of(state, row));
  return out;
}

std::vector<JobInfo> View::jobs() const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<JobInfo> out;
  for (tables::JobKeyRow row = 0; row < state.jobs.keys.size(); ++row) {
    const tables::JobKey& key = state.jobs.keys[row];
    if (key.current == kNoRow) continue;
    const model::Job& job = *state.jobs.versions[key.current]->spec;
    JobInfo& info = out.emplace_back();
    info.id = job.id, info.job_namespace = job.namespace_, info.type = job.type, info.pool = job.node_pool;
    info.priority = job.priority, info.version = job.version, info.stopped = job.stop;
    for (const model::TaskGroup& group : job.task_groups) info.count += group.count;
    for (tables::AllocRow alloc = key.alloc_head; alloc != kNoRow; alloc = state.allocs.next_of_job[alloc])
      info.allocs += !tables::client_terminal(state.allocs.client[alloc]);
  }
  std::sort(out.begin(), out.end(), [](const JobInfo& a, const JobInfo& b) {
    return std::tie(a.job_namespace, a.id) < std::tie(b.job_namespace, b.id);
  });
  return out;
}

std::vector<DeploymentInfo> View::deployments() const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<DeploymentInfo> out;
  for (tables::DeploymentRow row = 0; row < state.deployments.size(); ++row) {
    const auto& object = state.deployments.object[row];
    if (!object) continue;
    DeploymentInfo& info = out.emplace_back();
    info.id = object->id, info.job_namespace = object->namespace_, info.job_id = object->job_id;
    info.job_version = object->job_version;
    info.status = object->status, info.description = object->status_description;
    for (const auto& [name, group] : object->task_groups)
      if (group)
        info.groups.push_back({name, group->desired_total, group->placed_allocs, group->healthy_allocs,
                               group->unhealthy_allocs, group->desired_canaries, group->promoted});
  }
  std::sort(out.begin(), out.end(), [](const DeploymentInfo& a, const DeploymentInfo& b) {
    return std::tie(a.job_namespace, a.job_id, a.job_version) < std::tie(b.job_namespace, b.job_id, b.job_version);
  });
  return out;
}

std::string View::to_json() const { return json::to_text(io::cluster_to_json(tables::to_cluster(*impl_->state))); }

}  // namespace berth
