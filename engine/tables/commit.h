// Commit: one change of the state, of any number of rows. It holds the store's mutex from begin_commit() to its
// destruction, so that a snapshot shows all of it or nothing.
//
// Changes are visible at once in StateStore::current() on the writer's thread. A commit that changes nothing does not
// change the latest index. Costs are per row touched; a chunk that a live snapshot holds is copied once.
#pragma once

#include "tables/export.h"
#include "tables/state.h"

namespace berth::tables {

/// An evaluation to be written to its row.
struct EvalWrite {
  StoredEvalRow row = kNoRow;  ///< kNoRow: a new one
  base::Uuid id;
  JobKeyRow job = kNoRow;  ///< an existing one; that of a known row must not change
  std::int32_t priority = 0;
  std::uint8_t status = kEvalPending;  ///< index into kEvalStatuses
  std::uint64_t create_index = 0, modify_index = 0;
  EvalContents contents;
};

class Commit {
 public:
  Commit(const Commit&) = delete;
  Commit& operator=(const Commit&) = delete;
  ~Commit();

  // Objects are stored by the 16 bytes of their IDs. An object whose ID is not a UUID cannot be stored (R-MODEL-590):
  // it is ignored, and kNoRow is returned. Imports refuse such IDs (io, api).

  // --- nodes ---
  /// Registers or updates a node; inserting a new one in ID order costs O(nodes).
  NodeRow upsert_node(const model::Node& node);
  /// Marks the row gone; the row and its allocations stay.
  void remove_node(NodeRow row);
  void set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining);

  // --- jobs ---
  /// Compiles the version unless this very object was passed before; `current` makes it the job's current version.
  VersionRow upsert_job(const std::shared_ptr<const model::Job>& job, bool current);
  /// Adds an object of a stored version, such as one with a new status: allocations may carry any of them.
  void alias_job(const std::shared_ptr<const model::Job>& job, VersionRow row);
  /// The same for the version of which `known` is an object.
  void alias_version(const std::shared_ptr<const model::Job>& job, const model::Job& known);
  /// Removes the stored version of which `job` is any object; allocations keep their copies of it.
  void forget_version(const model::Job& job);
  /// Removes the job's current version (a purge); its allocations stay.
  void purge_job(JobKeyRow key);
  JobKeyRow job_key(std::string_view job_namespace, std::string_view job_id);

