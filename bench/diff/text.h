// What `berth diff` prints, and its JSON (bench/schema/berth-diff.json).
#pragma once

#include <string>

#include "base/json.h"
#include "diff/diff.h"

namespace berth::diff {

/// `all`: every row of the tables.
[[nodiscard]] std::string to_text(const Report& report, bool all);
[[nodiscard]] json::Value to_json(const Report& report);

}  // namespace berth::diff
