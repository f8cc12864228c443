// Allocations that use dynamic host volumes (R-STORE-214). A volume in use is not deleted, nor is its node
// (R-STORE-215, 216).
#pragma once

#include <string>
#include <vector>

#include "tables/state.h"

namespace berth::fsm {

/// Allocations on the volume's node that use it and have not ended on the client, by ID; none if `node` is kNoRow.
[[nodiscard]] std::vector<tables::AllocRow> volume_users(const tables::Snapshot& state, tables::NodeRow node,
                                                         const model::HostVolume& volume);
[[nodiscard]] std::string ids_text(const tables::Snapshot& state, const std::vector<tables::AllocRow>& rows,
                                   const char* between);
/// Why the volume cannot be deleted; "" if it is not in use.
[[nodiscard]] std::string volume_in_use(const tables::Snapshot& state, tables::NodeRow node,
                                        const model::HostVolume& volume);
/// Why the node cannot be deleted: the first of its volumes that is in use; "" if none is. Cost: O(host volumes), and
/// O(allocations on the node) for each volume of the node.
[[nodiscard]] std::string node_volume_in_use(const tables::Snapshot& state, tables::NodeRow node);

}  // namespace berth::fsm
