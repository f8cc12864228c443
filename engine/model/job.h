// Jobs, task groups and tasks in their registered form (R-MODEL-100 to 118).
//
// Blocks that placement never reads (services, templates, driver configuration, ...) are retained as JSON: they decide
// whether a specification changed (R-MODEL-276) and whether an update is destructive (R-SCHED-103).
#pragma once

#include "base/shared.h"
#include "base/shared_vector.h"
#include "base/time.h"
#include "model/codec/out_of_line.h"
#include "model/job_policies.h"
#include "model/resources.h"

namespace berth::model {

struct EphemeralDisk {
  bool sticky = false, migrate = false;
  std::int64_t size_mb = 0;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Sticky", s.sticky), v("Migrate", s.migrate), v("SizeMB", s.size_mb);
  }
  friend bool operator==(const EphemeralDisk&, const EphemeralDisk&) = default;
};

struct VolumeRequest {
  std::string name, type, source;
  bool read_only = false, sticky = false;
  std::string access_mode, attachment_mode;
  json::Retained mount_options;
  bool per_alloc = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Type", s.type), v("Source", s.source), v("ReadOnly", s.read_only), v("Sticky", s.sticky);
    v("AccessMode", s.access_mode), v("AttachmentMode", s.attachment_mode), v("MountOptions", s.mount_options);
    v("PerAlloc", s.per_alloc);
  }
  friend bool operator==(const VolumeRequest&, const VolumeRequest&) = default;
};

struct LogConfig {
  std::int64_t max_files = 0, max_file_size_mb = 0;
  bool disabled = false;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("MaxFiles", s.max_files), v("MaxFileSizeMB", s.max_file_size_mb), v("Disabled", s.disabled);
  }
  friend bool operator==(const LogConfig&, const LogConfig&) = default;
};

struct Scaling {
  std::int64_t min = 0, max = 0;
  bool enabled = false;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Min", s.min), v("Max", s.max), v("Enabled", s.enabled);
    v.extra(s.extra);
  }
  friend bool operator==(const Scaling&, const Scaling&) = default;
};

struct Task {
  BERTH_DECLARE_COPIES(Task);
  std::string name, driver, user;
  json::Retained config, env, services, vault, consul, templates, secrets;
  std::vector<Constraint> constraints;
  std::vector<Affinity> affinities;
  std::optional<Resources> resources;
  std::optional<RestartPolicy> restart_policy;
  json::Retained dispatch_payload;
  std::optional<Lifecycle> lifecycle;
  std::map<std::string, std::string> meta;
  Duration kill_timeout = 0;
  std::optional<LogConfig> log_config;
  json::Retained artifacts;
  bool leader = false;
  Duration shutdown_delay = 0;
  json::Retained volume_mounts, scaling_policies, csi_plugin_config;
  std::string kill_signal, kind;
  json::Retained identity, identities, actions, schedule;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Driver", s.driver), v("User", s.user), v("Config", s.config), v("Env", s.env);
    v("Services", s.services), v("Vault", s.vault), v("Consul", s.consul), v("Templates", s.templates);
    v("Secrets", s.secrets), v("Constraints", s.constraints), v("Affinities", s.affinities);
    v("Resources", s.resources), v("RestartPolicy", s.restart_policy), v("DispatchPayload", s.dispatch_payload);
    v("Lifecycle", s.lifecycle), v("Meta", s.meta), v("KillTimeout", s.kill_timeout), v("LogConfig", s.log_config);
    v("Artifacts", s.artifacts), v("Leader", s.leader), v("ShutdownDelay", s.shutdown_delay);
    v("VolumeMounts", s.volume_mounts), v("ScalingPolicies", s.scaling_policies);
    v("CSIPluginConfig", s.csi_plugin_config), v("KillSignal", s.kill_signal), v("Kind", s.kind);
    v("Identity", s.identity), v("Identities", s.identities), v("Actions", s.actions), v("Schedule", s.schedule);
    v.extra(s.extra);
  }
  friend bool operator==(const Task&, const Task&) = default;
};

