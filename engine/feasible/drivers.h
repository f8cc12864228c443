// Task drivers and secrets providers of a node (R-FEAS-801 to 812).
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>

#include "model/node.h"
#include "model/resources.h"

namespace berth::feasible {

/// Drivers of the group's tasks, each once (R-FEAS-308).
[[nodiscard]] std::set<std::string> required_drivers(const model::TaskGroup& group);

/// True if the driver is detected and healthy in the node's driver map or, if the map lacks it, attribute
/// `driver.<name>` is true.
[[nodiscard]] bool has_driver(const model::Node& node, const std::string& driver);
[[nodiscard]] bool has_drivers(const model::Node& node, const std::set<std::string>& drivers);

}  // namespace berth::feasible
