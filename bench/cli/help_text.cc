// `--help`: one wrapped paragraph per option, with its values as text instead of CLI11's types.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "cli/command_line.h"

namespace berth::cli {
namespace {

constexpr std::size_t kWidth = 100, kIndent = 30;

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

/// The range of a number such as "INT in [1 - 1024]", for the description.
std::string range_of(const OptionText& option) {
  const std::size_t open = option.value.find(" in [");
  if (open == std::string::npos) return "";
  const std::size_t dash = option.value.find(" - ", open);
  return fmt::format("{} to {}", option.value.substr(open + 5, dash - open - 5),
                     option.value.substr(dash + 3, option.value.size() - dash - 4));
}

std::string help_word(const OptionText& option) {
  if (option.flag() || option.names.empty()) return "";
  std::string word = option.value.starts_with("INT") || option.value.starts_with("UINT") ? "N"
                     : option.value.starts_with("FLOAT")                                 ? "X"
                                                                                         : option.value;
  if (!option.values.empty()) word = fmt::format("{}", fmt::join(option.values, "|"));
  return " " + word + (option.repeats && !word.ends_with("...") ? "..." : "");
}

std::string about_of(const OptionText& option) {
  std::vector<std::string> more;
  if (const std::string range = range_of(option); !range.empty()) more.push_back(range);
  if (!option.initial.empty() && option.initial != "[]") more.push_back("default: " + option.initial);
  if (option.required && !option.names.empty()) more.push_back("required");
  return option.about + (more.empty() ? "" : fmt::format(" ({})", fmt::join(more, "; ")));
}

class PlainHelp final : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    const OptionText text = option_text(*option);
    std::string head = "  " + (is_positional ? text.positional + (text.repeats ? "..." : "")
                                             : fmt::format("{}", fmt::join(text.names, ", ")) + help_word(text));
    if (head.size() + 2 > kIndent) {
      head += "\n";
      return head + wrapped(std::string(kIndent, ' '), about_of(text));
    }
    head.resize(kIndent, ' ');
    return wrapped(std::move(head), about_of(text));
  }
  std::string make_footer(const CLI::App* app) const override {
    std::string out;
    std::stringstream notes(app->get_footer());
    for (std::string line; std::getline(notes, line);) out += wrapped("", line, 0);
    return out;
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> plain_help() { return std::make_shared<PlainHelp>(); }

}  // namespace berth::cli
