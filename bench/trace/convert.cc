#include "trace/convert.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "base/edit_distance.h"
#include "base/text.h"
#include "io/files.h"
#include "io/output.h"
#include "run/progress.h"
#include "sim/datasets.h"
#include "sim/trace_file.h"
#include "trace/rows.h"

namespace berth::trace {
namespace {

namespace fs = std::filesystem;

struct Format {
  std::string path, sql;
  std::vector<Input> inputs;
};

const std::vector<std::string> kJobColumns = {"submit_s",  "run_s",   "count",     "cpu_mhz",
                                              "memory_mb", "disk_mb", "type",      "priority",
                                              "failed",    "gpus",    "gpu_model", "distinct_hosts"};
const std::vector<std::string> kNodeColumns = {"count", "cpu_mhz", "memory_mb", "disk_mb",
                                               "class", "gpus",    "gpu_model"};

tl::unexpected<InputError> bad(const std::string& path, std::string place, std::string problem, std::string remedy) {
  return tl::unexpected(InputError{path, std::move(place), std::move(problem), std::move(remedy)});
}

Result<Input> parse_input(std::string_view text, const std::string& path, std::size_t line) {
  const auto wrong = [&](std::string problem) {
    return bad(path, std::to_string(line), std::move(problem),
               "write `-- input NAME: a, b, c` (bench/trace/convert.h)");
  };
  Input out;
  const std::size_t colon = text.find(':');
  if (colon == text.npos) return wrong("an input has no columns");
  std::string_view name = base::trim_space(text.substr(0, colon));
  if (name.ends_with('?')) out.optional = true, name.remove_suffix(1);
  out.name = std::string(name);
  std::string_view rest = base::trim_space(text.substr(colon + 1));
  if (rest == "lines") {
    out.shape = Input::Shape::lines;
    return out;
  }
  if (rest == "sqlite") {
    out.shape = Input::Shape::database;
    return out;
  }
  if (rest.starts_with("header ")) out.shape = Input::Shape::header, rest.remove_prefix(7);
  for (const std::string_view column : base::split(rest, ',')) out.columns.emplace_back(base::trim_space(column));
  const auto is_word = [](const std::string& word) {
    return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    });
  };
  if (!is_word(out.name) || !std::all_of(out.columns.begin(), out.columns.end(), is_word))
    return wrong("an input or a column is not a word");
  return out;
}

Result<Format> read_format(const std::string& name) {
  std::error_code error;
  auto path = fs::is_regular_file(name, error) ? Result<std::string>(name)
                                               : sim::committed_data("", "formats/" + name + ".sql");
  if (!path || (name.find('/') != name.npos && !fs::is_regular_file(name, error))) {
    std::vector<std::string> names;
    for (const auto& [known, about] : formats()) names.push_back(known);
    return bad(name, "", "there is no such format",
               base::did_you_mean(name, names) + "`berth trace convert --list` names them");
  }
  auto sql = io::read_file(*path);
  if (!sql) return tl::unexpected(sql.error());
  Format out{*path, std::move(*sql), {}};
  std::size_t number = 0;
  for (std::string_view line : base::split(out.sql, '\n')) {
    ++number;
    constexpr std::string_view kInput = "-- input ";
    if (!line.starts_with(kInput)) continue;
    auto input = parse_input(line.substr(kInput.size()), out.path, number);
    if (!input) return tl::unexpected(input.error());
    out.inputs.push_back(std::move(*input));
  }
  if (out.inputs.empty()) return bad(out.path, "", "names no input", "is it a format of berth trace convert?");
  return out;
}

