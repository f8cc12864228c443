#include "store/run_store.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "io/output.h"

namespace berth::store {
namespace {

constexpr const char* kFormat = "berth-results";
constexpr const char* kOther =
    "name a file of runs that berth wrote, or a new one; histories in lines of JSON are not read";
constexpr int kVersion = 2, kWaitMs = 60'000;

/// A prepared statement; parameters are bound by position.
class Statement {
 public:
  Statement(sqlite3* db, const std::string& sql) {
    if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) statement_ = nullptr;
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(const std::string& text) {
    if (statement_) sqlite3_bind_text(statement_, ++at_, text.c_str(), -1, SQLITE_TRANSIENT);
    return *this;
  }
  Statement& bind(std::int64_t number) {
    if (statement_) sqlite3_bind_int64(statement_, ++at_, number);
    return *this;
  }
  Statement& bind(double number) {
    if (statement_) sqlite3_bind_double(statement_, ++at_, number);
    return *this;
  }
  /// SQLITE_ROW, SQLITE_DONE, or an error code.
  int step() { return statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }
  bool done() { return step() == SQLITE_DONE; }
  [[nodiscard]] std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? bytes : "";
  }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  [[nodiscard]] double number(int column) const { return sqlite3_column_double(statement_, column); }
  [[nodiscard]] bool is_number(int column) const {
    const int type = sqlite3_column_type(statement_, column);
    return (type == SQLITE_INTEGER || type == SQLITE_FLOAT) && std::isfinite(number(column));
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int at_ = 0;
};

/// True if the name can stand in SQL without quotes, as those of all measures do.
bool is_identifier(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  });
}

/// A file name for SQLite that cannot be mistaken for "", ":memory:" or a URI "file:...".
std::string file_name(const std::string& path) { return path.starts_with('/') ? path : "./" + path; }

Result<void> check_path(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return tl::unexpected(InputError{path, "", "is a folder, and runs are stored in a file",
                                     "name a file; folders of runs that an older berth kept are not read"});
  if (io::is_standard_output(path))
    return tl::unexpected(InputError{path, "", "is no place for a database", "name a file"});
  return {};
}

}  // namespace

void RunStore::Close::operator()(sqlite3* db) const { sqlite3_close(db); }

InputError RunStore::error(const std::string& doing) const {
  return {path_, "", fmt::format("{}: {}", doing, sqlite3_errmsg(db_.get())),
          "name a file of runs that berth wrote, or a new one on a disk with room"};
}

