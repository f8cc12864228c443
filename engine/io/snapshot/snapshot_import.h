// Passes the records of a snapshot (written by `nomad operator snapshot save`) to the collector of an import (R-SNAP).
#pragma once

#include <string>
#include <vector>

#include "io/cluster_parts.h"

namespace berth::io {

/// Reads a snapshot into `collector`. After an error the collector must be dropped: nothing of a damaged file may be
/// used (R-SNAP-5). `warnings`: contradictions; `notes`: what was left out or follows from the format.
[[nodiscard]] Result<void> add_snapshot(const std::string& path, ExportCollector& collector, Warnings& warnings,
                                        Warnings& notes);

/// Derives the claims of task groups on sticky host volumes from the allocations, since no snapshot holds them
/// (R-SNAP-103). Existing claims stay. Returns how many were added.
std::size_t derive_claims(model::ClusterState& state);

}  // namespace berth::io
