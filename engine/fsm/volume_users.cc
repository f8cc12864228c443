#include "fsm/volume_users.h"

#include <algorithm>

#include "base/text.h"
#include "model/job.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::kNoRow;

namespace {

/// True if the allocation's group requests a host volume of this name.
bool requests_volume(const tables::Snapshot& state, AllocRow row, const std::string& name) {
  const tables::VersionRow version = state.allocs.job[row];
  if (version == kNoRow) return false;
  for (const tables::CompiledGroup& group : state.jobs.versions[version]->groups) {
    if (group.name != state.allocs.group[row] || !group.spec) continue;
    for (const auto& [alias, request] : group.spec->volumes) {
      if (!request || request->type != "host") continue;
      std::string source = request->source;
      if (request->per_alloc) source += model::alloc_suffix(tables::alloc_name(state, row));
      if (source == name) return true;
    }
  }
  return false;
}

}  // namespace

std::vector<AllocRow> volume_users(const tables::Snapshot& state, tables::NodeRow node,
                                   const model::HostVolume& volume) {
  std::vector<AllocRow> out;
  if (node == kNoRow) return out;
  for (const AllocRow head : {state.nodes.use[node].alloc_head, state.nodes.use[node].ended_head})
    for (AllocRow row = head; row != kNoRow; row = state.allocs.next_on_node[row])
      if (!tables::client_terminal(state.allocs.client[row]) && requests_volume(state, row, volume.name))
        out.push_back(row);
  std::sort(out.begin(), out.end(), [&](auto a, auto b) { return state.allocs.id[a] < state.allocs.id[b]; });
  return out;
}

std::string ids_text(const tables::Snapshot& state, const std::vector<AllocRow>& rows, const char* between) {
  std::vector<std::string> ids;
  for (const AllocRow row : rows) ids.push_back(base::to_text(state.allocs.id[row]));
  return base::join(ids, between);
}

std::string volume_in_use(const tables::Snapshot& state, tables::NodeRow node, const model::HostVolume& volume) {
  const std::vector<AllocRow> users = volume_users(state, node, volume);
  if (users.empty()) return "";
  return "volume " + volume.id + " in use by allocations: [" + ids_text(state, users, " ") + "]";
}

std::string node_volume_in_use(const tables::Snapshot& state, tables::NodeRow node) {
  const std::string id = base::to_text(state.nodes.id(node));
  for (const model::HostVolume& volume : state.cold->host_volumes)
    if (volume.node_id == id)
      if (std::string why = volume_in_use(state, node, volume); !why.empty()) return why;
  return "";
}

}  // namespace berth::fsm
