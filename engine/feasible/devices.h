// Checks that a node has the devices that a task group requests, used or not (R-FEAS-901 to 909).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "match/device_match.h"
#include "model/resources.h"

namespace berth::feasible {

/// Requests of all tasks in task order, compiled (R-FEAS-308).
[[nodiscard]] std::vector<match::DeviceRequest> compile_devices(const model::TaskGroup& group);

/// Serves the requests in order from the healthy instances of the device groups, which are visited in ascending
/// (vendor, type, name). Several groups may serve one request (R-FEAS-903, 904, 908). Returns an error if a NaN is
/// compared (R-FEAS-933).
[[nodiscard]] Result<bool, match::NotANumber> has_devices(std::span<const model::NodeDevice> groups,
                                                          std::span<const match::DeviceRequest> requests,
                                                          match::Patterns& patterns);

}  // namespace berth::feasible
