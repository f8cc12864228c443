// Validation of a job in its concrete form (R-MODEL-250 to 259), with the texts that Nomad reports.
//
// Blocks that the model retains as JSON (services, templates, artifacts, identities, Vault, ...; R-MODEL-7) are not
// validated: only their mounts and names that other rules refer to are looked at.
//
//   validate_job.cc       the job itself, its update against the stored version, server limits, known names
//   validate_group.cc     a group, its scaling, disconnect and volumes
//   validate_network.cc   ports and networks of a group
//   validate_policies.cc  restart, reschedule, update and migrate blocks
//   validate_task.cc      a task, its resources, devices and logs
//   validate_targets.cc   constraints, affinities and spreads
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "model/cluster.h"
#include "model/codec/empty_containers.h"
#include "model/registration/error_list.h"

namespace berth::model {

/// Settings of the server that decide about a registration.
struct RegistrationLimits {
  std::int64_t priority_max = 100;
  std::int64_t job_count_max = 50'000;  ///< sum of Count over the groups; 0 = unlimited
  bool memory_oversubscription = false;
  bool reject_jobs = false;  ///< RejectJobRegistration of the scheduler configuration
  std::string region = "global";
};

/// The rules that look only at the job. `region` of R-MODEL-222 is already set. `empty` matters only for a job that is
/// not canonical.
[[nodiscard]] ErrorList validate(const Job& job, const EmptyContainers& empty = {});
/// Priority, total count and what only the enterprise edition accepts (R-MODEL-250, last rows).
[[nodiscard]] ErrorList validate_limits(const Job& job, const RegistrationLimits& limits);
/// Namespace and node pool exist, and the namespace allows the drivers and network modes (R-MODEL-215, 250).
[[nodiscard]] ErrorList validate_names(const Job& job, const std::vector<Namespace>& namespaces,
                                       const std::vector<NodePool>& pools);
/// What may not change between versions (R-MODEL-258). `stored` is null for a new job.
[[nodiscard]] ErrorList validate_update(const Job* stored, const Job& submitted);
/// Accepted, but worth a word: the texts in Nomad's order (R-MODEL-257).
[[nodiscard]] std::vector<std::string> job_warnings(const Job& job, const RegistrationLimits& limits);
/// "2 warnings:\n\n* a\n* b"; "" when there are none.
[[nodiscard]] std::string warnings_text(const std::vector<std::string>& warnings);

// Parts, each listed in the file named above.
// `place` is the JSON pointer of the group or task within the job, where `empty` names its lists.
[[nodiscard]] ErrorList validate_group(const Job& job, const TaskGroup& group, const std::string& place,
                                       const EmptyContainers& empty);
[[nodiscard]] ErrorList validate_networks(const TaskGroup& group);
[[nodiscard]] ErrorList validate_task(const Job& job, const TaskGroup& group, const Task& task,
                                      const std::string& place, const EmptyContainers& empty);
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

/// Whether `text` is a list of version constraints (R-FEAS-622, 624), or of semver ones (R-FEAS-631).
[[nodiscard]] bool is_version_constraint(std::string_view text);
[[nodiscard]] bool is_semver_constraint(std::string_view text);

[[nodiscard]] inline bool has_nul(const std::string& text) { return text.find('\0') != std::string::npos; }

}  // namespace berth::model
