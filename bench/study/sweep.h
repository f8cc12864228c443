// A sweep: the tasks of a plan, one record per finished run in a folder, from whoever ran it, gathered in the end.
//
//   FOLDER/records/KEY.json    whole or absent; KEY is of the task's content, so a record stands for its task in every
//   plan
//
// Any number of processes, on any number of machines, may work on one folder: who finds a record leaves its task alone,
// and two that run one task at the same time write the same decisions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "study/plan.h"
#include "study/task.h"

namespace berth::study {

class Sweep {
 public:
  /// The tasks of `plan` over the records of `folder`, which need not be there.
  [[nodiscard]] static Result<Sweep> open(Plan plan, const std::string& folder);

  /// Errors: it cannot be made.
  [[nodiscard]] Result<void> make_folder() const;

  [[nodiscard]] const Plan& plan() const { return plan_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] const std::vector<std::string>& keys() const { return keys_; }  ///< by task
  [[nodiscard]] std::string plan_digest() const { return digest_of(keys_); }

  /// Reads the records that are there. Files that are no records, or of another version, are no error: their tasks are
  /// not done, and `problems` has a line for each.
  [[nodiscard]] std::map<std::string, Record> records(std::vector<std::string>& problems) const;
  /// Indices of the tasks without a record; with `retry`, and of those that failed.
  [[nodiscard]] std::vector<std::size_t> missing(bool retry) const;

  /// Runs the task here and keeps its record; an interrupted run leaves none.
  [[nodiscard]] Result<Record> run(std::size_t task, const run::RunOptions& options) const;
  /// Keeps the record of a run that left none, e.g. because its process was killed.
  [[nodiscard]] Result<void> keep_failure(std::size_t task, const std::string& message) const;

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const;
  [[nodiscard]] Result<void> keep(const Record& record) const;

  Plan plan_;
  std::string folder_;
  std::vector<std::string> keys_;
};

struct LocalOptions {
  std::size_t processes = 0;  ///< side by side; 0: as many as there are cores
  bool retry = false, quiet = false;
  run::RunOptions run;
};

struct SweepEnd {
  std::size_t ran = 0, failed = 0;
  bool interrupted = false;
  double seconds = 0;
  double busy_seconds = 0;      ///< of all runs together
  double processor_s = 0;       ///< processor time of everything
  double runs_processor_s = 0;  ///< of set-up and replay in all runs
};

/// Runs what is missing of `tasks` in processes of this machine, as many as cores and memory allow.
[[nodiscard]] Result<SweepEnd> run_local(const Sweep& sweep, const std::vector<std::size_t>& tasks,
                                         const LocalOptions& options);

/// What a sweep has come to.
struct Gathered {
  std::vector<Record> records;  ///< in the plan's order, of the tasks that have one
  std::vector<Record> failed;   ///< of these
  std::size_t missing = 0;      ///< tasks without a record
  std::vector<std::string> problems;
  std::string digest;  ///< over all tasks and their decisions; the same on every backend, in any order
};
[[nodiscard]] Gathered gather(const Sweep& sweep);

/// A header and one line per record: parameters, then the measures that any of them has. Fields with a comma or quote
/// are quoted (RFC 4180).
[[nodiscard]] std::string to_csv(const std::vector<Record>& records);

struct Estimate {
  std::size_t runs = 0, done = 0, samples = 0;
  double seconds_each = 0, seconds_all = 0;  ///< of one process; of all runs on all cores
  std::uint64_t peak_bytes = 0;              ///< of the largest sample
  std::size_t processes = 0;                 ///< that cores and memory allow
};
/// Runs a few tasks, spread over those that are missing, without keeping them.
[[nodiscard]] Result<Estimate> estimate(const Sweep& sweep, const LocalOptions& options);

}  // namespace berth::study
