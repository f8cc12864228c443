// Commit: one change of the state, however many rows it touches. It holds the store's mutex from begin_commit() to its
// destruction, so that a snapshot shows all of it or nothing.
//
// What it changes is visible at once in StateStore::current() on the writer's thread. A commit that changes nothing
// leaves the latest index alone. Costs are per row touched; a chunk that a living snapshot holds is copied once.
#pragma once

#include "tables/export.h"
#include "tables/state.h"

namespace berth::tables {

class Commit {
 public:
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;
  ~Commit();

  // Objects are kept by the 16 bytes of their IDs. One whose ID is no UUID cannot be kept (R-MODEL-590): nothing is
  // written of it, and kNoRow comes back. Whoever takes clusters in refuses such IDs (io, api).

  // --- nodes ---
  /// Registers or updates a node; a new one is put into ID order at O(nodes).
  NodeRow upsert_node(const model::Node& node);
  /// The row stays, marked gone; its allocations stay as well.
  void remove_node(NodeRow row);
  void set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining);

  // --- jobs ---
  /// Compiles the version unless this very object was handed in before; `current` makes it the job's current one.
  VersionRow upsert_job(const std::shared_ptr<const model::Job>& job, bool current);
  /// Another object of a stored version, such as one with a new status: allocations may carry either.
  void alias_job(const std::shared_ptr<const model::Job>& job, VersionRow row);
  /// As alias_job, of the version that `known`, one of its objects, names.
  void alias_version(const std::shared_ptr<const model::Job>& job, const model::Job& known);
  /// A stored version, named by any of its objects, is none any more; allocations keep their copies of it.
  void forget_version(const model::Job& job);
  /// The job has no current version any more (a purge); its allocations stay.
  void purge_job(JobKeyRow key);
  JobKeyRow job_key(std::string_view job_namespace, std::string_view job_id);

