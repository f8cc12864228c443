// Allocations and the metrics of a placement (R-MODEL-150 to 155, 560).
#pragma once

#include <memory>

#include "base/time.h"
#include "model/codec/out_of_line.h"
#include "model/resources.h"

namespace berth::model {

struct ScoreMeta {
  std::string node_id;
  std::map<std::string, double> scores;
  double norm_score = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("NodeID", s.node_id), v("Scores", s.scores), v("NormScore", s.norm_score);
  }
  friend bool operator==(const ScoreMeta&, const ScoreMeta&) = default;
};

struct AllocMetric {
  BERTH_DECLARE_COPIES(AllocMetric);
  std::int64_t nodes_evaluated = 0, nodes_filtered = 0, nodes_in_pool = 0;
  std::string node_pool;
  std::map<std::string, std::int64_t> nodes_available, class_filtered, constraint_filtered;
  std::int64_t nodes_exhausted = 0;
  std::map<std::string, std::int64_t> class_exhausted, dimension_exhausted;
  std::vector<std::string> quota_exhausted;
  std::map<std::string, Resources> resources_exhausted;
  std::map<std::string, double> scores;  ///< deprecated, absent
  std::vector<ScoreMeta> score_meta_data;
  Duration allocation_time = 0;
  std::int64_t coalesced_failures = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("NodesEvaluated", s.nodes_evaluated), v("NodesFiltered", s.nodes_filtered), v("NodesInPool", s.nodes_in_pool);
    v("NodePool", s.node_pool), v("NodesAvailable", s.nodes_available), v("ClassFiltered", s.class_filtered);
    v("ConstraintFiltered", s.constraint_filtered), v("NodesExhausted", s.nodes_exhausted);
    v("ClassExhausted", s.class_exhausted), v("DimensionExhausted", s.dimension_exhausted);
    v("QuotaExhausted", s.quota_exhausted), v("ResourcesExhausted", s.resources_exhausted), v("Scores", s.scores);
    v("ScoreMetaData", s.score_meta_data), v("AllocationTime", s.allocation_time);
    v("CoalescedFailures", s.coalesced_failures);
  }
  friend bool operator==(const AllocMetric&, const AllocMetric&) = default;
};

struct DesiredTransition {
  std::optional<bool> migrate, reschedule, force_reschedule, no_shutdown_delay, migrate_disable_placement;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Migrate", s.migrate), v("Reschedule", s.reschedule), v("ForceReschedule", s.force_reschedule);
    v("NoShutdownDelay", s.no_shutdown_delay), v("MigrateDisablePlacement", s.migrate_disable_placement);
  }
  friend bool operator==(const DesiredTransition&, const DesiredTransition&) = default;
};

struct TaskState {
  std::string state;
  bool failed = false;
  std::uint64_t restarts = 0;
  base::Time last_restart, started_at, finished_at;
  json::Retained events;
  std::string paused;
  json::Retained task_handle;  ///< only with the option of R-SEED-10
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("State", s.state), v("Failed", s.failed), v("Restarts", s.restarts), v("LastRestart", s.last_restart);
    v("StartedAt", s.started_at), v("FinishedAt", s.finished_at), v("Events", s.events), v("Paused", s.paused);
    v("TaskHandle", s.task_handle);
  }
  friend bool operator==(const TaskState&, const TaskState&) = default;
};

struct AllocState {
  std::uint8_t field = 0;  ///< 0 = client status
  std::string value;
  base::Time time;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Field", s.field), v("Value", s.value), v("Time", s.time);
  }
  friend bool operator==(const AllocState&, const AllocState&) = default;
};

struct DeploymentStatus {
  std::optional<bool> healthy;
  base::Time timestamp;
  bool canary = false;
  std::uint64_t modify_index = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Healthy", s.healthy), v("Timestamp", s.timestamp), v("Canary", s.canary), v("ModifyIndex", s.modify_index);
  }
  friend bool operator==(const DeploymentStatus&, const DeploymentStatus&) = default;
};

struct RescheduleEvent {
  std::int64_t reschedule_time = 0;
  std::string prev_alloc_id, prev_node_id;
  Duration delay = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("RescheduleTime", s.reschedule_time), v("PrevAllocID", s.prev_alloc_id), v("PrevNodeID", s.prev_node_id);
    v("Delay", s.delay);
  }
  friend bool operator==(const RescheduleEvent&, const RescheduleEvent&) = default;
};

struct RescheduleTracker {
  std::optional<std::vector<RescheduleEvent>> events;  ///< absent differs from empty (R-MODEL-347, R-RECON-62)
  std::string last_reschedule;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Events", s.events), v("LastReschedule", s.last_reschedule);
  }
  friend bool operator==(const RescheduleTracker&, const RescheduleTracker&) = default;
};

struct Allocation {
  BERTH_DECLARE_COPIES(Allocation);
  static constexpr bool kOmitZero = true;
  std::string id, namespace_, eval_id, name, node_id, node_name, job_id;
  std::shared_ptr<const Job> job;  ///< the version it was placed with; shared, never written
  std::string task_group;
  json::Retained resources, shared_resources, task_resources;  ///< legacy mirrors, retained
  std::optional<AllocatedResources> allocated_resources;
  std::optional<AllocMetric> metrics;
  std::string desired_status, desired_description;
  DesiredTransition desired_transition;
  std::string client_status, client_description;
  std::map<std::string, std::optional<TaskState>> task_states;
  std::vector<AllocState> alloc_states;
  std::string previous_allocation, next_allocation, deployment_id;
  std::optional<DeploymentStatus> deployment_status;
  std::optional<RescheduleTracker> reschedule_tracker;
  json::Retained network_status;
  std::string followup_eval_id;
  std::vector<std::string> preempted_allocations;
  std::string preempted_by_allocation;
  std::uint64_t create_index = 0, modify_index = 0, alloc_modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Namespace", s.namespace_), v("EvalID", s.eval_id), v("Name", s.name), v("NodeID", s.node_id);
    v("NodeName", s.node_name), v("JobID", s.job_id), v.job("Job", s.job), v("TaskGroup", s.task_group);
    v("Resources", s.resources), v("SharedResources", s.shared_resources), v("TaskResources", s.task_resources);
    v("AllocatedResources", s.allocated_resources), v("Metrics", s.metrics), v("DesiredStatus", s.desired_status);
    v("DesiredDescription", s.desired_description), v("DesiredTransition", s.desired_transition);
    v("ClientStatus", s.client_status), v("ClientDescription", s.client_description), v("TaskStates", s.task_states);
    v("AllocStates", s.alloc_states), v("PreviousAllocation", s.previous_allocation);
    v("NextAllocation", s.next_allocation), v("DeploymentID", s.deployment_id);
    v("DeploymentStatus", s.deployment_status), v("RescheduleTracker", s.reschedule_tracker);
    v("NetworkStatus", s.network_status), v("FollowupEvalID", s.followup_eval_id);
    v("PreemptedAllocations", s.preempted_allocations), v("PreemptedByAllocation", s.preempted_by_allocation);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index), v("AllocModifyIndex", s.alloc_modify_index);
    v("CreateTime", s.create_time), v("ModifyTime", s.modify_time);
    v.extra(s.extra);
  }
};

}  // namespace berth::model
