#include <algorithm>

#include "api/impl.h"
#include "io/export_import.h"
#include "tables/export.h"

namespace berth {

using tables::kNoRow;

namespace {

/// Rows of jobs by text: a View may be read on any thread, the store's own index not.
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

std::vector<AllocInfo> View::allocs_of(std::string_view job_namespace, std::string_view job_id) const {
  const tables::Snapshot& state = *impl_->state;
  std::vector<AllocInfo> out;
  const tables::JobKeyRow key = find_key(state, job_namespace, job_id);
  if (key == kNoRow) return out;
  const tables::AllocTable& a = state.allocs;
  for (tables::AllocRow row = state.jobs.keys[key].alloc_head; row != kNoRow; row = a.next_of_job[row]) {
    AllocInfo& alloc = out.emplace_back();
    alloc.id = base::to_text(a.id[row]);
    alloc.name = tables::alloc_name(state, row);
    alloc.job_namespace = job_namespace;
    alloc.job_id = job_id;
    alloc.task_group = state.text(a.group[row]);
    if (a.node[row] != kNoRow) alloc.node_id = base::to_text(state.nodes.id(a.node[row]));
    alloc.desired_status = to_text(a.desired[row]);
    alloc.client_status = to_text(a.client[row]);
    alloc.create_index = a.create_index[row];
    alloc.modify_index = a.modify_index[row];
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::string View::to_json() const { return json::to_text(io::cluster_to_json(tables::to_cluster(*impl_->state))); }

}  // namespace berth
