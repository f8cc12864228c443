// Results of other runs: baselines and histories of the gate, inputs of reports, databases of results.
#include <sqlite3.h>

#include "fuzz/harness.h"
#include "gate/baseline.h"
#include "gate/history.h"
#include "report/kinds.h"
#include "report/page.h"
#include "store/run_store.h"

namespace berth::fuzz {
namespace {

/// Makes an SQLite file by statements, as far as they can be run. Views and other files are not allowed.
std::string database_of(const std::string& statements) {
  constexpr int kStepsMost = 200'000;
  const std::string path = scratch_file("results.db", "");
  sqlite3* db = nullptr;
  require(sqlite3_open(path.c_str(), &db) == SQLITE_OK, "no database");
  sqlite3_exec(db, "pragma journal_mode = memory; pragma synchronous = off", nullptr, nullptr, nullptr);
  sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
  sqlite3_set_authorizer(
      db,
      [](void*, int action, const char*, const char*, const char*, const char*) {
        return action == SQLITE_CREATE_VIEW || action == SQLITE_CREATE_TRIGGER || action == SQLITE_PRAGMA ? SQLITE_DENY
                                                                                                          : SQLITE_OK;
      },
      nullptr);
  sqlite3_progress_handler(
      db, kStepsMost, [](void*) { return 1; }, nullptr);
  sqlite3_exec(db, statements.c_str(), nullptr, nullptr, nullptr);
  sqlite3_close(db);
  return path;
}

void fuzz_gate(std::string_view input) {
  const std::string path = scratch_file("baseline.json", input);
  const auto baseline = gate::read_baseline(path);
  if (baseline) {
    const std::string text = gate::baseline_text(*baseline);
    (void)gate::baseline_table(*baseline);
    const auto again = gate::read_baseline(scratch_file("again.json", text));
    require(again.has_value(), "a written baseline cannot be read: ", (again ? "" : again.error().error.line()));
    require_equal(text, gate::baseline_text(*again), "a written baseline differs when it is read again");
  } else {
    require_line(baseline.error().error.line());
  }
  if (const auto drift = gate::drift_text(path, {}); !drift) require_line(drift.error().error.line());
}

void fuzz_report(std::string_view input) {
  const auto read = report::read_input(scratch_file("result.json", input));
  if (!read) return require_line(read.error().line());
  const report::Document document = report::make_document({*read});
  (void)report::to_terminal(document);
  const std::string page = report::to_html(document, "");
  require(page.find("</html>") != std::string::npos, "a page has no end");
}

void fuzz_results(std::string_view input) {
  const bool is_file = input.starts_with("SQLite format 3");
  const std::string path = is_file ? scratch_file("results.db", input) : database_of(std::string(input));
  const auto db = store::RunStore::open_existing(path);
  if (!db) return require_line(db.error().line());
  const auto records = db->records(store::RunKind::run);
  if (!records) require_line(records.error().line());
}

const FuzzTarget kGate("gate", fuzz_gate);
const FuzzTarget kReport("report", fuzz_report);
const FuzzTarget kResults("results", fuzz_results);

}  // namespace
}  // namespace berth::fuzz
