// Makes text from files safe to print to a terminal.
#pragma once

#include <string>
#include <string_view>

namespace berth::base {

/// Escapes control characters, which could move the cursor or colour the output, as \x1b, and the Unicode marks that
/// change the writing direction. Line feeds and tabs stay if `lines` is true.
[[nodiscard]] std::string printable(std::string_view text, bool lines);

}  // namespace berth::base
