#include "fsm/csi_claims.h"

#include <algorithm>

#include "base/json.h"
#include "model/job.h"
#include "model/names.h"
#include "tables/export.h"

namespace berth::fsm {

using tables::AllocRow;
using tables::Client;
using tables::kNoRow;
using tables::Snapshot;

namespace {

/// The group of the allocation's job version if it requests CSI volumes; else null.
const model::TaskGroup* csi_group(const Snapshot& state, AllocRow row) {
  const tables::VersionRow version = state.allocs.job[row];
  if (version == kNoRow) return nullptr;
  for (const tables::CompiledGroup& group : state.jobs.versions[version]->groups)
    if (group.name == state.allocs.group[row]) return group.has_csi_volumes ? group.spec : nullptr;
  return nullptr;
}

void claim(model::CsiVolume& volume, const model::VolumeRequest& request, const std::string& alloc,
           const std::string& node) {
  if (volume.access_mode.empty()) {  // the first claim
    volume.access_mode = request.access_mode;
    volume.attachment_mode = request.attachment_mode;
  }
  json::Value entry = json::Value::object();
  entry.set("AllocationID", alloc), entry.set("NodeID", node), entry.set("ExternalNodeID", "");
  entry.set("Mode", request.read_only ? 0 : 1), entry.set("State", 0);
  entry.set("AccessMode", request.access_mode), entry.set("AttachmentMode", request.attachment_mode);
  (request.read_only ? volume.read_allocs : volume.write_allocs)[alloc] = nullptr;
  (request.read_only ? volume.read_claims : volume.write_claims)[alloc] = std::move(entry);
}

void release(model::CsiVolume& volume, const std::string& alloc) {
  for (auto* claims : {&volume.read_allocs, &volume.write_allocs, &volume.read_claims, &volume.write_claims})
    claims->erase(alloc);
  if (volume.read_allocs.empty() && volume.write_allocs.empty() && volume.read_claims.empty() &&
      volume.write_claims.empty())
    volume.access_mode.clear(), volume.attachment_mode.clear();
}

bool has_claim(const model::CsiVolume& volume, const std::string& alloc) {
  return volume.read_allocs.contains(alloc) || volume.write_allocs.contains(alloc) ||
         volume.read_claims.contains(alloc) || volume.write_claims.contains(alloc);
}

void write_claims(tables::Commit& commit, AllocRow row, bool runs) {
  const Snapshot& state = commit.current();
  const model::TaskGroup* const group = csi_group(state, row);
  if (!group) return;
  const std::string alloc = base::to_text(state.allocs.id[row]);
  const std::string& name_space = state.text(state.jobs.keys[state.allocs.job_key[row]].job_namespace);
  for (const auto& [alias, request] : group->volumes) {
    if (!request || request->type != "csi") continue;
    std::string id = request->source;
    if (request->per_alloc) id += model::alloc_suffix(tables::alloc_name(state, row));
    const auto& volumes = commit.current().cold->csi_volumes;
    const auto known = std::find_if(volumes.begin(), volumes.end(), [&](const model::CsiVolume& volume) {
      return volume.id == id && volume.namespace_ == name_space;
    });
    if (known == volumes.end() || has_claim(*known, alloc) == runs) continue;
    model::CsiVolume volume = *known;
    if (runs)
      claim(volume, *request, alloc, tables::node_id(commit.current(), commit.current().allocs.node[row]));
    else
      release(volume, alloc);
    volume.modify_index = commit.index();
    commit.upsert_csi_volume(volume);
  }
}

}  // namespace

void follow_csi_claims(tables::Commit& commit, AllocRow row) {
  const Snapshot& state = commit.current();
  if (state.cold->csi_volumes.empty() || state.allocs.node[row] == kNoRow) return;
  const Client client = state.allocs.client[row];
  const bool ended = tables::client_terminal(client);
  if (ended || client == Client::running) write_claims(commit, row, !ended);
}

void release_csi_claims(tables::Commit& commit, AllocRow row) {
  if (!commit.current().cold->csi_volumes.empty()) write_claims(commit, row, false);
}

}  // namespace berth::fsm
