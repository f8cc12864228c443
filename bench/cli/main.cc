// What holds for all commands: exit codes, numbers, limits of input.
#include <fmt/format.h>

#include <cerrno>
#include <cmath>
#include <exception>
#include <string_view>

#include "base/build_info.h"
#include "base/printable.h"
#include "base/text.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "cli/whole_program.h"
#include "io/files.h"

namespace {

void set_read_limit(const std::string& text) {
  const auto bytes = berth::io::parse_size(text);
  if (!bytes) throw CLI::ValidationError("--max-input", "'" + text + "' is no size; write e.g. 500M or 4G");
  berth::io::set_read_limit(*bytes);
}

/// "" or what is wrong with the text of a number: CLI11 takes -1 for 2^64 - 1, 99999999999999999999 for the greatest
/// number there is, 010 for 8 and inf for a time.
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

void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (!type.starts_with("UINT") && !type.starts_with("INT") && !type.starts_with("FLOAT")) continue;
    // Before whatever range it has: that would be held against a number which is not the one that was written.
    option->transform(CLI::Validator([type](std::string& text) { return number_problem(type, text); }, ""));
  }
  for (CLI::App* command : app.get_subcommands({})) check_numbers(*command);
}

}  // namespace

int main(int argc, char** argv) {
  berth::cli::begin_program();
  CLI::App app("berth: Nomad's scheduling semantics as an in-process engine, and a benchmark", "berth");
  app.set_help_flag("-h,--help", "print this help and exit");
  app.formatter(berth::cli::plain_help());  // which the commands inherit
  app.require_subcommand(1);
  app.set_version_flag("--version", berth::base::version_text(), "print version, commit, compiler and ISA paths");
  app.add_option_function<std::string>(
         "--max-input", set_read_limit,
         "largest size of an input file, also once unpacked, e.g. 500M or 4G (default: 1G)")
      ->trigger_on_parse();
  int exit_code = 0;
  berth::cli::add_run(app, exit_code);
  berth::cli::add_sweep(app, exit_code);
  berth::cli::add_profile(app, exit_code);
  berth::cli::add_load(app, exit_code);
  berth::cli::add_compare(app, exit_code);
  berth::cli::add_gate(app, exit_code);
  berth::cli::add_report(app, exit_code);
  berth::cli::add_conform(app, exit_code);
  berth::cli::add_import(app, exit_code);
  berth::cli::add_plan(app, exit_code);
  berth::cli::add_serve(app, exit_code);
  berth::cli::add_completion(app, exit_code);
  berth::cli::add_man(app, exit_code);
  check_numbers(app);
  for (CLI::App* command : app.get_subcommands({})) command->fallthrough();
  const std::string_view word = argc > 1 ? argv[1] : "-";
  if (!word.starts_with('-') &&
      app.get_subcommands([&](const CLI::App* one) { return one->get_name() == word; }).empty())
    return berth::cli::report_error(
        {"berth", "", fmt::format("there is no command '{}'", berth::base::shown(word)), "see `berth --help`"}, 2);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    errno = 0;
    exit_code = app.exit(error) == 0 ? 0 : 2;
    berth::cli::note_text_error();
  } catch (const std::exception& error) {
    exit_code = berth::cli::failed(error);
  }
  return berth::cli::end_text(exit_code);
}
