// A parsed JSON text of which parts become json::Values one at a time, for documents much larger than any of their
// parts.
#pragma once

#include <simdjson.h>

#include <functional>
#include <string_view>

#include "base/json.h"
#include "berth/result.h"

namespace berth::io {

/// A part of the text. Valid as long as the parser, and until it parses again.
using JsonElement = simdjson::dom::element;

/// Parses a text of one document or of several, one after the other, as several answers in one file are. Passes each to
/// `each`, with the offset of its first byte. Stops at the first error;
/// errors are those of parse_json().
[[nodiscard]] Result<void> each_json_document(
    std::string_view text, std::string_view path,
    const std::function<Result<void>(const JsonElement& document, std::size_t begin)>& each);

[[nodiscard]] json::Value to_value(const JsonElement& element);
/// The object without its members of this name.
[[nodiscard]] json::Value to_value_without(const simdjson::dom::object& object, std::string_view key);
/// True for equal values with the members in the same order.
[[nodiscard]] bool is_equal(const JsonElement& a, const JsonElement& b);

}  // namespace berth::io
