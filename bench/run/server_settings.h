// What a workload file says of the server that decides.
#pragma once

#include "model/eval.h"
#include "server/config.h"
#include "sim/workload.h"

namespace berth::run {

[[nodiscard]] server::Config server_settings(const sim::Workload& workload);
/// Its state's scheduler configuration: algorithm and preemption.
[[nodiscard]] model::SchedulerConfiguration configuration_of(const sim::Workload& workload);

}  // namespace berth::run
