// StateStore: all tables, and their only writer. Snapshot: an immutable view of all tables at one commit.
//
// Reading a snapshot needs no lock. The first snapshot() after a commit copies one reference per column (about 50);
// until the next commit all others share that copy. Committing copies only the chunks that it touches, and only while a
// snapshot holds them (cow.h). All changes go through a Commit (commit.h), which holds the store's mutex from beginning
// to end, so a snapshot never shows half a commit. Threads: snapshot() from any thread; everything else belongs to the
// writer's thread.
#pragma once

#include <array>
#include <unordered_map>
#include <vector>

#include "base/bit_hash.h"
#include "base/chunked.h"
#include "base/relax.h"
#include "model/cluster.h"
#include "network/network_index.h"
#include "tables/changes.h"
#include "tables/history.h"
#include "tables/id_index.h"
#include "tables/job_table.h"
#include "tables/packed_eval.h"
#include "tables/priority_counts.h"
#include "tables/ready_nodes.h"
#include "tables/shared_slots.h"

namespace berth::tables {

/// Deployments: the columns that schedulers filter by, and the API object of each row.
struct DeploymentTable {
  CowVector<base::Uuid> id;
  CowVector<JobKeyRow> job_key;
  CowVector<std::uint64_t> job_version, create_index;
  CowVector<std::uint8_t> active;        ///< R-MODEL-204
  CowVector<DeploymentRow> next_of_job;  ///< chain of the job's deployments, newest first
  CowVector<std::shared_ptr<const model::Deployment>> object;
  [[nodiscard]] std::size_t size() const { return id.size(); }
};

/// Evaluations. Snapshot::eval() makes the API object of a row.
struct EvalTable {
  CowVector<base::Uuid> id;
  CowVector<JobKeyRow> job_key;  ///< kNoRow: removed
  CowVector<std::int32_t> priority;
  CowVector<std::uint8_t> status;  ///< index into kEvalStatuses
  CowVector<std::uint64_t> create_index, modify_index;
  CowVector<PackedEval> packed;
  SparseColumn<EvalMoreRef> more;
  [[nodiscard]] std::size_t size() const { return id.size(); }
  [[nodiscard]] bool exists(StoredEvalRow row) const { return job_key[row] != kNoRow; }
};

/// Small, rarely changed data that is read as API objects: volumes, pools, configuration.
struct ColdState {
  std::optional<model::SchedulerConfiguration> scheduler_config;
  std::vector<model::NodePool> node_pools;
  std::vector<model::Namespace> namespaces;
  std::vector<model::HostVolume> host_volumes;
  std::vector<model::CsiVolume> csi_volumes;
  std::vector<model::CsiPlugin> csi_plugins;
};

/// All of a state except its nodes and jobs.
struct StateTables {
  AllocTable allocs;
  DeploymentTable deployments;
  EvalTable evals;
  CowVector<std::shared_ptr<const CompiledConstraint>, 32> constraints;  ///< by ConstraintId; null: not in use
  CowVector<std::shared_ptr<const BaseSet>, 32> base_sets;               ///< null: not in use
  std::shared_ptr<const ColdState> cold;
  const SymbolTable* symbols = nullptr;  ///< outlives every snapshot
  RowHold hold;                          ///< while it exists, rows removed after this state are not reused
  std::uint64_t index = 0;               ///< latest index of the state (R-FEAS-202)
};

struct Snapshot : StateTables {
  NodeTable nodes;
  JobTable jobs;

  [[nodiscard]] const std::string& text(Symbol symbol) const { return symbols->text(symbol); }
  /// Text of a keyed column's value on a node, or null when the key is missing.
  [[nodiscard]] const std::string* value_text(ColumnId column, NodeRow row) const {
    const KeyedColumn& c = nodes.column(column);
    const std::uint32_t code = c.code(row);
    return code == 0 ? nullptr : &symbols->text(c.value(code));
  }

  /// The evaluation as an API object, made from its row; null: there is none.
  [[nodiscard]] std::shared_ptr<const model::Evaluation> eval(StoredEvalRow row) const;
  /// Of an existing evaluation.
  [[nodiscard]] const std::string& namespace_of_eval(StoredEvalRow row) const {
    return text(jobs.keys[evals.job_key[row]].job_namespace);
  }
  /// Its values in the columns.
  [[nodiscard]] EvalColumns eval_columns(StoredEvalRow row) const {
    const JobKey& key = jobs.keys[evals.job_key[row]];
    return {evals.id[row],     text(key.job_namespace), text(key.job_id),       evals.priority[row],
            evals.status[row], evals.create_index[row], evals.modify_index[row]};
  }

