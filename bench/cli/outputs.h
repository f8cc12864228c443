// What a command writes: its files, found out before the work whether they can be written, and its text. One writer for
// all commands; how a file is written is io/output.h.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"

namespace berth::cli {

/// Text for people: to standard output, or to standard error where a file is written to standard output. Control
/// characters of names are escaped. A full disk is not noticed here but in end_text().
void print_text(std::string_view text);
/// The text of a plan: its added, deleted and edited lines are coloured on a terminal.
void print_diff(std::string_view text);
/// Text for programs, as it is: JSON escapes by itself.
void print_raw(std::string_view text);
template <class... T>
void print(fmt::format_string<T...> format, T&&... arguments) {
  print_text(fmt::format(format, std::forward<T>(arguments)...));
}

/// A line on standard error. One that cannot be written is lost: an error about it would be, too.
void say_line(const std::string& line);
/// Prints the error as one line on standard error and returns `exit_code`.
int report_error(const InputError& error, int exit_code);

/// After others wrote to standard output: keeps the reason while it is known. `errno` was 0 before.
void note_text_error();
/// At the end of the program: whether everything reached standard output. If not, that is told, and the exit code is 1
/// (or what was set) instead of `exit_code`.
[[nodiscard]] int end_text(int exit_code);
/// What stands for "berth failed" instead of 1.
void set_failure_code(int code);

class Outputs {
 public:
  /// A file that is read; "" = none.
  void input(const std::string& path);
  /// A file to write, by which option; "" = none.
  void output(const char* option, const std::string& path);

  /// Errors: an output cannot be written, is an input, or is named twice.
  [[nodiscard]] Result<void> check() const;

  /// Exit code: 0, or 1 with the error told. Nothing where `path` is "".
  [[nodiscard]] static int write(const std::string& path, std::string_view content);

 private:
  struct File {
    std::string option, path;
  };
  std::vector<File> outputs_;
  std::vector<std::string> inputs_;
};

}  // namespace berth::cli