Result<void> RunStore::execute(const std::string& sql) const {
  if (sqlite3_exec(db_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
    return tl::unexpected(error("cannot be written"));
  return {};
}

Result<void> RunStore::make_tables() const {
  const char* const kTables =
      "create table about (key text primary key, value text not null);"
      "create table runs (id integer primary key, key text not null unique, workload text not null, label text not "
      "null,"
      " repetition integer not null, status text not null, message text not null, decisions_digest text not null,"
      " commit_id text not null, build text not null, machine text not null, started real not null, seconds real not "
      "null, kind text not null default 'run', detail text not null default '');"
      "create table parameters (run_id integer not null references runs(id), name text not null, value text not null,"
      " primary key (run_id, name)) without rowid;"
      "create table results (run_id integer not null references runs(id), name text not null, value real not null,"
      " primary key (run_id, name)) without rowid;"
      "create table measures (name text primary key, title text not null, unit text not null, direction integer not "
      "null);";
  if (auto fine = execute(kTables); !fine) return fine;
  return execute(fmt::format("insert into about values ('format', '{}'), ('version', '{}')", kFormat, kVersion));
}

/// Adds the measures that the file does not have, and with them columns of the view `flat`: one row per run.
Result<void> RunStore::add_measures(std::span<const run::Measure> measures) const {
  std::set<std::string> known;
  Statement before(db_.get(), "select name from measures");
  while (before.step() == SQLITE_ROW) known.insert(before.text(0));
  bool added = false;
  for (const run::Measure& measure : measures) {
    if (!known.insert(run::name_of(measure)).second) continue;
    added = true;
    if (!Statement(db_.get(), "insert into measures values (?, ?, ?, ?)")
             .bind(run::name_of(measure))
             .bind(std::string(measure.title))
             .bind(std::string(measure.unit))
             .bind(std::int64_t{measure.direction})
             .done())
      return tl::unexpected(error("cannot be written"));
  }
  if (!added) return {};
  std::string sql =
      "create view flat as select runs.id, kind, key, workload, label, repetition, status, decisions_digest, seconds";
  Statement names(db_.get(), "select name from measures order by rowid");
  while (names.step() == SQLITE_ROW)
    if (const std::string name = names.text(0); is_identifier(name))
      sql += fmt::format(", max(case when name = '{0}' then value end) as {0}", name);
  return execute("drop view if exists flat;" + sql +
                 " from runs left join results on run_id = runs.id group by runs.id");
}

Result<void> RunStore::check_version() {
  std::map<std::string, std::string> about;
  Statement rows(db_.get(), "select key, value from about");
  while (rows.step() == SQLITE_ROW) about[rows.text(0)] = rows.text(1);
  if (about["format"] != kFormat) return tl::unexpected(InputError{path_, "", "is no file of runs of berth", kOther});
  old_ = about["version"] == "1";
  if (!old_ && about["version"] != std::to_string(kVersion))
    return tl::unexpected(InputError{
        path_, "", fmt::format("is version {} of {}; this berth knows version {}", about["version"], kFormat, kVersion),
        "use the berth that wrote it, or a new file"});
  return {};
}

Result<RunStore> RunStore::open(const std::string& path, std::span<const run::Measure> measures) {
  if (auto fine = check_path(path); !fine) return tl::unexpected(fine.error());
  RunStore out;
  out.path_ = path;
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(file_name(path).c_str(), &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  out.db_.reset(db);
  if (opened != SQLITE_OK) return tl::unexpected(out.error("cannot be opened"));
  sqlite3_busy_timeout(db, kWaitMs);
  if (auto fine = out.execute("begin immediate"); !fine) return tl::unexpected(fine.error());
  Statement tables(db, "select count(*) from sqlite_master");
  const bool fresh = tables.step() == SQLITE_ROW && tables.integer(0) == 0;
  auto fine = fresh ? out.make_tables() : out.check_version();
  if (fine && out.old_)
    fine = out.execute(
        "alter table runs add column kind text not null default 'run';"
        "alter table runs add column detail text not null default '';"
        "update about set value = '2' where key = 'version'");
  if (fine) fine = out.add_measures(measures);
  out.old_ = false;
  if (fine) fine = out.execute("commit");
  if (!fine) return tl::unexpected(fine.error());
  return out;
}

Result<void> RunStore::check(const std::string& path) {
  if (auto fine = check_path(path); !fine) return tl::unexpected(fine.error());
  std::error_code error;
  if (std::filesystem::file_size(path, error) == 0 || error) return {};  // created or filled by open()
  const auto existing = open_existing(path);
  if (!existing) return tl::unexpected(existing.error());
  return {};
}

Result<RunStore> RunStore::open_existing(const std::string& path) {
  RunStore out;
  out.path_ = path;
  sqlite3* db = nullptr;
  const int opened = sqlite3_open_v2(file_name(path).c_str(), &db, SQLITE_OPEN_READONLY, nullptr);
  out.db_.reset(db);
  if (opened != SQLITE_OK) return tl::unexpected(out.error("cannot be opened"));
  sqlite3_busy_timeout(db, kWaitMs);
  if (auto fine = out.check_version(); !fine) return tl::unexpected(fine.error());
  return out;
}

Result<bool> RunStore::add_one(const Record& record) const {
  sqlite3* const db = db_.get();
  if (record.counts() || record.status == "partial") {
    Statement old(db, "select id from runs where key = ? and status = 'failed'");
    if (old.bind(record.key).step() == SQLITE_ROW) {
      const std::int64_t id = old.integer(0);
      for (const char* table : {"parameters where run_id", "results where run_id", "runs where id"})
        if (!Statement(db, fmt::format("delete from {} = ?", table)).bind(id).done())
          return tl::unexpected(error("cannot be written"));
    }
  }
  Statement insert(db, "insert or ignore into runs values (null, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  insert.bind(record.key).bind(record.workload).bind(record.label).bind(record.repetition).bind(record.status);
  insert.bind(record.message).bind(record.digest).bind(record.commit).bind(record.build).bind(record.machine);
  insert.bind(record.started).bind(record.seconds).bind(std::string(kind_name(record.kind))).bind(record.detail);
  if (!insert.done()) return tl::unexpected(error("cannot be written"));
  if (sqlite3_changes(db) == 0) return false;
  const std::int64_t id = sqlite3_last_insert_rowid(db);
  for (const sim::Change& change : record.changes)
    if (!Statement(db, "insert into parameters values (?, ?, ?)").bind(id).bind(change.key).bind(change.value).done())
      return tl::unexpected(error("cannot be written"));
  for (const auto& [name, value] : record.results)
    if (!Statement(db, "insert into results values (?, ?, ?)").bind(id).bind(name).bind(value).done())
      return tl::unexpected(error("cannot be written"));
  return true;
}

Result<std::size_t> RunStore::add(std::span<const Record> records) {
  if (auto fine = execute("begin immediate"); !fine) return tl::unexpected(fine.error());
  std::size_t added = 0;
  for (const Record& record : records) {
    const auto one = add_one(record);
    if (!one) {
      const InputError problem = one.error();
      static_cast<void>(execute("rollback"));
      return tl::unexpected(problem);
    }
    added += *one ? 1 : 0;
  }
  if (auto fine = execute("commit"); !fine) {
    static_cast<void>(execute("rollback"));
    return tl::unexpected(fine.error());
  }
  return added;
}

Result<std::vector<Record>> RunStore::records(RunKind kind) const {
  std::vector<Record> out;
  std::map<std::int64_t, std::size_t> by_id;
  if (old_ && kind != RunKind::run) return out;
  Statement runs(db_.get(),
                 fmt::format("select id, key, workload, label, repetition, status, message, decisions_digest, "
                             "commit_id, started, seconds, build, machine, {} from runs {} order by id",
                             old_ ? "''" : "detail", old_ ? "" : fmt::format("where kind = '{}'", kind_name(kind))));
  int step = SQLITE_ERROR;
  while ((step = runs.step()) == SQLITE_ROW) {
    by_id[runs.integer(0)] = out.size();
    Record& record = out.emplace_back();
    record.key = runs.text(1), record.workload = runs.text(2), record.label = runs.text(3);
    record.repetition = runs.integer(4), record.status = runs.text(5), record.message = runs.text(6);
    record.digest = runs.text(7), record.commit = runs.text(8);
    record.started = runs.number(9), record.seconds = runs.number(10);
    constexpr double kYear9999 = 253'402'300'800;  // in seconds: later ones cannot be written as dates
    if (!(record.started >= 0 && record.started < kYear9999))
      return tl::unexpected(
          error(fmt::format("has a run, id {}, that started at {:g} s, which is no date; correct or "
                            "delete it",
                            runs.integer(0), record.started)));
    record.build = runs.text(11), record.machine = runs.text(12);
    record.kind = kind, record.detail = runs.text(13);
  }
  if (step != SQLITE_DONE) return tl::unexpected(error("cannot be read"));
  Statement parameters(db_.get(), "select run_id, name, value from parameters");
  while ((step = parameters.step()) == SQLITE_ROW)
    if (const auto at = by_id.find(parameters.integer(0)); at != by_id.end())
      out[at->second].changes.push_back({parameters.text(1), parameters.text(2)});
  if (step != SQLITE_DONE) return tl::unexpected(error("cannot be read"));
  Statement results(db_.get(), "select run_id, name, value from results");
  while ((step = results.step()) == SQLITE_ROW) {
    if (!results.is_number(2))
      return tl::unexpected(InputError{path_, fmt::format("results of run {}", results.integer(0)),
                                       fmt::format("{} is no number", results.text(1)),
                                       "it was changed after berth wrote it; remove the run, or write it again"});
    if (const auto at = by_id.find(results.integer(0)); at != by_id.end())
      out[at->second].results.emplace_back(results.text(1), results.number(2));
  }
  if (step != SQLITE_DONE) return tl::unexpected(error("cannot be read"));
  return out;
}

}  // namespace berth::store
