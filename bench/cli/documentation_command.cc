// `berth completion` and `berth man`: the help texts as a script for a shell and as man pages.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/output.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

/// The command of that name at or below `command`; null when there is none.
const CommandText* find_command(const CommandText& command, const std::string& words) {
  if (command.words == words) return &command;
  for (const CommandText& below : command.commands)
    if (const CommandText* found = find_command(below, words)) return found;
  return nullptr;
}

Result<void> write_pages(const CommandText& command, const fs::path& folder) {
  if (auto done = io::write_output((folder / (page_name(command) + ".1")).string(), man_page(command)); !done)
    return done;
  for (const CommandText& below : command.commands)
    if (auto done = write_pages(below, folder); !done) return done;
  return {};
}

int print_man(const CommandText& program, const std::vector<std::string>& words, const std::string& folder) {
  if (!folder.empty()) {
    const auto done = write_pages(program, folder);
    return done ? 0 : report_error(done.error(), 1);
  }
  std::string name;
  for (const std::string& word : words) name += (name.empty() ? "" : " ") + word;
  const CommandText* command = find_command(program, name);
  if (!command)
    return report_error(InputError{"man", "", "there is no command '" + name + "'", "see `berth --help`"}, 2);
  print_raw(man_page(*command));
  return 0;
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  CLI::App* command =
      app.add_subcommand("completion", "print the script that completes commands and options in a shell");
  auto shell = std::make_shared<std::string>();
  command->add_option("shell", *shell, "bash, zsh or fish")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer(
      "For the running shell: source <(berth completion bash). Installed packages include the scripts.\n"
      "Exit code: 0 fine, 2 usage.");
  command->callback([&app, &exit_code, shell] {
    print_raw(completion_script(command_text(app), *shell));
    exit_code = 0;
  });
}

void add_man(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::vector<std::string> words;
    std::string folder;
  };
  CLI::App* command = app.add_subcommand("man", "print the man page of a command, or write all of them");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("command", arguments->words, "the command's words, e.g. gate record; none: berth itself");
  command->add_option("--into", arguments->folder, "write all pages into this folder");
  command->footer("To read one: berth man run | man -l -\nExit code: 0 fine, 1 berth failed, 2 usage.");
  command->callback(
      [&app, &exit_code, arguments] { exit_code = print_man(command_text(app), arguments->words, arguments->folder); });
}

}  // namespace berth::cli
