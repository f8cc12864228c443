// Makes base's decision digest available in namespace sim.
#pragma once

#include "base/digest.h"

namespace berth::sim {

using base::DecisionDigest;

}  // namespace berth::sim
