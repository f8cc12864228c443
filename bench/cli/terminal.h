// What the terminal is: its width, and whether text may be coloured. One table says which lines have which colour.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace berth::cli {

enum class ColourChoice { automatic, always, never };

/// `--color`. Automatic: colours where the stream is a terminal, unless NO_COLOR is set or TERM is "dumb".
void choose_colours(ColourChoice choice);
[[nodiscard]] bool has_colours(std::FILE* stream);

/// Columns of the terminal, or of COLUMNS where that is set; 100 where standard output is no terminal.
[[nodiscard]] std::size_t terminal_width();

/// `text` with its warnings and verdicts coloured, line by line. `diff`: its added, deleted and edited lines as well.
[[nodiscard]] std::string coloured(std::string_view text, bool diff);

}  // namespace berth::cli
