#include "conform/streams/stream_state.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "io/cluster_json.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using model::Job;
using tables::kNoRow;

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

/// The two parts of "namespace/ID". Only job IDs may have slashes.
std::pair<std::string_view, std::string_view> split_id(std::string_view id) {
  const std::size_t slash = id.find('/');
  if (slash == std::string_view::npos) return {{}, id};
  return {id.substr(0, slash), id.substr(slash + 1)};
}

template <class T>
void erase(std::vector<T>& list, const std::string& id) {
  std::erase_if(list, [&](const T& known) {
    if (key_of(known) == id) return true;
    const std::string_view space = space_of(known);
    return !space.empty() && split_id(id) == std::pair(space, std::string_view(key_of(known)));
  });
}

/// True if the objects are equal except for `members`.
template <class T>
bool same_but_for(const T& a, const T& b, std::initializer_list<std::string_view> members) {
  json::Value one = model::to_json(a, model::WriteMode::sparse), other = model::to_json(b, model::WriteMode::sparse);
  for (const std::string_view member : members) one.erase(member), other.erase(member);
  return one == other;
}

/// True for objects of the same job version, whose status and stability may differ.
bool same_spec(const Job& a, const Job& b) {
  return a.create_index == b.create_index &&
         same_but_for(a, b, {"Status", "StatusDescription", "Stable", "ModifyIndex", "VersionTag"});
}

/// Row of the job's stored version with that number; kNoRow if there is none.
tables::VersionRow stored_version(const tables::Snapshot& state, const Job& of) {
  for (tables::VersionRow row = 0; row < state.jobs.versions.size(); ++row)
    if (const auto& known = state.jobs.versions[row];
        known && state.jobs.stored[row] && known->version == of.version && same_job(*known->spec, of))
      return row;
  return kNoRow;
}

}  // namespace

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
        return split_id(removed.id) == std::pair<std::string_view, std::string_view>(job->namespace_, job->id);
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

void StreamState::commit_nodes(const StreamDelta& delta, tables::Commit& commit, const tables::StateStore& store) {
  for (const model::Node& node : delta.objects.nodes) {
    const tables::NodeRow row = store.find_node(node.id);
    const auto status = tables::parse_node_status(node.status);
    // A change of a node's status, eligibility or drain writes only these columns, as in the state machine.
    const bool stays = row != kNoRow && store.current().nodes.exists(row) && status &&
                       same_but_for(tables::to_node(store.current(), row), node,
                                    {"Status", "StatusDescription", "StatusUpdatedAt", "SchedulingEligibility", "Drain",
                                     "DrainStrategy", "LastDrain", "Events", "ModifyIndex", "LastMissedHeartbeatIndex",
                                     "LastAllocUpdateIndex"});
    if (stays)
      commit.set_node_state(row, *status, node.scheduling_eligibility == "eligible", node.drain_strategy.has_value());
    else
      commit.upsert_node(node);
  }
}

void StreamState::commit_jobs(const StreamDelta& delta, tables::Commit& commit, const tables::StateStore& store) const {
  const auto& current = delta.objects.jobs;
  const auto& versions = delta.objects.job_versions;
  const auto is_in = [](const model::JobTable& list, const auto& job) {
    return std::find(list.begin(), list.end(), job) != list.end();
  };
  for (const auto& job : versions) {
    const tables::VersionRow before = stored_version(store.current(), *job);
    if (before != kNoRow && same_spec(*store.current().jobs.versions[before]->spec, *job)) {
      commit.alias_job(job, before);
      continue;
    }
    const std::shared_ptr<const Job> replaced =
        before == kNoRow ? nullptr : store.current().jobs.versions[before]->spec;
    commit.upsert_job(job, is_in(current, job));
    if (replaced) commit.forget_version(*replaced);
  }
  for (const auto& job : current)
    if (!is_in(versions, job)) commit.upsert_job(job, true);
  for (const StreamDelta::Removed& removed : delta.gone) {
    if (removed.kind == "JobVersions") {
      const auto& version = jobs_[*base::parse_uint64(removed.id)];
      const bool replaced = std::any_of(versions.begin(), versions.end(), [&](const auto& job) {
        return same_job(*job, *version) && job->version == version->version;
      });
      if (!replaced) commit.forget_version(*version);
    } else if (removed.kind == "Jobs") {
      const auto [name_space, id] = split_id(removed.id);
      if (const tables::JobKeyRow key = store.find_job_key(name_space, id); key != kNoRow) commit.purge_job(key);
    }
  }
}

void StreamState::commit(const StreamDelta& delta, tables::StateStore& store) const {
  const model::ClusterState& changed = delta.objects;
  tables::Commit commit = store.begin_commit(changed.index);
  if (changed.scheduler_config) commit.set_scheduler_config(changed.scheduler_config);
  for (const model::NodePool& pool : changed.node_pools) commit.upsert_node_pool(pool);
  for (const model::Namespace& name_space : changed.namespaces) commit.upsert_namespace(name_space);
  commit_nodes(delta, commit, store);
  commit_jobs(delta, commit, store);
  for (const model::Evaluation& eval : changed.evals) commit.upsert_eval(eval);
  for (const model::Deployment& deployment : changed.deployments) commit.upsert_deployment(deployment);
  for (const model::Allocation& alloc : changed.allocs) {
    const tables::AllocRow row = store.find_alloc(alloc.id);
    if (row == kNoRow)
      commit.insert_alloc(alloc);
    else
      commit.replace_alloc(row, std::make_shared<const model::Allocation>(alloc));
  }
  for (const model::HostVolume& volume : changed.host_volumes) commit.upsert_host_volume(volume);
  for (const model::CsiVolume& volume : changed.csi_volumes) commit.upsert_csi_volume(volume);
  for (const model::CsiPlugin& plugin : changed.csi_plugins) commit.upsert_csi_plugin(plugin);
  for (const StreamDelta::Removed& removed : delta.gone) {
    const std::string& id = removed.id;
    if (removed.kind == "Nodes") {
      if (const tables::NodeRow row = store.find_node(id); row != kNoRow) commit.remove_node(row);
    } else if (removed.kind == "Allocs") {
      if (const tables::AllocRow row = store.find_alloc(id); row != kNoRow) commit.remove_alloc(row);
    } else if (removed.kind == "Evals") {
      if (const tables::StoredEvalRow row = store.find_eval(id); row != kNoRow) commit.remove_eval(row);
    } else if (removed.kind == "Deployments") {
      if (const tables::DeploymentRow row = store.find_deployment(id); row != kNoRow) commit.remove_deployment(row);
    } else if (removed.kind == "NodePools") {
      commit.remove_node_pool(id);
    } else if (removed.kind == "Namespaces") {
      commit.remove_namespace(id);
    } else if (removed.kind == "HostVolumes") {
      commit.remove_host_volume(id);
    } else if (removed.kind == "HostVolumeClaims") {
      commit.remove_claim(id);
    } else if (removed.kind == "CSIVolumes") {
      const auto [name_space, name] = split_id(id);
      commit.remove_csi_volume(name_space, name);
    } else if (removed.kind == "CSIPlugins") {
      commit.remove_csi_plugin(id);
    }
  }
  // After the removals, because a claim with the same key may have a new ID.
  for (const model::HostVolumeClaim& claim : changed.host_volume_claims) commit.upsert_claim(claim);
  commit.raise_index();
}

}  // namespace berth::conform
