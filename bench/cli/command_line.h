// The commands and options of the program as plain data, taken from the parser. Man pages and shell completion are made
// from it, so that they agree with `--help`.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace berth::cli {

struct OptionText {
  std::vector<std::string> names;   ///< as typed, "-o" and "--output"; empty for a positional
  std::string positional;           ///< "workload"; "" for an option
  std::string value;                ///< "FILE", "SECONDS", "N" for a whole number without unit; "" for a flag
  std::string range;                ///< "1 to 1024"; "" if the value is not limited to a range
  std::string initial;              ///< default value, if shown
  std::vector<std::string> values;  ///< allowed values, if they are a list
  std::string about;
  bool required = false, repeats = false;

  [[nodiscard]] bool flag() const { return value.empty(); }
  /// True if a path may follow; positionals other than a workload are paths.
  [[nodiscard]] bool takes_path() const;
  /// The list of `berth completion --words` for this option: "workloads", "labels", "strategies" or "rules"; "": none.
  [[nodiscard]] std::string words() const;
  [[nodiscard]] bool takes_list() const { return value.ends_with(",..."); }
  /// The description, with range, default and whether the option is required or may be repeated.
  [[nodiscard]] std::string full_about() const;
};

struct CommandText {
  std::string words;  ///< words after the program's name: "", "run", "gate record"
  std::string about;
  std::vector<std::string> notes;  ///< the lines below the options
  std::vector<std::string> examples;
  std::vector<OptionText> options;
  std::vector<CommandText> commands;
};

/// Reads CLI11's type name. For a number it is `INT`, `UINT` or `FLOAT`, and then the unit if there is one: "FLOAT
/// SECONDS".
[[nodiscard]] OptionText option_text(const CLI::Option& option);

/// Writes `--help`, in lines of at most 100 columns.
[[nodiscard]] std::shared_ptr<CLI::FormatterBase> plain_help();

/// `app` and all its subcommands, without hidden options.
[[nodiscard]] CommandText command_text(const CLI::App& app, const std::string& words = "");

/// The name of a command's man page, without its section: "berth-gate-record".
[[nodiscard]] std::string page_name(const CommandText& command);

/// That page in troff. The program's page also lists commands, environment variables and search paths of data.
[[nodiscard]] std::string man_page(const CommandText& command);

/// The completion script of a shell: "bash", "zsh" or "fish"; "" for others.
[[nodiscard]] std::string completion_script(const CommandText& program, const std::string& shell);

}  // namespace berth::cli