/// Assigns the given files to the inputs of the format.
Result<void> assign(const std::vector<std::string>& given, Format& format) {
  std::vector<std::string> names;
  for (const Input& input : format.inputs) names.push_back(input.name);
  const auto input_of = [&](const std::string& name) -> Input* {
    const auto found = std::find(names.begin(), names.end(), name);
    return found == names.end() ? nullptr : &format.inputs[static_cast<std::size_t>(found - names.begin())];
  };
  const auto longest_in = [&](const std::string& words) {
    Input* out = nullptr;
    for (Input& input : format.inputs)
      if (words.find(input.name) != words.npos && (!out || input.name.size() > out->name.size())) out = &input;
    return out;
  };
  for (const std::string& text : given) {
    const std::size_t equals = text.find('=');
    Input* input = equals == text.npos ? nullptr : input_of(text.substr(0, equals));
    const std::string path = input ? text.substr(equals + 1) : text;
    if (!input) input = longest_in(fs::path(path).filename().string());
    if (!input) input = longest_in(path);  // some traces name the input by the folder only
    if (!input && format.inputs.size() == 1) input = &format.inputs[0];
    if (!input)
      return bad(path, "", "is none of the files of this format by its name",
                 "write NAME=FILE, with NAME one of " + base::join(names, ", "));
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return bad(path, "", "is no file", "check the path");
    input->files.push_back(path);
  }
  for (const Input& input : format.inputs) {
    if (input.files.empty() && !input.optional)
      return bad("berth trace convert", "", fmt::format("no file for the input '{}' of {}", input.name, format.path),
                 "name it: " + input.name + "=FILE");
    if (input.shape == Input::Shape::database && input.files.size() > 1)
      return bad(input.files[1], "", "is a second file for one database", "convert one after the other");
  }
  return {};
}