  // Facts about an allocation, with or without an API object.
  [[nodiscard]] bool is_canary(AllocRow row) const {
    const auto& object = allocs.cold[row];
    return object ? object->deployment_status && object->deployment_status->canary
                  : (allocs.links[row].health & AllocLinks::kCanary) != 0;
  }
  [[nodiscard]] bool has_health(AllocRow row) const {
    const auto& object = allocs.cold[row];
    return object ? object->deployment_status && object->deployment_status->healthy.has_value()
                  : (allocs.links[row].health & (AllocLinks::kHealthy | AllocLinks::kUnhealthy)) != 0;
  }
  [[nodiscard]] bool is_healthy(AllocRow row) const {
    const auto& object = allocs.cold[row];
    return object ? object->deployment_status && object->deployment_status->healthy.value_or(false)
                  : (allocs.links[row].health & AllocLinks::kHealthy) != 0;
  }
  /// The deployment that it belongs to; nil: none.
  [[nodiscard]] base::Uuid deployment_of(AllocRow row) const {
    if (const auto& object = allocs.cold[row]) return base::parse_uuid(object->deployment_id).value_or(base::Uuid{});
    const DeploymentRow deployment = allocs.links[row].deployment;
    return deployment == kNoRow ? base::Uuid{} : deployments.id[deployment];
  }
};

/// Shared ownership of the tables of one commit. Copies cost one reference; the store must outlive them.
class SnapshotRef {
 public:
  SnapshotRef() = default;
  explicit SnapshotRef(std::shared_ptr<const Snapshot> tables) : tables_(std::move(tables)) {}
  const Snapshot& operator*() const { return *tables_; }
  const Snapshot* operator->() const { return tables_.get(); }
  operator const Snapshot&() const { return *tables_; }  // NOLINT: it is one, held
  explicit operator bool() const { return tables_ != nullptr; }
  /// Releases the snapshot. A commit writes in place while no snapshots exist.
  void reset() { tables_.reset(); }

 private:
  std::shared_ptr<const Snapshot> tables_;
};

/// Columns that only the writer reads. They are in no Snapshot, so commits never copy them.
struct WriterColumns {
  base::Chunked<AllocRow> prev_on_node;      ///< by AllocRow: AllocTable::next_on_node backwards
  base::Chunked<PriorityCounts> priorities;  ///< by NodeRow; as long as NodeTable::eviction
};

class WorkerView;

/// The overrides of a node that shares its spec with others (generated clusters).
struct NodeVariant {
  base::Uuid id;
  std::string_view name;
  std::string_view datacenter;                                            ///< empty: the spec's
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  ///< added to or replacing the spec's
  std::vector<std::pair<std::string_view, std::string_view>> meta;
  std::string_view computed_class;  ///< empty: computed from the spec and the overrides (R-MODEL-540)
};

/// A plain allocation for bulk loading and for the applier, without an API object.
struct PlainAlloc {
  base::Uuid id;
  NodeRow node = kNoRow;
  VersionRow job = kNoRow;
  std::uint32_t group = 0;  ///< position in the job's group list
  std::uint32_t name_index = 0;
  Client client = Client::pending;
  StoredEvalRow eval = kNoRow;   ///< the evaluation that placed it; only with a history
  std::int64_t modify_time = 0;  ///< unix ns; only with a history
  AllocLinks links;
  std::shared_ptr<const ResourceShape> shape;     ///< null: the group's own shape
  std::shared_ptr<const model::Allocation> cold;  ///< null for plain ones
};

/// Two numbers as one key.
[[nodiscard]] constexpr std::uint64_t key_pair(std::uint32_t high, std::uint32_t low) {
  return static_cast<std::uint64_t>(high) << 32 | low;
}

class Commit;

class StateStore {
 public:
  StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  [[nodiscard]] SnapshotRef snapshot() const;
  /// Updates the view to the current state (worker_view.h). Any thread may call it for a view of its own. False if the
  /// view's columns would exceed `bytes_max`; the view is then empty.
  [[nodiscard]] bool bring_up(WorkerView& view, std::size_t bytes_max = SIZE_MAX) const;

