// The replay functions by kind of vector.
#pragma once

#include <span>

#include "conform/vector.h"

namespace berth::conform {

/// The adapters of one area. Each area's file defines its own list; registry.cc joins them.
[[nodiscard]] std::span<const Component> components();

/// The replay function of the component or control file `name` ("shuffle", "broker"), or null.
[[nodiscard]] Replay find_component(std::string_view name);

}  // namespace berth::conform
