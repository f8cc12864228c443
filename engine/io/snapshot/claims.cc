// Claims of task groups on sticky host volumes (R-SNAP-103, R-FEAS-1110 to 1114).
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/sha256.h"
#include "io/snapshot/snapshot_import.h"
#include "model/job.h"

namespace berth::io {
namespace {

using Key = std::tuple<std::string, std::string, std::string, std::string>;  // namespace, job, group, volume

/// Returns the same ID for the same claim, so that one file always gives one state (R-SNAP-134).
std::string id_of(const Key& key) {
  base::Sha256 sum;
  for (const std::string& part : {std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key)}) {
    sum.add(part);
    sum.add(std::string_view("\0", 1));
  }
  std::string id = sum.hex().substr(0, 32);
  for (const std::size_t at : {8U, 13U, 18U, 23U}) id.insert(at, 1, '-');
  return id;
}

}  // namespace

std::size_t derive_claims(model::ClusterState& state) {
  std::set<Key> have;
  for (const model::HostVolumeClaim& claim : state.host_volume_claims)
    have.insert({claim.namespace_, claim.job_id, claim.task_group_name, claim.volume_id});
  std::set<std::pair<std::string, std::string>> jobs;
  for (const auto& job : state.jobs) jobs.emplace(job->namespace_, job->id);
  std::map<std::string, const model::Node*> nodes;
  for (const model::Node& node : state.nodes) nodes.emplace(node.id, &node);

  std::vector<const model::Allocation*> allocs;
  for (const model::Allocation& alloc : state.allocs) {
    const model::TaskGroup* group = alloc.job ? alloc.job->group(alloc.task_group) : nullptr;
    if (group && !group->volumes.empty() && jobs.contains({alloc.namespace_, alloc.job_id})) allocs.push_back(&alloc);
  }
  std::sort(allocs.begin(), allocs.end(), [](const model::Allocation* a, const model::Allocation* b) {
    return std::tie(a->create_index, a->id) < std::tie(b->create_index, b->id);
  });
  std::map<Key, model::HostVolumeClaim> derived;
  for (const model::Allocation* alloc : allocs) {
    const auto node = nodes.find(alloc->node_id);
    if (node == nodes.end()) continue;
    for (const auto& [name, request] : alloc->job->group(alloc->task_group)->volumes) {
      if (!request || request->type != "host" || !request->sticky) continue;
      for (const auto& [volume_name, volume] : node->second->host_volumes) {
        if (!volume || volume->id.empty() || volume->name != request->source) continue;
        const Key key{alloc->namespace_, alloc->job_id, alloc->task_group, volume->id};
        if (have.contains(key)) continue;
        const auto [at, fresh] = derived.try_emplace(key);
        model::HostVolumeClaim& claim = at->second;
        if (fresh) {
          claim.id = id_of(key);
          claim.namespace_ = alloc->namespace_, claim.job_id = alloc->job_id;
          claim.task_group_name = alloc->task_group;
          claim.volume_id = volume->id, claim.volume_name = request->source;
          claim.create_index = alloc->create_index;
        }
        claim.alloc_id = alloc->id, claim.modify_index = alloc->create_index;
      }
    }
  }
  for (auto& [key, claim] : derived) state.host_volume_claims.push_back(std::move(claim));
  return derived.size();
}

}  // namespace berth::io
