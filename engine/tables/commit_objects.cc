// Commits of deployments, evaluations, node pools, namespaces and settings: objects that are not rows of nodes, jobs or
// allocations.
#include "tables/commit.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/text.h"
#include "tables/export.h"

namespace berth::tables {

DeploymentRow Commit::upsert_deployment(model::Deployment deployment) {
  const base::Uuid id = base::parse_uuid(deployment.id).value_or(base::Uuid{});
  if (id.is_nil()) return kNoRow;
  touch();
  DeploymentTable& d = store_.current_.deployments;
  DeploymentRow row = store_.deployment_rows_.find(id);
  const JobKeyRow job = store_.key_row(deployment.namespace_, deployment.job_id);
  if (row == kNoRow) {
    row = store_.take_row(&RowLists::deployments);
    if (row == kNoRow) {
      row = static_cast<DeploymentRow>(d.size());
      d.id.push_back(id);
      d.job_key.push_back(kNoRow);
      d.job_version.push_back(0);
      d.create_index.push_back(0);
      d.active.push_back(0);
      d.object.push_back(nullptr);
      d.next_of_job.push_back(kNoRow);
      if (store_.history_) store_.history_->deployment_refs.push_back(0);
    } else {
      BERTH_ASSERT(!d.object[row]);  // a row is reused once it is free
      d.id.edit(row) = id;
      store_.deployment_rows_.reused(row);
    }
    d.next_of_job.edit(row) = std::exchange(store_.edit_key(job).deployment_head, row);
  }
  write_deployment(row, job, std::make_shared<model::Deployment>(std::move(deployment)));
  return row;
}

void Commit::rewrite_deployment(DeploymentRow row, std::shared_ptr<const model::Deployment> deployment) {
  touch();
  BERTH_ASSERT(store_.current_.deployments.object[row]);
  BERTH_DEBUG_ASSERT(base::parse_uuid(deployment->id) == store_.current_.deployments.id[row]);
  write_deployment(row, store_.current_.deployments.job_key[row], std::move(deployment));
}

void Commit::write_deployment(DeploymentRow row, JobKeyRow job, std::shared_ptr<const model::Deployment> deployment) {
  DeploymentTable& d = store_.current_.deployments;
  const std::string& s = deployment->status;
  const bool was_active = d.active[row] != 0;
  d.job_key.edit(row) = job;
  d.job_version.edit(row) = deployment->job_version;
  d.create_index.edit(row) = deployment->create_index;
  d.active.edit(row) =
      s == "running" || s == "paused" || s == "blocked" || s == "unblocking" || s == "initializing" || s == "pending";
  d.object.edit(row) = std::move(deployment);
  BERTH_ASSERT(!store_.history_ || !was_active || store_.history_->jobs[job].active_deployments > 0);
  if (store_.history_) store_.history_->jobs[job].active_deployments += d.active[row] - std::uint32_t{was_active};
  note_deployment(row, job);
}

void Commit::remove_deployment(DeploymentRow row) {
  touch();
  DeploymentTable& d = store_.current_.deployments;
  const JobKeyRow job = d.job_key[row];
  BERTH_ASSERT(job != kNoRow);  // it exists: a row is free once its job is forgotten
  const bool was_active = d.active[row] != 0;
  d.job_key.edit(row) = kNoRow;
  d.active.edit(row) = 0;
  d.object.edit(row) = nullptr;
  note_deployment(row, job);
  if (!store_.history_) return;
  BERTH_ASSERT(!was_active || store_.history_->jobs[job].active_deployments > 0);
  store_.history_->jobs[job].active_deployments -= was_active;
  if (DeploymentRow& head = store_.edit_key(job).deployment_head; head == row) {
    head = d.next_of_job[row];
  } else {
    DeploymentRow newer = head;
    while (d.next_of_job[newer] != row) newer = d.next_of_job[newer];
    d.next_of_job.edit(newer) = d.next_of_job[row];
  }
  store_.deployment_rows_.forget(row);
  store_.give_up_deployment(row);
}

void Commit::remove_eval(StoredEvalRow row) {
  touch();
  EvalTable& e = store_.current_.evals;
  BERTH_ASSERT(e.job_key[row] != kNoRow);  // removed once
  if (store_.history_) {
    // Allocations that remain, for example of a purged job, still refer to the evaluation.
    const base::Chunked<History::Alloc>& allocs = store_.history_->allocs;
    for (AllocRow alloc = store_.history_->evals[row].alloc_head; alloc != kNoRow; alloc = allocs[alloc].next_of_eval)
      if (!store_.current_.allocs.cold[alloc])
        put_object(alloc, std::make_shared<const model::Allocation>(to_alloc(alloc)));
    store_.unlink_eval(row);
    if (!store_.history_->evals[row].held) store_.removed_rows().evals.push_back(row);
  } else {
    e.more.set(row, nullptr);
    store_.free_evals_.push_back(row);
  }
  store_.eval_rows_.forget(row);
  e.job_key.edit(row) = kNoRow;
}

void Commit::upsert_eval(const model::Evaluation& eval) {
  if (base::parse_uuid(eval.id).value_or(base::Uuid{}).is_nil()) return;
  EvalWrite write = packed(model::Evaluation(eval));
  write.create_index = eval.create_index, write.modify_index = eval.modify_index;
  write_eval(std::move(write));
}

EvalWrite Commit::packed(model::Evaluation&& eval) {
  EvalWrite out;
  out.id = base::parse_uuid(eval.id).value_or(base::Uuid{});
  out.row = store_.find_eval(out.id);
  out.job = job_key(eval.namespace_, eval.job_id);
  out.priority = static_cast<std::int32_t>(eval.priority);
  out.status = eval_status(eval.status);
  const JobKey& key = store_.current_.jobs.keys[out.job];
  const std::string &job_namespace = store_.current_.text(key.job_namespace),
                    &job_id = store_.current_.text(key.job_id);
  out.contents =
      pack(std::move(eval), {out.id, job_namespace, job_id, out.priority, out.status, 0, 0}, store_.symbols_);
  return out;
}

StoredEvalRow Commit::write_eval(EvalWrite&& eval) {
  touch();
  EvalTable& e = store_.current_.evals;
  StoredEvalRow row = eval.row;
  const bool is_new = row == kNoRow;
  if (is_new) row = store_.take_eval_row();
  if (row == kNoRow) {
    row = static_cast<StoredEvalRow>(e.size());
    e.id.push_back(eval.id);
    e.job_key.push_back(kNoRow);
    e.priority.push_back(0);
    e.status.push_back(0);
    e.create_index.push_back(0);
    e.modify_index.push_back(0);
    e.packed.push_back({});
    if (store_.history_) store_.history_->evals.emplace_back();
  } else if (is_new) {
    BERTH_ASSERT(!e.exists(row));  // a row is reused once it is free
    e.id.edit(row) = eval.id;
    store_.eval_rows_.reused(row);
  }
  BERTH_ASSERT(eval.job != kNoRow && e.id[row] == eval.id);
  if (is_new) e.job_key.edit(row) = eval.job;
  BERTH_ASSERT(e.job_key[row] == eval.job);  // an evaluation stays its job's
  e.priority.edit(row) = eval.priority;
  e.status.edit(row) = eval.status;
  e.create_index.edit(row) = eval.create_index;
  e.modify_index.edit(row) = eval.modify_index;
  e.packed.edit(row) = eval.contents.packed;
  e.more.set(row, std::move(eval.contents.more));
  note_eval(row, is_new);
  return row;
}

void Commit::note_eval(StoredEvalRow row, bool is_new) {
  if (!store_.history_) return;
  if (is_new)
    store_.link_eval(row);
  else
    store_.read_eval(row);
}

void Commit::close_eval(StoredEvalRow row, std::uint8_t status, std::string description) {
  touch();
  EvalTable& e = store_.current_.evals;
  BERTH_ASSERT(e.exists(row));
  e.status.edit(row) = status;
  const EvalMoreRef& before = e.more[row];
  if (!before && description.empty()) return note_eval(row, false);
  auto more = before ? std::make_shared<EvalMore>(*before) : std::make_shared<EvalMore>();
  more->status_description = std::move(description);
  // A status that has no number of its own is kept as a text.
  std::erase_if(more->texts, [](const auto& kept) { return kept.first == &model::Evaluation::status; });
  e.more.set(row, std::move(more));
  note_eval(row, false);
}

void Commit::set_eval_modified(StoredEvalRow row, std::optional<std::int64_t> at_ns) {
  touch();
  EvalTable& e = store_.current_.evals;
  BERTH_ASSERT(e.exists(row));
  e.modify_index.edit(row) = index_;
  if (!at_ns) return;
  e.packed.edit(row).modify_time = *at_ns;
  note_eval(row, false);
}

bool Commit::release_key(JobKeyRow key) {
  touch();
  return store_.release_key(key);
}

void Commit::set_scheduler_config(std::optional<model::SchedulerConfiguration> config) {
  touch();
  auto cold = std::make_shared<ColdState>(*store_.current_.cold);
  cold->scheduler_config = std::move(config);
  store_.current_.cold = std::move(cold);
  if (store_.current_.nodes.eviction.empty() && store_.may_rank_victims()) store_.keep_eviction(kNoRow);
}

bool Commit::add_node_pool(const std::string& name) {
  const auto& known = store_.current_.cold->node_pools;
  if (std::any_of(known.begin(), known.end(), [&](const auto& pool) { return pool.name == name; })) return false;
  model::NodePool pool;
  pool.name = name, pool.create_index = pool.modify_index = index_;
  upsert_node_pool(pool);
  return true;
}

/// Writes `object` to one of the lists of ColdState, or removes the one whose key is `gone`. Lists are ordered by key.
template <class Object, class Key>
void Commit::write_listed(std::vector<Object> ColdState::*list, const Object* object, const Key& gone,
                          Key (*key_of)(const Object&)) {
  touch();
  // Edit the state in place if no snapshot shares it.
  auto& held = store_.current_.cold;
  const auto cold =
      held.use_count() == 1 ? std::const_pointer_cast<ColdState>(std::move(held)) : std::make_shared<ColdState>(*held);
  std::vector<Object>& all = (*cold).*list;
  const Key key = object ? key_of(*object) : gone;
  const auto at = std::find_if(all.begin(), all.end(), [&](const Object& known) { return key_of(known) == key; });
  if (!object) {
    if (at != all.end()) all.erase(at);
  } else if (at != all.end()) {
    *at = *object;
  } else {
    all.insert(std::find_if(all.begin(), all.end(), [&](const Object& known) { return key_of(known) > key; }), *object);
  }
  held = cold;
}

namespace {

template <class Object>
std::string_view name_of(const Object& object) {
  return object.name;
}
template <class Object>
std::string_view id_of(const Object& object) {
  return object.id;
}
std::pair<std::string_view, std::string_view> space_and_id_of(const model::CsiVolume& volume) {
  return {volume.namespace_, volume.id};
}

}  // namespace

void Commit::upsert_node_pool(const model::NodePool& pool) {
  write_listed<model::NodePool, std::string_view>(&ColdState::node_pools, &pool, {}, name_of);
}
void Commit::remove_node_pool(const std::string& name) {
  write_listed<model::NodePool, std::string_view>(&ColdState::node_pools, nullptr, name, name_of);
}
void Commit::upsert_namespace(const model::Namespace& name_space) {
  write_listed<model::Namespace, std::string_view>(&ColdState::namespaces, &name_space, {}, name_of);
}
void Commit::remove_namespace(const std::string& name) {
  write_listed<model::Namespace, std::string_view>(&ColdState::namespaces, nullptr, name, name_of);
}
void Commit::upsert_host_volume(const model::HostVolume& volume) {
  write_listed<model::HostVolume, std::string_view>(&ColdState::host_volumes, &volume, {}, id_of);
}
void Commit::remove_host_volume(std::string_view id) {
  write_listed<model::HostVolume, std::string_view>(&ColdState::host_volumes, nullptr, id, id_of);
}
void Commit::upsert_csi_volume(const model::CsiVolume& volume) {
  write_listed(&ColdState::csi_volumes, &volume, {}, space_and_id_of);
}
void Commit::remove_csi_volume(std::string_view name_space, std::string_view id) {
  write_listed<model::CsiVolume>(&ColdState::csi_volumes, nullptr, {name_space, id}, space_and_id_of);
}
void Commit::upsert_csi_plugin(const model::CsiPlugin& plugin) {
  write_listed<model::CsiPlugin, std::string_view>(&ColdState::csi_plugins, &plugin, {}, id_of);
}
void Commit::remove_csi_plugin(std::string_view id) {
  write_listed<model::CsiPlugin, std::string_view>(&ColdState::csi_plugins, nullptr, id, id_of);
}

VolumeClaims& Commit::edit_claims(JobKeyRow key) {
  BERTH_ASSERT(key < store_.current_.jobs.keys.size());
  auto& claims = store_.current_.jobs.claims;
  if (key >= claims.size()) claims.resize(key + 1);
  auto& cell = claims.edit(key);  // not shared: a snapshot that sees the list has its own reference
  if (!cell)
    cell = std::make_shared<VolumeClaims>();
  else if (cell.use_count() != 1)
    cell = std::make_shared<VolumeClaims>(*cell);
  return *std::const_pointer_cast<VolumeClaims>(cell);
}

void Commit::upsert_claim(model::HostVolumeClaim claim) {
  touch();
  VolumeClaims& all = edit_claims(store_.key_row(claim.namespace_, claim.job_id));
  const auto at = std::find_if(all.begin(), all.end(), [&](const auto& known) {
    return known->task_group_name == claim.task_group_name && known->volume_id == claim.volume_id;
  });
  auto object = std::make_shared<const model::HostVolumeClaim>(std::move(claim));
  if (at == all.end())
    all.push_back(std::move(object));
  else
    *at = std::move(object);
}

void Commit::remove_claim(std::string_view id) {
  for (JobKeyRow key = 0; key < store_.current_.jobs.claims.size(); ++key) {
    const auto claims = store_.current_.jobs.claims_of(key);
    if (std::none_of(claims.begin(), claims.end(), [&](const auto& claim) { return claim->id == id; })) continue;
    touch();
    std::erase_if(edit_claims(key), [&](const auto& claim) { return claim->id == id; });
    note_job(key);
  }
}

}  // namespace berth::tables
