// The contents of the server's broker and tracker in a simulation.
#pragma once

#include <set>

#include "living/invariants.h"
#include "server/server.h"

namespace berth::conform {

using living::Problems;

/// Jobs with an evaluation that was given back and waits to be delivered again.
[[nodiscard]] std::set<tables::JobKeyRow> given_back(server::Server& server);
/// True if an evaluation of the job waits for capacity, for a time, or for its turn.
[[nodiscard]] bool waits(server::Server& server, tables::JobKeyRow job);

}  // namespace berth::conform
