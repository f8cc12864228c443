// Clusters that may be handed on: values that may be secret, replaced by numbered words. Equal texts get equal words,
// so two versions of a job compare as before.
#pragma once

#include "model/cluster.h"

namespace berth::io {

/// Replaces what tasks are given and placement never reads: environment, driver configuration, contents of templates,
/// headers and options of artifacts.
void redact(model::ClusterState& state);

}  // namespace berth::io
