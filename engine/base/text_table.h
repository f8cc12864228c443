// Tables of text for terminals.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace berth::base {

/// A table in Nomad's format: columns padded, two spaces between, `<none>` for an empty cell.
[[nodiscard]] std::string table_text(const std::vector<std::vector<std::string>>& rows);

/// Most rows of a headed_table(), unless all are requested.
inline constexpr std::size_t kTableRowsShown = 20;
/// A table under a heading; the first of `rows` names the columns. "" without further rows. Unless `all`, cut off after
/// kTableRowsShown rows, with a last line that counts the omitted ones.
[[nodiscard]] std::string headed_table(const std::string& heading, std::vector<std::vector<std::string>> rows,
                                       bool all);

}  // namespace berth::base
