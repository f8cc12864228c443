// `--help`: one wrapped paragraph per option, with its values as text instead of CLI11's types.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/command_line.h"

namespace berth::cli {
namespace {

constexpr std::size_t kWidth = 100, kIndent = 30;
constexpr std::size_t kCommands = 14;  // columns of a command's name

/// `text` after `first` in lines of at most kWidth columns, all but the first indented by `indent`, at which `first`
/// must end.
std::string wrapped(std::string first, const std::string& text, std::size_t indent = kIndent) {
  std::string out, line = std::move(first);
  bool empty = true;  // of text
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!empty && line.size() + 1 + word.size() > kWidth) {
      out += line + "\n";
      line.assign(indent, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
    at = end + 1;
  }
  return out + line + "\n";
}

std::string help_word(const OptionText& option) {
  if (option.flag() || option.names.empty()) return "";
  return " " + (option.values.empty() ? option.value : fmt::format("{}", fmt::join(option.values, "|")));
}

class PlainHelp final : public CLI::Formatter {
 public:
  PlainHelp() { column_width(kCommands); }
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const OptionText text = option_text(*option);
    std::string head = "  " + (is_positional ? text.positional + (text.repeats ? "..." : "")
                                             : fmt::format("{}", fmt::join(text.names, ", ")) + help_word(text));
    if (head.size() + 2 > kIndent) {
      head += "\n";
      return head + wrapped(std::string(kIndent, ' '), text.full_about());
    }
    head.resize(kIndent, ' ');
    return wrapped(std::move(head), text.full_about());
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string out;
    std::stringstream notes(app->get_footer());
    for (std::string line; std::getline(notes, line);)
      out += line.starts_with("  ") ? line + "\n" : wrapped("", line, 0);  // examples are not wrapped
    return out;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> plain_help() { return std::make_shared<PlainHelp>(); }

}  // namespace berth::cli
