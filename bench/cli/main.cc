// Common to all commands: exit codes, numbers, limits of input.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "base/build_info.h"
#include "base/edit_distance.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/terminal.h"
#include "cli/whole_program.h"
#include "io/files.h"

namespace {

void set_read_limit(const std::string& text) {
  const auto bytes = berth::io::parse_size(text);
  if (!bytes) throw CLI::ValidationError("--max-input", "'" + text + "' is no size; write e.g. 500M or 4G");
  berth::io::set_read_limit(*bytes);
}

/// "" or the error in the text of a number. CLI11 would accept -1 as 2^64 - 1, 99999999999999999999 as the largest
/// number, 010 as 8 and inf as a time.
std::string number_problem(const std::string& type, const std::string& text) {
  const auto refused = [&](const char* what) { return fmt::format("'{}' {}", berth::base::shown(text), what); };
  if (type.starts_with("UINT") && text.starts_with('-')) return refused("cannot be negative");
  if (type.starts_with("UINT") && !berth::base::parse_uint64(text))
    return refused("is no whole number from 0 to 18446744073709551615");
  if (type.starts_with("INT") && !berth::base::parse_int64(text))
    return refused("is no whole number from -9223372036854775808 to 9223372036854775807");
  const auto number = berth::base::parse_double(text);
  if (!number || !std::isfinite(*number)) return refused("is no number");
  if (*number < 0 && type.ends_with(":NONNEGATIVE")) return refused("cannot be negative");
  return *number <= 0 && type.ends_with(":POSITIVE") ? refused("is not above 0") : "";
}

/// For all options: each occurrence takes one value, so that a positional may follow it. Numbers must be numbers, and
/// no value may be empty, as from a script with an unset variable.
void check_values(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (option->get_items_expected_max() == 0 || option->get_type_size_max() == 0) continue;  // a flag
    if (!option->get_positional()) option->allow_extra_args(false);
    option->transform(CLI::Validator(
        [](std::string& text) {
          return text.empty() ? "the value is empty; write one, or leave the option out" : std::string();
        },
        ""));
    if (!type.starts_with("UINT") && !type.starts_with("INT") && !type.starts_with("FLOAT")) continue;
    // Before the range check, which would use CLI11's wrong number.
    option->transform(CLI::Validator([type](std::string& text) { return number_problem(type, text); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) check_values(*command);
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> out;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); }))
    out.push_back(command->get_name());
  return out;
}

/// The innermost given command, and its words: "berth gate record".
std::pair<const CLI::App*, std::string> named_command(const CLI::App& app) {
  const CLI::App* command = &app;
  std::string words = app.get_name();
  while (!command->get_subcommands().empty()) {
    command = command->get_subcommands().front();
    words += " " + command->get_name();
  }
  return {command, words};
}

/// Error for words that no command or option accepts: one line with the nearest name.
int unexpected_words(const CLI::App& app) {
  const auto [command, words] = named_command(app);
  const std::vector<std::string> left = app.remaining(true);
  std::string word = left.empty() ? "" : left.front();
  const bool is_option = word.starts_with('-');
  std::vector<std::string> names;
  if (is_option) {
    word.resize(std::min(word.find('='), word.size()));
    for (const CLI::App* one = command; one; one = one->get_parent())
      for (const CLI::Option* option : one->get_options())
        for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  } else {
    names = command_names(*command);
  }
  return berth::cli::report_error(
      {words, "",
       fmt::format("{} '{}'", is_option ? "there is no option" : "does not expect", berth::base::shown(word)),
       fmt::format("{}`{} --help` lists what there is", berth::base::did_you_mean(word, names), words)},
      2);
}

/// Error for words that CLI11 refuses: one line with the nearest valid value.
int refused_words(const CLI::App& app, const CLI::ParseError& error) {
  const auto [command, words] = named_command(app);
  const std::vector<std::string> left = app.remaining(true);
  // After a mistyped option, a missing one is only a consequence.
  if (!left.empty() && left.front().starts_with('-')) return unexpected_words(app);
  std::string problem = error.what();
  // "--set: 1 required NAME=VALUE missing"
  if (const std::size_t count = problem.find(" 1 required ");
      count != std::string::npos && problem.ends_with(" missing"))
    problem.replace(count, std::string::npos, " needs a value");
  std::vector<std::string> values;
  std::string value;
  constexpr std::string_view kNotIn = " not in {";
  const std::size_t list = problem.find(kNotIn), from = problem.find(": ");
  if (list != std::string::npos && from < list && problem.ends_with('}')) {
    value = problem.substr(from + 2, list - from - 2);
    const std::size_t begin = list + kNotIn.size();
    for (const std::string_view name :
         berth::base::split(std::string_view(problem).substr(begin, problem.size() - begin - 1), ','))
      values.emplace_back(name);
  }
  return berth::cli::report_error(
      {words, "", berth::base::printable(problem, false),
       fmt::format("{}`{} --help` lists what there is", berth::base::did_you_mean(value, values), words)},
      2);
}

