// Input files of reports: read, recognised and checked, so that the sections can rely on their members.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "berth/result.h"

namespace berth::report {

/// Content of a file, or a result that was just measured.
struct Input {
  std::string path;  ///< "" if not from a file
  std::string kind;  ///< "berth-run", "berth-compare", ... : its `format` or `kind`
  json::Value value;
};

/// Errors name the file and the place: not JSON, empty, no or another format or version, without a member that its
/// report needs, or with one that violates its schema.
[[nodiscard]] Result<Input> read_input(const std::string& path);
/// A result of this process, with `title` in place of a file name.
[[nodiscard]] Result<Input> as_input(json::Value value, const std::string& title);

/// A required member: "settings/seed" and its type: s text, n number, a non-empty list, l list, o object, b boolean. A
/// part `*` of a path means every item of the list before it.
struct Need {
  const char* path;
  char kind;
};
/// Error for the first unmet need, at its place in `path`.
[[nodiscard]] Result<void> check(const json::Value& value, const std::string& path, std::initializer_list<Need> needs);

/// Checks a table stored by column. `at`: path, as in Need, of an object whose members are lists. All lists must be as
/// long as the list `clock`, which must be non-decreasing. A missing member is no error.
[[nodiscard]] Result<void> check_columns(const json::Value& value, const std::string& path, const char* at,
                                         const char* clock);
/// Checks that the percentiles of the object at `at` are non-negative and non-decreasing from "min" to
/// "max".
[[nodiscard]] Result<void> check_percentiles(const json::Value& value, const std::string& path, const char* at);

}  // namespace berth::report
