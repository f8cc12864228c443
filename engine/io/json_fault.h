// Where a text stops being JSON, for messages: simdjson says that something is wrong, and not where.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "berth/result.h"

namespace berth::io {

struct JsonFault {
  std::size_t offset = 0;  ///< byte; the text's length where it ends too early
  std::string problem;
};

/// The first fault of a text that is no JSON document (R-MODEL-602 for numbers); none of one that is. Nesting deeper
/// than 1,024 levels is a fault.
[[nodiscard]] std::optional<JsonFault> find_json_fault(std::string_view text);

struct TextPlace {
  std::size_t line = 1, column = 1;  ///< from 1; columns are characters, not bytes
};
[[nodiscard]] TextPlace place_at(std::string_view text, std::size_t offset);

/// Byte offset of the value that a JSON pointer names in a text that is JSON; keys match exactly, else ignoring case,
/// the last of several. "/Job/TaskGroups/0/Count" as berth's errors have it.
[[nodiscard]] std::optional<std::size_t> find_pointer(std::string_view text, std::string_view pointer);
/// An error whose place is such a pointer, or a text that begins with one, with line and column of `text` before it.
[[nodiscard]] InputError with_line(InputError error, std::string_view text);

/// Whether a text begins as a job file in HCL does: a block such as `job "web" {` or `variables {`.
[[nodiscard]] bool looks_like_hcl(std::string_view text);

}  // namespace berth::io
