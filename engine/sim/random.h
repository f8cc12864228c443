// The seeded random numbers of base under the names that workloads use.
#pragma once

#include "base/random.h"

namespace berth::sim {

using base::generated_id;
using base::mix64;
using base::Random;

}  // namespace berth::sim
