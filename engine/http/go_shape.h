// Error texts for wrong types in a request about a job, as from Go's decoder (R-API-15).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "berth/result.h"

namespace berth::http {

/// The name of a value's kind in Go's decoder.
[[nodiscard]] const char* go_kind(const json::Value& value);

/// `error`: from reading the job in `body`. `request`: type of the body. If the field's type is unknown, returns the
/// problem with its place.
[[nodiscard]] std::string go_shape_problem(const InputError& error, const json::Value& body, std::string_view request);

}  // namespace berth::http
