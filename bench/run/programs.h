// Runs programs: pinned to cores, ended if they take too long.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"

namespace berth::run {

struct ProgramOptions {
  std::string folder;          ///< current folder of the process; "": the caller's
  std::string log;             ///< file for its standard output and error; "": dropped
  bool errors = true;          ///< false: its standard error is dropped
  double timeout_seconds = 0;  ///< 0: none
  std::size_t cores = 0;       ///< pin to the last `cores` cores of this process; 0: all
};

struct ProgramEnd {
  int exit_code = 0;  ///< -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  [[nodiscard]] bool fine() const { return exit_code == 0 && signal == 0 && !timed_out; }
  [[nodiscard]] std::string words()
      const;  ///< "ended with exit code 2", "was killed by signal 11 (Segmentation fault)"
};

/// Runs `arguments[0]` (found in PATH if it has no '/') to its end, in a new process group. It is killed when this
/// process ends, even by SIGKILL. Errors: no such program; a signal came meanwhile (run::interrupted()), and the group
/// is ended.
[[nodiscard]] Result<ProgramEnd> run_program(const std::vector<std::string>& arguments, const ProgramOptions& options);

/// The same, with standard output and error as text, without trailing white space.
struct Captured {
  ProgramEnd end;
  std::string text;
};
[[nodiscard]] Result<Captured> capture(const std::vector<std::string>& arguments, const std::string& folder = "");

/// Splits a command into words like a shell: at white space, with quotes and backslash. Errors: an open quote.
[[nodiscard]] Result<std::vector<std::string>> split_shell_words(const std::string& command);

/// The last non-empty line of a text, at most 200 bytes of it.
[[nodiscard]] std::string last_line(const std::string& text);

/// A file with a unique name for a process's output, removed with the object.
class TemporaryFile {
 public:
  TemporaryFile();
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace berth::run
