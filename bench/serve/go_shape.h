// Why a value in a request about a job has the wrong shape, in the words of Go's decoder (R-API-15).
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "berth/result.h"

namespace berth::serve {

/// What Go's decoder calls the kind of a value.
[[nodiscard]] const char* go_kind(const json::Value& value);

/// `error` is that of reading the job in `body`, `request` the type of the body. Where the field's type is not known
/// here, the problem with its place.
[[nodiscard]] std::string go_shape_problem(const InputError& error, const json::Value& body, std::string_view request);

}  // namespace berth::serve
