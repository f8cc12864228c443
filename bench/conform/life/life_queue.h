// The evaluations of a server in a simulation: the contents of broker and tracker, and the stored ones.
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
/// The evaluation as stored in the writer's current state, or as it was before garbage collection removed it: its row
/// is held. Requires EvalRecord::stored.
[[nodiscard]] model::Evaluation stored_eval(const tables::Snapshot& state, const server::EvalRecord& record);

}  // namespace berth::conform
