// Error texts for wrong types in a request's body, as from Go's decoder (R-API-15).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace berth::http {

/// The name of a value's kind in Go's decoder.
[[nodiscard]] const char* go_kind(const json::Value& value);

/// The first value, in the order of the text, that does not fit the type of its field. `request`: type of the body,
/// such as "JobRegisterRequest". nullopt: everything fits, or the request's fields are not in the table of types.
/// Cost: each member is compared with the fields of its object, of which the largest has 38.
[[nodiscard]] std::optional<std::string> go_shape_problem(const json::Value& body, std::string_view request);

}  // namespace berth::http