struct TaskGroup {
  BERTH_DECLARE_COPIES(TaskGroup);
  std::string name;
  std::int64_t count = 0;
  std::optional<UpdateStrategy> update;
  std::optional<MigrateStrategy> migrate;
  std::vector<Constraint> constraints;
  std::optional<Scaling> scaling;
  std::optional<RestartPolicy> restart_policy;
  std::vector<Task> tasks;
  std::optional<EphemeralDisk> ephemeral_disk;
  std::map<std::string, std::string> meta;
  std::optional<ReschedulePolicy> reschedule_policy;
  std::vector<Affinity> affinities;
  std::vector<Spread> spreads;
  std::vector<NetworkResource> networks;
  json::Retained consul, services;
  std::map<std::string, std::optional<VolumeRequest>> volumes;
  std::optional<Duration> shutdown_delay;
  std::optional<Duration> max_run_duration;
  std::optional<Duration> stop_after_client_disconnect, max_client_disconnect;  ///< only for R-SEED-70
  bool prevent_reschedule_on_lost = false;                                      ///< only for R-SEED-70
  std::optional<DisconnectStrategy> disconnect;
  json::Retained extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Name", s.name), v("Count", s.count), v("Update", s.update), v("Migrate", s.migrate);
    v("Constraints", s.constraints), v("Scaling", s.scaling), v("RestartPolicy", s.restart_policy);
    v("Tasks", s.tasks), v("EphemeralDisk", s.ephemeral_disk), v("Meta", s.meta);
    v("ReschedulePolicy", s.reschedule_policy), v("Affinities", s.affinities), v("Spreads", s.spreads);
    v("Networks", s.networks), v("Consul", s.consul), v("Services", s.services), v("Volumes", s.volumes);
    v("ShutdownDelay", s.shutdown_delay), v("MaxRunDuration", s.max_run_duration);
    v("StopAfterClientDisconnect", s.stop_after_client_disconnect);
    v("MaxClientDisconnect", s.max_client_disconnect);
    v("PreventRescheduleOnLost", s.prevent_reschedule_on_lost);
    v("Disconnect", s.disconnect);
    v.extra(s.extra);
  }
  friend bool operator==(const TaskGroup&, const TaskGroup&) = default;
};

/// Copies of a job share the parts that are equal. A stored job exists both as registered and in its current state, and
/// a state keeps thousands of jobs made from few templates.
struct Job {
  BERTH_DECLARE_COPIES(Job);
  std::string namespace_, id, name, type, status;
  base::Shared<std::string> region, parent_id, node_pool, status_description;
  std::int64_t priority = 0;
  bool stop = false, all_at_once = false, dispatched = false, stable = false;
  base::SharedVector<std::string> datacenters;
  base::SharedVector<Constraint> constraints;
  base::SharedVector<Affinity> affinities;
  base::SharedVector<Spread> spreads;
  base::SharedVector<TaskGroup> task_groups;
  base::Shared<UpdateStrategy> update;
  base::SharedOptional<PeriodicConfig> periodic;
  base::SharedOptional<ParameterizedJob> parameterized_job;
  base::Shared<std::string> dispatch_idempotency_token;
  base::Shared<std::string> payload;  ///< base64, as in the API
  std::map<std::string, std::string> meta;
  base::Shared<std::string> consul_namespace, vault_namespace, nomad_token_id;
  std::uint64_t version = 0;
  std::int64_t submit_time = 0;
  std::uint64_t create_index = 0, modify_index = 0, job_modify_index = 0;
  json::Retained version_tag;
  json::Retained multiregion, ui, extra;
  template <class S, class V>
  static void fields(S& s, V& v) {
    v("Stop", s.stop), v("Region", s.region), v("Namespace", s.namespace_), v("ID", s.id), v("ParentID", s.parent_id);
    v("Name", s.name), v("Type", s.type), v("Priority", s.priority), v("AllAtOnce", s.all_at_once);
    v("Datacenters", s.datacenters), v("NodePool", s.node_pool), v("Constraints", s.constraints);
    v("Affinities", s.affinities), v("Spreads", s.spreads), v("TaskGroups", s.task_groups), v("Update", s.update);
    v("Multiregion", s.multiregion), v("Periodic", s.periodic), v("ParameterizedJob", s.parameterized_job);
    v("Dispatched", s.dispatched), v("DispatchIdempotencyToken", s.dispatch_idempotency_token);
    v("Payload", s.payload), v("Meta", s.meta), v("ConsulNamespace", s.consul_namespace);
    v("VaultNamespace", s.vault_namespace), v("NomadTokenID", s.nomad_token_id), v("Status", s.status);
    v("StatusDescription", s.status_description), v("Stable", s.stable), v("Version", s.version);
    v("SubmitTime", s.submit_time), v("CreateIndex", s.create_index), v("ModifyIndex", s.modify_index);
    v("JobModifyIndex", s.job_modify_index), v("UI", s.ui), v("VersionTag", s.version_tag);
    v.extra(s.extra);
  }
  friend bool operator==(const Job&, const Job&) = default;

  [[nodiscard]] const TaskGroup* group(const std::string& group_name) const {  ///< first of that name (R-MODEL-293)
    for (const TaskGroup& g : task_groups)
      if (g.name == group_name) return &g;
    return nullptr;
  }
};

}  // namespace berth::model
