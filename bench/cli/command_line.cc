#include "cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "base/text.h"
#include "cli/commands.h"
#include "run/report.h"

namespace berth::cli {
namespace {

/// CLI11's text of a number, "1e+06", as "1,000,000"; other texts unchanged.
std::string with_commas(const std::string& text) {
  const auto number = base::parse_double(text);
  return number && *number >= 1e4 && *number < 1e15 ? run::grouped(static_cast<std::int64_t>(*number)) : text;
}

/// "TEXT:{free,deterministic}" is a type and the list of allowed values.
void read_type(std::string type, OptionText& out) {
  const std::size_t open = type.find(":{");
  if (open != std::string::npos && type.ends_with('}')) {
    std::stringstream list(type.substr(open + 2, type.size() - open - 3));
    for (std::string one; std::getline(list, one, ',');) out.values.push_back(one);
    type.resize(open);
  }
  // "INT JOBS:INT in [1 - 1024]" has a range; the check in "INT:NONNEGATIVE" is not shown.
  constexpr std::string_view kIn = " in [", kTo = " - ";
  if (const std::size_t in = type.find(kIn); in != std::string::npos) {
    const std::size_t least = in + kIn.size(), to = type.find(kTo, least), most = to + kTo.size();
    out.range =
        with_commas(type.substr(least, to - least)) + " to " + with_commas(type.substr(most, type.size() - 1 - most));
  }
  type.resize(std::min(type.find(':'), type.size()));
  for (const auto& [number, word] :
       {std::pair<std::string_view, const char*>{"INT", "N"}, {"UINT", "N"}, {"FLOAT", "X"}})
    if (type == number)
      type = word;
    else if (type.starts_with(std::string(number) + " "))
      type.erase(0, number.size() + 1);
  out.value = type;
}

constexpr const char* kExamples = "Examples:";

}  // namespace

bool OptionText::takes_path() const {
  if (flag() || !values.empty()) return false;
  return !positional.empty() || value == "FILE" || value == "FOLDER" || value == "PREFIX" || value == "COMMAND";
}

std::string OptionText::words() const {
  if (positional == "workload" || value.starts_with("WORKLOAD")) return "workloads";
  if (value == "LABEL") return "labels";
  if (value.starts_with("STRATEGY")) return "strategies";
  if (value.starts_with("POLICY")) return "queues";
  return value.starts_with("RULE") ? "rules" : "";
}

std::string OptionText::full_about() const {
  std::vector<std::string> more;
  if (!range.empty()) more.push_back(range);
  if (!initial.empty()) more.push_back("default: " + with_commas(initial));
  if (required && !names.empty()) more.push_back("required");
  if (repeats && !names.empty() && !takes_list()) more.push_back("repeatable");
  if (more.empty()) return about;
  // "text (default: 1)" with a range becomes "text (default: 1; 1 to 1,024)".
  const bool has_default = about.ends_with(')') && about.find(" (default: ") == about.rfind(" (");
  return fmt::format("{}{}{})", has_default ? about.substr(0, about.size() - 1) : about, has_default ? "; " : " (",
                     fmt::join(more, "; "));
}

OptionText option_text(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (option.get_positional()) out.positional = option.get_name(true, false);
  if (option.get_items_expected_max() > 0 && option.get_type_size_max() > 0) {
    read_type(option.get_type_name(), out);
    if (out.value.empty()) out.value = "TEXT";
  }
  out.initial = option.get_default_str();
  if (out.initial.starts_with('[') && out.initial.ends_with(']'))  // a list
    out.initial = out.initial.substr(1, out.initial.size() - 2);
  out.about = option.get_description();
  out.required = option.get_required();
  out.repeats = option.get_items_expected_max() > 1;
  return out;
}

void add_examples(CLI::App& command, const std::vector<std::string>& examples) {
  std::string footer = command.get_footer();
  footer += std::string(footer.empty() ? "" : "\n\n") + kExamples;
  for (const std::string& example : examples) footer += "\n  " + example;
  command.footer(footer);
}

CommandText command_text(const CLI::App& app, const std::string& words) {
  CommandText out;
  out.words = words;
  out.about = app.get_description();
  std::stringstream notes(app.get_footer());
  for (std::string line; std::getline(notes, line);)
    if (line.starts_with("  "))
      out.examples.push_back(line.substr(2));
    else if (!line.empty() && line != kExamples)
      out.notes.push_back(line);
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    out.options.push_back(option_text(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    out.commands.push_back(command_text(*below, (words.empty() ? "" : words + " ") + below->get_name()));
  return out;
}

}  // namespace berth::cli
