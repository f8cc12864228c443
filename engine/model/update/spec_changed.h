// Detects whether a submitted job changes the specification (R-MODEL-276).
#pragma once

#include "model/codec/empty_containers.h"
#include "model/resources.h"

namespace berth::model {

/// True unless the two jobs are equal except for status, stability, version, indexes and submit time. The empty
/// containers that R-MODEL-276 names count as absent in the submitted job. The two sets are needed only if a job is not
/// canonical.
[[nodiscard]] bool spec_changed(const Job& stored, const Job& submitted, const EmptyContainers& stored_empty = {},
                                EmptyContainers submitted_empty = {});

/// A copy of a retained JSON block without the members that equal absent fields: null, "", 0 and false. Empty lists and
/// maps stay (R-MODEL-8).
[[nodiscard]] json::Value without_zeros(const json::Value& block);

}  // namespace berth::model