  // --- allocations ---
  AllocRow insert_alloc(const model::Allocation& alloc);
  /// Without an API object: about 100 bytes and no heap allocation of its own.
  AllocRow insert_plain(const PlainAlloc& alloc);
  /// As insert_plain, for the applier: `shape` beside `alloc`, so that no reference is counted for the group's own.
  AllocRow insert_plain(const PlainAlloc& alloc, const std::shared_ptr<const ResourceShape>& shape);
  /// Writes a stored allocation anew, API object and columns; its node must be the same. Resources and client status
  /// may differ: the node's use follows. `alloc` brings its own indexes.
  void replace_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc);
  /// The allocation's API object, to be changed and handed to rewrite_alloc() before anything else is read of the row:
  /// the stored one itself where nobody else holds it.
  [[nodiscard]] std::shared_ptr<model::Allocation> take_object(AllocRow row);
  /// As replace_alloc(), of what take_object() gave: job, resources, evaluation and deployment are what they were.
  void rewrite_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc);
  /// Takes it out of its job and its node; the row stays behind, until it is used again. Without a history it is used
  /// no more, and this costs O(allocations of the job).
  void remove_alloc(AllocRow row);
  void set_desired_status(AllocRow row, Desired status);
  /// Another version of the job; `shape` null: what it holds stays. The new version must have the row's group.
  void update_in_place(AllocRow row, VersionRow job, const std::shared_ptr<const ResourceShape>& shape);
  /// Links of a row without an API object.
  void set_links(AllocRow row, const AllocLinks& links);
  /// Only the index of the last change.
  void set_modify_index(AllocRow row);
  // What a history keeps of a row without an API object; without one nothing.
  void set_modified(AllocRow row, std::int64_t at_ns);
  void set_eval(AllocRow row, StoredEvalRow eval);
  void set_metrics(AllocRow row, std::shared_ptr<const model::AllocMetric> metrics);
  /// The events of its tasks, with what its client reports next. No change by itself: no index moves.
  void set_task_log(AllocRow row, TaskLogRef log);
  void set_planned_job(AllocRow row, std::shared_ptr<const model::Job> job);
  /// What a client says of a row without an API object: its status, what stands in `reported` (but for its index), and
  /// how healthy its deployment has to take it for (AllocLinks::health).
  void write_report(AllocRow row, Client status, const Reported& said, std::uint8_t health, std::int64_t modified_ns);
  /// Reaching or leaving a client-terminal status gives back or takes the node's resources.
  void set_client_status(AllocRow row, Client status);
  /// Desired `stop` for every allocation of the job that still runs or should run; how many that were.
  std::uint32_t stop_job(JobKeyRow key);
  /// The clients report `status` for every allocation of the job that was not client-terminal; how many that were.
  std::uint32_t end_job(JobKeyRow key, Client status = Client::complete);

  // --- the rest; an object whose ID is known is replaced; the nil UUID stands for "none" and is no object's ---
  DeploymentRow upsert_deployment(model::Deployment deployment);  ///< kNoRow: its ID is no UUID
  /// Another object of the deployment in `row`, of the same ID and job.
  void rewrite_deployment(DeploymentRow row, std::shared_ptr<const model::Deployment> deployment);
  void upsert_eval(const model::Evaluation& eval);
  /// As above for who knows the row, kNoRow: a new one. The object's job must stay what it was. Returns the row.
  StoredEvalRow upsert_eval(StoredEvalRow row, base::Uuid id, std::shared_ptr<const model::Evaluation> object);
  /// The row stays behind without an object and without a job; with a history it is used again.
  void remove_deployment(DeploymentRow row);
  /// As remove_deployment().
  void remove_eval(StoredEvalRow row);
  /// Of a job that is gone with all that was its own: the row is used again. False: something is left. With a history.
  [[nodiscard]] bool release_key(JobKeyRow key);
  /// A pool with default settings, unless there is one of this name; whether it is new.
  bool add_node_pool(const std::string& name);
  // By name; those that are new are put in its order. Indexes are what the object says.
  void upsert_node_pool(const model::NodePool& pool);
  void remove_node_pool(const std::string& name);
  void upsert_namespace(const model::Namespace& name_space);
  void remove_namespace(const std::string& name);
  // Host volumes by ID, CSI volumes by namespace and ID, which is their name, plugins by ID.
  void upsert_host_volume(const model::HostVolume& volume);
  void remove_host_volume(std::string_view id);
  void upsert_csi_volume(const model::CsiVolume& volume);
  void remove_csi_volume(std::string_view name_space, std::string_view id);
  void upsert_csi_plugin(const model::CsiPlugin& plugin);
  void remove_csi_plugin(std::string_view id);
  /// The claim of that job, group and volume, or one more (R-STORE-222).
  void upsert_claim(model::HostVolumeClaim claim);
  /// Cost: O(jobs). The claims of a job that is purged go with it (R-STORE-223).
  void remove_claim(std::string_view id);
  void set_scheduler_config(std::optional<model::SchedulerConfiguration> config);
  /// Makes the commit's index the latest one even if nothing else changed.
  void raise_index() { touch(); }
  /// Last index that wrote the nodes, or else the allocations (R-CTRL-617); for entries that write neither row.
  void set_table_index(bool nodes, std::uint64_t index);
  /// Sets the latest index outright, lower ones included; for loading.
  void set_index(std::uint64_t index);

  [[nodiscard]] model::Allocation to_alloc(AllocRow row) const { return tables::to_alloc(store_.current_, row); }
  [[nodiscard]] const Snapshot& current() const { return store_.current_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  friend class StateStore;
  /// The job's claims, to be changed at once.
  [[nodiscard]] VolumeClaims& edit_claims(JobKeyRow key);
  template <class Object, class Key>
  void write_listed(std::vector<Object> ColdState::*list, const Object* object, const Key& gone,
                    Key (*key_of)(const Object&));
  Commit(StateStore& store, std::uint64_t index);
  /// Called before every change: whoever takes a snapshot from now on needs a new copy.
  void touch() {
    if (changed_) return;
    changed_ = true;
    store_.published_.reset();
  }
  void touch_allocs() {
    touch();
    if (index_ > store_.current_.allocs.index) store_.current_.allocs.index = index_;
  }
  /// The allocation may have come to its end, or left it.
  void count_live(AllocRow row, bool before);
  /// The server changed the row: its client has to look at it again.
  void note_server_change(AllocRow row);
  /// The row's API object says it from now on, or nobody.
  void forget_report(AllocRow row);
  /// `object` says from now on what the row's columns said beside it.
  void put_object(AllocRow row, std::shared_ptr<const model::Allocation> object);
  /// The client status of a row, and what the node's chains and use make of it.
  void write_client(AllocRow row, Client status);
  // What StateStore::set_changes() asked for.
  void note_node(NodeRow row) {
    if (store_.changes_) store_.changes_->nodes.push_back(row);
  }
  void note_job(JobKeyRow key) {
    ++store_.edit_key(key).changes;
    if (store_.changes_) store_.changes_->jobs.push_back(key);
  }
  AllocRow note_alloc(AllocRow row) {
    ++store_.edit_key(store_.current_.allocs.job_key[row]).changes;
    if (store_.changes_) store_.changes_->allocs.push_back(row);
    return row;
  }
  void write_deployment(DeploymentRow row, JobKeyRow job, std::shared_ptr<const model::Deployment> deployment);
  void note_deployment(DeploymentRow row, JobKeyRow job) {
    ++store_.edit_key(job).changes;
    if (store_.changes_) store_.changes_->deployments.push_back(row);
  }

  StateStore& store_;
  const std::unique_lock<base::SpinningMutex> lock_;
  const std::uint64_t index_;
  bool changed_ = false;
};

}  // namespace berth::tables
