// Did a submitted job change the specification (R-MODEL-276)?
#pragma once

#include "model/job.h"

namespace berth::model {

/// True unless the two jobs are equal in everything but status, stability, version, indexes and submit time. Empty and
/// absent are the same wherever the model keeps lists and maps; in retained blocks they differ.
[[nodiscard]] bool spec_changed(const Job& stored, const Job& submitted);

}  // namespace berth::model
