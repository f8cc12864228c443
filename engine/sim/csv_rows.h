// Comma-separated values with a header and without quoting, as the data sets and own traces have them.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "berth/result.h"
#include "sim/workload.h"

namespace berth::sim {

/// Reads a comma-separated file with a header and without quoting. Fields of the current row are read by column; the
/// first problem is kept.
class CsvRows {
 public:
  static constexpr std::size_t kMaxColumns = 1000;

  /// `remedy`: advice to print if the file is damaged or cut off, for example how to download it again.
  CsvRows(std::string_view text, std::string path, std::string remedy)
      : rest_(text), path_(std::move(path)), remedy_(std::move(remedy)) {
    if (rest_.starts_with("\xef\xbb\xbf")) rest_.remove_prefix(3);
    if (!read_line()) {
      fail("", "is empty", remedy_);
      return;
    }
    if (fields_.size() > kMaxColumns) {
      fail("", fmt::format("has {} columns", fields_.size()), fmt::format("use at most {}", kMaxColumns));
      return;
    }
    header_.assign(fields_.begin(), fields_.end());
    for (std::size_t i = 0; i < header_.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        if (header_[i] == header_[j]) fail(header_[i], "occurs twice in the header", "remove one of them");
  }

  [[nodiscard]] std::size_t column(std::string_view name, bool needed = true) {
    const auto found = std::find(header_.begin(), header_.end(), name);
    if (found == header_.end() && needed)
      fail("", "has no column '" + std::string(name) + "'", "is it the right file? " + remedy_);
    return static_cast<std::size_t>(found - header_.begin());
  }
  [[nodiscard]] bool has(std::size_t column) const { return column < header_.size(); }

  bool next() {
    while (!error_ && read_line()) {
      if (fields_.size() == 1 && fields_[0].empty()) continue;
      if (fields_.size() == header_.size()) return true;
      fail("", fmt::format("has {} fields instead of {}", fields_.size(), header_.size()),
           "the line is cut off or damaged: " + remedy_);
    }
    return false;
  }
  [[nodiscard]] std::string text(std::size_t column, std::size_t max_bytes = 256) {
    const std::string_view field = fields_[column];
    const bool plain = std::all_of(field.begin(), field.end(), [](char c) { return c > 0x20 && c < 0x7f && c != '"'; });
    if (!plain || field.size() > max_bytes)
      fail(header_[column], "'" + base::shown(field) + "' is not a plain word", remedy_);
    return std::string(field);
  }
  std::int64_t integer(std::size_t column, std::int64_t min, std::int64_t max) {
    const auto value = base::parse_int64(fields_[column]);
    if (!value || *value < min || *value > max) {
      fail(header_[column], "'" + base::shown(fields_[column]) + "' is not a whole number in range",
           fmt::format("use {} to {}", min, max));
      return min;
    }
    return *value;
  }
  double number(std::size_t column, double min, double max) {
    const auto value = base::parse_double(fields_[column]);
    if (value && *value >= min && *value <= max) return *value;
    fail(header_[column], "'" + base::shown(fields_[column]) + "' is no number in range",
         fmt::format("use {} to {}", min, max));
    return min;
  }
  /// Seconds as a decimal number, in ns.
  std::int64_t seconds(std::size_t column) {
    const auto value = base::parse_double(fields_[column]);
    if (!value || !(*value >= 0 && *value <= kLatestNs / 1e9)) {
      fail(header_[column], "'" + base::shown(fields_[column]) + "' is no time in seconds",
           "use a decimal number from 0 to 4000000000");
      return 0;
    }
    return std::llround(*value * 1e9);
  }
  [[nodiscard]] const std::vector<std::string>& header() const { return header_; }
  [[nodiscard]] bool empty(std::size_t column) const { return fields_[column].empty(); }
  void fail(std::string_view column, std::string problem, std::string remedy) {
    if (error_) return;
    std::string place = line_ == 0 ? "" : std::to_string(line_);
    if (!column.empty()) place += ":" + base::shown(column);
    error_ = InputError{path_, std::move(place), std::move(problem), std::move(remedy)};
  }
  [[nodiscard]] const std::optional<InputError>& error() const { return error_; }

 private:
  bool read_line() {
    if (rest_.empty()) return false;
    ++line_;
    const std::size_t end = rest_.find('\n');
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    fields_ = base::split(line, ',');
    return true;
  }

  std::string_view rest_;
  std::string path_, remedy_;
  std::size_t line_ = 0;
  std::vector<std::string> header_;
  std::vector<std::string_view> fields_;
  std::optional<InputError> error_;
};

}  // namespace berth::sim
