// Writes a cluster as `nomad operator snapshot save` does (R-SNAP-1 to 40, 80).
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/cluster.h"

namespace berth::io {

/// What a snapshot holds besides the objects.
struct SnapshotHead {
  std::uint64_t applied_index = 0;                             ///< at least the index of the state (R-SNAP-81)
  std::int64_t now_ns = 0;                                     ///< Unix time, part of the snapshot's ID
  std::vector<std::pair<std::string, std::uint64_t>> indexes;  ///< of tables, by their names
};

/// The bytes of the file. It holds the objects of `state` and no secrets: no variables, keys, tokens or sources of
/// jobs. Claims of sticky volumes are not part of a snapshot (R-SNAP-103). The packed file is in memory, state.bin is
/// not: its records are packed as they are made, and its size and checksum, which stand before it, afterwards.
[[nodiscard]] std::string snapshot_file(const model::ClusterState& state, const SnapshotHead& head);

}  // namespace berth::io
