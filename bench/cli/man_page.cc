// Man pages in troff, see man(7).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/build_info.h"
#include "cli/command_line.h"

namespace berth::cli {
namespace {

/// Escapes backslashes, minus signs and leading dots for troff.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if (out.empty() && (c == '.' || c == '\''))
      out += std::string("\\&") + c;
    else
      out += c;
  }
  return out;
}

std::string value_word(const OptionText& option) {
  return option.values.empty() ? option.value : fmt::format("{}", fmt::join(option.values, "|"));
}

void add_synopsis(const CommandText& command, std::string& out) {
  out += fmt::format(".SH SYNOPSIS\n.B berth {}\n", roff(command.words));
  out += "[\\fIOPTIONS\\fR]\n";
  for (const OptionText& option : command.options) {
    if (option.positional.empty()) continue;
    const std::string word = fmt::format("\\fI{}\\fR{}", roff(option.positional), option.repeats ? "..." : "");
    out += option.required ? word + "\n" : "[" + word + "]\n";
  }
  if (!command.commands.empty()) out += "\\fICOMMAND\\fR\n";
}

void add_option(const OptionText& option, std::string& out) {
  out += ".TP\n";
  std::string head;
  for (const std::string& name : option.names)
    head += (head.empty() ? "" : ", ") + fmt::format("\\fB{}\\fR", roff(name));
  if (head.empty()) head = fmt::format("\\fI{}\\fR", roff(option.positional));
  if (!option.flag() && !option.names.empty()) head += fmt::format(" \\fI{}\\fR", roff(value_word(option)));
  out += head + "\n" + roff(option.full_about()) + "\n";
}

void add_options(const CommandText& command, std::string& out) {
  for (const bool positional : {true, false}) {
    bool any = false;
    for (const OptionText& option : command.options) {
      if (option.names.empty() != positional) continue;
      if (!any) out += positional ? ".SH ARGUMENTS\n" : ".SH OPTIONS\n";
      any = true;
      add_option(option, out);
    }
  }
}

void add_notes(const CommandText& command, std::string& out) {
  constexpr std::string_view kExit = "Exit code: ";
  for (const std::string& note : command.notes) {
    const bool exit_code = note.starts_with(kExit);
    out += fmt::format(".SH {}\n{}\n", exit_code ? "EXIT STATUS" : "NOTES",
                       roff(exit_code ? std::string_view(note).substr(kExit.size()) : std::string_view(note)));
  }
}

/// Common text for all commands, on the page of the program.
constexpr const char* kSurroundings = R"(.SH ENVIRONMENT
.TP
\fBBERTH_DATA\fR
A folder with \fIworkloads\fR and \fIdatasets\fR, or a checkout of berth.
Named workloads and their data are looked up at the path given, in the checkout that the current folder is in, in this
folder, and in what was installed.
.TP
\fBBERTH_CHART_JS\fR
The file \fIchart.min.js\fR of Chart.js that \fB\-\-html\fR puts into pages; Debian's libjs\-chart.js when not set.
)";

}  // namespace

std::string page_name(const CommandText& command) {
  std::string out = "berth" + (command.words.empty() ? "" : "-" + command.words);
  std::replace(out.begin(), out.end(), ' ', '-');
  return out;
}

std::string man_page(const CommandText& command) {
  const std::string name = page_name(command);
  std::string title = name;
  std::transform(title.begin(), title.end(), title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? c - 32 : c; });
  std::string about = command.about;
  if (about.starts_with("berth: ")) about.erase(0, 7);
  std::string out = fmt::format(".TH {} 1 \"\" \"berth {}\" \"User commands\"\n.SH NAME\n{} \\- {}\n", roff(title),
                                base::build_info().version, roff(name), roff(about));
  add_synopsis(command, out);
  add_options(command, out);
  if (!command.commands.empty()) out += ".SH COMMANDS\n";
  for (const CommandText& below : command.commands)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(below.words), roff(below.about));
  add_notes(command, out);
  if (!command.examples.empty()) out += ".SH EXAMPLES\n.nf\n";
  for (const std::string& example : command.examples) out += roff(example) + "\n";
  if (!command.examples.empty()) out += ".fi\n";
  const bool whole = command.words.empty();
  if (whole) out += kSurroundings;
  out += ".SH SEE ALSO\n";
  std::vector<std::string> others;
  if (!whole) others.push_back("berth");
  for (const CommandText& other : command.commands) others.push_back(page_name(other));
  for (const std::string& other : others)
    out += fmt::format(".BR {} (1){}\n", roff(other), other == others.back() ? "" : ",");
  return out;
}

}  // namespace berth::cli
