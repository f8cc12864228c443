// StateStore: all tables, and the only writer of them. Snapshot: an immutable view of all tables at one commit.
//
// Taking a snapshot copies a fixed number of references, whatever the tables' size; committing copies only the chunks
// that a commit touches and only while a snapshot holds them (cow.h). Reading a snapshot needs no lock; taking one
// holds the store's mutex for the copy, and a commit holds it while it edits, so a snapshot never shows half a commit.
#pragma once

#include <mutex>
#include <vector>

#include "model/cluster.h"
#include "tables/job_table.h"

namespace berth::tables {

/// Deployments and evaluations: the columns that schedulers filter by, and the API object behind each row.
struct DeploymentTable {
  CowVector<base::Uuid> id;
  CowVector<JobKeyRow> job_key;
  CowVector<std::uint64_t> job_version, create_index;
  CowVector<std::uint8_t> active;  ///< R-MODEL-204
  CowVector<std::shared_ptr<const model::Deployment>> object;
  [[nodiscard]] std::size_t size() const { return id.size(); }
};

struct EvalTable {
  CowVector<base::Uuid> id;
  CowVector<JobKeyRow> job_key;
  CowVector<std::int32_t> priority;
  CowVector<std::uint8_t> status;  ///< index into kEvalStatuses
  CowVector<std::uint64_t> create_index, modify_index;
  CowVector<std::shared_ptr<const model::Evaluation>> object;
  [[nodiscard]] std::size_t size() const { return id.size(); }
};
inline constexpr const char* kEvalStatuses[] = {"blocked", "pending", "complete", "failed", "canceled"};

/// What is small, rarely changes and is read as API objects: volumes, claims, pools, configuration.
struct ColdState {
  std::optional<model::SchedulerConfiguration> scheduler_config;
  std::vector<model::NodePool> node_pools;
  std::vector<model::Namespace> namespaces;
  std::vector<model::HostVolume> host_volumes;
  std::vector<model::HostVolumeClaim> host_volume_claims;
  std::vector<model::CsiVolume> csi_volumes;
  std::vector<model::CsiPlugin> csi_plugins;
};

/// Distinct (datacenter patterns, pool) of jobs: what the list of ready nodes depends on.
struct BaseSetKey {
  std::vector<std::string> datacenters;
  std::string pool;
  friend bool operator==(const BaseSetKey&, const BaseSetKey&) = default;
};

struct Snapshot {
  NodeTable nodes;
  AllocTable allocs;
  JobTable jobs;
  DeploymentTable deployments;
  EvalTable evals;
  CowVector<std::shared_ptr<const CompiledConstraint>> constraints;
  CowVector<std::shared_ptr<const BaseSetKey>> base_sets;
  std::shared_ptr<const ColdState> cold;
  const SymbolTable* symbols = nullptr;  ///< outlives every snapshot
  std::uint64_t index = 0;               ///< latest index of the state (R-FEAS-202)

  [[nodiscard]] const std::string& text(Symbol symbol) const { return symbols->text(symbol); }
  /// Text of a keyed column's value on a node, or null when the key is missing.
  [[nodiscard]] const std::string* value_text(ColumnId column, NodeRow row) const {
    const KeyedColumn& c = nodes.column(column);
    const std::uint32_t code = c.code(row);
    return code == 0 ? nullptr : &symbols->text(c.value(code));
  }
};

/// The overrides of a node that shares its spec with others (generated clusters).
struct NodeVariant {
  base::Uuid id;
  std::string_view name;
  std::string_view datacenter;                                            ///< empty: the spec's
  std::vector<std::pair<std::string_view, std::string_view>> attributes;  ///< added to or replacing the spec's
  std::vector<std::pair<std::string_view, std::string_view>> meta;
};

/// A plain allocation for bulk loading and for the applier: no API object behind it.
struct PlainAlloc {
  base::Uuid id;
  NodeRow node = kNoRow;
  JobRow job = kNoRow;
  std::uint32_t group = 0;  ///< position in the job's group list
  std::uint32_t name_index = 0;
  Client client = Client::pending;
  std::shared_ptr<const ResourceShape> shape;     ///< null: the group's own shape
  std::shared_ptr<const model::Allocation> cold;  ///< null for plain ones
};

class StateStore {
 public:
  StateStore();
  StateStore(const StateStore&) = delete;
  StateStore& operator=(const StateStore&) = delete;

  [[nodiscard]] Snapshot snapshot() const;

