// `berth completion` and `berth man`: the help texts as a script for a shell and as man pages.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>

#include "base/edit_distance.h"
#include "base/text.h"
#include "berth/preemption.h"
#include "berth/queue.h"
#include "berth/strategy.h"
#include "cli/command_line.h"
#include "cli/commands.h"
#include "cli/common.h"
#include "cli/outputs.h"
#include "io/output.h"
#include "model/job.h"
#include "sim/datasets.h"
#include "sim/workload.h"

namespace berth::cli {
namespace {

namespace fs = std::filesystem;

/// The command of that name at or below `command`; null if there is none.
const CommandText* find_command(const CommandText& command, const std::string& words) {
  if (command.words == words) return &command;
  for (const CommandText& below : command.commands)
    if (const CommandText* found = find_command(below, words)) return found;
  return nullptr;
}

void note_names(const CommandText& command, std::vector<std::string>& out) {
  if (!command.words.empty()) out.push_back(command.words);
  for (const CommandText& below : command.commands) note_names(below, out);
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
  if (!command) {
    std::vector<std::string> names;
    note_names(program, names);
    return report_error(InputError{"berth man", "", fmt::format("there is no command '{}'", base::shown(name)),
                                   base::did_you_mean(name, names) + "see `berth --help`"},
                        2);
  }
  print_raw(man_page(*command));
  return 0;
}

/// The workloads named in `line`, or all.
std::vector<std::string> workload_paths(const std::string& line) {
  std::vector<std::string> all = sim::workload_files(), named;
  std::stringstream words(line);
  for (std::string word; words >> word;)
    for (const std::string& path : all)
      if (fs::path(path).stem() == word) named.push_back(path);
  return named.empty() ? all : named;
}

std::vector<std::string> completion_words(const std::string& kind, const std::string& line) {
  std::vector<std::string> out;
  if (kind == "strategies")
    for (const strategy::StrategyInfo* info : strategy::registry().all()) out.push_back(info->name);
  if (kind == "rules")
    for (const strategy::PreemptionInfo* info : strategy::preemption_registry().all()) out.push_back(info->name);
  if (kind == "queues")
    for (const strategy::QueueInfo* info : strategy::queue_registry().all()) out.push_back(info->name);
  if (kind == "workloads") {
    out = {"nomad-others", "peers"};
    for (const std::string& path : sim::workload_files()) out.push_back(fs::path(path).stem().string());
  }
  if (kind == "labels")
    for (const std::string& path : workload_paths(line))
      if (const auto workload = sim::read_workload(path))
        out.insert(out.end(), workload->labels.begin(), workload->labels.end());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

}  // namespace

void add_completion(CLI::App& app, int& exit_code) {
  struct Arguments {
    std::string shell, words, line;
  };
  CLI::App* command =
      app.add_subcommand("completion", "print the script that completes commands and options in a shell");
  auto arguments = std::make_shared<Arguments>();
  command->add_option("shell", arguments->shell, "bash, zsh or fish")->check(CLI::IsMember({"bash", "zsh", "fish"}));
  // For completion scripts: the words of a kind, for the command line so far.
  command->add_option("--words", arguments->words)->group("");
  command->add_option("--line", arguments->line)->group("");
  command->footer(
      "For the running shell: source <(berth completion bash). Installed packages include the scripts.\n"
      "Exit code: 0 fine, 2 usage.");
  command->callback([&app, &exit_code, arguments] {
    exit_code = 0;
    if (!arguments->words.empty())
      for (const std::string& word : completion_words(arguments->words, arguments->line)) print("{}\n", word);
    else if (!arguments->shell.empty())
      print_raw(completion_script(command_text(app), arguments->shell));
    else
      exit_code = report_error({"berth completion", "", "no shell was named", "name bash, zsh or fish"}, 2);
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
  command->add_option("--into", arguments->folder, "write all pages into this folder")->type_name("FOLDER");
  command->footer("To read one: berth man run | man -l -\nExit code: 0 fine, 1 berth failed, 2 usage.");
  command->callback(
      [&app, &exit_code, arguments] { exit_code = print_man(command_text(app), arguments->words, arguments->folder); });
}

}  // namespace berth::cli