  // --- allocations ---
  AllocRow insert_alloc(const model::Allocation& alloc);
  /// Inserts an allocation without an API object: about 100 bytes and no heap allocation of its own.
  AllocRow insert_plain(const PlainAlloc& alloc);
  /// The same for the applier: `shape` is separate from `alloc`, which saves reference counting for the group's own
  /// shape.
  AllocRow insert_plain(const PlainAlloc& alloc, const std::shared_ptr<const ResourceShape>& shape);
  /// Rewrites a stored allocation, API object and columns; its node must be the same. Resources and client status may
  /// differ: the node's use is updated. `alloc` has its own indexes.
  void replace_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc);
  /// The allocation's API object, to be changed and passed to rewrite_alloc() before anything else reads the row. It is
  /// the stored object itself if it has no other owners.
  [[nodiscard]] std::shared_ptr<model::Allocation> take_object(AllocRow row);
  /// Like replace_alloc(), for an object from take_object() whose job, resources, evaluation and deployment are
  /// unchanged.
  void rewrite_alloc(AllocRow row, std::shared_ptr<const model::Allocation> alloc);
  /// Removes it from its job and its node; the row stays until it is reused. Without a history it is never reused, and
  /// the removal costs O(allocations of the job).
  void remove_alloc(AllocRow row);
  void set_desired_status(AllocRow row, Desired status);
  /// Changes to another version of the job, which must have the row's group; `shape` null: the resources stay.
  void update_in_place(AllocRow row, VersionRow job, const std::shared_ptr<const ResourceShape>& shape);
  /// Sets the links of a row without an API object.
  void set_links(AllocRow row, const AllocLinks& links);
  /// Sets only the index of the last change.
  void set_modify_index(AllocRow row);
  // History data of a row without an API object; no-op without a history.
  void set_modified(AllocRow row, std::int64_t at_ns);
  void set_eval(AllocRow row, StoredEvalRow eval);
  void set_metrics(AllocRow row, std::shared_ptr<const model::AllocMetric> metrics);
  /// Sets the events of its tasks, together with its client's next report. Not a change by itself: no index moves.
  void set_task_log(AllocRow row, TaskLogRef log);
  void set_planned_job(AllocRow row, std::shared_ptr<const model::Job> job);
  /// Writes a client's report on a row without an API object: its status, the contents of `reported` except its index,
  /// and its health for the deployment (AllocLinks::health).
  void write_report(AllocRow row, Client status, const Reported& said, std::uint8_t health, std::int64_t modified_ns);
  /// Reaching or leaving a client-terminal status releases or takes the node's resources.
  void set_client_status(AllocRow row, Client status);
  /// Sets desired `stop` for every allocation of the job that still runs or should run; returns their number.
  std::uint32_t stop_job(JobKeyRow key);
  /// Sets client status `status` for every allocation of the job that was not client-terminal; returns their number.
  std::uint32_t end_job(JobKeyRow key, Client status = Client::complete);

  // --- other objects; an object with a known ID is replaced; the nil UUID means "none" and is never an object's ID ---
  DeploymentRow upsert_deployment(model::Deployment deployment);  ///< kNoRow: its ID is not a UUID
  /// Replaces the object of the deployment in `row` by one with the same ID and job.
  void rewrite_deployment(DeploymentRow row, std::shared_ptr<const model::Deployment> deployment);
  void upsert_eval(const model::Evaluation& eval);
  /// Returns the row.
  StoredEvalRow write_eval(EvalWrite&& eval);
  /// The columns of an API object, whose row is that of its ID. Makes the row of its job if there is none.
  [[nodiscard]] EvalWrite packed(model::Evaluation&& eval);
  /// Sets status (index into kEvalStatuses) and description of an existing evaluation.
  void close_eval(StoredEvalRow row, std::uint8_t status, std::string description);
  /// Sets index and, if given, time of its last change.
  void set_eval_modified(StoredEvalRow row, std::optional<std::int64_t> at_ns);
  /// The row stays without an object and without a job; with a history it is reused.
  void remove_deployment(DeploymentRow row);
  /// With a history like remove_deployment(). Without one the row is free at once: nothing must refer to it.
  void remove_eval(StoredEvalRow row);
  /// Releases the row of a purged job for reuse. False: it still owns objects. Requires a history.
  [[nodiscard]] bool release_key(JobKeyRow key);
  /// Adds a pool with default settings unless there is one of this name; returns whether it is new.
  bool add_node_pool(const std::string& name);
  // By name; new ones are inserted in order. The objects have their own indexes.
  void upsert_node_pool(const model::NodePool& pool);
  void remove_node_pool(const std::string& name);
  void upsert_namespace(const model::Namespace& name_space);
  void remove_namespace(const std::string& name);
  // Host volumes by ID, CSI volumes by namespace and ID (their name), plugins by ID.
  void upsert_host_volume(const model::HostVolume& volume);
  void remove_host_volume(std::string_view id);
  void upsert_csi_volume(const model::CsiVolume& volume);
  void remove_csi_volume(std::string_view name_space, std::string_view id);
  void upsert_csi_plugin(const model::CsiPlugin& plugin);
  void remove_csi_plugin(std::string_view id);
  /// Replaces the claim of that job, group and volume, or adds it (R-STORE-222).
  void upsert_claim(model::HostVolumeClaim claim);
  /// Cost: O(jobs). Purging a job removes its claims, too (R-STORE-223).
  void remove_claim(std::string_view id);
  void set_scheduler_config(std::optional<model::SchedulerConfiguration> config);
  /// Makes the commit's index the latest one even if nothing else changed.
  void raise_index() { touch(); }
  /// Sets the last index that wrote the nodes, or else the allocations (R-CTRL-617), for entries that write neither.
  void set_table_index(bool nodes, std::uint64_t index);
  /// Sets the latest index, even to a lower one; for loading.
  void set_index(std::uint64_t index);

  [[nodiscard]] model::Allocation to_alloc(AllocRow row) const { return tables::to_alloc(store_.current_, row); }
  [[nodiscard]] const Snapshot& current() const { return store_.current_; }
  [[nodiscard]] std::uint64_t index() const { return index_; }
  [[nodiscard]] bool changed() const { return changed_; }

 private:
  friend class StateStore;
  /// The job's claims for immediate editing.
  [[nodiscard]] VolumeClaims& edit_claims(JobKeyRow key);
  template <class Object, class Key>
  void write_listed(std::vector<Object> ColdState::*list, const Object* object, const Key& gone,
                    Key (*key_of)(const Object&));
  Commit(StateStore& store, std::uint64_t index);
  /// Called before every change: later snapshots need a new copy.
  void touch() {
    if (changed_) return;
    changed_ = true;
    store_.published_.reset();
  }
  void touch_allocs() {
    touch();
    if (index_ > store_.current_.allocs.index) store_.current_.allocs.index = index_;
  }
  /// Updates counts if the allocation became terminal or live again.
  void count_live(AllocRow row, bool before);
  /// Records a change by the server: the row's client has to read it again.
  void note_server_change(AllocRow row);
  /// Drops report, metrics and the rest; the row's API object, if any, replaces them.
  void forget_report(AllocRow row);
  /// Sets the API object, which replaces the row's columns for links and report.
  void put_object(AllocRow row, std::shared_ptr<const model::Allocation> object);
  /// Writes the client status of a row, and updates the node's chains and use.
  void write_client(AllocRow row, Client status);
  // Changes requested by StateStore::set_changes().
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
  /// Updates the history after an evaluation's columns changed.
  void note_eval(StoredEvalRow row, bool is_new);
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