  // --- loading; nothing is canonicalised, recomputed or validated here ---
  void load(const model::ClusterState& state);
  NodeRow upsert_node(const model::Node& node);
  /// Adds many nodes that share a spec; much cheaper than upsert_node for each. Call sort_nodes() after the last one.
  std::shared_ptr<const NodeSpec> make_spec(const model::Node& node, bool shared);
  NodeRow add_variant(const std::shared_ptr<const NodeSpec>& spec, const NodeVariant& variant);
  void sort_nodes();
  void set_scheduler_config(std::optional<model::SchedulerConfiguration> config);
  JobRow upsert_job(const std::shared_ptr<const model::Job>& job, bool current);
  AllocRow insert_alloc(const model::Allocation& alloc);
  AllocRow insert_plain(const PlainAlloc& alloc, std::uint64_t index);
  void insert_deployment(const model::Deployment& deployment);
  void insert_eval(const model::Evaluation& eval);
  void set_index(std::uint64_t index);

  // --- changes of single facts ---
  void set_node_state(NodeRow row, NodeStatus status, bool eligible, bool draining);
  void set_client_status(AllocRow row, Client status, std::uint64_t index);
  void set_desired_status(AllocRow row, Desired status, std::uint64_t index);

  // --- look-ups at the border ---
  [[nodiscard]] NodeRow find_node(base::Uuid id) const;
  [[nodiscard]] AllocRow find_alloc(base::Uuid id) const;
  [[nodiscard]] JobKeyRow find_job_key(std::string_view job_namespace, std::string_view job_id) const;
  JobKeyRow job_key(std::string_view job_namespace, std::string_view job_id);
  [[nodiscard]] std::uint64_t index() const { return current_.index; }
  SymbolTable& symbols() { return symbols_; }

  /// The tables as they are now, for the writer's own thread.
  [[nodiscard]] const Snapshot& current() const { return current_; }
  [[nodiscard]] std::size_t bytes() const;

 private:
  NodeStatic& own_static();
  ColumnId column_for(KeyKind kind, std::string_view key);
  std::uint32_t code_for(ColumnId column, std::string_view value);
  void set_code(ColumnId column, NodeRow row, std::uint32_t code);
  NodeRow new_node_row(base::Uuid id);
  void fill_node(NodeRow row, const std::shared_ptr<const NodeSpec>& spec, const NodeVariant* variant);
  void refresh_fit(NodeRow row);
  void add_use(NodeRow row, const ResourceShape& shape, int sign);
  AllocRow append_alloc(base::Uuid id, NodeRow node, JobRow job, JobKeyRow key, Symbol group, std::uint32_t name_index,
                        Desired desired, Client client, ShapeId shape, std::uint64_t create_index,
                        std::uint64_t modify_index, std::shared_ptr<const model::Allocation> cold);
  ShapeId shape_id(const std::shared_ptr<const ResourceShape>& shape);
  std::shared_ptr<const CompiledJob> compile(const std::shared_ptr<const model::Job>& job);
  ColumnTarget column_target(std::string_view target);
  ColumnId column_of(const match::Target& target);
  ConstraintId constraint_id(const std::string& ltarget, const std::string& operand, const std::string& rtarget);
  std::uint32_t base_set_id(const model::Job& job);

  struct PairHash {
    std::size_t operator()(std::uint64_t x) const noexcept {
      x *= 0x9e3779b97f4a7c15ULL;
      return static_cast<std::size_t>(x ^ (x >> 32));
    }
  };

  mutable std::mutex mutex_;
  SymbolTable symbols_;
  Snapshot current_;
  tsl::robin_map<base::Uuid, NodeRow, base::UuidHash> node_rows_;
  tsl::robin_map<base::Uuid, AllocRow, base::UuidHash> alloc_rows_;
  tsl::robin_map<std::uint64_t, JobKeyRow, PairHash> job_keys_;   // namespace symbol << 32 | id symbol
  tsl::robin_map<Symbol, JobKeyRow> same_id_;                     // job ID -> newest key row with it
  tsl::robin_map<const model::Job*, JobRow> job_rows_;            // versions by identity
  tsl::robin_map<std::uint64_t, ColumnId, PairHash> column_ids_;  // kind << 32 | key symbol
  std::vector<tsl::robin_map<Symbol, std::uint32_t>> codes_;      // per column: value symbol -> code
  tsl::robin_map<std::string, ConstraintId> constraint_ids_;      // "left\0operand\0right"
  match::Patterns patterns_;                                      // compiled regexps and versions of constraints
  tsl::robin_map<const ResourceShape*, ShapeId> shape_ids_;
  std::vector<std::shared_ptr<const BaseSetKey>> base_sets_;
  bool sorted_ = true;
  bool index_allocs_ = true;
};

/// True when a reserved-port text of the node does not parse, so that no port index can be built (R-RANK-604).
[[nodiscard]] bool network_invalid(const model::Node& node);

/// Flattened resources of an allocation as a shape.
[[nodiscard]] std::shared_ptr<const ResourceShape> make_shape(
    const std::shared_ptr<const model::AllocatedResources>& resources);

}  // namespace berth::tables
