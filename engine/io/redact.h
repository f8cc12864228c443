// Replaces values that may be secret by numbered words, so that a cluster can be given to others. Equal texts get equal
// words, so two versions of a job still compare the same.
#pragma once

#include "model/cluster.h"

namespace berth::io {

/// Replaces task inputs that placement never reads: environment, driver configuration, contents of templates, headers
/// and options of artifacts.
void redact(model::ClusterState& state);

}  // namespace berth::io
