// The commands and options of the program as plain data, read off the parser: what man pages and shell completion are
// written from, so that they say what `--help` says.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace berth::cli {

struct OptionText {
  std::vector<std::string> names;   ///< as typed, "-o" and "--output"; empty for a positional
  std::string positional;           ///< "workload"; "" for an option
  std::string value;                ///< "TEXT", "INT in [1 - 1024]"; "" for a flag
  std::string initial;              ///< the value when it is left out, where that is told
  std::vector<std::string> values;  ///< all that may be given, where that is a list
  std::string about;
  bool required = false, repeats = false;

  [[nodiscard]] bool flag() const { return value.empty(); }
  /// True if a path may follow; positionals other than a workload are paths.
  [[nodiscard]] bool takes_path() const;
  /// What `berth completion --words` lists for this option: "workloads", "labels", "strategies" or "rules"; "" for
  /// none.
  [[nodiscard]] std::string words() const;
  [[nodiscard]] bool takes_list() const { return value.ends_with(",..."); }
};

struct CommandText {
  std::string words;  ///< what is typed after the program's name: "", "run", "gate record"
  std::string about;
  std::vector<std::string> notes;  ///< the lines below the options
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

[[nodiscard]] OptionText option_text(const CLI::Option& option);

/// Writes `--help`, in lines of at most 100 columns.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> plain_help();

/// `app` and all commands below it, without hidden options.
[[nodiscard]] CommandText command_text(const CLI::App& app, const std::string& words = "");

/// The name of a command's man page, without its section: "berth-gate-record".
[[nodiscard]] std::string page_name(const CommandText& command);

/// That page in troff; the program's names its commands, environment variables and where data is looked up.
[[nodiscard]] std::string man_page(const CommandText& command);

/// The completion script of a shell: "bash", "zsh" or "fish"; "" for another.
[[nodiscard]] std::string completion_script(const CommandText& program, const std::string& shell);

}  // namespace berth::cli
