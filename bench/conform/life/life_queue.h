// The evaluations of a life between their writing and their end: what broker and tracker of its server hold.
#pragma once

#include <set>

#include "conform/life/life_checks.h"
#include "server/server.h"

namespace berth::conform {

/// Jobs of which an evaluation was given back and waits to be delivered again.
[[nodiscard]] std::set<tables::JobKeyRow> given_back(server::Server& server);
/// Whether an evaluation of the job waits for capacity, for an instant, or for its turn.
[[nodiscard]] bool waits(server::Server& server, tables::JobKeyRow job);
/// R-CTRL-1724 to 1727.
void check_queue(server::Server& server, Problems& problems);

}  // namespace berth::conform
