// The terminal's width, and whether text may be coloured. One table defines the colours of lines.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace berth::cli {

enum class ColourChoice { automatic, always, never };

/// `--color`. Automatic: colours if the stream is a terminal, unless NO_COLOR is set or TERM is "dumb".
void choose_colours(ColourChoice choice);
[[nodiscard]] bool has_colours(std::FILE* stream);

/// Columns of the terminal, or COLUMNS if set; 100 if standard output is no terminal.
[[nodiscard]] std::size_t terminal_width();

/// `text` with warnings and verdicts coloured, line by line. `diff`: also added, deleted and edited lines.
[[nodiscard]] std::string coloured(std::string_view text, bool diff);

}  // namespace berth::cli
