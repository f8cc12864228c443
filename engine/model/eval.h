// Evaluations, deployments, plans and the scheduler configuration (R-MODEL-180 to 210).
#pragma once

#include "model/alloc.h"
#include "model/codec/out_of_line.h"

namespace berth::model {

struct DesiredUpdates {
  std::uint64_t ignore = 0, place = 0, migrate = 0, stop = 0, in_place_update = 0, destructive_update = 0, canary = 0,
                preemptions = 0, disconnect = 0, reconnect = 0, reschedule_now = 0, reschedule_later = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Ignore", s.ignore), v("Place", s.place), v("Migrate", s.migrate), v("Stop", s.stop);
    v("InPlaceUpdate", s.in_place_update), v("DestructiveUpdate", s.destructive_update), v("Canary", s.canary);
    v("Preemptions", s.preemptions), v("Disconnect", s.disconnect), v("Reconnect", s.reconnect);
    v("RescheduleNow", s.reschedule_now), v("RescheduleLater", s.reschedule_later);
  }
  friend bool operator==(const DesiredUpdates&, const DesiredUpdates&) = default;
};

struct PlanAnnotations {
  std::map<std::string, DesiredUpdates> desired_tg_updates;
  json::Retained preempted_allocs;  ///< list of allocation stubs (R-SCHED-191)
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("DesiredTGUpdates", s.desired_tg_updates), v("PreemptedAllocs", s.preempted_allocs);
  }
  friend bool operator==(const PlanAnnotations&, const PlanAnnotations&) = default;
};

struct Evaluation {
  BERTH_DECLARE_COPIES(Evaluation);
  static constexpr bool kOmitZero = true;
  std::string id, namespace_;
  std::int64_t priority = 0;
  std::string type, triggered_by, job_id;
  std::uint64_t job_modify_index = 0;
  std::string node_id;
  std::uint64_t node_modify_index = 0;
  std::string deployment_id, status, status_description;
  Duration wait = 0;
  base::Time wait_until;
  std::string next_eval, previous_eval, blocked_eval;
  json::Retained related_evals;
  std::map<std::string, AllocMetric> failed_tg_allocs;
  std::optional<std::map<std::string, bool>> class_eligibility;
  std::string quota_limit_reached;
  bool escaped_computed_class = false;
  bool annotate_plan = false;
  std::optional<PlanAnnotations> plan_annotations;
  std::optional<std::map<std::string, std::int64_t>> queued_allocations;
  std::vector<std::string> missing_non_node_resources;
  std::string leader_acl;
  std::uint64_t snapshot_index = 0, create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Namespace", s.namespace_), v("Priority", s.priority), v("Type", s.type);
    v("TriggeredBy", s.triggered_by), v("JobID", s.job_id), v("JobModifyIndex", s.job_modify_index);
    v("NodeID", s.node_id), v("NodeModifyIndex", s.node_modify_index), v("DeploymentID", s.deployment_id);
    v("Status", s.status), v("StatusDescription", s.status_description), v("Wait", s.wait);
    v("WaitUntil", s.wait_until), v("NextEval", s.next_eval), v("PreviousEval", s.previous_eval);
    v("BlockedEval", s.blocked_eval), v("RelatedEvals", s.related_evals), v("FailedTGAllocs", s.failed_tg_allocs);
    v("ClassEligibility", s.class_eligibility), v("QuotaLimitReached", s.quota_limit_reached);
    v("EscapedComputedClass", s.escaped_computed_class), v("AnnotatePlan", s.annotate_plan);
    v("PlanAnnotations", s.plan_annotations), v("QueuedAllocations", s.queued_allocations);
    v("MissingNonNodeResources", s.missing_non_node_resources), v("LeaderACL", s.leader_acl);
    v("SnapshotIndex", s.snapshot_index), v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v("CreateTime", s.create_time), v("ModifyTime", s.modify_time);
    v.extra(s.extra);
  }
  friend bool operator==(const Evaluation&, const Evaluation&) = default;
};

struct DeploymentState {
  bool auto_revert = false, auto_promote = false;
  Duration progress_deadline = 0;
  base::Time require_progress_by;
  bool promoted = false;
  std::vector<std::string> placed_canaries;
  std::int64_t desired_canaries = 0, desired_total = 0, placed_allocs = 0, healthy_allocs = 0, unhealthy_allocs = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("AutoRevert", s.auto_revert), v("AutoPromote", s.auto_promote), v("ProgressDeadline", s.progress_deadline);
    v("RequireProgressBy", s.require_progress_by), v("Promoted", s.promoted), v("PlacedCanaries", s.placed_canaries);
    v("DesiredCanaries", s.desired_canaries), v("DesiredTotal", s.desired_total), v("PlacedAllocs", s.placed_allocs);
    v("HealthyAllocs", s.healthy_allocs), v("UnhealthyAllocs", s.unhealthy_allocs);
  }
  friend bool operator==(const DeploymentState&, const DeploymentState&) = default;
};

