#include "cli/command_line.h"

#include <sstream>

namespace berth::cli {
namespace {

/// "TEXT:{free,deterministic}" is a type and the list of allowed values.
void read_type(std::string type, OptionText& out) {
  const std::size_t open = type.find(":{");
  if (open != std::string::npos && type.ends_with('}')) {
    std::stringstream list(type.substr(open + 2, type.size() - open - 3));
    for (std::string one; std::getline(list, one, ',');) out.values.push_back(one);
    type.resize(open);
  }
  // "INT:INT in [1 - 1024]" repeats the type; "INT:NONNEGATIVE" contains a check that the description does not need.
  if (const std::size_t check = type.find(':'); check != std::string::npos) {
    const bool twice = type.compare(check + 1, check, type, 0, check) == 0;
    type = twice ? type.substr(check + 1) : type.substr(0, check);
  }
  out.value = type;
}

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
  out.about = option.get_description();
  out.required = option.get_required();
  out.repeats = option.get_items_expected_max() > 1;
  return out;
}

CommandText command_text(const CLI::App& app, const std::string& words) {
  CommandText out;
  out.words = words;
  out.about = app.get_description();
  std::stringstream notes(app.get_footer());
  for (std::string line; std::getline(notes, line);)
    if (!line.empty()) out.notes.push_back(line);
  for (const CLI::Option* option : app.get_options([](const CLI::Option* one) { return !one->get_group().empty(); }))
    out.options.push_back(option_text(*option));
  for (const CLI::App* below : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    out.commands.push_back(command_text(*below, (words.empty() ? "" : words + " ") + below->get_name()));
  return out;
}

}  // namespace berth::cli
