// A run of a study: its task and its record. Plain values; a task gives the same decisions on every machine and at any
// time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/retained_json.h"
#include "run/runner.h"
#include "sim/changes.h"
#include "store/record.h"

namespace berth::study {

struct Task {
  std::string workload;  ///< path of the file
  std::string label = "full";
  std::vector<sim::Change> changes;
  std::int64_t repetition = 0;
};

/// Reads the workload and the choices of a comparison, if any. Returns the files read. Errors: invalid keys.
[[nodiscard]] Result<std::vector<std::string>> check_task(const Task& task);

/// Computes keys of tasks, 32 hex digits from the content of the workload's file and of the files it names, label,
/// changes, repetition, and the commit of berth. Number and paths do not matter. Reads files once.
class TaskKeys {
 public:
  [[nodiscard]] Result<std::string> of(const Task& task);

 private:
  /// Digest of a workload's file and of the files it names.
  [[nodiscard]] Result<std::string> content_of(const Task& task);
  std::map<std::string, std::string> contents_;  // by path, label and changes of files
};

using store::Record;

/// The record of a run of this process.
[[nodiscard]] Record record_of(const Task& task, const run::RunResult& result, const json::Value& report);

/// Reads the workload and runs it here, like `berth run` or, with keys `compare.*`, like `berth compare`. Errors are
/// stored in the record.
[[nodiscard]] Record run_task(const Task& task, const run::RunOptions& options);

/// The record for a run without result.
[[nodiscard]] Record failed_record(const Task& task, std::string message);

}  // namespace berth::study