struct Deployment {
  BERTH_DECLARE_COPIES(Deployment);
  std::string id, namespace_, job_id;
  std::uint64_t job_version = 0, job_modify_index = 0, job_spec_modify_index = 0, job_create_index = 0;
  bool is_multiregion = false;
  std::map<std::string, std::optional<DeploymentState>> task_groups;  ///< a null entry is an entry (R-SCHED-140)
  std::string status, status_description;
  std::int64_t eval_priority = 0;
  std::uint64_t create_index = 0, modify_index = 0;
  std::int64_t create_time = 0, modify_time = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("ID", s.id), v("Namespace", s.namespace_), v("JobID", s.job_id), v("JobVersion", s.job_version);
    v("JobModifyIndex", s.job_modify_index), v("JobSpecModifyIndex", s.job_spec_modify_index);
    v("JobCreateIndex", s.job_create_index), v("IsMultiregion", s.is_multiregion), v("TaskGroups", s.task_groups);
    v("Status", s.status), v("StatusDescription", s.status_description), v("EvalPriority", s.eval_priority);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v("CreateTime", s.create_time), v("ModifyTime", s.modify_time);
    v.extra(s.extra);
  }
  friend bool operator==(const Deployment&, const Deployment&) = default;
};

struct DeploymentStatusUpdate {
  std::string deployment_id, status, status_description;
  std::int64_t updated_at = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("DeploymentID", s.deployment_id), v("Status", s.status), v("StatusDescription", s.status_description);
    v("UpdatedAt", s.updated_at);
  }
  friend bool operator==(const DeploymentStatusUpdate&, const DeploymentStatusUpdate&) = default;
};

/// The proposal of one attempt (R-MODEL-190). The three maps go from node ID to allocations in insertion order.
struct Plan {
  BERTH_DECLARE_COPIES(Plan);
  std::string eval_id, eval_token;
  std::int64_t priority = 0;
  bool all_at_once = false;
  std::shared_ptr<const Job> job;
  std::string job_namespace, job_id;  ///< JobInfo; both empty when the job does not exist
  std::map<std::string, std::vector<Allocation>> node_update, node_allocation, node_preemptions;
  std::optional<Deployment> deployment;
  std::vector<DeploymentStatusUpdate> deployment_updates;
  std::optional<PlanAnnotations> annotations;
  std::uint64_t snapshot_index = 0;
};

/// The plan applier's result for a plan (R-MODEL-197).
struct PlanResult {
  std::map<std::string, std::vector<Allocation>> node_update, node_allocation, node_preemptions;
  std::optional<Deployment> deployment;
  std::vector<DeploymentStatusUpdate> deployment_updates;
  std::vector<std::string> rejected_nodes, ineligible_nodes;
  std::uint64_t refresh_index = 0, alloc_index = 0;
};

struct PreemptionConfig {
  bool system_scheduler_enabled = true, sysbatch_scheduler_enabled = false, batch_scheduler_enabled = false,
       service_scheduler_enabled = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("SystemSchedulerEnabled", s.system_scheduler_enabled);
    v("SysBatchSchedulerEnabled", s.sysbatch_scheduler_enabled);
    v("BatchSchedulerEnabled", s.batch_scheduler_enabled);
    v("ServiceSchedulerEnabled", s.service_scheduler_enabled);
  }
  friend bool operator==(const PreemptionConfig&, const PreemptionConfig&) = default;
};

/// R-MODEL-210. Reading a record from JSON sets absent booleans to false, PreemptionConfig included (R-PREEMPT-102).
struct SchedulerConfiguration {
  std::string scheduler_algorithm;
  PreemptionConfig preemption_config;
  bool memory_oversubscription_enabled = false, reject_job_registration = false, pause_eval_broker = false;
  std::int64_t node_limit_for_feasibility_checks = 0;  ///< 0 is read as 100
  std::uint64_t create_index = 0, modify_index = 0;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("SchedulerAlgorithm", s.scheduler_algorithm), v("PreemptionConfig", s.preemption_config);
    v("MemoryOversubscriptionEnabled", s.memory_oversubscription_enabled);
    v("RejectJobRegistration", s.reject_job_registration), v("PauseEvalBroker", s.pause_eval_broker);
    v("NodeLimitForFeasibilityChecks", s.node_limit_for_feasibility_checks);
    v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v.extra(s.extra);
  }
  friend bool operator==(const SchedulerConfiguration&, const SchedulerConfiguration&) = default;
};

}  // namespace berth::model
