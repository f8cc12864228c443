// Makes base's seeded random numbers available in namespace sim.
#pragma once

#include "base/random.h"

namespace berth::sim {

using base::generated_id;
using base::mix64;
using base::Random;

}  // namespace berth::sim
