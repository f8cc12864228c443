// Claims of allocations on CSI volumes (R-STORE-246): not the plan makes them but the client, when the allocation runs;
// they are released when it has ended for its client, or is gone. Clusters without CSI volumes pay one comparison.
#pragma once

#include "tables/commit.h"

namespace berth::fsm {

/// Writes what the status of the allocation makes of its claims, under the commit that wrote the status. Cost: O(CSI
/// volumes), and a copy of them all while a snapshot of the state before is held.
void follow_csi_claims(tables::Commit& commit, tables::AllocRow row);
/// Releases the claims of an allocation that is about to be removed.
void release_csi_claims(tables::Commit& commit, tables::AllocRow row);

}  // namespace berth::fsm
