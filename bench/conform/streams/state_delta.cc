#include "conform/streams/state_delta.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"
#include "model/codec/codec.h"
#include "model/job.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::conform {
namespace {

using model::Job;
using tables::kNoRow;

bool same_job(const Job& a, const Job& b) { return a.id == b.id && a.namespace_ == b.namespace_; }

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

void commit_nodes(const StreamDelta& delta, tables::Commit& commit, const tables::StateStore& store) {
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

void commit_jobs(const StreamDelta& delta, const model::JobTable& jobs, tables::Commit& commit,
                 const tables::StateStore& store) {
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
      const auto& version = jobs[*base::parse_uint64(removed.id)];
      const bool replaced = std::any_of(versions.begin(), versions.end(), [&](const auto& job) {
        return same_job(*job, *version) && job->version == version->version;
      });
      if (!replaced) commit.forget_version(*version);
    } else if (removed.kind == "Jobs") {
      const auto [name_space, id] = split_object_id(removed.id);
      if (const tables::JobKeyRow key = store.find_job_key(name_space, id); key != kNoRow) commit.purge_job(key);
    }
  }
}

}  // namespace

/// The two parts of "namespace/ID". Only job IDs may have slashes.
std::pair<std::string_view, std::string_view> split_object_id(std::string_view id) {
  const std::size_t slash = id.find('/');
  if (slash == std::string_view::npos) return {{}, id};
  return {id.substr(0, slash), id.substr(slash + 1)};
}

void commit_delta(const StreamDelta& delta, const model::JobTable& jobs, tables::StateStore& store) {
  const model::ClusterState& changed = delta.objects;
  tables::Commit commit = store.begin_commit(changed.index);
  if (changed.scheduler_config) commit.set_scheduler_config(changed.scheduler_config);
  for (const model::NodePool& pool : changed.node_pools) commit.upsert_node_pool(pool);
  for (const model::Namespace& name_space : changed.namespaces) commit.upsert_namespace(name_space);
  commit_nodes(delta, commit, store);
  commit_jobs(delta, jobs, commit, store);
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
      const auto [name_space, name] = split_object_id(id);
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
