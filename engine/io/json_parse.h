// JSON text to json::Value, through simdjson.
#pragma once

#include <string_view>

#include "base/json.h"
#include "berth/result.h"

namespace berth::io {

/// Parses one document. Errors name `path`, `place` if the text is part of a file, line and column; they say so if the
/// text is HCL. Nesting deeper than 1,024 levels, invalid UTF-8 and numbers beyond 64 bits are refused. Integers keep
/// all 64 bits (R-MODEL-602).
[[nodiscard]] Result<json::Value> parse_json(std::string_view text, std::string_view path = "-",
                                             std::string_view place = "");

}  // namespace berth::io
