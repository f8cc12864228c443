// The evaluations of a life between their writing and their end: what broker and tracker of its server hold.
#pragma once

#include <set>

#include "living/invariants.h"
#include "server/server.h"

namespace berth::conform {

using living::Problems;

/// Jobs of which an evaluation was given back and waits to be delivered again.
[[nodiscard]] std::set<tables::JobKeyRow> given_back(server::Server& server);
/// Whether an evaluation of the job waits for capacity, for an instant, or for its turn.
[[nodiscard]] bool waits(server::Server& server, tables::JobKeyRow job);

}  // namespace berth::conform
