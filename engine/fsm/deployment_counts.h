// What becomes of a stored deployment when its allocations or its status change (R-CTRL-727 to 729, 1215). Values in,
// values out: whoever stores it sets the indexes.
#pragma once

#include <optional>

#include "model/eval.h"

namespace berth::fsm {

/// `stored` once `alloc` is stored in place of `before` (null: it is new): counts, canaries and deadlines; nothing when
/// all stays as it is. A change of health stamps `index` on the allocation's deployment status.
[[nodiscard]] std::optional<model::Deployment> counted(const model::Deployment& stored, model::Allocation& alloc,
                                                       const model::Allocation* before, std::uint64_t index);

/// `stored` with another status; running and paused ones get new deadlines (R-CTRL-1215). `now` in unix ns.
[[nodiscard]] model::Deployment with_status(const model::Deployment& stored, std::string_view status,
                                            std::string_view description, std::int64_t now);

}  // namespace berth::fsm
