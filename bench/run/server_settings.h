// The server settings of a workload file.
#pragma once

#include "model/eval.h"
#include "server/config.h"
#include "sim/workload.h"

namespace berth::run {

[[nodiscard]] server::Config server_settings(const sim::Workload& workload);
/// The scheduler configuration of the state: `config` with the workload's algorithm and preemption.
[[nodiscard]] model::SchedulerConfiguration configuration_of(const sim::Workload& workload,
                                                             model::SchedulerConfiguration config = {});

}  // namespace berth::run