  /// Starts a commit at `index`; 0 does not change the latest index. One at a time: it holds the mutex.
  [[nodiscard]] Commit begin_commit(std::uint64_t index = 0);

  // --- loading; nothing is canonicalised, recomputed or validated here ---
  void load(const model::ClusterState& state);
  /// Adds many nodes that share a spec; much cheaper than upsert_node for each. Call sort_nodes() after the last one.
  [[nodiscard]] static std::shared_ptr<const NodeSpec> make_spec(const model::Node& node, bool shared);
  NodeRow add_variant(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant);
  void sort_nodes();

  // --- commits of one change; see commit.h for their meaning ---
  void set_scheduler_config(std::optional<model::SchedulerConfiguration> config);
  VersionRow upsert_job(const std::shared_ptr<const model::Job>& job, bool current);
  AllocRow insert_plain(const PlainAlloc& alloc, std::uint64_t index);
  void set_index(std::uint64_t index);
  void set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining, std::uint64_t index = 0);
  void set_client_status(AllocRow row, Client status, std::uint64_t index);
  JobKeyRow job_key(std::string_view job_namespace, std::string_view job_id);

  // --- look-ups by ID ---
  [[nodiscard]] NodeRow find_node(base::Uuid id) const;        ///< kNoRow: no such node
  [[nodiscard]] AllocRow find_alloc(base::Uuid id);            ///< kNoRow: no such allocation; see IdIndex for the cost
  [[nodiscard]] StoredEvalRow find_eval(base::Uuid id);        ///< row, or kNoRow; the nil UUID is no evaluation's
  [[nodiscard]] DeploymentRow find_deployment(base::Uuid id);  ///< row, or kNoRow; the nil UUID is no deployment's
  // By text, in upper or lower case. A text that is not a UUID is never found: such an ID cannot be stored
  // (R-MODEL-590).
  [[nodiscard]] NodeRow find_node(std::string_view id) const;
  [[nodiscard]] AllocRow find_alloc(std::string_view id);
  [[nodiscard]] StoredEvalRow find_eval(std::string_view id);
  [[nodiscard]] DeploymentRow find_deployment(std::string_view id);
  [[nodiscard]] JobKeyRow find_job_key(std::string_view job_namespace, std::string_view job_id) const;
  [[nodiscard]] std::uint64_t index() const { return current_.index; }
  SymbolTable& symbols() { return symbols_; }

  /// The current tables, for the writer's own thread: costs nothing and causes no copies by commits.
  [[nodiscard]] const Snapshot& current() const { return current_; }
  [[nodiscard]] const WriterColumns& writer_columns() const { return writer_; }
  /// Number of chunks of job keys and placement columns that commits copied because a snapshot held them.
  [[nodiscard]] std::uint64_t use_chunks_copied() const;
  /// From now on commits list the rows they write in `changes`; null: nowhere. It must outlive its use.
  void set_changes(Changes* changes) { changes_ = changes; }
  /// Starts maintaining a history (history.h), so that rows of removed objects are reused. Costs about 40 bytes an
  /// allocation; for owners of a state machine. StateLog calls it.
  void keep_history();
  [[nodiscard]] const History* history() const { return history_.get(); }  ///< null: none is kept
  /// Disagreements of the history with the tables, or between rows to be reused; empty if correct. Reads everything.
  [[nodiscard]] std::vector<std::string> check_history();
  /// Destroys removed versions now if nothing holds them, instead of at the next commit with changes. Does not change
  /// when rows are reused.
  void destroy_removed();
  /// Prefetches, after prefetch_rows(), what removing the row touches next. Requires a history.
  void prefetch_removal(AllocRow row) const;
  /// While `on`, the evaluation's row is not reused. If the evaluation is removed meanwhile, the row keeps its contents
  /// except for the job. Without a history only the server removes evaluations.
  void hold_eval(StoredEvalRow row, bool on);
  /// For users that store row numbers for some time. Requires a history.
  [[nodiscard]] RowHold hold_rows() const { return current_.hold; }
  /// Memory of the tables' columns and indexes; API objects (specs, jobs, cold allocations) are not counted.
  [[nodiscard]] std::size_t bytes() const;

 private:
  friend class Commit;

