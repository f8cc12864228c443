// Finds where a text stops being JSON, for messages: simdjson reports that it is invalid, but not where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

struct JsonFault {
  std::size_t offset = 0;  ///< in bytes; the text's length if it ends too early
  std::string problem;
  bool another_follows = false;  ///< a valid document ends before `offset`, and further text follows
};

/// The first fault of a text, nullopt for a valid JSON document (numbers: R-MODEL-602). Nesting deeper than 1,024
/// levels is a fault.
[[nodiscard]] std::optional<JsonFault> find_json_fault(std::string_view text);

struct TextPlace {
  std::size_t line = 1, column = 1;  ///< from 1; columns are characters, not bytes
};
[[nodiscard]] TextPlace place_at(std::string_view text, std::size_t offset);

/// Byte offset of the value that a JSON pointer such as "/Job/TaskGroups/0/Count" names; `text` must be JSON. Keys
/// match exactly, else ignoring case. Of several the last counts.
[[nodiscard]] std::optional<std::size_t> find_pointer(std::string_view text, std::string_view pointer);
/// Puts line and column in `text` before an error's place, if the place is such a pointer or starts with one. The
/// pointer is one into the document that begins at `begin`.
[[nodiscard]] InputError with_line(InputError error, std::string_view text, std::size_t begin = 0);

/// True if a text begins like a job file in HCL: with a block such as `job "web" {` or `variables {`.
[[nodiscard]] bool looks_like_hcl(std::string_view text);

}  // namespace berth::io
