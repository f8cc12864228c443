// Events from outside a simulated cluster: one struct per row of R-CTRL-E1 to E19. Nodes, allocations and deployments
// are named by their IDs as text, as an operator names them.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "client/clients.h"
#include "fsm/node_requests.h"
#include "lifecycle/garbage.h"

namespace berth::living {

/// E1. A machine with its client joins. If the node's client already runs, the machine's description changes, and the
/// client reports that according to R-CTRL-1543.
struct NodeRegister {
  model::Node node;
};
struct NodeUnreachable {  ///< E2; its tasks keep running
  std::string node_id;
};
struct NodeReachable {  ///< E3
  std::string node_id;
};
struct ClientRestart {  ///< E4
  std::string node_id;
  std::int64_t down_ns = 0;
  client::Recovery recovery = client::Recovery::by_model;
};
/// E5. A client that still runs registers again (R-CTRL-1541), unless its machine is gone too.
struct NodeDeregister {
  std::vector<std::string> node_ids;
  bool machine_gone = true;
};
struct NodeEligibility {  ///< E6
  std::string node_id;
  bool eligible = true;
};
using NodeDrain = fsm::DrainNode;          // E7
using JobRegister = fsm::RegisterJob;      // E8
using JobDeregister = fsm::DeregisterJob;  // E9
using JobScale = fsm::ScaleJob;            // E10
struct JobEvaluate {                       ///< E11
  std::string name_space, job_id;
  bool force_reschedule = false;
};
using JobDispatch = fsm::DispatchJob;  // E12
struct PeriodicForce {                 ///< E13
  std::string name_space, job_id;
};
struct AllocStop {  ///< E14
  std::string alloc_id;
  bool reschedule = false, no_shutdown_delay = false;
};
struct DeploymentOp {  ///< E15
  enum class Kind : std::uint8_t { promote, fail, pause, resume, set_health };
  std::string deployment_id;
  Kind kind = Kind::promote;
  std::vector<std::string> groups;              ///< promote; empty: all
  std::vector<std::string> healthy, unhealthy;  ///< set_health: allocations
};
struct SetSchedulerConfig {  ///< E16
  model::SchedulerConfiguration configuration;
  std::optional<std::uint64_t> only_after =
      {};  ///< expected ModifyIndex of the stored one; if it differs, the entry has no effect
};
struct CollectGarbage {  ///< E17; without a kind: all garbage, of any age (R-CTRL-1414)
  std::optional<lifecycle::GcKind> kind;
};
/// E18. What the selected tasks do when they start. If several match a start, the last one given counts.
struct TaskOutcome {
  std::string name_space, job_id;
  std::string group, task;                   ///< empty: every group, every task
  std::optional<std::uint32_t> alloc_index;  ///< i of `job.group[i]`; nullopt: every allocation
  std::optional<std::uint32_t> run;          ///< 0 for the first start; nullopt: every start
  client::Outcome outcome;
};
/// E19. Another server leads, after a time without any leader.
struct LeaderChange {
  std::int64_t without_leader_ns = 0;
};
// --- beyond the table ---
using JobRevert = fsm::RevertJob;
using VersionTag = fsm::TagVersion;
struct JobStability {
  std::string name_space, job_id;
  std::uint64_t version = 0;
  bool stable = false;
};
struct EvalDelete {
  std::vector<std::string> eval_ids;
};
struct NodeEvaluate {
  std::string node_id;
};
/// An operator restarts tasks of an allocation, or sends them a signal, through their client (R-API-705).
struct AllocRestart {
  std::string alloc_id, task;  ///< task "": every running task
  bool all = false;            ///< also tasks that ended
};
struct AllocSignal {
  std::string alloc_id, task, signal;
};
/// Delays a client's reports by `lag_ns` (0: no delay).
struct ReportLag {
  std::string node_id;
  std::int64_t lag_ns = 0;
};

using Event =
    std::variant<NodeRegister, NodeUnreachable, NodeReachable, ClientRestart, NodeDeregister, NodeEligibility,
                 NodeDrain, JobRegister, JobDeregister, JobScale, JobEvaluate, JobDispatch, PeriodicForce, AllocStop,
                 DeploymentOp, SetSchedulerConfig, CollectGarbage, TaskOutcome, LeaderChange, ReportLag, JobRevert,
                 JobStability, VersionTag, EvalDelete, NodeEvaluate, AllocRestart, AllocSignal>;

}  // namespace berth::living
