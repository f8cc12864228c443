// Parameters and results of runs in one SQLite file; README.md has its tables. Several processes may add to one file at
// the same time: every run is added whole or not at all, and once.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "study/task.h"

struct sqlite3;

namespace berth::study {

class ResultsDb {
 public:
  /// Opens the file, or makes it. Errors: it cannot be written, is no SQLite file, or holds something else.
  [[nodiscard]] static Result<ResultsDb> open(const std::string& path);
  /// Before the runs: whether open() can use the file. Errors: as open(), of what is there already.
  [[nodiscard]] static Result<void> check(const std::string& path);
  /// For reading only. Errors: it is not there, or is not of this format.
  [[nodiscard]] static Result<ResultsDb> open_existing(const std::string& path);

  /// Adds those that are not there yet, all in one transaction, and returns their number. A run of a key that is there
  /// takes its place only where the one there has failed.
  [[nodiscard]] Result<std::size_t> add(std::span<const Record> records);
  /// All runs, in the order in which they were added.
  [[nodiscard]] Result<std::vector<Record>> records() const;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  [[nodiscard]] InputError error(const std::string& doing) const;
  [[nodiscard]] Result<void> execute(const std::string& sql) const;
  [[nodiscard]] Result<void> make_tables() const;
  [[nodiscard]] Result<void> check_version() const;
  [[nodiscard]] Result<bool> add_one(const Record& record) const;

  std::string path_;
  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace berth::study
