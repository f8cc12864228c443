// Finds job kinds that Nomad would refuse at registration, a step that workloads skip.
#pragma once

#include "sim/workload.h"

namespace berth::sim {

/// The first kind with its line whose jobs Nomad refuses, or whose periodic jobs never launch.
[[nodiscard]] std::optional<InputError> refused_kind(const Workload& workload);

}  // namespace berth::sim
