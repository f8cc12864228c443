// Text tables of comparisons.
#pragma once

#include <string>
#include <vector>

#include "base/retained_json.h"
#include "compare/statistics.h"

namespace berth::compare {

using TableRows = std::vector<std::vector<std::string>>;

/// Rows and columns with a head, columns padded to their widest cell, the first left-aligned. If the table is wider
/// than `width`, the remaining columns follow in further blocks that repeat the first column; a column too wide for
/// that is alone in its block, its texts broken at spaces. 0: never broken.
[[nodiscard]] std::string text_table(const TableRows& rows, std::size_t width = 0);
/// `first`, then `text` in lines of at most `width` columns, broken at spaces, the later ones indented by `first`'s
/// width. 0: one line.
[[nodiscard]] std::string wrapped_text(const std::string& first, const std::string& text, std::size_t width);
[[nodiscard]] std::string markdown_table(const TableRows& rows);

/// A text as a cell of a CSV line: quoted if it has a comma or a quote, as formulas do.
[[nodiscard]] std::string csv_cell(const std::string& text);

/// "12.34 ± 0.56", with `interval` "12.34 ± 0.56 [11.9, 12.8]"; the mean alone for one value, "-" for none.
[[nodiscard]] std::string plus_minus(const Summary& s, int digits, bool interval = false);
/// p with four decimals.
[[nodiscard]] std::string p_words(double p);
/// "better", "worse", "differs" (direction 0), or "no difference shown". `direction` +1: more is better.
[[nodiscard]] const char* verdict_of(const PairedTest& test, int direction);
/// "better by 1.2, p 0.0310"; only the verdict if no difference is shown; "-" if there was nothing to test.
[[nodiscard]] std::string test_words(const PairedTest& test, int direction, int digits);
/// The head of a report: kind and version, commit, build and machine, workload.
[[nodiscard]] json::Value report_head(const std::string& kind, const std::string& workload);
/// A test in the JSON of a report.
[[nodiscard]] json::Value test_json(const PairedTest& test, int direction);
[[nodiscard]] json::Value summary_json(const Summary& s);

/// Width of tables if the terminal's is unknown.
inline constexpr std::size_t kTerminalWidth = 100;

/// Explanation of the tests in tables.
inline constexpr const char* kTestWords =
    "p: paired t test over seeds, adjusted for all rows (Holm); ranks p: Wilcoxon's signed ranks, not adjusted;\n"
    "effect: Cohen's d of the differences, from 0.2 small, 0.5 medium, 0.8 large\n";

}  // namespace berth::compare
