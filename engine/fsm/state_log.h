// StateLog: applies log entries to the tables with all side effects of the specification (R-CTRL-101 to 108 and section
// 7 of part 07), and stores what the tables lack because no scheduler reads it.
//
//   here                     content                                                   rules
//   job records, by job row  the stored job object with its status, its versions       R-CTRL-716 to 720, 735 to 743
//                            and summary
//   node marks, by node row  LastAllocUpdateIndex                                       R-CTRL-769
//   node lives, by node row  drain, events, times and indexes since the registration     R-CTRL-904 to 1005
//   system jobs              (namespace, ID) ascending                                   R-CTRL-952
//   table indexes            last index that wrote each table                           R-CTRL-102
//   entry listener           receives the rows that each entry wrote                     R-API-586
// Everything else is in the tables. An entry is applied under one Commit: a snapshot shows all of it or nothing. A
// failed entry changes nothing but uses up its index. Plans are rows and come through plan::Applier, which passes on
// what it wrote (adopt()). Cost: per object touched. Allocations get an API object at their first change here, but not
// through plans. Threads: the writer's only.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/chunked.h"
#include "fsm/entries.h"
#include "fsm/entry_listener.h"
#include "fsm/hooks.h"
#include "fsm/job_summary.h"
#include "fsm/node_entries.h"
#include "fsm/scaling_policies.h"
#include "model/quirks.h"
#include "tables/commit.h"

namespace berth::fsm {

enum class Table : std::uint8_t { nodes, jobs, allocs, evals, deployment, job_summary, node_pools, namespaces };
inline constexpr const char* kTableNames[] = {"nodes",      "jobs",        "allocs",     "evals",
                                              "deployment", "job_summary", "node_pools", "namespaces"};
inline constexpr std::size_t kTables = 8;

/// Data stored for a job besides its versions.
struct Kept {
  std::vector<std::shared_ptr<const Submission>> submissions;  ///< newest first (R-API-218)
  std::map<std::string, std::vector<ScalingEvent>> scaling;    ///< by group, newest first (R-API-248)
  std::vector<ScalingPolicy> policies;                         ///< also of a stopped job (R-REG-465)
};

/// Data that a job's progress changes or depends on.
struct JobProgress {
  std::optional<JobSummary> summary;
  std::shared_ptr<const model::Job> current;               ///< null: purged or never registered
  const std::vector<tables::JobKeyRow>* folded = nullptr;  ///< jobs whose IDs differ in case only (R-CTRL-105)
  bool gone = false;                                       ///< purged, but its row is not free yet
  bool is_running = false;                                 ///< `current` has this status and is not stopped
};

/// Everything stored for one job outside the tables.
struct JobRecord : JobProgress, Kept {
  std::vector<std::shared_ptr<const model::Job>> versions;  ///< version descending (R-CTRL-104), the current one first
};

/// The source of a version, or null.
[[nodiscard]] inline const Submission* submission_of(const JobRecord& record, std::uint64_t version) {
  for (const auto& submission : record.submissions)
    if (submission->version == version) return submission.get();
  return nullptr;
}

/// An allocation that a commit wrote.
struct WrittenAlloc {
  tables::AllocRow row = tables::kNoRow;
  tables::Client before = tables::Client::pending;  ///< its previous client status
  bool is_new = false;
  bool takes_job = false;  ///< its entry has no job and gets the plan's (R-CTRL-710)
};

/// Rows written by the commit of a plan, for the job records.
struct PlanCommit {
  std::vector<WrittenAlloc> allocs;  ///< placements and updates, stops, preemptions: each in plan order
  std::vector<tables::DeploymentRow> deployments;
  tables::StoredEvalRow eval = tables::kNoRow;  ///< evaluation of the plan, if it is stored
  bool wrote_nodes = false;
  std::vector<model::Evaluation> preemption_evals;  ///< written with the plan (R-CTRL-627)
};

/// All nodes at one commit, for any thread. Costs a copy of two words per node.
struct NodeView {
  tables::SnapshotRef state;
  std::vector<std::shared_ptr<const NodeLife>> lives;
  std::vector<std::uint64_t> last_alloc_update;

  /// Equal to StateLog::node(); the node must exist.
  [[nodiscard]] model::Node node(tables::NodeRow row) const;
  [[nodiscard]] std::uint64_t modify_index(tables::NodeRow row) const;
};

class StateLog {
 public:
  /// `quirks` also apply to the requests and plans that are written through this log. `retains` false: the store keeps
  /// no history, and plans and evaluations are the only entries; nothing is recorded of their jobs.
  explicit StateLog(tables::StateStore& store, const model::Quirks& quirks = {}, bool retains = true);

