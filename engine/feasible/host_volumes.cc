#include "feasible/host_volumes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_set>

#include "model/job.h"

namespace berth::feasible {

HostVolumeCheck::HostVolumeCheck(const model::Job& job, const model::TaskGroup& group, std::string_view alloc_name,
                                 const VolumeState& state, const model::Quirks& quirks)
    : job_(job), state_(state), quirks_(quirks), requests_(volume_requests(group, "host", alloc_name)) {
  const bool any_sticky = std::any_of(requests_.begin(), requests_.end(),
                                      [](const NamedVolumeRequest& wanted) { return wanted.request->sticky; });
  if (any_sticky) list_unmet_claims();
}

namespace {

/// Properties of a node's proposed allocations that can satisfy a claim: IDs, and (namespace, job, group, node).
struct Claimants {
  std::unordered_set<std::string_view> ids;
  std::set<std::tuple<std::string_view, std::string_view, std::string_view, std::string_view>> groups;

  explicit Claimants(const std::vector<AllocView>& proposed) {
    for (const AllocView& alloc : proposed) {
      if (alloc.is_terminal) continue;
      ids.insert(alloc.id);
      groups.emplace(alloc.namespace_, alloc.job_id, alloc.task_group, alloc.node_id);
    }
  }
};

}  // namespace

void HostVolumeCheck::list_unmet_claims() {  // R-FEAS-1111
  std::map<std::string_view, Claimants> of_node;
  for (const auto& stored : state_.claims) {
    const model::HostVolumeClaim& claim = *stored;
    if (claim.namespace_ != job_.namespace_ || claim.job_id != job_.id) continue;
    const auto claimant = state_.alloc(claim.alloc_id);
    const model::HostVolume* volume = state_.host_volume(claim.namespace_, claim.volume_id);
    if (!claimant || !volume) continue;
    auto at = of_node.find(volume->node_id);
    if (at == of_node.end()) at = of_node.emplace(volume->node_id, Claimants(state_.proposed(volume->node_id))).first;
    const Claimants& there = at->second;
    if (!there.ids.contains(claim.alloc_id) &&
        !there.groups.contains({claim.namespace_, claim.job_id, claim.task_group_name, claimant->node_id}))
      unmet_claims_.push_back(claim.volume_id);
  }
}

bool HostVolumeCheck::passes(const model::Node& node) {
  std::vector<std::string_view> claims;
  if (!quirks_.looks_use_up_claims) claims = unmet_claims_;
  const bool all = std::all_of(requests_.begin(), requests_.end(),
                               [&](const NamedVolumeRequest& wanted) { return satisfies(node, wanted); });
  if (!quirks_.looks_use_up_claims) unmet_claims_ = std::move(claims);
  return all;
}

bool HostVolumeCheck::satisfies(const model::Node& node, const NamedVolumeRequest& wanted) {
  const auto it = node.host_volumes.find(wanted.source);
  if (it == node.host_volumes.end() || !it->second) return false;  // R-FEAS-1103
  const model::HostVolumeInfo& info = *it->second;
  if (info.id.empty()) return !wanted.request->sticky && (!info.read_only || wanted.request->read_only);  // 1104
  const model::HostVolume* volume = state_.host_volume(job_.namespace_, info.id);
  return volume && satisfies_dynamic(*volume, *wanted.request, node.id);
}

bool HostVolumeCheck::satisfies_dynamic(const model::HostVolume& volume, const model::VolumeRequest& request,
                                        std::string_view node_id) {
  if (volume.state != "ready") return false;  // R-FEAS-1105

  std::string_view access = request.access_mode, attachment = request.attachment_mode;  // R-FEAS-1106
  if (access.empty()) access = request.read_only ? "single-node-reader-only" : "single-node-writer";
  if (attachment.empty()) attachment = "file-system";
  const auto& capabilities = volume.requested_capabilities;
  const bool is_capable = std::any_of(capabilities.begin(), capabilities.end(), [&](const auto& capability) {
    return capability.access_mode == access && capability.attachment_mode == attachment;
  });
  if (!is_capable) return false;  // R-FEAS-1107

  if (access == "single-node-reader-only" && !request.read_only) return false;  // R-FEAS-1108
  if (access == "single-node-writer" && request.read_only) return false;
  if (access == "single-node-single-writer" && (quirks_.single_writer_too_strict || !request.read_only) &&
      has_other_writer(volume, node_id))
    return false;

  if (!request.sticky || unmet_claims_.empty()) return true;  // R-FEAS-1110
  return std::erase(unmet_claims_, volume.id) > 0;
}

bool HostVolumeCheck::has_other_writer(const model::HostVolume& volume, std::string_view node_id) const {
  std::set<std::tuple<std::string_view, std::string_view, std::string_view>> examined;
  const auto proposed = state_.proposed(node_id);
  for (const AllocView& alloc : proposed) {  // R-FEAS-1109
    if (!examined.emplace(alloc.namespace_, alloc.job_id, alloc.task_group).second) continue;
    const model::Job* job = state_.job(alloc.namespace_, alloc.job_id);
    if (!job && quirks_.single_writer_too_strict) return true;
    if (!job) continue;
    const auto group = std::find_if(job->task_groups.begin(), job->task_groups.end(),
                                    [&](const model::TaskGroup& g) { return g.name == alloc.task_group; });
    if (group == job->task_groups.end() && quirks_.single_writer_too_strict) return true;
    if (group == job->task_groups.end()) continue;
    for (const NamedVolumeRequest& other : volume_requests(*group, "host", alloc.name))
      if (other.source == volume.name && !other.request->read_only) return true;
  }
  return false;
}

}  // namespace berth::feasible
