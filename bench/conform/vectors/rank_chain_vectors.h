// Adapters of the score components after bin packing: `even_spread` and `score_chain`.
#pragma once

#include "conform/vector.h"

namespace berth::conform {

[[nodiscard]] Outcome replay_even_spread(const Vector& v);
[[nodiscard]] Outcome replay_score_chain(const Vector& v);

}  // namespace berth::conform
