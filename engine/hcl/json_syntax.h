// JSON texts as trees with source ranges: the JSON syntax of HCL (R-HCL-770 to 774). Own parser, because diagnostics
// need the range of each key and value, and numbers all their digits.
#pragma once

#include <string>
#include <vector>

#include "hcl/evaluate.h"
#include "hcl/number.h"
#include "hcl/source.h"

namespace berth::hcl {

struct JsonProperty;

struct JsonNode {
  enum class Kind : std::uint8_t { null, boolean, number, string, array, object };
  Kind kind = Kind::null;
  Range range;
  bool truth = false;
  Number number;
  std::string text;  ///< of a string, escapes decoded
  std::vector<JsonNode> items;
  std::vector<JsonProperty> members;  ///< in source order, with duplicates
};

struct JsonProperty {
  std::string name;
  Range name_range;
  JsonNode value;

  [[nodiscard]] Range range() const { return {name_range.source, name_range.begin, value.range.end}; }
};

/// True if a text is read as JSON: its first byte other than blanks is a brace (R-HCL-2).
[[nodiscard]] bool looks_like_json(std::string_view text);

/// Parses a whole file, which must be an object. Stops at the first error.
[[nodiscard]] JsonNode parse_json_file(const Source& source, Diagnostics& out);

/// A value as an expression; strings are templates. `node` must outlive it.
[[nodiscard]] const Expr& json_expression(const JsonNode& node, Workspace& workspace, Diagnostics& out);

}  // namespace berth::hcl
