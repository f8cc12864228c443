// The SQLite file of results: each run is written whole and once, also by several processes at a time.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run/processes.h"
#include "study/measures.h"
#include "study/results_db.h"

namespace berth::study {
namespace {

Record record_of(int number, const std::string& status = "ok") {
  std::string key = std::to_string(number);
  key.insert(0, 32 - key.size(), '0');
  return {key, "w", "smoke", {{"seed", std::to_string(number)}},       0, status, "", "digest", "commit", "b",
          "m", 1,   2,       {{"placements_per_second", number * 1.5}}};
}

class ResultsFile : public ::testing::Test {
 protected:
  ResultsFile() : path_(std::filesystem::temp_directory_path() / ("berth-db-" + std::to_string(getpid()))) { remove(); }
  ~ResultsFile() override { remove(); }
  void remove() const {
    for (const char* end : {"", "-journal"}) std::filesystem::remove(path_.string() + end);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] double number(const std::string& sql) const {
    sqlite3* db = nullptr;
    sqlite3_stmt* rows = nullptr;
    sqlite3_open(path().c_str(), &db);
    sqlite3_prepare_v2(db, sql.c_str(), -1, &rows, nullptr);
    const double out = sqlite3_step(rows) == SQLITE_ROW ? sqlite3_column_double(rows, 0) : -1;
    sqlite3_finalize(rows), sqlite3_close(db);
    return out;
  }

 private:
  std::filesystem::path path_;
};

TEST_F(ResultsFile, EveryRunOnce) {
  const std::vector<Record> records = {record_of(1), record_of(2)};
  EXPECT_EQ(*ResultsDb::open(path())->add(records), 2u);
  EXPECT_EQ(*ResultsDb::open(path())->add(records), 0u) << "opened again, and nothing counted twice";
  EXPECT_EQ(number("select count(*) from runs"), 2);
  EXPECT_EQ(
      number(
          "select placements_per_second from flat join parameters on run_id = id where name = 'seed' and value = '2'"),
      3);
  EXPECT_EQ(number("select count(*) from measures"), static_cast<double>(measures().size()));
  const auto read = ResultsDb::open_existing(path())->records();
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(json::to_text(to_json((*read)[1])), json::to_text(to_json(records[1])));
}

TEST_F(ResultsFile, AFailedRunGivesWayToOneThatIsFine) {
  auto db = *ResultsDb::open(path());
  const Record failed = record_of(1, "failed"), fine = record_of(1);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 1u);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 0u);
  EXPECT_EQ(*db.add(std::span(&fine, 1)), 1u);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 0u) << "and not the other way";
  EXPECT_EQ(number("select count(*) from runs where status = 'ok'"), 1);
  EXPECT_EQ(number("select count(*) from results"), 1);
}

TEST_F(ResultsFile, SeveralProcessesAtOnce) {
  run::Processes processes;
  for (std::size_t p = 0; p < 4; ++p)
    ASSERT_TRUE(processes.start(p, [&] {
      std::size_t added = 0;
      for (int i = 0; i < 25; ++i) {
        const Record record = record_of(i);
        added += ResultsDb::open(path())->add(std::span(&record, 1)).value_or(1000);
      }
      return std::to_string(added);
    }));
  std::size_t added = 0;
  while (const auto finished = processes.next(60)) added += std::stoul(finished->text);
  EXPECT_EQ(added, 25u);
  EXPECT_EQ(number("select count(*) from runs"), 25);
  EXPECT_EQ(number("select count(*) from results"), 25);
}

TEST_F(ResultsFile, OtherFilesAreRefusedAndLeftAlone) {
  std::ofstream(path()) << "not a database, but a text that somebody wants to keep";
  EXPECT_NE(ResultsDb::open(path()).error().problem.find("file is not a database"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size(path()), 50u);
  remove();
  sqlite3* db = nullptr;
  sqlite3_open(path().c_str(), &db);
  sqlite3_exec(db, "create table mine (x)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(ResultsDb::open(path()).error().problem, "is no file of results of berth");
  remove();
  static_cast<void>(*ResultsDb::open(path()));
  sqlite3_open(path().c_str(), &db);
  sqlite3_exec(db, "update about set value = '9' where key = 'version'", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(ResultsDb::open_existing(path()).error().problem,
            "is version 9 of berth-results; this berth knows version 1");
  EXPECT_FALSE(ResultsDb::open_existing(path() + "-none"));
  EXPECT_FALSE(ResultsDb::open("/no/such/folder/x.db"));
}

TEST_F(ResultsFile, IsCheckedBeforeTheRuns) {
  EXPECT_TRUE(ResultsDb::check(path())) << "a new file";
  EXPECT_FALSE(std::filesystem::exists(path())) << "which checking does not make";
  std::ofstream(path()) << "";
  EXPECT_TRUE(ResultsDb::check(path())) << "an empty one";
  static_cast<void>(*ResultsDb::open(path()));
  EXPECT_TRUE(ResultsDb::check(path()));
  std::ofstream(path(), std::ios::trunc) << "{\"format\": \"berth-run\"}";
  EXPECT_EQ(ResultsDb::check(path()).error().problem, "is no file of results of berth");
  EXPECT_FALSE(ResultsDb::check("/dev/stdout"));
}

TEST_F(ResultsFile, WhatIsNoNumberIsNotReadAsOne) {
  const Record record = record_of(1);
  EXPECT_EQ(*ResultsDb::open(path())->add(std::span(&record, 1)), 1u);
  for (const char* value : {"'x'", "x'00'", "9e999"}) {
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, (std::string("update results set value = ") + value).c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(db);
    const auto read = ResultsDb::open_existing(path())->records();
    ASSERT_FALSE(read) << value;
    EXPECT_NE(read.error().problem.find("is no number"), std::string::npos) << read.error().line();
  }
}

}  // namespace
}  // namespace berth::study
