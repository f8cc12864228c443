// Chooses between an allocation that reconnects and its replacement (R-RECON-128 to 134).
#pragma once

#include <cstdint>
#include <string_view>

#include "model/alloc.h"

namespace berth::reconcile {

/// True if the replacement is preferred. `strategy` is the `reconcile` text of the job's group, "" = `best_score`.
/// `now` in ns. The arguments are not symmetric: `original` is the allocation that reconnects.
[[nodiscard]] bool prefers_replacement(const model::Allocation& original, const model::Allocation& replacement,
                                       std::string_view strategy, std::int64_t now);

}  // namespace berth::reconcile
