// The reconciler for system and sysbatch jobs: compares required and present allocations node by node (R-SCHED-127 to
// 147).
//
// The caller lists the nodes to visit by ascending ID, each with its live allocations and the newest terminal one of
// every name. The reconciler passes over them once and puts every allocation or missing name into one bucket. A node
// without allocations costs a few nanoseconds. Only the deployment is copied or changed.
//
//   NodeVisit   20 B  a node and its range of allocations
//   NodeAlloc   32 B  the fields read of an allocation
//   NodeTuple   16 B  an entry of a bucket
// A NodeReconciler keeps its result's memory between runs and belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/eval.h"
#include "reconcile/alloc_facts.h"
#include "reconcile/cluster.h"

namespace berth::reconcile {

/// One required name, `<job Name>.<group>[<index>]` (R-SCHED-127).
struct RequiredName {
  std::uint32_t group = 0;  ///< position in the job's group list
  std::uint32_t index = 0;
};

/// The required names of a job in canonical order; empty for a stopped or absent job.
void required_names(const model::Job* job, std::vector<RequiredName>& out);

/// The position of a name in `required_names`, or kNoRow. `job` is the current job.
[[nodiscard]] std::uint32_t required_position(const model::Job& job, std::span<const RequiredName> required,
                                              std::string_view name);

struct NodeAlloc {
  static constexpr std::uint8_t kMigrate = 1;      ///< desired transition
  static constexpr std::uint8_t kSameSpec = 2;     ///< its job's JobModifyIndex is the current job's
  static constexpr std::uint8_t kSameVersion = 4;  ///< ID, version and create index are the current job's (R-SCHED-141)
  static constexpr std::uint8_t kSysbatchJob = 8;  ///< its own job is of type sysbatch
  static constexpr std::uint8_t kReconnects = 16;  ///< RC of R-SCHED-129
  static constexpr std::uint8_t kExpired = 32;     ///< `unknown` for longer than its group allows (row 3)
  static constexpr std::uint8_t kSuccessful = 64;  ///< all its tasks are dead and none failed (row 6)

  std::uint32_t required = kNoRow;  ///< position of its name, or kNoRow
  base::AllocRow handle = 0;        ///< the caller's handle of the allocation
  model::DesiredStatus desired = model::DesiredStatus::none;
  model::ClientStatus client = model::ClientStatus::none;
  std::uint8_t flags = 0;
  [[nodiscard]] bool has(std::uint8_t flag) const { return (flags & flag) != 0; }
};

/// The flags that depend on the allocation alone: kMigrate, kReconnects, kExpired, kSuccessful. `client` may be newer
/// than the status stored in `alloc`.
[[nodiscard]] std::uint8_t flags_of(const model::Allocation& alloc, model::ClientStatus client, std::int64_t now);

/// A node to visit. Its live allocations are rows [live_begin, live_end) of NodeInput::allocs, the newest terminal ones
/// by name rows [live_end, terminal_end).
struct NodeVisit {
  base::NodeRow handle = 0;  ///< the caller's handle of the node
  NodeTaint taint = NodeTaint::none;
  bool candidate = false;  ///< in the list of ready nodes (EL)
  bool not_ready = false;  ///< in the not-ready set (NR)
  std::uint32_t live_begin = 0, live_end = 0, terminal_end = 0;
};

struct NodeInput {
  const model::Job* job = nullptr;  ///< null = purged
  std::span<const RequiredName> required;
  std::span<const NodeVisit> visits;  ///< ascending node ID
  std::span<const NodeAlloc> allocs;
  const model::Deployment* deployment = nullptr;      ///< the latest one; never for sysbatch
  const model::Deployment* old_deployment = nullptr;  ///< set aside before the run; only tests pass one
  bool use_deployments = true;     ///< false: deployments are neither read nor created (R-SCHED-190, R-SEED-33)
  bool disconnect_support = true;  ///< false: rows 3, 4, 5 and 7 never match (R-SEED-62)
  model::Quirks quirks;
  bool old_servers = false;  ///< some candidate's `nomad.version` is lower than 1.11.0 (R-SCHED-145)
  bool conclude = true;      ///< false: a single visit, without R-SCHED-144 and 145
  std::int64_t now = 0;      ///< ns
};

/// An allocation on a node, or a required one that is missing there.
struct NodeTuple {
  std::uint32_t visit = 0;          ///< position in NodeInput::visits
  std::uint32_t alloc = kNoRow;     ///< row of NodeInput::allocs; kNoRow: no allocation
  std::uint32_t required = kNoRow;  ///< position of the required name; kNoRow: the name is not required
  bool canary = false;
};

struct NodeResult {
  /// A status update of the given deployment or, if `created`, of the one made in this run.
  struct StatusUpdate {
    bool created = false;
    std::string_view status, description;
  };
  std::vector<NodeTuple> place, update, migrate, stop, ignore, lost, disconnecting, reconnecting;
  /// The current deployment at the end: the given one, perhaps with groups added, or one made in this run.
  std::optional<model::Deployment> deployment;
  bool deployment_created = false;
  std::string old_deployment;  ///< ID of the deployment set aside; "" = none
  std::vector<StatusUpdate> deployment_updates;
  std::string created_id;  ///< ID of the deployment made in this run, even if discarded since; "" = none
  bool same_version = false;

  void clear();
};

/// True if `nomad_version`, a node's attribute `nomad.version`, is a version below 1.11.0. Such nodes do not support
/// deployments of system jobs (R-SCHED-145).
[[nodiscard]] bool is_before_deployments(std::string_view nomad_version);

class NodeReconciler {
 public:
  /// One run. The result is valid until the next one; the input's spans must outlive it.
  const NodeResult& run(const NodeInput& input, IdSource& ids);

 private:
  void settle_deployment();
  void decide_live(std::uint32_t visit, std::uint32_t row);
  void decide_missing(std::uint32_t visit, std::uint32_t required);
  void attach_state(std::uint32_t group);
  [[nodiscard]] bool is_canary(std::uint32_t group) const;

  const NodeInput* input_ = nullptr;
  IdSource* ids_ = nullptr;
  NodeResult result_;
  std::vector<std::uint32_t> live_of_;  // by required name: position + 1 of the last visit where it is live
  enum : std::uint8_t { kNeverAttached, kMissing, kAttached };
  std::vector<std::uint8_t> attaches_;  // by group: no update block; not attached yet; in the current deployment
  bool stopped_ = false, sysbatch_ = false;
  bool old_is_current_version_ = false;  // R-SCHED-140 (d)
  bool frozen_ = false;                  // the deployment is paused or failed (R-SCHED-139)
  bool node_seen_ = false;               // R-SCHED-141, for the current node
  bool live_seen_ = false;               // the same, by a live allocation
  std::size_t updates_before_ = 0;       // size of the Update bucket when the node's visit began
};

}  // namespace berth::reconcile