/// Converts `berth help gate record` to `berth gate record --help`, and `berth version` to `berth --version`.
std::vector<std::string> plain_words(std::vector<std::string> words) {
  if (words.empty()) return words;
  if (words.front() == "version") words.front() = "--version";
  if (words.front() != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

void add_colour(CLI::App& app) {
  app.add_option_function<std::string>(
         "--color",
         [](const std::string& when) {
           using berth::cli::ColourChoice;
           berth::cli::choose_colours(when == "always"  ? ColourChoice::always
                                      : when == "never" ? ColourChoice::never
                                                        : ColourChoice::automatic);
         },
         "colour warnings, differences and verdicts; auto: on a terminal, unless NO_COLOR is set (default: auto)")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->trigger_on_parse();
}

}  // namespace

int main(int argc, char** argv) {
  berth::cli::begin_program();
  CLI::App app("berth: Nomad's scheduling semantics as an in-process engine, and a benchmark", "berth");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.formatter(berth::cli::plain_help());  // inherited by the commands
  app.require_subcommand(1);
  app.set_version_flag("--version", berth::base::version_text(),
                       "print version, commit, compiler and instruction sets (ISA)");
  app.add_option_function<std::string>(
         "--max-input", set_read_limit,
         "largest size of an input file, also once unpacked, e.g. 500M or 4G (default: 1G)")
      ->type_name("SIZE")
      ->trigger_on_parse();
  add_colour(app);
  int exit_code = 0;
  berth::cli::add_run(app, exit_code);
  berth::cli::add_sweep(app, exit_code);
  berth::cli::add_profile(app, exit_code);
  berth::cli::add_load(app, exit_code);
  berth::cli::add_compare(app, exit_code);
  berth::cli::add_gate(app, exit_code);
  berth::cli::add_record(app, exit_code);
  berth::cli::add_replay(app, exit_code);
  berth::cli::add_report(app, exit_code);
  berth::cli::add_conform(app, exit_code);
  berth::cli::add_import(app, exit_code);
  berth::cli::add_trace(app, exit_code);
  berth::cli::add_plan(app, exit_code);
  berth::cli::add_whatif(app, exit_code);
  berth::cli::add_capacity(app, exit_code);
  berth::cli::add_diff(app, exit_code);
  berth::cli::add_rebalance(app, exit_code);
  berth::cli::add_serve(app, exit_code);
  berth::cli::add_completion(app, exit_code);
  berth::cli::add_man(app, exit_code);
  check_values(app);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  app.footer("`berth help COMMAND` is `berth COMMAND --help`; `berth version` is `berth --version`.");
  std::vector<std::string> words = plain_words({argv + 1, argv + argc});
  if (!words.empty() && !words.front().starts_with('-')) {
    std::vector<std::string> names = command_names(app);
    names.insert(names.end(), {"help", "version"});
    if (std::find(names.begin(), names.end(), words.front()) == names.end())
      return berth::cli::report_error(
          {"berth", "", fmt::format("there is no command '{}'", berth::base::shown(words.front())),
           berth::base::did_you_mean(words.front(), names) + "see `berth --help`"},
          2);
  }
  try {
    std::reverse(words.begin(), words.end());  // CLI11 expects them reversed
    app.parse(std::move(words));
  } catch (const CLI::ExtrasError&) {
    exit_code = unexpected_words(app);
  } catch (const CLI::ParseError& error) {
    errno = 0;
    exit_code = error.get_exit_code() == 0 ? app.exit(error) : refused_words(app, error);
    berth::cli::note_text_error();
  } catch (const std::exception& error) {
    exit_code = berth::cli::failed(error);
  }
  return berth::cli::end_text(exit_code);
}
