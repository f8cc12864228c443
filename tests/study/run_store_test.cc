// The store of runs: each run is written whole and once, also by several processes at a time.
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "run/processes.h"
#include "store/run_store.h"
#include "study/measures.h"

namespace berth::store {
namespace {

Record record_of(int number, const std::string& status = "ok") {
  std::string key = std::to_string(number);
  key.insert(0, 32 - key.size(), '0');
  return {key, "w", "smoke", {{"seed", std::to_string(number)}},       0, status, "", "digest", "commit", "b",
          "m", 1,   2,       {{"placements_per_second", number * 1.5}}};
}

class RunStoreFile : public ::testing::Test {
 protected:
  RunStoreFile() : path_(std::filesystem::temp_directory_path() / ("berth-db-" + std::to_string(getpid()))) {
    remove();
  }
  ~RunStoreFile() override { remove(); }
  void remove() const {
    for (const char* end : {"", "-journal"}) std::filesystem::remove(path_.string() + end);
  }
  [[nodiscard]] std::string path() const { return path_.string(); }
  [[nodiscard]] Result<RunStore> open_store() const { return RunStore::open(path(), study::measures()); }
  void execute(const std::string& sql) const {
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }
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

TEST_F(RunStoreFile, ATimeThatIsNoDateIsRefused) {
  const std::vector<Record> records = {record_of(1)};
  EXPECT_EQ(*open_store()->add(records), 1u);
  for (const char* started : {"1e300", "9e999", "9e18", "253402300800", "-1"}) {
    execute(std::string("update runs set started = ") + started);
    const auto read = RunStore::open_existing(path())->records(RunKind::run);
    ASSERT_FALSE(read) << started;
    EXPECT_NE(read.error().line().find("which is no date"), std::string::npos) << read.error().line();
  }
}

TEST_F(RunStoreFile, HoldsEveryRunOnce) {
  const std::vector<Record> records = {record_of(1), record_of(2)};
  EXPECT_EQ(*open_store()->add(records), 2u);
  EXPECT_EQ(*open_store()->add(records), 0u) << "opened again, and nothing counted twice";
  EXPECT_EQ(number("select count(*) from runs"), 2);
  EXPECT_EQ(
      number(
          "select placements_per_second from flat join parameters on run_id = id where name = 'seed' and value = '2'"),
      3);
  EXPECT_EQ(number("select count(*) from measures"), static_cast<double>(study::measures().size()));
  const auto read = RunStore::open_existing(path())->records(RunKind::run);
  ASSERT_TRUE(read);
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(to_text((*read)[1]), to_text(records[1]));
}

TEST_F(RunStoreFile, AFailedRunIsReplacedByASuccessfulOne) {
  auto db = *open_store();
  const Record failed = record_of(1, "failed"), fine = record_of(1);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 1u);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 0u);
  EXPECT_EQ(*db.add(std::span(&fine, 1)), 1u);
  EXPECT_EQ(*db.add(std::span(&failed, 1)), 0u) << "and not the other way";
  EXPECT_EQ(number("select count(*) from runs where status = 'ok'"), 1);
  EXPECT_EQ(number("select count(*) from results"), 1);
}

TEST_F(RunStoreFile, SeveralProcessesMayWriteAtOnce) {
  run::Processes processes;
  for (std::size_t p = 0; p < 4; ++p)
    ASSERT_TRUE(processes.start(p, [&] {
      std::size_t added = 0;
      for (int i = 0; i < 25; ++i) {
        const Record record = record_of(i);
        added += open_store()->add(std::span(&record, 1)).value_or(1000);
      }
      return std::to_string(added);
    }));
  std::size_t added = 0;
  while (const auto finished = processes.next(60)) added += std::stoul(finished->text);
  EXPECT_EQ(added, 25u);
  EXPECT_EQ(number("select count(*) from runs"), 25);
  EXPECT_EQ(number("select count(*) from results"), 25);
}

TEST_F(RunStoreFile, OtherFilesAreRefusedAndLeftAlone) {
  std::ofstream(path()) << "not a database, but a text that somebody wants to keep";
  EXPECT_NE(open_store().error().problem.find("file is not a database"), std::string::npos);
  EXPECT_GT(std::filesystem::file_size(path()), 50u);
  remove();
  sqlite3* db = nullptr;
  sqlite3_open(path().c_str(), &db);
  sqlite3_exec(db, "create table mine (x)", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(open_store().error().problem, "is no file of runs of berth");
  remove();
  static_cast<void>(*open_store());
  sqlite3_open(path().c_str(), &db);
  sqlite3_exec(db, "update about set value = '9' where key = 'version'", nullptr, nullptr, nullptr);
  sqlite3_close(db);
  EXPECT_EQ(RunStore::open_existing(path()).error().problem,
            "is version 9 of berth-results; this berth knows version 2");
  EXPECT_FALSE(RunStore::open_existing(path() + "-none"));
  EXPECT_FALSE(RunStore::open("/no/such/folder/x.db", {}));
}

TEST_F(RunStoreFile, IsCheckedBeforeTheRuns) {
  EXPECT_TRUE(RunStore::check(path())) << "a new file";
  EXPECT_FALSE(std::filesystem::exists(path())) << "which checking does not make";
  std::ofstream(path()) << "";
  EXPECT_TRUE(RunStore::check(path())) << "an empty one";
  static_cast<void>(*open_store());
  EXPECT_TRUE(RunStore::check(path()));
  std::ofstream(path(), std::ios::trunc) << "{\"format\": \"berth-run\"}";
  EXPECT_EQ(RunStore::check(path()).error().problem, "is no file of runs of berth");
  EXPECT_FALSE(RunStore::check("/dev/stdout"));
}

TEST_F(RunStoreFile, HoldsRunsOfSeveralKinds) {
  std::vector<Record> records = {record_of(1), record_of(2), record_of(3)};
  records[1].kind = RunKind::comparison, records[1].detail = "{\"a\": 1}";
  records[2].kind = RunKind::gate;
  EXPECT_EQ(*open_store()->add(records), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    const auto read = RunStore::open_existing(path())->records(records[i].kind);
    ASSERT_TRUE(read);
    ASSERT_EQ(read->size(), 1U);
    EXPECT_EQ((*read)[0].key, records[i].key);
    EXPECT_EQ((*read)[0].detail, records[i].detail);
  }
}

TEST_F(RunStoreFile, AFileOfAnOlderBerthIsReadAndContinued) {
  const Record before = record_of(1), after = record_of(2);
  EXPECT_EQ(*open_store()->add(std::span(&before, 1)), 1U);
  execute(
      "drop view flat; alter table runs drop column kind; alter table runs drop column detail;"
      "update about set value = '1' where key = 'version'; delete from measures where name like 'stage%'");
  EXPECT_EQ(RunStore::open_existing(path())->records(RunKind::run)->size(), 1U);
  EXPECT_TRUE(RunStore::open_existing(path())->records(RunKind::gate)->empty());
  EXPECT_EQ(*open_store()->add(std::span(&after, 1)), 1U);
  EXPECT_EQ(RunStore::open_existing(path())->records(RunKind::run)->size(), 2U);
  EXPECT_EQ(number("select count(stages_ns_rank) + count(placements_per_second) from flat"), 2);
  EXPECT_EQ(number("select count(*) from measures"), static_cast<double>(study::measures().size()));
}

TEST_F(RunStoreFile, FoldersAndHistoriesOfAnOlderBerthAreRefused) {
  std::filesystem::create_directory(path());
  EXPECT_NE(open_store().error().line().find("folders of runs that an older berth kept"), std::string::npos);
  remove();
  std::ofstream(path()) << "{\"format\": \"berth-history\", \"version\": 1}\n";
  EXPECT_NE(RunStore::check(path()).error().line().find("histories in lines of JSON are not read"), std::string::npos);
}

TEST_F(RunStoreFile, NonNumbersAreNotReadAsNumbers) {
  const Record record = record_of(1);
  EXPECT_EQ(*open_store()->add(std::span(&record, 1)), 1u);
  for (const char* value : {"'x'", "x'00'", "9e999"}) {
    sqlite3* db = nullptr;
    sqlite3_open(path().c_str(), &db);
    ASSERT_EQ(sqlite3_exec(db, (std::string("update results set value = ") + value).c_str(), nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(db);
    const auto read = RunStore::open_existing(path())->records(RunKind::run);
    ASSERT_FALSE(read) << value;
    EXPECT_NE(read.error().problem.find("is no number"), std::string::npos) << read.error().line();
  }
}

}  // namespace
}  // namespace berth::store
