// A run of a study: its task and its record. Plain values; a task gives the same decisions on every machine and at any
// time.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "run/runner.h"
#include "sim/changes.h"

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

struct Record {
  std::string key;
  std::string workload, label;  ///< the workload's name
  std::vector<sim::Change> changes;
  std::int64_t repetition = 0;
  std::string status =
      "failed";         ///< "ok"; "partial": stopped before its end; "differs": not Nomad's decisions; "failed"
  std::string message;  ///< reason, if not "ok"
  std::string digest;   ///< of its decisions
  std::string commit, build, machine;                   ///< "GNU 12.2.0 Release"; "AMD EPYC, 2 cores, ISA path AVX3"
  double started = 0, seconds = 0;                      ///< unix time; length of set-up and replay
  std::vector<std::pair<std::string, double>> results;  ///< measures of this workload, by name
  double processor_s = 0;                               ///< processor time of set-up and replay; not stored

  [[nodiscard]] double value(const std::string& name) const;  ///< NaN if there is none
  [[nodiscard]] bool counts() const { return status == "ok" || status == "differs"; }
};

/// The record of a run of this process.
[[nodiscard]] Record record_of(const Task& task, const run::RunResult& result, const json::Value& report);

/// Reads the workload and runs it here, like `berth run` or, with keys `compare.*`, like `berth compare`. Errors are
/// stored in the record.
[[nodiscard]] Record run_task(const Task& task, const run::RunOptions& options);

/// The record for a run without result.
[[nodiscard]] Record failed_record(const Task& task, std::string message);

inline constexpr int kRecordVersion = 1;
[[nodiscard]] json::Value to_json(const Record& record);
/// Errors name `path`: no JSON, no or another format or version, incomplete.
[[nodiscard]] Result<Record> parse_record(std::string_view text, const std::string& path);

}  // namespace berth::study
