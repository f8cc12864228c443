// The one store of runs: an SQLite file with the parameters and results of runs. `--results`, sweeps, `compare
// --resume` and the history of `berth gate` write it; README.md describes its tables. Several processes may add to one
// file at the same time: every run is added completely or not at all, and only once.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "berth/result.h"
#include "run/measures.h"
#include "store/record.h"

struct sqlite3;

namespace berth::store {

class RunStore {
 public:
  /// Opens or creates the file. `measures`: those of the runs to be added, for its tables. Errors: it cannot be
  /// written, is no SQLite file, or has other contents.
  [[nodiscard]] static Result<RunStore> open(const std::string& path, std::span<const run::Measure> measures);
  /// Checks before the runs that open() can use the file. Errors: as for open(), of an existing file.
  [[nodiscard]] static Result<void> check(const std::string& path);
  /// Opens for reading only. Errors: no such file, or not of this format.
  [[nodiscard]] static Result<RunStore> open_existing(const std::string& path);

  /// Adds the new records in one transaction and returns their number. Replaces a stored run with the same key only if
  /// that one failed.
  [[nodiscard]] Result<std::size_t> add(std::span<const Record> records);
  /// All runs of a kind, in the order of adding.
  [[nodiscard]] Result<std::vector<Record>> records(RunKind kind) const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  [[nodiscard]] InputError error(const std::string& doing) const;
  [[nodiscard]] Result<void> execute(const std::string& sql) const;
  [[nodiscard]] Result<void> make_tables() const;
  [[nodiscard]] Result<void> add_measures(std::span<const run::Measure> measures) const;
  /// Checks format and version; sets `old_`.
  [[nodiscard]] Result<void> check_version();
  [[nodiscard]] Result<bool> add_one(const Record& record) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
  bool old_ = false;  // version 1, without kinds and details
};

}  // namespace berth::store
