#include "conform/streams/stream_state.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "io/cluster_json.h"
#include "model/job.h"

namespace berth::conform {
namespace {

using model::Job;

constexpr std::string_view kKinds[] = {"Nodes",       "NodePools",        "Namespaces", "Jobs",
                                       "JobVersions", "Allocs",           "Evals",      "Deployments",
                                       "HostVolumes", "HostVolumeClaims", "CSIVolumes", "CSIPlugins"};

/// The key of an object.
template <class T>
const std::string& key_of(const T& object) {
  return object.id;
}
const std::string& key_of(const model::NodePool& pool) { return pool.name; }
const std::string& key_of(const model::Namespace& name_space) { return name_space.name; }

template <class T>
std::string_view space_of(const T&) {
  return {};
}
std::string_view space_of(const model::CsiVolume& volume) { return volume.namespace_; }  // IDs are names

template <class T>
void put(std::vector<T>& list, const std::vector<T>& changed) {
  for (const T& object : changed) {
    const auto at = std::find_if(list.begin(), list.end(), [&](const T& known) {
      return key_of(known) == key_of(object) && space_of(known) == space_of(object);
    });
    if (at == list.end())
      list.push_back(object);
    else
      *at = object;
  }
}

bool same_job(const Job& a, const Job& b) { return a.id == b.id && a.namespace_ == b.namespace_; }

template <class T>
void erase(std::vector<T>& list, const std::string& id) {
  std::erase_if(list, [&](const T& known) {
    if (key_of(known) == id) return true;
    const std::string_view space = space_of(known);
    return !space.empty() && split_object_id(id) == std::pair(space, std::string_view(key_of(known)));
  });
}

}  // namespace

void StreamState::commit(const StreamDelta& delta, tables::StateStore& store) const {
  commit_delta(delta, jobs_, store);
}

Result<StreamDelta> StreamState::read(const Field& delta, const std::string& path, const std::string& place) {
  auto jobs = io::read_job_table(delta["NewJobs"], path, place + "/NewJobs");
  if (!jobs) return tl::unexpected(jobs.error());
  std::move(jobs->begin(), jobs->end(), std::back_inserter(jobs_));
  auto objects = io::read_vector_state(delta, jobs_, path, place);
  if (!objects) return tl::unexpected(objects.error());
  StreamDelta out;
  out.objects = std::move(*objects);
  const auto gone = delta["Gone"].items();
  for (std::size_t i = 0; i < gone.size(); ++i) {
    const std::string& text = gone[i].as_string();
    const std::size_t slash = text.find('/');
    StreamDelta::Removed removed;
    removed.kind = text.substr(0, slash);
    if (slash != std::string::npos) removed.id = text.substr(slash + 1);
    const bool version = removed.kind == "JobVersions";
    const auto index = version ? base::parse_uint64(removed.id) : std::nullopt;
    if (std::find(std::begin(kKinds), std::end(kKinds), removed.kind) == std::end(kKinds) || removed.id.empty() ||
        (version && (!index || *index >= jobs_.size())))
      return tl::unexpected(InputError{path, place + "/Gone/" + std::to_string(i), "names nothing that can be removed",
                                       "write KIND/ID, such as Nodes/ID"});
    out.gone.push_back(std::move(removed));
  }
  return out;
}

void StreamState::apply(const StreamDelta& delta) {
  const model::ClusterState& changed = delta.objects;
  for (const StreamDelta::Removed& removed : delta.gone) {
    const std::string& kind = removed.kind;
    if (kind == "Nodes") erase(state_.nodes, removed.id);
    if (kind == "NodePools") erase(state_.node_pools, removed.id);
    if (kind == "Namespaces") erase(state_.namespaces, removed.id);
    if (kind == "Allocs") erase(state_.allocs, removed.id);
    if (kind == "Evals") erase(state_.evals, removed.id);
    if (kind == "Deployments") erase(state_.deployments, removed.id);
    if (kind == "HostVolumes") erase(state_.host_volumes, removed.id);
    if (kind == "HostVolumeClaims") erase(state_.host_volume_claims, removed.id);
    if (kind == "CSIVolumes") erase(state_.csi_volumes, removed.id);
    if (kind == "CSIPlugins") erase(state_.csi_plugins, removed.id);
    if (kind == "JobVersions") std::erase(state_.job_versions, jobs_[*base::parse_uint64(removed.id)]);
    if (kind == "Jobs")
      std::erase_if(state_.jobs, [&](const auto& job) {
        return split_object_id(removed.id) == std::pair<std::string_view, std::string_view>(job->namespace_, job->id);
      });
  }
  state_.index = changed.index;
  if (changed.scheduler_config) state_.scheduler_config = changed.scheduler_config;
  put(state_.nodes, changed.nodes);
  put(state_.node_pools, changed.node_pools);
  put(state_.namespaces, changed.namespaces);
  put(state_.allocs, changed.allocs);
  put(state_.evals, changed.evals);
  put(state_.deployments, changed.deployments);
  put(state_.host_volumes, changed.host_volumes);
  put(state_.host_volume_claims, changed.host_volume_claims);
  put(state_.csi_volumes, changed.csi_volumes);
  put(state_.csi_plugins, changed.csi_plugins);
  for (const auto& job : changed.job_versions)
    if (std::find(state_.job_versions.begin(), state_.job_versions.end(), job) == state_.job_versions.end())
      state_.job_versions.push_back(job);
  for (const auto& job : changed.jobs) {
    std::erase_if(state_.jobs, [&](const auto& known) { return same_job(*known, *job); });
    state_.jobs.push_back(job);
  }
}

std::shared_ptr<const Job> StreamState::find_version(const model::JobTable& versions, const Job& job) {
  const auto at = std::find_if(versions.begin(), versions.end(), [&](const auto& known) {
    return same_job(*known, job) && known->version == job.version && known->create_index == job.create_index;
  });
  return at == versions.end() ? nullptr : *at;
}

}  // namespace berth::conform
