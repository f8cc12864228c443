// The server layer of registration: what Nomad fills in and tidies up on a job in its concrete form (R-MODEL-240 to
// 246).
#pragma once

#include "model/job.h"
#include "model/quirks.h"

namespace berth::model {

/// Fills the defaults of the server layer and tidies the retained blocks (R-MODEL-240 to 242). Idempotent.
void canonicalize(Job& job);

/// What registration adds after canonicalising: Priority 0 becomes 50, an empty pool `default` (R-MODEL-240, 243).
void fill_server_defaults(Job& job);

/// Constraints that follow from what groups use, appended where they are not there yet (R-MODEL-244). The secret
/// providers of all groups bind every group (R-MODEL-245), but without the quirk secrets_constrain_all_groups.
void add_implied_constraints(Job& job, const Quirks& quirks = {});

/// Defaults by job type (R-MODEL-225, 226); absent for types that have none.
[[nodiscard]] std::optional<ReschedulePolicy> default_reschedule_policy(const std::string& job_type);
[[nodiscard]] std::optional<RestartPolicy> default_restart_policy(const std::string& job_type);
[[nodiscard]] MigrateStrategy default_migrate_strategy();

/// Retained blocks of a task (identities, services, Vault, templates), R-MODEL-242. Part of canonicalize().
void canonicalize_task_blocks(const Job& job, const TaskGroup& group, Task& task);
/// Retained blocks of a group (services, scaling), R-MODEL-242. Part of canonicalize().
void canonicalize_group_blocks(const Job& job, TaskGroup& group);

}  // namespace berth::model
