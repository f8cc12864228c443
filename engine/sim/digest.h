// The fingerprint of decisions of base under the name that workloads use.
#pragma once

#include "base/digest.h"

namespace berth::sim {

using base::DecisionDigest;

}  // namespace berth::sim
