// Computed class of a node: a hash that is equal for nodes that no unescaped constraint can distinguish, so that they
// share verdicts (R-MODEL-540 to 544, R-FEAS-401 to 404).
#pragma once

#include <string>

#include "model/node.h"

namespace berth::model {

/// `v1:` and a decimal 64-bit hash over datacenter, pool, class, attributes, meta and device groups; keys beginning
/// with `unique.` are left out. Costs one pass over the node's maps (R-MODEL-543).
[[nodiscard]] std::string computed_class(const Node& node);

}  // namespace berth::model
