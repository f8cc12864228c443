// Did a submitted job change the specification (R-MODEL-276)?
#pragma once

#include "model/codec/empty_containers.h"
#include "model/job.h"

namespace berth::model {

/// True unless the two jobs are equal in everything but status, stability, version, indexes and submit time. Of the
/// empty containers of the submitted job those that R-MODEL-276 names count as absent; the two sets are needed only
/// where a job is not canonical.
[[nodiscard]] bool spec_changed(const Job& stored, const Job& submitted, const EmptyContainers& stored_empty = {},
                                EmptyContainers submitted_empty = {});

/// A block that the model retains as JSON, without the members that say nothing: null, "", 0 and false are what an
/// absent field is. Empty lists and maps stay (R-MODEL-8).
[[nodiscard]] json::Value without_zeros(const json::Value& block);

}  // namespace berth::model
