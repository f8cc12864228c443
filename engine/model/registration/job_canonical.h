// The server layer of registration: defaults and normalisation that Nomad applies to a job in its concrete form
// (R-MODEL-240 to 246).
#pragma once

#include <functional>
#include <string>
#include <unordered_map>

#include "model/quirks.h"
#include "model/resources.h"

namespace berth::model {

/// Fills the defaults of the server layer and tidies the retained blocks (R-MODEL-240 to 242). Idempotent.
void canonicalize(Job& job);

/// What registration adds after canonicalising: Priority 0 becomes 50, an empty pool `default` (R-MODEL-240, 243).
void fill_server_defaults(Job& job);

/// Vault and Consul blocks name their cluster; a partition becomes a constraint (R-REG-201, 202).
void fill_clusters(Job& job);

/// Adds tasks, ports and constraints of Connect sidecars, gateways and native services, and ports and paths of exposed
/// checks (R-REG sections 1 and 2). Returns why it cannot be done, in Nomad's words; "" otherwise. `new_id` returns an
/// ID; its first characters distinguish a proxy from a task of the same name. Idempotent except for these IDs.
[[nodiscard]] std::string expand_connect(Job& job, const std::function<std::string()>& new_id);
[[nodiscard]] std::string expand_exposed_checks(Job& job);
/// The task behind a native service, or Nomad's words for none (R-REG-80).
struct NativeTask {
  const Task* task = nullptr;
  std::string problem;
};
using TasksByName = std::unordered_map<std::string, std::size_t>;  ///< position of the first task of a name
[[nodiscard]] NativeTask native_task(const TaskGroup& group, const TasksByName& tasks, const json::Value& service);

/// Appends constraints implied by what groups use, unless already present (R-MODEL-244). The secret providers of all
/// groups bind every group (R-MODEL-245), unless the quirk secrets_constrain_all_groups is off.
void add_implied_constraints(Job& job, const Quirks& quirks = {});

/// Adds the workload identities that the server's settings imply, and the constraint that any identity implies
/// (R-REG-203, 223 to 225). `vault_identity` is null if the server has no such setting.
void add_identities(Job& job, const json::Value& vault_identity);

/// Defaults by job type (R-MODEL-225, 226); absent for types that have none.
[[nodiscard]] std::optional<ReschedulePolicy> default_reschedule_policy(const std::string& job_type);
[[nodiscard]] std::optional<RestartPolicy> default_restart_policy(const std::string& job_type);
[[nodiscard]] MigrateStrategy default_migrate_strategy();

/// Canonicalises one task, as canonicalize() does for all.
void canonicalize_task(const Job& job, const TaskGroup& group, Task& task);

/// Retained blocks of a task (identities, services, Vault, templates), R-MODEL-242. Part of canonicalize().
void canonicalize_task_blocks(const Job& job, const TaskGroup& group, Task& task);
/// Retained blocks of a group (services, scaling), R-MODEL-242. Part of canonicalize().
void canonicalize_group_blocks(const Job& job, TaskGroup& group);

}  // namespace berth::model
