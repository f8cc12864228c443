// Checks that the members of a result have the types given in bench/schema. Missing members are no error here: older
// versions did not write all of them, and kinds.h checks what each report needs.
#pragma once

#include <string>

#include "base/json.h"
#include "berth/result.h"

namespace berth::report {

/// Error for the first member that violates the schema of the format, at its place in `path`. Accepts formats without a
/// schema, and members unknown to the schema, which a newer berth wrote.
[[nodiscard]] Result<void> check_schema(const json::Value& value, const std::string& format, const std::string& path);

}  // namespace berth::report
