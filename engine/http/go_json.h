// Error texts for invalid JSON as from Go's decoder, which Nomad's clients expect (R-API-15).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::http {

/// The error of Go's decoder for the first value of the text; nullopt if it is valid.
[[nodiscard]] std::optional<std::string> go_json_problem(std::string_view text);

}  // namespace berth::http
