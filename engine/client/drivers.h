// Simulated drivers: how a task behaves according to its job file.
//
// `mock_driver` is a driver of Nomad that runs nothing and behaves as its configuration says. A task of any other
// driver runs for `meta.berth_run_time` (of the task, else the group, else the job). Without it, tasks of service and
// system jobs run for ever, and those of batch jobs for a random time.
#pragma once

#include <cstdint>
#include <optional>

#include "client/task_model.h"
#include "model/resources.h"

namespace berth::client {

struct DriverDefaults {
  std::int64_t restart_delay_ns = 0;               ///< the same after a restart: task folder and hooks exist
  std::int64_t start_delay_ns = 0;                 ///< from the decision to start until a task runs
  std::int64_t batch_run_ns = 60 * base::kSecond;  ///< mean length of batch tasks without berth_run_time
  std::uint64_t seed = 1;
};

/// The task's `meta.berth_run_time`, in ns; nullopt without one, or if it is no duration.
[[nodiscard]] std::optional<std::int64_t> stated_run_time(const model::Job& job, const model::TaskGroup& group,
                                                          const model::Task& task);

/// The outcome's texts belong to the job.
[[nodiscard]] Outcome driver_outcome(const model::Job& job, const TaskStart& start, const DriverDefaults& defaults);

}  // namespace berth::client