  /// If set, allocations keep the job as their plan had it, for display.
  void keep_planned_jobs(bool keep) { keeps_planned_jobs_ = keep; }

  // --- loading: after StateStore::load(state) ---
  void load(const model::ClusterState& state);
  void set_summary(std::string_view name_space, std::string_view job_id, JobSummary summary);
  void set_kept(std::string_view name_space, std::string_view job_id, Kept kept);
  void set_table_index(Table table, std::uint64_t index);

  // --- entries: "" or the error of a failed one; `hooks` gets the resulting actions, in order ---
  [[nodiscard]] std::string apply(std::uint64_t index, std::vector<model::Evaluation> evals, Hooks& hooks);
  /// The same of columns, which are moved from.
  [[nodiscard]] std::string apply(std::uint64_t index, std::span<tables::EvalWrite> evals, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const TransitionEntry& entry, Hooks& hooks);
  /// Consumes the objects of `entry`.
  [[nodiscard]] std::string apply(std::uint64_t index, ClientUpdateEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const JobRegisterEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const JobDeregisterEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const ScalingEventEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const JobStabilityEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const VersionTagEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const DeploymentStatusEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const DeploymentPromoteEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const DeploymentHealthEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodeRegisterEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodeStatusEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodeEligibilityEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodeDrainEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodeDeregisterEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const EvalDeleteEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const DeploymentDeleteEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const JobBatchDeregisterEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodePoolUpsertEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NodePoolDeleteEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NamespaceUpsertEntry& entry, Hooks& hooks);
  [[nodiscard]] std::string apply(std::uint64_t index, const NamespaceDeleteEntry& entry, Hooks& hooks);
  /// Prefetches what a received report will touch when its batch is written.
  void ask_for(const tables::ClientReport& report) const;
  /// Sets the listener for all later entries; null: none. It must outlive its use.
  void set_entry_listener(EntryListener* listener) { entry_listener_ = listener; }

  // --- reading ---
  /// The stored job, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> job(std::string_view name_space, std::string_view job_id) const;
  [[nodiscard]] const JobRecord* record(std::string_view name_space, std::string_view job_id) const;
  [[nodiscard]] const JobRecord* record(tables::JobKeyRow key) const {
    return key < records_.size() ? &records_[key] : nullptr;
  }
  [[nodiscard]] std::optional<model::Allocation> alloc(std::string_view id);
  [[nodiscard]] std::shared_ptr<const model::Evaluation> eval(std::string_view id);
  [[nodiscard]] std::shared_ptr<const model::Deployment> deployment(std::string_view id);
  /// The allocation as the API shows it.
  [[nodiscard]] model::Allocation stored_alloc(tables::AllocRow row) const;
  [[nodiscard]] std::optional<model::Node> node(std::string_view id) const;
  [[nodiscard]] NodeView node_view() const;
  [[nodiscard]] std::int64_t status_updated_at(tables::NodeRow row) const;   ///< of a node, unix s
  [[nodiscard]] std::uint64_t node_modify_index(tables::NodeRow row) const;  ///< of an existing node
  /// The job's evaluations, oldest first.
  [[nodiscard]] std::vector<tables::StoredEvalRow> evals_of(tables::JobKeyRow key) const;
  /// The current jobs of type `system`, by (namespace, ID).
  using SystemJobs = std::map<std::pair<std::string, std::string>, std::shared_ptr<const model::Job>>;
  [[nodiscard]] const SystemJobs& system_jobs() const { return system_jobs_; }
  /// The job's allocations by ID; none for an unknown job.
  [[nodiscard]] std::vector<model::Allocation> allocs_of(std::string_view name_space, std::string_view job_id) const;
  /// The job's deployment with the highest CreateIndex, or null.
  [[nodiscard]] std::shared_ptr<const model::Deployment> latest_deployment(std::string_view name_space,
                                                                           std::string_view job_id) const;
  /// The stored child of `parent` that was dispatched with `token`, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> dispatched(const model::Job& parent, std::string_view token) const;
  /// All stored objects, in the orders of R-CTRL-104.
  [[nodiscard]] model::ClusterState state() const;
  [[nodiscard]] std::uint64_t table_index(Table table) const { return table_index_[static_cast<std::size_t>(table)]; }
  /// Log index of the next entry: one past the highest seen.
  [[nodiscard]] std::uint64_t next_index() const { return last_index_ + 1; }
  /// Recounts the summaries of all jobs from the stored allocations (R-API-502); `only_missing`: only of jobs without
  /// one, as in imported states. Cost: O(jobs + allocations).
  void recount_summaries(bool only_missing);
  /// Records that an entry, perhaps a failed one, used up `index`.
  void seen(std::uint64_t index) { last_index_ = std::max(last_index_, index); }
  /// Updates job records after a plan, under the commit that wrote it: summaries, statuses, stable versions, table
  /// indexes, evaluations of preempted jobs. Cost: O(rows written), no heap allocation while no status changes. If a
  /// job's last written allocation has ended, the job is searched for a live one.
  void adopt(tables::Commit& commit, const PlanCommit& plan, Hooks& hooks);
  /// Makes a node ineligible because of a plan, under the commit that writes the plan (R-CTRL-631).
  void mark_ineligible(tables::Commit& commit, tables::NodeRow row, const NodeEvent& event);
  [[nodiscard]] const model::Quirks& quirks() const { return quirks_; }
  /// By JobKeyRow: submit time in unix ns of jobs that garbage collection may remove; else the largest number. Decides
  /// R-CTRL-1410 except for tags of the job's versions.
  [[nodiscard]] std::span<const std::int64_t> collectable_jobs() const { return collectable_; }
  /// Adds (`more`) or removes the server's use of an evaluation and its job, whose rows are not reused meanwhile.
  void hold(tables::StoredEvalRow eval, tables::JobKeyRow key, bool more);
  [[nodiscard]] tables::StateStore& store() { return store_; }
  [[nodiscard]] const tables::StateStore& store() const { return store_; }