  // The following functions require the mutex to be held.
  /// The only way to write a row of JobTable::keys: it logs the row for views.
  JobKey& edit_key(JobKeyRow row) {
    note_key(row);
    return current_.jobs.keys.edit(row);
  }
  void note_key(JobKeyRow row) {
    if (row == noted_key_) return;  // already logged by this commit
    key_log_.append(row);
    noted_key_ = row;
  }
  NodeStatic& own_static();
  ColumnId column_for(KeyKind kind, std::string_view key);
  std::uint32_t code_for(ColumnId column, std::string_view value);
  void set_code(ColumnId column, NodeRow row, std::uint32_t code);
  NodeRow new_node_row(base::Uuid id);
  void fill_node(NodeRow row, const std::shared_ptr<const NodeSpec>& spec, const NodeVariant* variant);
  void fill_keyed_columns(NodeRow row, const std::shared_ptr<const NodeSpec>& spec, const NodeVariant* variant);
  [[nodiscard]] NodeCapacity capacity_with_kind(NodeRow row, const std::shared_ptr<const NodeSpec>& spec);
  std::uint32_t port_profile_of(const std::shared_ptr<const NodeSpec>& spec);
  std::string variant_class(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant);
  void list_node(NodeRow row);
  void unlist_node(NodeRow row);
  void sort_rows();
  /// Records that the node may have joined or left the nodes that jobs use.
  void note_ready(NodeRow row);
  void refresh_free(NodeRow row, const NodeUse& use);
  /// Records that NodeUse::ended_head changed, but nothing else of the node's use.
  void note_ended(NodeRow row);
  /// Adds (1) or removes (-1) a live allocation of its node by the contents of its row; call it for -1 before the row
  /// changes.
  void count_use(NodeUse& use, AllocRow row, int sign);
  /// Like count_use(), for holders of ports, cores or devices: updates a count of NodeUse and the column of NodeTable
  /// with what they hold. `of`: the node.
  template <class Held, class... Of>
  void count_held(CowVector<Held, kWideChunk>& column, std::uint32_t& holders, AllocRow row, int sign, const Of&... of);
  void count_ports(NodeUse& use, AllocRow row, int sign);
  void set_irregular(NodeUse& use, std::uint32_t bit, bool on);
  [[nodiscard]] bool have_ports_collided(NodeRow node, AllocRow without, std::size_t unchecked = ~std::size_t{0});
  [[nodiscard]] bool has_irregular_cores(NodeRow node, AllocRow without) const;
  /// Recounts after a registration, which may have changed the node's device instances, ports and cores.
  void recount_held(NodeRow row);
  static void add_priority(NodeUse& use, std::int32_t priority);
  void find_priorities(NodeUse& use, AllocRow leaving, PriorityCounts* counts);
  /// Like count_use(), for NodeTable::eviction.
  void count_eviction(const NodeUse& use, AllocRow row, int sign);
  /// Builds that column and WriterColumns::priorities from all live allocations except `without`.
  void keep_eviction(AllocRow without);
  /// True if the configuration lets service or batch jobs preempt; they choose between nodes by their victims there.
  [[nodiscard]] bool may_rank_victims() const;
  /// Levels of all live allocations on the node's chain except `without`.
  [[nodiscard]] EvictionLevels eviction_levels(const NodeUse& use, AllocRow without) const;
  [[nodiscard]] std::int32_t priority_of(VersionRow job) const;
  void link_on_node(NodeUse& use, AllocRow row, bool ended);
  void unlink_on_node(NodeUse& use, AllocRow row);
  [[nodiscard]] bool claims_alone(VersionRow job, Symbol group) const;
  struct NewAlloc {
    base::Uuid id;
    NodeRow node;
    VersionRow job;
    JobKeyRow key;
    Symbol group;
    std::uint32_t name_index;
    Desired desired;
    Client client;
    ShapeId shape_id;
    std::uint64_t create_index, modify_index;
    StoredEvalRow eval = kNoRow;
    std::int64_t modify_time = 0;
  };
  AllocRow append_alloc(const NewAlloc& alloc, const AllocLinks& links, std::shared_ptr<const model::Allocation> cold);

