// The files that reports are made of: read, recognised and checked, so that whoever draws them finds what it needs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "berth/result.h"

namespace berth::report {

/// One file's content, or a result that was just measured.
struct Input {
  std::string path;  ///< "" when it comes from no file
  std::string kind;  ///< "berth-run", "berth-compare", ... : its `format` or `kind`
  json::Value value;
  std::vector<json::Value> lines = {};  ///< of a history
};

/// Errors name the file and the place: not JSON, of no or of another format or version, without something that its
/// report needs, with a member that does not follow its schema, empty.
[[nodiscard]] Result<Input> read_input(const std::string& path);
/// A result of this process, under the name `title` where a file's name would stand.
[[nodiscard]] Result<Input> as_input(json::Value value, const std::string& title);

/// What must be there: "settings/seed" and its kind: s text, n number, a list with something in it, l list, o object,
/// b boolean. The last part of a path may be `*`: every item of the list before.
struct Need {
  const char* path;
  char kind;
};
/// The first need that does not hold, as an error at its place in `path`.
[[nodiscard]] Result<void> check(const json::Value& value, const std::string& path, std::initializer_list<Need> needs);

/// That a table of columns does not contradict itself: `at` is a path as above to an object of lists; all of them are
/// as long as its list `clock`, whose numbers do not fall. What is not there contradicts nothing.
[[nodiscard]] Result<void> check_columns(const json::Value& value, const std::string& path, const char* at,
                                         const char* clock);
/// That the percentiles of the object at `at` do not fall from "min" to "max", and are not negative.
[[nodiscard]] Result<void> check_percentiles(const json::Value& value, const std::string& path, const char* at);

}  // namespace berth::report
