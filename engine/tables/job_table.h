// JobTable: one row per job version, compiled once at registration so that an evaluation touches no string.
//
// A compiled job has its requests as numbers, its constraints as ids into the ConstraintTable and its targets as column
// ids. Rows are immutable; a job's key row has its current version and the chain of its allocations.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "match/operand.h"
#include "match/target.h"
#include "model/eval.h"
#include "model/gang.h"
#include "model/status.h"
#include "model/volume.h"
#include "tables/alloc_table.h"
#include "tables/needs.h"

namespace berth::tables {

using ConstraintId = std::uint32_t;

/// A target with its column: kNoColumn for literals, the node's ID and unresolvable targets.
struct ColumnTarget {
  match::Target target;
  ColumnId column = kNoColumn;
};

/// A constraint or affinity test (left, operand, right), interned: equal triples share one id and one verdict cache.
struct CompiledConstraint {
  std::uint64_t number = 0;  ///< never used again, as its id may be (shared_slots.h)
  match::Constraint test;
  ColumnId left = kNoColumn, right = kNoColumn;  ///< columns of the two targets, if they have one
  std::string reason;                            ///< `LTarget Operand RTarget` (R-FEAS-701)
  bool escapes = false;                          ///< R-FEAS-405
};

struct CompiledAffinity {
  ConstraintId constraint = 0;
  std::int8_t weight = 0;
};

struct CompiledSpreadTarget {
  Symbol value = kEmptySymbol;
  std::uint8_t percent = 0;
};

struct CompiledSpread {
  Symbol attribute = kEmptySymbol;  ///< the target text, key of the target table (R-RANK-821)
  ColumnTarget target;
  std::int8_t weight = 0;
  std::vector<CompiledSpreadTarget> targets;
};

struct CompiledDistinctProperty {
  ColumnTarget target;
  Symbol target_text = kEmptySymbol;
  std::uint64_t allowed = 1;
  std::string error;  ///< RTarget is not a number (R-FEAS-1402)
};

struct CompiledTask {
  Symbol name = kEmptySymbol;
  std::int64_t cpu_mhz = 0, memory_mb = 0, memory_max_mb = 0;  ///< memory includes secrets (R-MODEL-374, 375)
  std::uint32_t cores = 0;
  bool network = false, devices = false;
};

/// What a group requests of a node, apart from volumes. Groups with the same Ask get the same answer from every node
/// that neither the plan nor the job's own allocations touch. It ends with the last job version that has it.
struct Ask {
  std::uint64_t number = 0;  ///< never used again; not part of what is compared
  std::uint64_t checks = 0;  ///< CompiledGroup::checks_number
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  /// Where amounts do not say all: ports, devices and cores, as the group and its tasks list them.
  std::vector<model::NetworkResource> networks;
  std::vector<std::pair<std::optional<model::Resources>, std::optional<model::Lifecycle>>> tasks;
};

struct CompiledGroup {
  const model::TaskGroup* spec = nullptr;
  Symbol name = kEmptySymbol;
  std::int64_t count = 0;
  std::vector<ConstraintId> constraints;     ///< group's, then each task's (R-FEAS-308)
  std::vector<CompiledAffinity> affinities;  ///< job, group, tasks (R-RANK-731)
  std::vector<CompiledSpread> spreads;       ///< group level; the job's are in the job
  std::vector<CompiledDistinctProperty> distinct_properties;
  bool distinct_hosts = false;
  bool escapes = false;  ///< R-FEAS-406
  /// Equal for groups whose checks are equal per node kind (kinds.h); kNoRow: not by kind
  std::uint32_t checks = kNoRow;
  std::uint64_t checks_number = 0;  ///< of these checks, never used again, as `checks` may be (shared_slots.h)
  std::shared_ptr<const Ask> ask;   ///< null: without a number of its checks
  std::vector<Symbol> driver_symbols;
  std::vector<std::string> drivers;  ///< distinct, ascending
  std::vector<std::string> secrets;
  bool dynamic_ports_only = false;  ///< its network requests no static port and no address that a node names
  bool has_network = false, has_task_network = false, has_devices = false, has_cores = false, has_host_volumes = false,
       has_csi_volumes = false, claims_alone = false;
  /// The resources of a placement without ports, devices or cores: flattened, and the shared shape.
  std::int64_t cpu_mhz = 0, memory_mb = 0, disk_mb = 0;
  std::uint64_t cores = 0;                 ///< sum over all tasks
  std::int64_t cpu_without_cores_mhz = 0;  ///< sum over the tasks without cores; the others get their cores' speed
  std::shared_ptr<const ResourceShape> shape, shape_oversubscribed;  ///< memory_max only with oversubscription
  ShapeId shape_id = 0, shape_oversubscribed_id = 0;
  std::vector<CompiledTask> tasks;
  Needs needs;  ///< its own; those of its job are in CompiledJob
};

/// The rules of a gang (model/gang.h).
struct CompiledGang {
  model::Gang rules;
  ColumnTarget target;  ///< of the topology
  /// Time from which it is given up, unless it has started: its registration and its timeout; INT64_MAX: never.
  std::int64_t limit_ns = INT64_MAX;
};

struct CompiledJob {
  std::shared_ptr<const model::Job> spec;
  JobKeyRow key = kNoRow;
  Symbol job_id = kEmptySymbol, job_namespace = kEmptySymbol;
  std::int64_t priority = 0;
  model::JobType type = model::JobType::service;
  bool stopped = false;
  std::uint64_t version = 0, create_index = 0;
  std::vector<ConstraintId> constraints;
  std::vector<CompiledSpread> spreads;
  std::vector<CompiledDistinctProperty> distinct_properties;
  bool distinct_hosts = false, escapes = false;
  std::uint32_t base_set = 0;  ///< interned (datacenters, pool): key of the ready-node list cache
  std::shared_ptr<const std::vector<CompiledGroup>> group_list;  ///< shared by versions with the same task groups
  std::span<const CompiledGroup> groups;                         ///< of group_list
  Needs needs;                                                   ///< needs of every group
  /// Of the first group, those of the others follow: numbers like Ask::number, but of this version's groups alone.
  std::uint64_t group_number = 0;
  std::shared_ptr<const CompiledGang> gang;  ///< null: not a gang

