// Why a text is no JSON, in the words of Go's decoder, which clients of Nomad know (R-API-15).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace berth::serve {

/// Nothing: the first value of the text is one that Go's decoder takes.
[[nodiscard]] std::optional<std::string> go_json_problem(std::string_view text);

}  // namespace berth::serve
