// Kinds of jobs that cannot be meant: Nomad would refuse them at registration, which a workload does not go through.
#pragma once

#include "sim/workload.h"

namespace berth::sim {

/// The first kind that draws jobs which Nomad refuses, or whose periodic jobs never come, with its line.
[[nodiscard]] std::optional<InputError> refused_kind(const Workload& workload);

}  // namespace berth::sim
