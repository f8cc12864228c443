// What a task does by what its job file says: the simulated drivers.
//
// `mock_driver` is a driver of Nomad's own that runs nothing and does what its configuration says. A task of any other
// driver runs as long as `meta.berth_run_time` says (of the task, else the group, else the job), else for ever in
// service and system jobs, and in batch jobs for a time that is drawn.
#pragma once

#include "client/task_model.h"
#include "model/job.h"

namespace berth::client {

struct DriverDefaults {
  std::int64_t restart_delay_ns = 0;               ///< the same where it ran before: its folder and hooks are there
  std::int64_t start_delay_ns = 0;                 ///< from the decision to start until a task runs
  std::int64_t batch_run_ns = 60 * base::kSecond;  ///< mean length of batch tasks that say nothing of it
  std::uint64_t seed = 1;
};

/// Texts of the outcome are the job's.
[[nodiscard]] Outcome driver_outcome(const model::Job& job, const TaskStart& start, const DriverDefaults& defaults);

}  // namespace berth::client
