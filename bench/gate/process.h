// One repetition is one process: started afresh, pinned to cores, ended when it takes too long.
#pragma once

#include <string>
#include <vector>

#include "gate/failure.h"

namespace berth::gate {

struct ProcessOptions {
  std::string folder;          ///< current folder of the process; "": as here
  std::string log;             ///< takes its standard output and error; ""  drops them
  bool errors = true;          ///< false: its standard error is dropped
  double timeout_seconds = 0;  ///< 0: none
  std::size_t cores = 0;       ///< pins it to so many of the cores this process may use, the last ones; 0: all
};

struct ProcessEnd {
  int exit_code = 0;  ///< -1 when a signal ended it
  int signal = 0;
  bool timed_out = false;
  [[nodiscard]] bool fine() const { return exit_code == 0 && signal == 0 && !timed_out; }
  [[nodiscard]] std::string words()
      const;  ///< "ended with exit code 2", "was killed by signal 11 (Segmentation fault)"
};

/// Runs `arguments[0]` (found in PATH when it has no '/') to its end, in a process group of its own. It is killed when
/// this process ends, even by SIGKILL. Errors: there is no such program (kUsage); a signal came meanwhile: the group is
/// ended (kInconclusive).
[[nodiscard]] Outcome<ProcessEnd> run_process(const std::vector<std::string>& arguments, const ProcessOptions& options);

/// The same, and its standard output and error as text, without trailing white space.
struct Captured {
  ProcessEnd end;
  std::string text;
};
[[nodiscard]] Outcome<Captured> capture(const std::vector<std::string>& arguments, const std::string& folder = "");

/// Words of a command as a shell reads them: white space separates, quotes and backslash keep. Errors: an open quote.
[[nodiscard]] Outcome<std::vector<std::string>> words_of(const std::string& command);

/// The last line of a text that is not empty, at most 200 bytes of it.
[[nodiscard]] std::string last_line(const std::string& text);

/// A file of a name of its own that ends with the object; for what a process writes.
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
