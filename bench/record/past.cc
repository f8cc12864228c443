#include "record/past.h"

#include <algorithm>

#include "base/json.h"
#include "conform/streams/state_delta.h"
#include "model/job.h"
#include "model/predicates.h"
#include "tables/commit.h"
#include "tables/export.h"

namespace berth::record {
namespace {

using tables::kNoRow;

server::Config config_of(const model::Options& options) {
  server::Config out;
  out.options = options;
  out.retain = true;
  out.broker.evals = out.broker.jobs = 1;  // nothing is ever enqueued
  return out;
}

std::string key_of(std::string_view topic, std::string_view name_space, std::string_view id) {
  std::string out(topic);
  out.append("/").append(name_space).append("/").append(id);
  return out;
}

/// True if both are one version; status and stability may differ.
bool is_same_version(const model::Job& a, const model::Job& b) {
  if (a.create_index != b.create_index || a.version != b.version) return false;
  json::Value one = model::to_json(a, model::WriteMode::sparse), other = model::to_json(b, model::WriteMode::sparse);
  for (const char* member : {"Status", "StatusDescription", "Stable", "ModifyIndex", "VersionTag"})
    one.erase(member), other.erase(member);
  return one == other;
}

}  // namespace

Past::Past(const model::ClusterState& state, const model::Options& options)
    : server_(config_of(options), clock_), begin_index_(state.index) {
  server_.load(state);
  const auto note = [&](const char* topic, const std::string& name_space, const std::string& id, std::uint64_t index) {
    begun_[key_of(topic, name_space, id)] = index;
  };
  for (const auto& job : state.jobs) note("Job", job->namespace_, job->id, job->modify_index);
  for (const model::Node& node : state.nodes) note("Node", "", node.id, node.modify_index);
  for (const model::NodePool& pool : state.node_pools) note("NodePool", "", pool.name, pool.modify_index);
  for (const model::Allocation& alloc : state.allocs) note("Allocation", "", alloc.id, alloc.modify_index);
  for (const model::Evaluation& eval : state.evals) note("Evaluation", "", eval.id, eval.modify_index);
  for (const model::Deployment& one : state.deployments) note("Deployment", "", one.id, one.modify_index);
  const auto& versions = this->state().jobs.versions;
  for (tables::VersionRow row = 0; row < versions.size(); ++row)
    if (versions[row]) note_version(*versions[row]->spec, row);
}

void Past::note_version(const model::Job& job, tables::VersionRow row) {
  const tables::JobKeyRow key = server_.store().find_job_key(job.namespace_, job.id);
  if (key == kNoRow) return;
  auto [at, fresh] = versions_.try_emplace({key, job.version}, row);
  if (!fresh && state().jobs.versions[at->second]->create_index <= job.create_index) at->second = row;
}

JobPtr Past::version(const std::string& name_space, const std::string& id, std::uint64_t number) {
  const tables::JobKeyRow key = server_.store().find_job_key(name_space, id);
  const auto found = versions_.find({key, number});
  return key == kNoRow || found == versions_.end() ? nullptr : state().jobs.versions[found->second]->spec;
}

std::string Past::node_name(const std::string& id) const {
  const tables::NodeRow row = server_.store().find_node(id);
  const std::string* name = row == kNoRow ? nullptr : state().value_text(tables::kNameColumn, row);
  return name ? *name : id;
}

/// Drops objects that the first state contains in this form or a newer one.
void Past::drop_older(io::EventFrame& frame) const {
  const auto is_older = [&](const char* topic, const std::string& name_space, const std::string& id) {
    const auto found = begun_.find(key_of(topic, name_space, id));
    return found != begun_.end() && found->second >= frame.index;
  };
  model::ClusterState& objects = frame.objects;
  std::erase_if(objects.jobs, [&](const auto& job) { return is_older("Job", job->namespace_, job->id); });
  std::erase_if(objects.nodes, [&](const auto& node) { return is_older("Node", "", node.id); });
  std::erase_if(objects.node_pools, [&](const auto& pool) { return is_older("NodePool", "", pool.name); });
  std::erase_if(objects.allocs, [&](const auto& alloc) { return is_older("Allocation", "", alloc.id); });
  std::erase_if(objects.evals, [&](const auto& eval) { return is_older("Evaluation", "", eval.id); });
  std::erase_if(objects.deployments, [&](const auto& one) { return is_older("Deployment", "", one.id); });
  std::erase_if(frame.gone, [&](const io::EventFrame::Gone& gone) {
    return is_older(gone.topic.c_str(), gone.name_space, gone.key);
  });
}

/// Drops objects with another node or job than before: the tables cannot store that change.
void Past::drop_contradictions(io::EventFrame& frame) {
  tables::StateStore& store = server_.store();
  const auto& tables = state();
  const auto is_of = [&](tables::JobKeyRow key, const std::string& name_space, const std::string& id) {
    return key == kNoRow || key == store.find_job_key(name_space, id);
  };
  model::ClusterState& objects = frame.objects;
  left_out_ += std::erase_if(objects.allocs, [&](const model::Allocation& alloc) {
    const tables::AllocRow row = store.find_alloc(alloc.id);
    return row != kNoRow && (!is_of(tables.allocs.job_key[row], alloc.namespace_, alloc.job_id) ||
                             tables.allocs.node[row] != store.find_node(alloc.node_id));
  });
  left_out_ += std::erase_if(objects.evals, [&](const model::Evaluation& eval) {
    const tables::StoredEvalRow row = store.find_eval(eval.id);
    return row != kNoRow && !is_of(tables.evals.job_key[row], eval.namespace_, eval.job_id);
  });
  left_out_ += std::erase_if(objects.deployments, [&](const model::Deployment& one) {
    const tables::DeploymentRow row = store.find_deployment(one.id);
    return row != kNoRow && !is_of(tables.deployments.job_key[row], one.namespace_, one.job_id);
  });
}

void Past::put_jobs(const model::JobTable& jobs, tables::Commit& commit) {
  for (const JobPtr& job : jobs) {
    const tables::JobKeyRow key = server_.store().find_job_key(job->namespace_, job->id);
    const tables::VersionRow current = key == kNoRow ? kNoRow : state().jobs.keys[key].current;
    if (current != kNoRow && is_same_version(*state().jobs.versions[current]->spec, *job))
      commit.alias_job(job, current);
    else
      note_version(*job, commit.upsert_job(job, true));
  }
}

/// Sets the job of each allocation; removes allocations whose job is unknown.
void Past::find_jobs(io::EventFrame& frame, const std::function<JobPtr(const model::Allocation&)>& job_of) {
  std::erase_if(frame.objects.allocs, [&](model::Allocation& alloc) {
    const tables::AllocRow row = server_.store().find_alloc(alloc.id);
    const bool planned =
        frame.type == "PlanResult" && alloc.alloc_modify_index == frame.index && alloc.desired_status == "run";
    if (alloc.job)
      if (const JobPtr stored = version(alloc.namespace_, alloc.job_id, alloc.job->version)) alloc.job = stored;
    if (planned && !alloc.job) alloc.job = job_of(alloc);
    if (!alloc.job && row != kNoRow && !planned) alloc.job = tables::to_alloc(state(), row).job;
    if (!alloc.job) {
      const tables::JobKeyRow key = server_.store().find_job_key(alloc.namespace_, alloc.job_id);
      const tables::VersionRow current = key == kNoRow ? kNoRow : state().jobs.keys[key].current;
      if (current != kNoRow) alloc.job = state().jobs.versions[current]->spec;
    }
    if (!alloc.job && row != kNoRow) alloc.job = tables::to_alloc(state(), row).job;
    const bool fits =
        alloc.job && alloc.job->group(alloc.task_group) && (alloc.allocated_resources || model::is_terminal(alloc));
    left_out_ += fits ? 0 : 1;
    return !fits;
  });
}

void Past::apply(io::EventFrame frame, const std::function<JobPtr(const model::Allocation&)>& job_of) {
  if (frame.index <= begin_index_)
    drop_older(frame);
  else
    begun_.clear();
  const std::uint64_t index = std::max(frame.index, begin_index_);
  tables::StateStore& store = server_.store();
  conform::StreamDelta delta;
  for (const io::EventFrame::Gone& gone : frame.gone) {
    // Garbage collection removes everything of the job.
    if (gone.topic == "Job" && frame.type == "JobBatchDeregistered")
      if (const tables::JobKeyRow key = store.find_job_key(gone.name_space, gone.key); key != kNoRow)
        for (tables::AllocRow row = state().jobs.keys[key].alloc_head; row != kNoRow;
             row = state().allocs.next_of_job[row])
          delta.gone.push_back({"Allocs", base::to_text(state().allocs.id[row])});
    const bool in_space = gone.topic == "Job";
    delta.gone.push_back({gone.topic + "s", in_space ? gone.name_space + "/" + gone.key : gone.key});
  }
  {
    tables::Commit commit = store.begin_commit(index);
    put_jobs(frame.objects.jobs, commit);
  }
  drop_contradictions(frame);
  find_jobs(frame, job_of);
  delta.objects = std::move(frame.objects);
  delta.objects.jobs.clear();
  delta.objects.index = index;
  conform::commit_delta(delta, {}, store);
}

void Past::set_config(const model::SchedulerConfiguration& config, std::uint64_t index) {
  tables::Commit commit = server_.store().begin_commit(std::max(index, this->index()));
  commit.set_scheduler_config(config);
}

void Past::raise_index(std::uint64_t index) {
  if (index <= this->index()) return;
  tables::Commit commit = server_.store().begin_commit(index);
  commit.raise_index();
}

}  // namespace berth::record