  // history.cc
  /// The rows that an allocation's row refers to, for the reference counts.
  struct AllocRefs {
    VersionRow version = kNoRow;
    ShapeId shape = kNoRow;
    std::array<AllocRow, 3> links{kNoRow, kNoRow, kNoRow};
    StoredEvalRow eval = kNoRow;
    DeploymentRow deployment = kNoRow;
    JobKeyRow key = kNoRow;
    bool live = false;
  };
  void rebuild_history();
  [[nodiscard]] AllocRefs refs_of(AllocRow row) const;
  void move_refs(AllocRow row, const AllocRefs& before, StoredEvalRow eval, DeploymentRow deployment);
  void set_alloc_eval(AllocRow row, StoredEvalRow eval);
  void count_ended(StoredEvalRow eval, bool before, bool after);
  void link_eval(StoredEvalRow row);
  void read_eval(StoredEvalRow row);
  void unlink_eval(StoredEvalRow row);
  /// Counts the version, or no longer, among the users of what it shares with others.
  void count_parts(const CompiledJob& job, bool more);
  void count_shapes(const CompiledJob& job, bool more);
  void drop_constraint(ConstraintId id);
  /// The part of check_history() about count_parts(). `should`: a history rebuilt from the tables.
  void check_parts(const History& is, const History& should, std::vector<std::string>& problems) const;
  void drop_column(ColumnId id);
  /// Releases the description of a removed node without allocations once no reader can need it.
  void give_up_node(NodeRow row);
  void drop_node(NodeRow row);
  void drop_shape(ShapeId shape);
  RowLists& removed_rows();
  void give_up_alloc(AllocRow row);
  void give_up_deployment(DeploymentRow row);
  void give_up_version(VersionRow row);
  [[nodiscard]] bool needs_version(VersionRow row) const;
  void settle();
  [[nodiscard]] bool collect_waiting();
  void drop_versions();
  void unlink_versions(JobKeyRow key);
  void free_waiting();
  [[nodiscard]] bool release_key(JobKeyRow row);
  /// A row to be reused; kNoRow: there is none.
  template <class Row>
  [[nodiscard]] Row take_row(std::vector<Row> RowLists::*rows) {
    if (!history_) return kNoRow;
    std::vector<Row>& of = history_->free.*rows;
    if (of.empty()) return kNoRow;
    const Row row = of.back();
    of.pop_back();
    return row;
  }
  [[nodiscard]] StoredEvalRow take_eval_row() {
    if (history_ || free_evals_.empty()) return take_row(&RowLists::evals);
    const StoredEvalRow row = free_evals_.back();
    free_evals_.pop_back();
    return row;
  }
  /// `before`: the row's codes by column, if the node registers again.
  void check_class(NodeRow row, std::uint32_t computed_class, const std::vector<std::uint32_t>& before);
  std::uint32_t kind_of(Symbol profiles, std::uint32_t computed_class);
  /// Adds (1) or removes (-1) a node of that class and kind.
  void count_kind(const NodeCapacity& of, std::int32_t sign);
  ShapeId shape_id(const std::shared_ptr<const ResourceShape>& shape);
  /// `object`: the initial object of a new row.
  JobKeyRow key_row(std::string_view job_namespace, std::string_view job_id,
                    const std::shared_ptr<const model::Job>& object = nullptr);
  VersionRow job_row(const std::shared_ptr<const model::Job>& job, bool current, bool stored);
  std::shared_ptr<const CompiledJob> compile(const std::shared_ptr<const model::Job>& job, bool current);
  /// The parts of `compile`. Lists are appended to: a group's affinities are its job's, its own, its tasks'.
  [[nodiscard]] const CompiledJob* compiled_like(const CompiledJob& job) const;
  /// Sets JobTable::objects; the old object may still be used to name the version.
  void set_object(JobKeyRow key, std::shared_ptr<const model::Job> job);
  void keep_alias(VersionRow row, std::shared_ptr<const model::Job> job);
  void compile_group(const CompiledJob& job, const model::TaskGroup& spec, CompiledGroup& group);
  [[nodiscard]] std::shared_ptr<const CompiledGang> compile_gang(const model::Job& job);
  [[nodiscard]] std::shared_ptr<const Ask> intern_ask(const CompiledGroup& group);
  void compile_tasks(const model::TaskGroup& spec, CompiledGroup& group);
  void compile_constraints(const std::vector<model::Constraint>& list, std::vector<ConstraintId>& ids, bool& escapes);
  void compile_affinities(const std::vector<model::Affinity>& list, std::vector<CompiledAffinity>& out);
  void compile_spreads(const std::vector<model::Spread>& list, std::vector<CompiledSpread>& out);
  void compile_distinct(const std::vector<model::Constraint>& list, std::vector<CompiledDistinctProperty>& out);
  ColumnTarget column_target(std::string_view target);
  ColumnId column_of(const match::Target& target);
  ConstraintId constraint_id(const std::string& ltarget, const std::string& operand, const std::string& rtarget);
  std::uint32_t base_set_id(const model::Job& job);
  /// The base set with its current list of ready nodes.
  [[nodiscard]] std::shared_ptr<const BaseSet> list_ready(const BaseSetKey& key, std::uint64_t number) const;

