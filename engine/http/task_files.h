// The files of a simulated allocation: the folders made by a client, and the output of its tasks (R-STORE-350 to 360).
//
//   /alloc/data, /alloc/logs, /alloc/tmp            shared by the tasks
//   /alloc/logs/TASK.stdout.0, TASK.stderr.0        output of a started task
//   /TASK/local, private, secrets, tmp              of one task
//
// A task of `mock_driver` writes as configured: `stdout_string`, repeated `stdout_repeat` times every
// `stdout_repeat_duration`, and the same for stderr. Any other task writes a line to stdout for each of its last ten
// events. A log is limited to the size of the task's `logs` block. Threads: any; everything is read from a snapshot.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/alloc.h"

namespace berth::http {

/// A text that may exceed memory, stored as repeated pieces.
class LongText {
 public:
  /// Appends `times` copies of `text`, up to `most` bytes in total.
  void add(std::string text, std::int64_t times, std::int64_t most);
  [[nodiscard]] std::int64_t size() const { return size_; }
  /// At most `limit` bytes from `offset` on.
  [[nodiscard]] std::string read(std::int64_t offset, std::int64_t limit) const;

 private:
  struct Part {
    std::string text;
    std::int64_t begin = 0, size = 0;
  };
  std::vector<Part> parts_;
  std::int64_t size_ = 0;
};

struct FileInfo {
  std::string name;
  bool is_folder = true;
  std::string mode = "drwxrwxrwx";
  std::int64_t size = 4096;
  std::int64_t time_ns = 0;
};

class TaskFiles {
 public:
  /// `job` of the allocation must be set. `now_ns`: virtual.
  TaskFiles(model::Allocation alloc, std::int64_t now_ns);

  [[nodiscard]] bool has_task(std::string_view task) const;
  [[nodiscard]] bool has_started(std::string_view task) const;
  /// Output of the task so far; `type` is "stdout" or "stderr".
  [[nodiscard]] LongText log(std::string_view task, std::string_view type) const;

  /// "a/b" for "/a//b/"; nullopt: the path leads out of the allocation.
  [[nodiscard]] static std::optional<std::string> clean(std::string_view path);
  // For clean paths.
  [[nodiscard]] std::optional<FileInfo> stat(const std::string& path) const;
  [[nodiscard]] std::vector<FileInfo> list(const std::string& folder) const;
  /// nullopt: not a file.
  [[nodiscard]] std::optional<LongText> content(const std::string& path) const;
  /// A path as in clients' messages.
  [[nodiscard]] std::string shown(const std::string& path) const;

 private:
  struct Log {
    std::string task, type;
  };
  [[nodiscard]] std::optional<Log> log_of(const std::string& path) const;
  [[nodiscard]] const model::TaskState* state_of(std::string_view task) const;

  const model::Allocation alloc_;
  const model::TaskGroup* group_ = nullptr;
  const std::int64_t now_ns_;
};

}  // namespace berth::http
