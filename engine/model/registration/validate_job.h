// Validation of a job in its concrete form (R-MODEL-250 to 259, R-REG sections 3, 4, 8 and 9), with the texts that
// Nomad reports, in its order.
//
//   validate_job.cc       the job itself, its update against the stored version, server limits, known names
//   validate_group.cc     a group, its scaling, disconnect and volumes
//   validate_network.cc   ports and networks of a group
//   validate_policies.cc  restart, reschedule, update and migrate blocks
//   validate_task.cc      a task, its resources, devices and logs
//   validate_services.cc  services and checks of groups and tasks
//   validate_connect.cc   Connect blocks, and requirements for groups that have one
//   validate_blocks.cc    artifacts, templates, actions, identities, secrets, Vault and CSI plugins of a task
//   validate_server.cc    rules that depend on the server's settings, namespaces and pools
//   validate_targets.cc   constraints, affinities and spreads
#pragma once

#include <set>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/codec/empty_containers.h"
#include "model/registration/error_list.h"

namespace berth::model {

/// Server settings that affect registration.
struct RegistrationLimits {
  std::int64_t priority_max = 100;
  std::int64_t job_count_max = 50'000;  ///< sum of Count over the groups; 0 = unlimited
  bool memory_oversubscription = false;
  bool reject_jobs = false;  ///< RejectJobRegistration of the scheduler configuration
  std::string region = "global";
  /// Vault is enabled on the server, so that jobs may use it on the cluster `default` (R-REG-300). Planning against a
  /// cluster with unknown settings assumes so.
  bool vault = true;
  /// The server's default Vault identity, given to each task with a Vault block; null: none (R-REG-225).
  json::Retained vault_identity;
};

/// Rules that depend only on the job. The region (R-MODEL-222) must be set. `empty` matters only for a job that is not
/// canonical.
[[nodiscard]] ErrorList validate(const Job& job, const EmptyContainers& empty = {});
/// Checks type and payload that only the server sets, priority, named identities and total count (R-REG-311).
[[nodiscard]] ErrorList validate_limits(const Job& job, const RegistrationLimits& limits);
/// Each of these validators stops at its first failure and returns its text; "" if there is none (R-REG-4).
[[nodiscard]] std::string validate_connect(const Job& job);
[[nodiscard]] std::string validate_exposed_checks(const Job& job);
[[nodiscard]] std::string validate_vault(const Job& job, const RegistrationLimits& limits);
[[nodiscard]] std::string validate_consul(const Job& job);
/// Checks that the namespace exists and allows the drivers and network modes (R-MODEL-215, R-REG-302).
[[nodiscard]] std::string validate_namespace(const Job& job, const std::vector<Namespace>& namespaces);
[[nodiscard]] std::string validate_pool(const Job& job, const std::vector<NodePool>& pools);
[[nodiscard]] std::string validate_numa(const Job& job);
[[nodiscard]] std::string validate_schedule(const Job& job);
/// Checks what may not change between versions (R-MODEL-258). `stored` is null for a new job.
[[nodiscard]] ErrorList validate_update(const Job* stored, const Job& submitted);
/// Remarks on an accepted job, in Nomad's order (R-MODEL-257).
[[nodiscard]] std::vector<std::string> job_warnings(const Job& job, const RegistrationLimits& limits);
/// "2 warnings:\n\n* a\n* b"; "" when there are none.
[[nodiscard]] std::string warnings_text(const std::vector<std::string>& warnings);

// Parts, each listed in the file named above.
// `place` is the JSON pointer of the group or task within the job, where `empty` names its lists.
[[nodiscard]] ErrorList validate_group(const Job& job, const TaskGroup& group, const std::string& place,
                                       const EmptyContainers& empty);
[[nodiscard]] ErrorList validate_networks(const TaskGroup& group);
/// Connect services that tasks of a group may refer to.
struct ConnectServices {
  std::vector<std::string> names;  ///< with a sidecar, in list order
  std::set<std::string> known;     ///< the same
};
struct GroupNames {
  ConnectServices connect;
  std::set<std::string> port_labels;  ///< of the first network
};
[[nodiscard]] ConnectServices connect_services(const TaskGroup& group);
[[nodiscard]] std::set<std::string> port_labels(const TaskGroup& group);
[[nodiscard]] ErrorList validate_task(const Job& job, const TaskGroup& group, const GroupNames& names, const Task& task,
                                      const std::string& place, const EmptyContainers& empty);
[[nodiscard]] ErrorList validate_group_services(const TaskGroup& group);
/// Checks that script checks of a group's services name the task they run in (R-REG-163).
[[nodiscard]] ErrorList validate_script_checks(const TaskGroup& group);
[[nodiscard]] ErrorList validate_task_services(const std::set<std::string>& group_labels, const Task& task);
/// Describes what is wrong with a service's connect block, or "" (R-REG-117).
[[nodiscard]] std::string connect_block_problem(const json::Value& connect);
/// Explains why the group's network is unsuitable for Connect, or ""; `what` begins the text (R-REG-110).
[[nodiscard]] std::string connect_network_problem(const std::string& what, const TaskGroup& group, bool host_allowed);
/// Go's error for a network prefix such as 10.0.0.0/8, or "".
[[nodiscard]] std::string prefix_problem(const std::string& text);
void validate_connect_proxy(const ConnectServices& services, const Task& task, ErrorList& errors);
/// Artifacts, Vault, templates, actions, dispatch payload.
void validate_fetched(const Task& task, ErrorList& errors);
void validate_csi_plugin(const json::Value& plugin, ErrorList& errors);
void validate_identities(const Task& task, ErrorList& errors);
void validate_secrets(const Task& task, ErrorList& errors);
[[nodiscard]] ErrorList validate_resources(const Resources& resources);
[[nodiscard]] ErrorList validate_restart(const RestartPolicy& policy);
[[nodiscard]] ErrorList validate_reschedule(const ReschedulePolicy& policy);
[[nodiscard]] ErrorList validate_update_strategy(const UpdateStrategy& update);
[[nodiscard]] ErrorList validate_migrate(const MigrateStrategy& migrate);
[[nodiscard]] ErrorList validate_constraint(const Constraint& constraint);
[[nodiscard]] ErrorList validate_affinity(const Affinity& affinity);
[[nodiscard]] ErrorList validate_spread(const Spread& spread);
/// Adds "Constraint N validation failed: ..." for each bad one, N counting from 1.
void validate_constraints(const std::vector<Constraint>& constraints, ErrorList& errors);
void validate_affinities(const std::vector<Affinity>& affinities, ErrorList& errors);
void validate_spreads(const std::vector<Spread>& spreads, ErrorList& errors);

/// True if `text` is a list of version constraints (R-FEAS-622, 624), or of semver ones (R-FEAS-631).
[[nodiscard]] bool is_version_constraint(std::string_view text);
[[nodiscard]] bool is_semver_constraint(std::string_view text);

[[nodiscard]] inline bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace berth::model
