// Strict reading of TOML tables. Each key is read once with its type and range. A key that was not read is an error
// with its line. The first error is reported, but a wrong key before a missing one, because a misspelt key is both.
// Reading continues with defaults after an error, so callers check once at the end.
#pragma once

#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "berth/result.h"
#include "sim/quantity.h"

namespace berth::sim {

struct TomlReader {
  std::string path;
  std::optional<InputError> error;
  bool missing = false;  ///< `error` is about a missing key

  void fail(std::size_t line, std::string problem, std::string remedy, bool is_missing = false);
};

class TomlSection {
 public:
  /// `name` is the table's name in errors, e.g. "[cluster]". A null table behaves like an empty one.
  TomlSection(TomlReader& reader, const toml::table* table, std::string name, std::size_t line);
  TomlSection(const TomlSection&) = delete;
  TomlSection& operator=(const TomlSection&) = delete;

  [[nodiscard]] bool has(std::string_view key) const;
  [[nodiscard]] std::size_t line(std::string_view key = "") const;  ///< line of the key, else of the table
  void fail(std::string_view key, std::string problem, std::string remedy);
  void fail_at(std::size_t line, std::string problem, std::string remedy) {
    reader_.fail(line, std::move(problem), std::move(remedy));
  }

  std::int64_t integer(std::string_view key, std::int64_t fallback, std::int64_t min, std::int64_t max);
  double number(std::string_view key, double fallback, double min, double max);
  std::vector<double> numbers(std::string_view key, double min, double max);  ///< a number or a list of numbers
  /// A list of pairs (x, y) with rising x; absent = empty.
  std::vector<std::pair<double, double>> curve(std::string_view key, double x_max, double y_max);
  bool boolean(std::string_view key, bool fallback);
  std::string text(std::string_view key, std::string fallback);
  std::vector<std::string> texts(std::string_view key);  ///< a text or a list of texts
  /// n, [min, max], {values = [...], weights = [...]} or {quantiles = [[q, value], ...]}.
  Quantity quantity(std::string_view key, Quantity fallback, std::int64_t min, std::int64_t max);
  std::map<std::string, std::vector<std::string>> text_map(std::string_view key);
  const toml::table* table(std::string_view key);
  std::vector<const toml::table*> tables(std::string_view key);  ///< an array of tables; absent = empty

  template <class E>
  E choice(std::string_view key, E fallback, const std::vector<std::pair<const char*, E>>& values) {
    const std::string said = text(key, "");
    if (said.empty() && !has(key)) return fallback;
    std::string all;
    for (const auto& [word, value] : values) {
      if (said == word) return value;
      all += (all.empty() ? "" : ", ") + std::string(word);
    }
    fail(key, "'" + std::string(key) + "' is '" + said + "'", "use one of: " + all);
    return fallback;
  }

  /// Reports keys that were not read.
  void finish();

 private:
  const toml::node* take(std::string_view key);
  std::optional<std::int64_t> whole(const toml::node& node) const;
  /// True if the text has no control characters; else reports an error.
  bool is_one_line(std::string_view key, std::string_view value);

  TomlReader& reader_;
  const toml::table* table_;
  std::string name_;
  std::size_t line_;
  std::vector<std::string> known_;
};

/// Moves the entries of `changes` into `base`. Tables are merged key by key, everything else is replaced.
void merge_toml(toml::table& base, toml::table&& changes);

}  // namespace berth::sim