/// Error: a parameter that the SQL does not use.
Result<void> check_parameters(const Settings& settings, const Format& format) {
  constexpr std::string_view kUse = "param('";
  std::vector<std::string> names;
  for (std::size_t at = format.sql.find(kUse); at != std::string::npos; at = format.sql.find(kUse, at)) {
    at += kUse.size();
    names.push_back(format.sql.substr(at, std::min(format.sql.find('\'', at), format.sql.size()) - at));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  for (const auto& [name, value] : settings.parameters)
    if (!std::binary_search(names.begin(), names.end(), name))
      return bad("berth trace convert", "--set",
                 fmt::format("'{}' is no parameter of {}", base::shown(name), format.path),
                 base::did_you_mean(name, names) + "it has: " + base::join(names, ", "));
  return {};
}

class Run {
 public:
  Run(const Settings& settings, Format format) : settings_(settings), format_(std::move(format)) {}

  Result<Converted> run() {
    if (sqlite3_open_v2("", &db_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, nullptr) != SQLITE_OK)
      return failed();
    sqlite3_create_function(db_, "param", 2, SQLITE_UTF8, this, &Run::parameter, nullptr, nullptr);
    sqlite3_create_function(db_, "up", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr, &Run::up, nullptr, nullptr);
    for (const Input& input : format_.inputs)
      if (auto done = open(input); !done) return tl::unexpected(done.error());
    if (sqlite3_exec(db_, format_.sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
    if (!settings_.nodes.empty() && !has("nodes"))
      return bad(settings_.nodes, "", "cannot be written: the format has no nodes", "leave out --nodes");
    if (auto done = write("jobs", kJobColumns, settings_.jobs, out_.jobs, &out_.allocs); !done)
      return tl::unexpected(done.error());
    if (!settings_.nodes.empty())
      if (auto done = write("nodes", kNodeColumns, settings_.nodes, out_.nodes, nullptr); !done)
        return tl::unexpected(done.error());
    if (has("skipped"))
      if (auto done = count_skipped(); !done) return tl::unexpected(done.error());
    for (const std::string& path : written_) {
      std::error_code error;
      fs::rename(part_of(path), path, error);
      if (error) return bad(path, "", error.message(), "name another file");
    }
    return std::move(out_);
  }
  ~Run() {
    std::error_code error;
    for (const std::string& path : written_) fs::remove(part_of(path), error);  // those that were not renamed
    sqlite3_finalize(statement_);
    sqlite3_close(db_);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

 private:
  /// What SQLite says. Messages of the rows begin with file and line.
  tl::unexpected<InputError> failed() const {
    const std::string text = sqlite3_errmsg(db_);
    for (const Input& input : format_.inputs)
      for (const std::string& file : input.files)
        if (text.starts_with(file + ":")) {
          const std::size_t end = std::min(text.find(": ", file.size()), text.size());
          return bad(file, text.substr(file.size() + 1, end - file.size() - 1),
                     end + 2 < text.size() ? text.substr(end + 2) : text,
                     "fetch the file again, or is it another one?");
        }
    return bad(format_.path, "", text, "is the file of this format? bench/trace/convert.h describes it");
  }

  Result<void> open(const Input& input) {
    if (input.shape != Input::Shape::database) {
      if (create_rows_table(db_, input) != SQLITE_OK) return failed();
      return {};
    }
    sqlite3_stmt* attach = nullptr;
    const std::string sql = fmt::format("attach database ?1 as \"{}\"", input.name);
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &attach, nullptr) != SQLITE_OK) return failed();
    const std::string path = "file:" + escaped(fs::absolute(input.files[0]).string()) + "?mode=ro&immutable=1";
    sqlite3_bind_text(attach, 1, path.c_str(), -1, SQLITE_TRANSIENT);
    const int code = sqlite3_step(attach);
    sqlite3_finalize(attach);
    const std::string probe = fmt::format("select count(*) from \"{}\".sqlite_master", input.name);
    if (code != SQLITE_DONE || sqlite3_exec(db_, probe.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return bad(input.files[0], "", sqlite3_errmsg(db_), "is it the SQLite file of the trace?");
    return {};
  }

  /// For a URI of SQLite.
  static std::string escaped(const std::string& path) {
    std::string out;
    for (const char c : path) out += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
    return out;
  }

  static void parameter(sqlite3_context* context, int, sqlite3_value** arguments) {
    auto& run = *static_cast<Run*>(sqlite3_user_data(context));
    const auto text = [](sqlite3_value* value) {
      const auto* bytes = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return std::string(bytes ? bytes : "");
    };
    const std::string name = text(arguments[0]);
    const auto set = run.settings_.parameters.find(name);
    const std::string value = set == run.settings_.parameters.end() ? text(arguments[1]) : set->second;
    run.out_.parameters[name] = value;
    if (const auto whole = base::parse_int64(value)) return sqlite3_result_int64(context, *whole);
    if (const auto number = base::parse_double(value)) return sqlite3_result_double(context, *number);
    sqlite3_result_text(context, value.c_str(), -1, SQLITE_TRANSIENT);
  }

  static void up(sqlite3_context* context, int, sqlite3_value** arguments) {
    if (sqlite3_value_type(arguments[0]) == SQLITE_NULL) return sqlite3_result_null(context);
    const double value = std::ceil(sqlite3_value_double(arguments[0]) - 1e-6);
    if (!(std::abs(value) < 9e15)) return sqlite3_result_null(context);
    sqlite3_result_int64(context, static_cast<sqlite3_int64>(value));
  }

  [[nodiscard]] bool has(const char* view) const {
    const std::string sql = fmt::format(
        "select 1 from (select name from sqlite_temp_master union select name from sqlite_master) where name = '{}'",
        view);
    bool out = false;
    sqlite3_exec(
        db_, sql.c_str(), [](void* found, int, char**, char**) { return *static_cast<bool*>(found) = true, 0; }, &out,
        nullptr);
    return out;
  }

  /// Prepares `select * from VIEW`; error: it has other columns than `known`.
  Result<std::vector<std::string>> prepare(const char* view, const std::vector<std::string>& known) {
    sqlite3_finalize(statement_);
    statement_ = nullptr;
    const std::string sql = fmt::format("select * from {}", view);
    if (sqlite3_prepare_v2(db_, sql.c_str(), -1, &statement_, nullptr) != SQLITE_OK) return failed();
    std::vector<std::string> columns;
    for (int i = 0; i < sqlite3_column_count(statement_); ++i) {
      columns.emplace_back(sqlite3_column_name(statement_, i));
      if (std::find(known.begin(), known.end(), columns.back()) == known.end())
        return bad(format_.path, view, "has the column '" + base::shown(columns.back()) + "'",
                   "it may have " + base::join(known, ", "));
    }
    return columns;
  }

  static std::string part_of(const std::string& path) { return path + ".part"; }

  /// Writes the rows of a view as CSV, under a temporary name until all files are there. `allocs`: in and out, sum of
  /// the column `count`.
  Result<void> write(const char* view, const std::vector<std::string>& known, const std::string& path,
                     std::uint64_t& rows, std::uint64_t* allocs) {
    if (auto fine = io::check_output(path); !fine) return fine;
    auto columns = prepare(view, known);
    if (!columns) return tl::unexpected(columns.error());
    written_.push_back(path);
    std::ofstream file(part_of(path), std::ios::binary);
    file << base::join(*columns, ",") << "\n";
    run::Progress progress(view, 0, false);
    int code = SQLITE_ROW;
    const auto count = std::find(columns->begin(), columns->end(), "count");
    const int count_column = static_cast<int>(count - columns->begin());
    std::string line;
    while (file && (code = sqlite3_step(statement_)) == SQLITE_ROW) {
      line.clear();
      for (int i = 0; i < static_cast<int>(columns->size()); ++i) {
        if (i > 0) line += ',';
        if (sqlite3_column_type(statement_, i) == SQLITE_NULL) continue;
        const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, i));
        const std::string_view value = text ? text : "";
        if (value.find_first_of(",\"\r\n") != value.npos)
          return bad(format_.path, view,
                     fmt::format("row {}: '{}' is no word for a line of CSV", rows + 1, base::shown(value)),
                     "let the format replace commas, quotes and ends of lines");
        line += value;
      }
      file << line << '\n';
      if (allocs)
        *allocs += count == columns->end() ? 1
                                           : static_cast<std::uint64_t>(std::max<sqlite3_int64>(
                                                 sqlite3_column_int64(statement_, count_column), 0));
      progress.update(++rows);
      if (rows > static_cast<std::uint64_t>(sim::kTraceRowsMost))
        return bad(format_.path, view, fmt::format("finds more than {} rows, the most of a trace", sim::kTraceRowsMost),
                   "convert fewer files, or a part of the time if the format has a parameter for it (--set)");
    }
    progress.finish();
    file.close();
    if (!file) return bad(path, "", "cannot be written", "free some space, or name another file");
    if (code != SQLITE_DONE) return failed();
    if (rows == 0)
      return bad(format_.path, view, "finds nothing in these files", "are they the right ones for this format?");
    return {};
  }

  Result<void> count_skipped() {
    auto columns = prepare("skipped", {"reason", "rows"});
    if (!columns) return tl::unexpected(columns.error());
    int code = SQLITE_ROW;
    while ((code = sqlite3_step(statement_)) == SQLITE_ROW) {
      const auto* reason = reinterpret_cast<const char*>(sqlite3_column_text(statement_, 0));
      const auto rows = sqlite3_column_int64(statement_, 1);
      if (rows > 0) out_.skipped.emplace_back(reason ? reason : "", static_cast<std::uint64_t>(rows));
    }
    if (code != SQLITE_DONE) return failed();
    return {};
  }

  const Settings& settings_;
  const Format format_;
  Converted out_;
  std::vector<std::string> written_;  // so far under temporary names
  sqlite3* db_ = nullptr;
  sqlite3_stmt* statement_ = nullptr;
};

}  // namespace

Result<Converted> convert(const Settings& settings) {
  auto format = read_format(settings.format);
  if (!format) return tl::unexpected(format.error());
  if (auto done = assign(settings.inputs, *format); !done) return tl::unexpected(done.error());
  if (auto done = check_parameters(settings, *format); !done) return tl::unexpected(done.error());
  return Run(settings, std::move(*format)).run();
}

std::vector<std::pair<std::string, std::string>> formats() {
  std::vector<std::pair<std::string, std::string>> out;
  const auto folder = sim::committed_data("", "formats");
  if (!folder) return out;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(*folder, error)) {
    if (entry.path().extension() != ".sql") continue;
    std::ifstream file(entry.path());
    std::string line;
    std::getline(file, line);
    out.emplace_back(entry.path().stem().string(), line.starts_with("-- ") ? line.substr(3) : line);
  }
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace berth::trace
