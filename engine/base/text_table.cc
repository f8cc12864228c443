#include "base/text_table.h"

#include <fmt/format.h>

#include <algorithm>

namespace berth::base {

std::string table_text(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  const auto cell = [](const std::string& text) { return text.empty() ? std::string("<none>") : text; };
  for (const auto& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths.resize(std::max(widths.size(), i + 1));
      widths[i] = std::max(widths[i], cell(row[i]).size());
    }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += i + 1 == row.size() ? cell(row[i]) : fmt::format("{:<{}}  ", cell(row[i]), widths[i]);
    out += "\n";
  }
  return out;
}

std::string headed_table(const std::string& heading, std::vector<std::vector<std::string>> rows, bool all) {
  if (rows.size() == 1) return "";
  const std::size_t left = all ? 0 : rows.size() - std::min(rows.size(), kTableRowsShown + 1);
  rows.resize(rows.size() - left);
  std::string out = heading + "\n" + table_text(rows);
  if (left > 0) out += fmt::format("... and {} more; --verbose shows all\n", left);
  return out;
}

}  // namespace berth::base