 private:
  struct Change;  // one entry while it is applied
  void notify(const Change& change);

  JobRecord& record_of(tables::JobKeyRow key) {
    if (key < records_.size())
      if (JobRecord& record = records_[key]; record.folded) return record;
    return new_record(key);
  }
  JobRecord& new_record(tables::JobKeyRow key);
  JobRecord* find_record(std::string_view name_space, std::string_view job_id);
  tables::AllocRow alloc_row(std::string_view id);
  std::vector<tables::AllocRow> allocs_of(tables::JobKeyRow key) const;

  void touch(Change& change, Table table);
  void store_alloc(Change& change, tables::AllocRow row, std::shared_ptr<const model::Allocation> alloc);
  void close_eval(Change& change, tables::StoredEvalRow row, std::uint8_t status, std::string description);
  void store_job_object(Change& change, tables::JobKeyRow key, std::shared_ptr<const model::Job> job);

  /// Returns the row; kNoRow if the ID is not a UUID.
  tables::StoredEvalRow upsert_eval(Change& change, model::Evaluation eval);
  tables::StoredEvalRow upsert_eval(Change& change, tables::EvalWrite&& eval);
  void write_evals(Change& change, std::span<tables::EvalWrite> evals, Hooks& hooks);
  void count_queued(Change& change, JobRecord& record, const tables::EvalContents& eval);
  void cancel_blocked(Change& change, tables::JobKeyRow key, const tables::EvalWrite& successful);
  void adopt_records(Change& change, const PlanCommit& plan);
  void upsert_job(Change& change, model::Job job, bool keep_version, const Submission* source = nullptr);
  /// Replaces the object of a stored version, current or not.
  void rewrite_version(Change& change, tables::JobKeyRow key, model::Job job);
  /// Deletes the job with everything that belongs to it (R-CTRL-742). `purged` keeps the object alive during the call.
  void purge_job(Change& change, const std::shared_ptr<const model::Job>& purged, Hooks& hooks);
  void upsert_deployment(Change& change, model::Deployment deployment);
  /// `row` kNoRow: a new deployment.
  void write_deployment(Change& change, tables::DeploymentRow row, std::shared_ptr<model::Deployment> deployment);
  /// Copies a deployment into a replaced object that has no other users, if there is one.
  std::shared_ptr<model::Deployment> copy_of(const model::Deployment& stored);
  /// Marks the version of a successful deployment as stable (R-CTRL-730).
  void mark_stable(Change& change, const model::Deployment& deployment);
  void update_deployment_status(Change& change, const model::DeploymentStatusUpdate& update);
  /// The reason why the deployment can no longer change: unknown or terminal (R-CTRL-1217); "" if it can.
  [[nodiscard]] std::string why_not_active(const std::string& deployment_id);
  // Health of allocations in their deployments: write_counted() writes an entry's counts once.
  void count_in_deployment(Change& change, model::Allocation& alloc, const model::Allocation& before);
  /// The deployment with the counts of the current entry so far.
  [[nodiscard]] const model::Deployment& counted_so_far(tables::DeploymentRow row) const;
  model::Deployment& count_in(tables::DeploymentRow row);
  void write_counted(Change& change);
  // A client's report (R-CTRL-766 to 768): for an allocation with an API object, or for a row without one.
  void write_report(Change& change, tables::AllocRow row, const tables::ClientReport& report);
  void write_report(Change& change, tables::AllocRow row, model::Allocation&& report);
  void ask_for(tables::AllocRow row) const;
  void ask_further(const tables::ClientReport& report) const;
  void count_health(tables::AllocRow row, std::uint8_t health, const tables::ClientReport& report);
  /// Cancels evaluations that reconnecting allocations no longer need (R-CTRL-766).
  void cancel_followups(Change& change);
  void keep_planned_job(tables::Commit& commit, const WrittenAlloc& written);
  void count_in_summary(std::uint64_t index, const WrittenAlloc& written);
  [[nodiscard]] JobSummary counted_summary(tables::JobKeyRow key, const std::optional<JobSummary>& before) const;
  /// Call after the last count_in_summary() of an entry.
  void touch_summaries(Change& change);
  void set_job_status(Change& change, tables::JobKeyRow key, std::string_view forced, bool evals_deleted);
  [[nodiscard]] std::string_view derive_status(tables::JobKeyRow key, bool evals_deleted) const;
  void count_child(Change& change, const model::Job& child, std::string_view before, std::string_view after);
  /// Makes `job` the current one of the record; null: none.
  void set_current(tables::JobKeyRow key, std::shared_ptr<const model::Job> job);
  void note_current(tables::JobKeyRow key);
  void show_life(tables::NodeRow row, model::Node& node) const;
  /// Writes the whole node, for a registration.
  void store_node(Change& change, const model::Node& node);
  /// Writes status, eligibility, drain, events and times of a node. Does not rewrite the columns of its class, so that
  /// schedulers' caches of that class stay valid.
  void store_life(Change& change, const model::Node& node);
  /// `index` 0: the event has no index.
  static void add_event(std::uint64_t index, model::Node& node, const NodeEvent& event);
  void unblock_on(const model::Node& node, std::uint64_t index, bool node_too, Hooks& hooks) const;
  void queue_hook(tables::StoredEvalRow row, Hooks& hooks) const;
  /// Frees the rows of purged jobs that own nothing any more.
  void release_keys(Change& change, Hooks& hooks);

