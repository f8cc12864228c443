// Output of commands: files, which are checked before the work, and text. One writer for all commands; io/output.h
// writes files.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"

namespace berth::cli {

/// Prints text for users: to standard output, or to standard error if a file is written to standard output. Escapes
/// control characters. A full disk is detected in end_text(), not here.
void print_text(std::string_view text);
/// Prints the text of a plan, with added, deleted and edited lines coloured on a terminal.
void print_diff(std::string_view text);
/// Prints text for programs unchanged; JSON is already escaped.
void print_raw(std::string_view text);
template <class... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  print_text(fmt::format(format, std::forward<T>(arguments)...));
}

/// Prints a line on standard error. If that fails it is lost, because an error message would be too.
void say_line(const std::string& line);
/// Prints the error as one line on standard error and returns `exit_code`.
int report_error(const InputError& error, int exit_code);

/// To be called after other code wrote to standard output: notes the error in errno, which must have been 0 before.
void note_text_error();
/// At the end of the program: checks that everything reached standard output. If not, reports that and returns 1 (or
/// the set failure code) instead of `exit_code`.
[[nodiscard]] int end_text(int exit_code);
/// Sets the exit code for "berth failed" instead of 1.
void set_failure_code(int code);

class Outputs {
 public:
  /// Adds a file that is read; "" = none.
  void input(const std::string& path);
  /// Adds a file to write, with its option; "" = none.
  void output(const char* option, const std::string& path);

  /// Errors: an output cannot be written, is an input, or is named twice.
  [[nodiscard]] Result<void> check() const;

  /// Writes a file. Returns 0, or 1 after reporting the error. No effect if `path` is "".
  [[nodiscard]] static int write(const std::string& path, std::string_view content);

 private:
  struct File {
    std::string option, path;
  };
  std::vector<File> outputs_;
  std::vector<std::string> inputs_;
};

}  // namespace berth::cli