  mutable base::SpinningMutex mutex_;
  Changes* changes_ = nullptr;
  SymbolTable symbols_;
  Snapshot current_;
  WriterColumns writer_;
  BasicRowLog<JobKeyRow> key_log_{4096, 0};  // rows of JobTable::keys that commits wrote
  JobKeyRow noted_key_ = kNoRow;             // the last one, by the current commit
  std::unique_ptr<History> history_;
  std::vector<StoredEvalRow> free_evals_;              // without a history
  mutable std::shared_ptr<const Snapshot> published_;  // copy of current_ shared by snapshots; null after a change
  tsl::robin_map<base::Uuid, NodeRow, base::UuidHash> node_rows_;
  IdIndex<AllocRow, decltype(AllocTable::id)> alloc_rows_;
  IdIndex<DeploymentRow, decltype(DeploymentTable::id)> deployment_rows_;
  IdIndex<StoredEvalRow, decltype(EvalTable::id)> eval_rows_;
  tsl::robin_map<std::uint64_t, JobKeyRow, base::BitHash> job_keys_;       // namespace symbol << 32 | id symbol
  tsl::robin_map<Symbol, JobKeyRow> same_id_;                              // job ID -> oldest key row with it
  tsl::robin_map<const model::Job*, VersionRow, base::BitHash> job_rows_;  // versions by identity
  tsl::robin_map<VersionRow, std::vector<std::shared_ptr<const model::Job>>>
      job_aliases_;  // objects of versions besides the compiled one and the one in JobTable::objects
  tsl::robin_map<const model::TaskGroup*, VersionRow, base::BitHash> group_lists_;  // newest version with that list
  tsl::robin_map<std::uint64_t, ColumnId, base::BitHash> column_ids_;               // kind << 32 | key symbol
  std::vector<tsl::robin_map<Symbol, std::uint32_t>> codes_;                        // per column: value symbol -> code
  tsl::robin_map<std::string, std::string> variant_classes_;  // spec and overrides -> computed class
  /// Positions of what versions of jobs share.
  struct {
    SharedSlots constraints;                   // left, operand, right
    SharedSlots base_sets;                     // datacenters, pool
    SharedSlots checks;                        // checks_text()
    std::vector<std::uint64_t> check_numbers;  // CompiledGroup::checks_number, by checks
    std::vector<ColumnId> free_columns;        // without values and users
  } shared_;
  match::Patterns patterns_;  // compiled regexps and versions of constraints
  tsl::robin_map<const ResourceShape*, ShapeId, base::BitHash> shape_ids_;
  std::vector<NodeRow> class_sample_;                                     // one node per computed class code
  tsl::robin_map<std::uint64_t, std::uint32_t, base::BitHash> kind_ids_;  // class << 32 | symbol of both profiles
  std::unordered_multimap<std::size_t, std::weak_ptr<const Ask>> asks_;   // by hash of the content
  std::size_t asks_kept_ = 0;                                             // left when the ended ones were erased
  std::uint64_t numbers_ = 0;                                             // numbers that are never used again
  std::vector<std::uint32_t> nodes_of_kind_;                              // by kind
  std::vector<std::uint32_t> kinds_of_class_;                             // number of those with nodes, by class
  std::size_t mixed_classes_ = 0;                                         // number of classes with several kinds
  struct {
    std::shared_ptr<const NodeSpec> spec;
    Symbol check, both;
    std::uint32_t ports;
  } profiles_{};                                                 // of the last spec seen
  std::shared_ptr<const NodeSpec> gone_spec_;                    // of removed nodes that are fully forgotten
  tsl::robin_map<std::string, std::uint32_t> port_profile_ids_;  // by network::profile_text()
  network::NetworkIndex network_index_;                          // of ports_collide()
};

}  // namespace berth::tables
