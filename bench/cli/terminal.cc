#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "compare/tables.h"

namespace berth::cli {
namespace {

constexpr std::size_t kWidthLeast = 40;

ColourChoice g_choice = ColourChoice::automatic;

constexpr std::string_view kRed = "\x1b[31m", kGreen = "\x1b[32m", kYellow = "\x1b[33m", kPlain = "\x1b[0m";

struct LineColour {
  std::string_view begins;  ///< start of the line, after blanks
  std::string_view colour;
  bool diff;  ///< only in the text of a plan
};

/// The first match counts.
constexpr LineColour kLineColours[] = {
    {"- WARNING", kYellow, true},
    {"- All tasks", kGreen, true},
    {"+/- ", kYellow, true},
    {"+ ", kGreen, true},
    {"- ", kRed, true},
    {"warning:", kYellow, false},
    {"Warning:", kYellow, false},
    {"regression", kRed, false},
    {"inconclusive", kYellow, false},
    {"improved", kGreen, false},
    {"pass: ", kGreen, false},
};

std::string_view colour_of(std::string_view line, bool diff) {
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  for (const LineColour& one : kLineColours)
    if ((diff || !one.diff) && line.starts_with(one.begins)) return one.colour;
  return "";
}

}  // namespace

void choose_colours(ColourChoice choice) { g_choice = choice; }

bool has_colours(std::FILE* stream) {
  if (g_choice != ColourChoice::automatic) return g_choice == ColourChoice::always;
  const char *no_colour = std::getenv("NO_COLOR"), *terminal = std::getenv("TERM");
  return (!no_colour || !*no_colour) && !(terminal && std::string_view(terminal) == "dumb") &&
         isatty(fileno(stream)) == 1;
}

std::size_t terminal_width() {
  if (const char* columns = std::getenv("COLUMNS"))
    if (const auto width = base::parse_uint64(columns); width && *width > 0)
      return std::max<std::size_t>(*width, kWidthLeast);
  winsize size{};
  if (isatty(STDOUT_FILENO) != 1 || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return compare::kTerminalWidth;
  return std::max<std::size_t>(size.ws_col, kWidthLeast);
}

std::string coloured(std::string_view text, bool diff) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end), colour = colour_of(line, diff);
    out.append(colour).append(line);
    if (!colour.empty()) out.append(kPlain);
    if (end < text.size()) out += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace berth::cli
