// What may be printed to a terminal whatever stands in a file.
#pragma once

#include <string>
#include <string_view>

namespace berth::base {

/// Control characters, which could move the cursor or colour what follows, as \x1b; so are the marks by which Unicode
/// turns the direction of writing. Line feeds and tabs stay where `lines` is true.
[[nodiscard]] std::string printable(std::string_view text, bool lines);

}  // namespace berth::base
