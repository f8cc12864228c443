// The API object of an evaluation that a server has under way.
#pragma once

#include "server/eval_book.h"
#include "tables/state.h"

namespace berth::server {

/// The evaluation as it is stored in the writer's current state. One that garbage collection removed meanwhile is as it
/// was before, because its row is held. Requires EvalRecord::stored.
[[nodiscard]] model::Evaluation stored_eval(const tables::Snapshot& state, const EvalRecord& record);

}  // namespace berth::server
