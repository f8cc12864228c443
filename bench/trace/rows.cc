#include "trace/rows.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/text.h"

namespace berth::trace {
namespace {

constexpr std::size_t kLineMost = 16 << 20;

/// Lines of several files, one after the other.
class Lines {
 public:
  explicit Lines(const std::vector<std::string>& files) : files_(files) {}
  ~Lines() { close(); }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  /// Reads the next line without its end; false after the last one, and after an error. `is_first`: of its file.
  bool next(std::string& line, bool& is_first) {
    while (error_.empty() && at_ < files_.size()) {
      if (!file_) {
        file_ = gzopen(files_[at_].c_str(), "rb");
        if (!file_) return fail("cannot be read");
        gzbuffer(file_, 1 << 18);
        number_ = 0;
      }
      line.clear();
      const z_off_t start = gztell(file_);
      while (gzgets(file_, buffer_.data(), static_cast<int>(buffer_.size()))) {
        line += buffer_.data();
        if (line.size() > kLineMost) return fail("has a line of more than 16 MiB");
        if (!line.empty() && line.back() == '\n') break;
      }
      int code = Z_OK;
      gzerror(file_, &code);
      if (code != Z_OK && code != Z_STREAM_END) return fail("is damaged or cut off");
      const auto read = static_cast<std::size_t>(gztell(file_) - start);
      if (read == 0) {
        close(), ++at_;
        continue;
      }
      is_first = number_++ == 0;
      if (read != line.size()) return fail("has a NUL byte");
      while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
      if (is_first && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
      if (!line.empty() || is_first) return true;
    }
    return false;
  }
  bool fail(const std::string& problem) {
    error_ = fmt::format("{}:{}: {}", files_[at_], number_, problem);
    return false;
  }
  [[nodiscard]] const std::string& error() const { return error_; }

 private:
  void close() {
    if (file_) gzclose(file_);
    file_ = nullptr;
  }
  const std::vector<std::string>& files_;
  std::size_t at_ = 0, number_ = 0;
  gzFile file_ = nullptr;
  std::array<char, 1 << 16> buffer_{};
  std::string error_;
};

struct RowsTable : sqlite3_vtab {
  const Input* input = nullptr;
};

struct RowsCursor : sqlite3_vtab_cursor {
  explicit RowsCursor(const Input& of) : input(of), lines(of.files) {}
  const Input& input;
  Lines lines;
  std::string line;
  std::vector<std::string_view> fields;
  std::vector<std::size_t> places;  // by column of the table: the field
  std::size_t width = 0;            // fields of a line
  sqlite3_int64 row = 0;
  bool is_over = false;

  bool read_header() {
    places.clear();
    const auto names = base::split(line, ',');
    for (const std::string& column : input.columns) {
      const auto found = std::find(names.begin(), names.end(), column);
      if (found == names.end()) return lines.fail(fmt::format("has no column '{}'", column));
      places.push_back(static_cast<std::size_t>(found - names.begin()));
    }
    width = names.size();
    return true;
  }

  int next() {
    bool is_first = false;
    for (;;) {
      if (!lines.next(line, is_first)) break;
      if (input.shape == Input::Shape::lines) return ++row, SQLITE_OK;
      if (is_first && input.shape == Input::Shape::header) {
        if (read_header()) continue;
        break;
      }
      fields = base::split(line, ',');
      if (fields.size() == width) return ++row, SQLITE_OK;
      if (fields.size() == 1 && fields[0].empty()) continue;
      lines.fail(fmt::format("has {} fields instead of {}", fields.size(), width));
      break;
    }
    is_over = true;
    if (lines.error().empty()) return SQLITE_OK;
    sqlite3_free(pVtab->zErrMsg);
    pVtab->zErrMsg = sqlite3_mprintf("%s", lines.error().c_str());
    return SQLITE_ERROR;
  }
};

RowsCursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *static_cast<RowsCursor*>(cursor); }

int connect(sqlite3* db, void* aux, int, const char* const*, sqlite3_vtab** out, char** error) {
  const Input& input = *static_cast<const Input*>(aux);
  std::string sql = "create table rows(";
  if (input.shape == Input::Shape::lines) {
    sql += "line";
  } else {
    for (const std::string& column : input.columns)
      sql += fmt::format("{}\"{}\"", sql.back() == '(' ? "" : ",", column);
  }
  if (const int code = sqlite3_declare_vtab(db, (sql + ")").c_str()); code != SQLITE_OK) {
    *error = sqlite3_mprintf("%s", sqlite3_errmsg(db));
    return code;
  }
  auto table = std::make_unique<RowsTable>();
  table->input = &input;
  *out = table.release();
  return SQLITE_OK;
}
int disconnect(sqlite3_vtab* table) {
  delete static_cast<RowsTable*>(table);
  return SQLITE_OK;
}
int best_index(sqlite3_vtab*, sqlite3_index_info* info) {
  info->estimatedCost = 1e9, info->estimatedRows = 100'000'000;  // only whole passes
  return SQLITE_OK;
}
int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** out) {
  *out = new RowsCursor(*static_cast<RowsTable*>(table)->input);
  return SQLITE_OK;
}
int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<RowsCursor*>(cursor);
  return SQLITE_OK;
}
int filter(sqlite3_vtab_cursor* cursor, int, const char*, int, sqlite3_value**) {
  RowsCursor& c = cursor_of(cursor);
  std::destroy_at(&c.lines);
  std::construct_at(&c.lines, c.input.files);
  c.row = 0, c.is_over = false;
  if (c.input.shape == Input::Shape::positions) {
    c.width = c.input.columns.size();
    c.places.resize(c.width);
    for (std::size_t i = 0; i < c.width; ++i) c.places[i] = i;
  }
  return c.next();
}
int next_row(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).next(); }
int is_over(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).is_over ? 1 : 0; }
int read_column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int column) {
  const RowsCursor& c = cursor_of(cursor);
  std::string_view field = c.line;
  if (c.input.shape != Input::Shape::lines) {
    field = c.fields[c.places[static_cast<std::size_t>(column)]];
    if (field.empty() || field == "NaN" || field == "nan") return sqlite3_result_null(context), SQLITE_OK;
    if (const auto whole = base::parse_int64(field)) return sqlite3_result_int64(context, *whole), SQLITE_OK;
    if (const auto number = base::parse_double(field)) return sqlite3_result_double(context, *number), SQLITE_OK;
  }
  sqlite3_result_text64(context, field.data(), field.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  return SQLITE_OK;
}
int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* out) {
  *out = cursor_of(cursor).row;
  return SQLITE_OK;
}

sqlite3_module rows_module() {
  sqlite3_module out{};
  out.xCreate = out.xConnect = connect;
  out.xDisconnect = out.xDestroy = disconnect;
  out.xBestIndex = best_index;
  out.xOpen = open_cursor, out.xClose = close_cursor;
  out.xFilter = filter, out.xNext = next_row, out.xEof = is_over;
  out.xColumn = read_column, out.xRowid = row_id;
  return out;
}

}  // namespace

int create_rows_table(sqlite3* db, const Input& input) {
  static const sqlite3_module kModule = rows_module();
  const std::string module = "rows_" + input.name;
  const int code = sqlite3_create_module(db, module.c_str(), &kModule, const_cast<Input*>(&input));
  if (code != SQLITE_OK) return code;
  const std::string sql = fmt::format("create virtual table temp.\"{}\" using \"{}\"", input.name, module);
  return sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
}

}  // namespace berth::trace
