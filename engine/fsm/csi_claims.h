// Claims of allocations on CSI volumes (R-STORE-246). The client makes them when the allocation runs, not the plan.
// They are released when the allocation has ended on its client, or is removed. Clusters without CSI volumes pay one
// comparison.
#pragma once

#include "tables/commit.h"

namespace berth::fsm {

/// Updates the claims of an allocation to its status, under the commit that wrote the status. Cost: O(CSI volumes),
/// plus a copy of them all while a snapshot of the previous state is held.
void follow_csi_claims(tables::Commit& commit, tables::AllocRow row);
/// Releases the claims of an allocation that is about to be removed.
void release_csi_claims(tables::Commit& commit, tables::AllocRow row);

}  // namespace berth::fsm
