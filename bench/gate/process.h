// Runs processes: pinned to cores, ended if they take too long. Each repetition is a new process.
#pragma once

#include <string>
#include <vector>

#include "gate/failure.h"

namespace berth::gate {

struct ProcessOptions {
  std::string folder;          ///< current folder of the process; "": the caller's
  std::string log;             ///< file for its standard output and error; "": dropped
  bool errors = true;          ///< false: its standard error is dropped
  double timeout_seconds = 0;  ///< 0: none
  std::size_t cores = 0;       ///< pin to the last `cores` cores of this process; 0: all
};

struct ProcessEnd {
  int exit_code = 0;  ///< -1 if a signal ended it
  int signal = 0;
  bool timed_out = false;
  [[nodiscard]] bool fine() const { return exit_code == 0 && signal == 0 && !timed_out; }
  [[nodiscard]] std::string words()
      const;  ///< "ended with exit code 2", "was killed by signal 11 (Segmentation fault)"
};

/// Runs `arguments[0]` (found in PATH if it has no '/') to its end, in a new process group. It is killed when this
/// process ends, even by SIGKILL. Errors: no such program (kUsage); a signal came meanwhile: the group is ended
/// (kInconclusive).
[[nodiscard]] Outcome<ProcessEnd> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options);

/// The same, with standard output and error as text, without trailing white space.
struct Captured {
  ProcessEnd end;
  std::string text;
};
[[nodiscard]] Outcome<Captured> capture(const std::vector<std::string>& arguments, const std::string& folder = "");

/// Splits a command into words like a shell: at white space, with quotes and backslash. Errors: an open quote.
[[nodiscard]] Outcome<std::vector<std::string>> split_shell_words(const std::string& command);

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

}  // namespace berth::gate
