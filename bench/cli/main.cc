#include <cstdio>

#include "base/build_info.h"
#include "cli/commands.h"

namespace {

/// A minus sign before what is counted: CLI11 would take -1 for 2^64 - 1.
void refuse_negative_counts(CLI::App& command) {
  for (CLI::Option* option : command.get_options())
    if (option->get_type_name().starts_with("UINT"))
      option->check([](const std::string& text) {
        return text.starts_with('-') ? "cannot be negative: " + text : std::string();
      });
  for (CLI::App* sub : command.get_subcommands({})) refuse_negative_counts(*sub);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("berth: Nomad's scheduling semantics as an in-process engine, and a benchmark", "berth");
  app.require_subcommand(1);
  app.set_version_flag("--version", berth::base::version_text(), "print version, commit, compiler and ISA paths");
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
  refuse_negative_counts(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "berth: %s\n", error.what());
    return 1;
  }
  return exit_code;
}
