// One run of a study: what it is, and what came of it. Plain values; the same task gives the same decisions wherever
// and whenever it is run.
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
  std::string workload;  ///< path of its file
  std::string label = "full";
  std::vector<sim::Change> changes;
  std::int64_t repetition = 0;
};

/// Reads the workload, and the choices of a comparison where there are any. Returns the files that
/// it reads. Errors: either refuses its keys.
[[nodiscard]] Result<std::vector<std::string>> check_task(const Task& task);

/// What tells a task from others, in 32 hex digits: the content of the workload's file and of the files it names,
/// label, changes, repetition, and the commit of berth. Not its number, nor where files are. Files are read once.
class TaskKeys {
 public:
  [[nodiscard]] Result<std::string> of(const Task& task);

 private:
  /// Digest of a workload's file and of what it names.
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
  std::string message;  ///< of what is not ok
  std::string digest;   ///< of its decisions
  std::string commit, build, machine;                   ///< "GNU 12.2.0 Release"; "AMD EPYC, 2 cores, ISA path AVX3"
  double started = 0, seconds = 0;                      ///< unix; set-up and replay
  std::vector<std::pair<std::string, double>> results;  ///< measures that this workload has, by name
  double processor_s = 0;                               ///< processor time of set-up and replay; not kept

  [[nodiscard]] double value(const std::string& name) const;  ///< NaN where there is none
  [[nodiscard]] bool counts() const { return status == "ok" || status == "differs"; }
};

/// What came of a run that this process made.
[[nodiscard]] Record record_of(const Task& task, const run::RunResult& result, const json::Value& report);

/// Reads the workload and runs it here, as `berth run` or, with keys `compare.*`, as `berth compare` does. What goes
/// wrong is in the record.
[[nodiscard]] Record run_task(const Task& task, const run::RunOptions& options);

/// The record of a run that left none.
[[nodiscard]] Record failed_record(const Task& task, std::string message);

inline constexpr int kRecordVersion = 1;
[[nodiscard]] json::Value to_json(const Record& record);
/// Errors name `path`: no JSON, of no or of another format or version, incomplete.
[[nodiscard]] Result<Record> parse_record(std::string_view text, const std::string& path);

}  // namespace berth::study
