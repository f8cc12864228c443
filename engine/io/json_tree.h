// A parsed JSON text of which parts become json::Values one at a time, for documents much larger than any of their
// parts.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "base/json.h"
#include "berth/result.h"

namespace berth::io {

/// A part of the text. Valid as long as the parser, and until it parses again.
using JsonElement = simdjson::dom::element;

/// Parses like parse_json(), with the same errors.
[[nodiscard]] Result<JsonElement> parse_json_tree(simdjson::dom::parser& parser, std::string_view text,
                                                  std::string_view path = "-", std::string_view place = "");

[[nodiscard]] json::Value to_value(const JsonElement& element);
/// The object without its members of this name.
[[nodiscard]] json::Value to_value_without(const simdjson::dom::object& object, std::string_view key);
/// True for equal values with the members in the same order.
[[nodiscard]] bool is_equal(const JsonElement& a, const JsonElement& b);

}  // namespace berth::io
