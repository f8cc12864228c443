// A sweep: runs the tasks of a plan, stores a record per finished run, and gathers the records at the end.
//
//   FOLDER/runs/NAME.db    a store of runs per process that runs tasks, so that each file has one writer. The key of a
//                          record is a digest of its task's content, so a record is valid in every plan with this task
//
// Any number of processes, on any number of machines, may work on one folder. A task with a record is skipped, and two
// processes that run the same task write the same decisions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/run_store.h"
#include "study/plan.h"
#include "study/task.h"

namespace berth::study {

class Sweep {
 public:
  /// The tasks of `plan` with the records of `folder`, which need not exist.
  [[nodiscard]] static Result<Sweep> open(Plan plan, const std::string& folder);

  /// Errors: the folder cannot be created, or has runs of an older berth.
  [[nodiscard]] Result<void> make_folder() const;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }  ///< by task
  [[nodiscard]] std::string plan_digest() const { return digest_of(keys_); }

  /// Reads the existing records. Files that are no stores, or of another version, are no error: their tasks count as
  /// missing, and `problems` gets a line for each.
  [[nodiscard]] std::map<std::string, Record> records(std::vector<std::string>& problems) const;
  /// Indices of the tasks without a record and, with `retry`, of failed ones.
  [[nodiscard]] std::vector<std::size_t> missing(bool retry) const;

  /// Runs the task in this process. Returns its record, which is not stored.
  [[nodiscard]] Record run(std::size_t task, const run::RunOptions& options) const;
  /// Stores the records of finished runs.
  [[nodiscard]] Result<void> keep(std::span<const Record> records) const;
  /// The record of a run that has none, e.g. because its process was killed.
  [[nodiscard]] Record failure_of(std::size_t task, const std::string& message) const;

 private:
  Plan plan_;
  std::string folder_, own_file_;
  std::vector<std::string> keys_;
};

struct LocalOptions {
  std::size_t processes = 0;  ///< in parallel; 0: the number of cores
  bool retry = false, quiet = false;
  run::RunOptions run;
};

struct SweepEnd {
  std::size_t ran = 0, failed = 0;
  bool interrupted = false;
  double seconds = 0;
  double busy_seconds = 0;      ///< sum over all runs
  double processor_s = 0;       ///< total processor time
  double runs_processor_s = 0;  ///< processor time of set-up and replay in all runs
};

/// Runs `tasks` in processes on this machine, limited by cores and memory.
[[nodiscard]] Result<SweepEnd> run_local(const Sweep& sweep, const std::vector<std::size_t>& tasks,
                                         const LocalOptions& options);

/// Gathered records of a sweep.
struct Gathered {
  std::vector<Record> records;  ///< of the tasks that have one, in the plan's order
  std::vector<Record> failed;   ///< of these
  std::size_t missing = 0;      ///< tasks without a record
  std::vector<std::string> problems;
  std::string digest;  ///< of all tasks and their decisions; independent of backend and order
};
[[nodiscard]] Gathered gather(const Sweep& sweep);

/// A header and one line per record: parameters, then the measures that any record has. Fields with a comma or quote
/// are quoted (RFC 4180).
[[nodiscard]] std::string to_csv(const std::vector<Record>& records);

struct Estimate {
  std::size_t runs = 0, done = 0, samples = 0;
  double seconds_each = 0, seconds_all = 0;  ///< per process; for all runs on all cores
  std::uint64_t peak_bytes = 0;              ///< of the largest sample
  std::size_t processes = 0;                 ///< 0: limited by cores and memory
};
/// Runs a few tasks, spread over the missing ones, without storing their records.
[[nodiscard]] Result<Estimate> estimate(const Sweep& sweep, const LocalOptions& options);

}  // namespace berth::study
