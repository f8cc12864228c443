// The queue policy that a workload names, in place of Nomad's order of evaluations.
#pragma once

#include <memory>

#include "berth/queue.h"
#include "sim/job_stream.h"
#include "sim/workload.h"

namespace berth::sim {

/// Makes workload.queue with the workload's seed; null for Nomad's order. Error if it weighs a namespace without jobs.
[[nodiscard]] Result<std::unique_ptr<strategy::QueuePolicy>> queue_policy(const Workload& workload,
                                                                          const JobStream& jobs);

}  // namespace berth::sim
