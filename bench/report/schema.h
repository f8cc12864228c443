// Whether what a result holds is of the types that bench/schema gives it. What is missing is no matter here: an older
// berth did not write every member, and kinds.h says what each report needs.
#pragma once

#include <string>

#include "base/json.h"
#include "berth/result.h"

namespace berth::report {

/// The first member that does not follow the schema of the format, as an error at its place in `path`. Fine for formats
/// without a schema. Members that the schema does not name are fine as well: a newer berth wrote them.
[[nodiscard]] Result<void> check_schema(const json::Value& value, const std::string& format, const std::string& path);

}  // namespace berth::report