  tables::StateStore& store_;
  const model::Quirks quirks_;
  base::Chunked<JobRecord> records_;                                        // by JobKeyRow; references stay valid
  std::unordered_map<std::string, std::vector<tables::JobKeyRow>> folded_;  // namespace NUL lower-case ID (R-CTRL-105)
  std::vector<std::int64_t> collectable_;                                   // by JobKeyRow
  std::vector<std::uint32_t> holds_;                                        // by JobKeyRow
  std::vector<tables::JobKeyRow> gone_;                                     // purged jobs whose rows are not free yet
  std::vector<std::uint64_t> last_alloc_update_;                            // by NodeRow
  std::vector<std::shared_ptr<const NodeLife>> node_lives_;                 // by NodeRow; null: as registered
  SystemJobs system_jobs_;
  std::array<std::uint64_t, kTables> table_index_{};
  std::uint64_t last_index_ = 0;
  EntryListener* entry_listener_ = nullptr;
  EntryRows entry_rows_;  // rows of the current entry
  bool keeps_planned_jobs_ = false;
  bool summaries_changed_ = false;                            // by count_in_summary(), since touch_summaries()
  std::vector<std::pair<tables::JobKeyRow, bool>> affected_;  // jobs of a plan: is the last written allocation live?
  // For an entry of reports; members for reuse of their memory.
  std::vector<tables::JobKeyRow> reported_jobs_;
  std::vector<std::pair<tables::DeploymentRow, std::shared_ptr<model::Deployment>>> counted_;
  std::vector<std::uint32_t> counted_at_;  // by DeploymentRow: place in counted_ + 1; 0: not there
  std::vector<std::shared_ptr<const model::Deployment>> replaced_;  // possibly still used elsewhere
  std::string canary_;
  std::vector<std::string> cancelled_;
  std::vector<tables::StoredEvalRow> dropped_;
  std::vector<tables::StoredEvalRow> written_evals_;
};

}  // namespace berth::fsm
