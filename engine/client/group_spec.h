// GroupSpec: the numbers of a task group that a client uses; one per job version and group with allocations.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "client/health.h"
#include "client/restart.h"
#include "model/resources.h"

namespace berth::client {

struct TaskSpec {
  std::string name;
  RestartPolicy restart;
  std::int64_t kill_timeout_ns = 0, shutdown_delay_ns = 0;
  bool restart_on_success = false;  ///< R-CTRL-1521
  bool remote = false;              ///< of a remote driver (R-SEED-11)
};

struct GroupSpec {
  JobType type = JobType::service;
  std::vector<TaskSpec> tasks;
  std::vector<TaskRole> roles;         ///< by task
  std::int64_t max_run_ns = 0;         ///< 0: no limit; only batch and sysbatch jobs have one (R-CTRL-1519)
  std::int64_t stop_after_ns = 0;      ///< disconnect.stop_on_client_after; 0: none
  bool watched = false;                ///< health of allocations without a deployment (R-CTRL-1570)
  bool watched_in_deployment = false;  ///< health of allocations with one
  HealthPolicy migration, deployment;  ///< R-CTRL-1571
  std::uint32_t holders = 0;           ///< allocations that use it
  /// The version that it was read from. Held while allocations use it: the state may drop the version before a client
  /// receives the next one.
  std::shared_ptr<const model::Job> job;
  std::pair<std::uint64_t, std::uint64_t> made_of;  ///< CreateIndex and version of the job
};

/// Upper limit of every wait of a client, so that an instant plus any wait fits into 64 bits: 100 years.
inline constexpr std::int64_t kLongestWait = std::int64_t{36'525} * 86'400 * base::kSecond;
[[nodiscard]] constexpr std::int64_t held_wait(std::int64_t duration) {
  return std::clamp<std::int64_t>(duration, 0, kLongestWait);
}

struct GroupSpecOptions {
  std::int64_t kill_timeout_max_ns = 30 * base::kSecond;  ///< R-CTRL-1516
  std::vector<std::string> remote_drivers;                ///< R-SEED-11
};

/// Fills `out` from a job in registered form. Reuses the memory of `out`.
void read_group(const model::Job& job, const model::TaskGroup& group, const GroupSpecOptions& options, GroupSpec& out);

}  // namespace berth::client
