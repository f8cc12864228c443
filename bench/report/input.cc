#include "report/input.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "gate/history.h"
#include "io/files.h"
#include "io/json_fault.h"
#include "io/json_parse.h"
#include "report/kinds.h"
#include "report/schema.h"
#include "store/run_store.h"
#include "study/analysis.h"

namespace berth::report {
namespace {

constexpr const char* kRemedy =
    "give a file that --json of berth run, compare, gate, profile or load wrote, or a gate's history";

tl::unexpected<InputError> bad(const std::string& path, std::string place, std::string problem,
                               std::string remedy = kRemedy) {
  return tl::unexpected(InputError{path, std::move(place), std::move(problem), std::move(remedy)});
}

/// Type for a letter of `Need`.
struct Shape {
  char kind;
  const char* words;
  bool (json::Value::*is)() const;
};
constexpr Shape kShapes[] = {{'s', "a text", &json::Value::is_string},
                             {'n', "a number", &json::Value::is_number},
                             {'a', "a list with something in it", &json::Value::is_array},
                             {'l', "a list", &json::Value::is_array},
                             {'o', "an object", &json::Value::is_object},
                             {'b', "true or false", &json::Value::is_bool}};

Result<void> check_one(const json::Value& value, const std::string& path, const std::string& at, std::string_view rest,
                       char kind) {
  if (rest.empty()) {
    const Shape& shape =
        *std::find_if(std::begin(kShapes), std::end(kShapes), [&](const Shape& one) { return one.kind == kind; });
    const bool empty = kind == 'a' && value.is_array() && value.size() == 0;
    if ((value.*shape.is)() && !empty) return {};
    return bad(path, at,
               value.is_null() ? "is missing"
               : empty         ? "is empty"
                               : fmt::format("is {}, not {}", value.kind(), shape.words),
               "write the file again with this version of berth");
  }
  const std::size_t slash = rest.find('/');
  const std::string_view key = rest.substr(0, slash);
  rest = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  if (key != "*") return check_one(value[key], path, fmt::format("{}/{}", at, key), rest, kind);
  for (std::size_t i = 0; i < value.size(); ++i)
    if (auto fine = check_one(value[i], path, fmt::format("{}/{}", at, i), rest, kind); !fine) return fine;
  return {};
}

/// Checks format and version of a document; returns its kind.
Result<std::string> kind_of(const json::Value& value, const std::string& path, const std::string& place) {
  if (!value.is_object()) return bad(path, place, fmt::format("is {}, not a result of berth", value.kind()));
  // Answers of `berth plan` are Nomad's plus the member `Berth`.
  const json::Value& told = value["Berth"].is_object() ? value["Berth"] : value;
  const bool has_format = told["format"].is_string();
  const std::string& kind = has_format ? told["format"].as_string() : told["kind"].as_string();
  if (kind.empty()) return bad(path, place, "names no format: not a result of berth");
  const Kind* known = find_kind(kind);
  if (!known)
    return bad(path, place, fmt::format("is of the format '{}', which no report is made of", base::shown(kind)));
  if (told["version"] != json::Value(known->version))
    return bad(path, place.empty() ? "/version" : place,
               fmt::format("is version {} of {}; this berth reads version {}",
                           base::shown(json::to_text(told["version"])), kind, known->version),
               "use the berth that wrote it, or write it again");
  return kind;
}

}  // namespace

Result<void> check(const json::Value& value, const std::string& path, std::initializer_list<Need> needs) {
  for (const Need& need : needs)
    if (auto fine = check_one(value, path, "", need.path, need.kind); !fine) return fine;
  return {};
}

namespace {

constexpr const char* kContradiction = "it was changed or mixed up after berth wrote it; write it again";

const json::Value& found_at(const json::Value& value, std::string_view path) {
  const json::Value* at = &value;
  for (const std::string_view key : base::split(path, '/')) at = &(*at)[key];
  return *at;
}

}  // namespace

Result<void> check_columns(const json::Value& value, const std::string& path, const char* at, const char* clock) {
  const json::Value& columns = found_at(value, at);
  const json::Value& times = columns[clock];
  if (!times.is_array()) return {};
  for (const json::Member& column : columns.members())
    if (column.value.is_array() && column.value.size() != times.size())
      return bad(path, fmt::format("/{}/{}", at, base::shown(column.key)),
                 fmt::format("has {} values, and {} has {}", column.value.size(), clock, times.size()), kContradiction);
  for (std::size_t i = 0; i < times.size(); ++i)
    if (!times[i].is_number() || (i > 0 && times[i].as_double() < times[i - 1].as_double()))
      return bad(path, fmt::format("/{}/{}/{}", at, clock, i),
                 times[i].is_number() ? "is earlier than the one before" : "is no time", kContradiction);
  return {};
}

Result<void> check_percentiles(const json::Value& value, const std::string& path, const char* at) {
  const json::Value& percentiles = found_at(value, at);
  double before = 0;
  const char* before_name = "0";
  for (const char* name : {"min", "p50", "p90", "p99", "p999", "max"}) {
    const json::Value& one = percentiles[name];
    if (!one.is_number()) continue;
    if (one.as_double() < before)
      return bad(
          path, fmt::format("/{}/{}", at, name),
          fmt::format("is {:g}, below {}", one.as_double(),
                      before_name == std::string_view("0") ? std::string("0")
                                                           : fmt::format("{}, which is {:g}", before_name, before)),
          kContradiction);
    before = one.as_double(), before_name = name;
  }
  return {};
}

Result<Input> as_input(json::Value value, const std::string& title) {
  auto kind = kind_of(value, title, "");
  if (!kind) return tl::unexpected(kind.error());
  Input out{title, std::move(*kind), std::move(value)};
  if (auto fine = find_kind(out.kind)->check(out); !fine) return tl::unexpected(fine.error());
  if (auto fine = check_schema(out.value, out.kind, title); !fine) return tl::unexpected(fine.error());
  return out;
}

Result<Input> read_input(const std::string& path) {
  const auto text = io::read_file(path);
  if (!text) return tl::unexpected(text.error());
  if (base::trim_space(*text).empty()) return bad(path, "", "is empty");
  if (text->starts_with("SQLite format 3")) {
    const auto db = store::RunStore::open_existing(path);
    if (!db) return tl::unexpected(db.error());
    const auto records = db->records(store::RunKind::run);
    if (!records) return tl::unexpected(records.error());
    if (!records->empty()) return as_input(study::to_json(study::analyse(*records)), path);
    if (const auto history = gate::read_history(path); !history) return tl::unexpected(history.error().error);
    return Input{path, "berth-history", {}};
  }
  const std::string_view first = std::string_view(*text).substr(0, text->find('\n'));
  if (const auto line = io::parse_json(first, path, "1"); line && (*line)["format"].as_string() == "berth-history")
    return bad(path, "", "is a history in lines of JSON, which an older berth wrote",
               "read it with that berth; --history starts a new one");
  auto value = io::parse_json(*text, path);
  if (!value) {
    InputError error = value.error();
    if (error.remedy.empty()) error.remedy = "the file may be cut short: write it again";
    return tl::unexpected(error);
  }
  auto input = as_input(std::move(*value), path);
  if (!input) return tl::unexpected(io::with_line(input.error(), *text));
  return input;
}

}  // namespace berth::report