  /// Prefix of the names of its allocations: the job's Name for system and sysbatch, else its ID (R-MODEL-591, 592,
  /// R-SCHED-127).
  [[nodiscard]] const std::string& name_base() const;
};

struct JobKey {
  Symbol job_namespace = kEmptySymbol, job_id = kEmptySymbol;
  VersionRow current = kNoRow;             ///< kNoRow: the job does not exist
  AllocRow alloc_head = kNoRow;            ///< newest first
  DeploymentRow deployment_head = kNoRow;  ///< newest first
  JobKeyRow next_same_id = kNoRow;         ///< ring of the jobs with this ID in all namespaces (R-RANK-711)
  std::uint64_t changes = 0;               ///< of its current version, allocations and deployments; never decreases
  friend bool operator==(const JobKey&, const JobKey&) = default;
};

/// Claims of a job's groups on sticky host volumes, one per group and volume (R-STORE-220).
using VolumeClaims = std::vector<std::shared_ptr<const model::HostVolumeClaim>>;

/// Data that changes when a job is registered, and the claims of its allocations. Copies share it.
struct JobVersions {
  CowVector<std::shared_ptr<const CompiledJob>> versions;  ///< by VersionRow
  CowVector<std::uint8_t, 1024> stored;  ///< by VersionRow: listed as a version, not only carried by allocations
  CowVector<VersionRow, 32> newest;      ///< by JobKeyRow: chain of the job's versions, newest first
  CowVector<VersionRow, 256> older;      ///< by VersionRow: the next one in that chain
  /// By JobKeyRow: the job as stored now, null without one. A version's row never changes; the stored object's status,
  /// stability and ModifyIndex do (R-CTRL-720).
  CowVector<std::shared_ptr<const model::Job>, 32> objects;
  CowVector<std::shared_ptr<const VolumeClaims>, 32> claims;  ///< by JobKeyRow, up to the last with claims; null: none

  [[nodiscard]] std::span<const std::shared_ptr<const model::HostVolumeClaim>> claims_of(JobKeyRow key) const {
    if (key >= claims.size() || !claims[key]) return {};
    return *claims[key];
  }
};

struct JobTable : JobVersions {
  /// By JobKeyRow. Each plan writes a row: with a snapshot alive that copies 1 KiB. A worker's view has its own copy.
  CowVector<JobKey, 32> keys;
};

}  // namespace berth::tables
