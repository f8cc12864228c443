// The records of a snapshot (what `nomad operator snapshot save` writes) handed to the collector of an import (R-SNAP).
#pragma once

#include <string>
#include <vector>

#include "io/cluster_parts.h"

namespace berth::io {

/// Reads a snapshot into `collector`. After an error the collector is of no use: nothing of a damaged file may be kept
/// (R-SNAP-5). `warnings`: what contradicts itself; `notes`: what was left out or follows from the format.
[[nodiscard]] Result<void> add_snapshot(const std::string& path, ExportCollector& collector, Warnings& warnings,
                                        Warnings& notes);

/// The claims of task groups on sticky host volumes, which no snapshot holds, derived from the allocations
/// (R-SNAP-103). Claims that the state has already stay. Returns how many were added.
std::size_t derive_claims(model::ClusterState& state);

}  // namespace berth::io
