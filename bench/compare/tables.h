// Text tables of the comparisons.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "compare/statistics.h"

namespace berth::compare {

using TableRows = std::vector<std::vector<std::string>>;

/// Rows and columns with a head, columns padded to their widest cell, the first to the left. A table wider than `width`
/// is broken: the columns that do not fit follow in a block of their own, beside the first column again. 0: never
/// broken.
[[nodiscard]] std::string text_table(const TableRows& rows, std::size_t width = 0);
[[nodiscard]] std::string markdown_table(const TableRows& rows);

/// "12.34 ± 0.56", with `interval` "12.34 ± 0.56 [11.9, 12.8]"; the mean alone for one value, "-" for none.
[[nodiscard]] std::string plus_minus(const Summary& s, int digits, bool interval = false);
/// Four digits.
[[nodiscard]] std::string p_words(double p);
/// "better", "worse", "differs" (direction 0), or "no difference shown". `direction` +1: more is better.
[[nodiscard]] const char* verdict_of(const PairedTest& test, int direction);
/// "better by 1.2, p 0.0310", the verdict alone where no difference is shown, "-" where there was nothing to test.
[[nodiscard]] std::string test_words(const PairedTest& test, int direction, int digits);
/// The head of a report: kind and version, the commit, build and machine that made it, the workload.
[[nodiscard]] json::Value report_head(const std::string& kind, const std::string& workload);
/// What is said of a test in a report.
[[nodiscard]] json::Value test_json(const PairedTest& test, int direction);
[[nodiscard]] json::Value summary_json(const Summary& s);

/// Width of tables where the terminal's is unknown.
inline constexpr std::size_t kTerminalWidth = 100;

/// How the tests in tables are made.
inline constexpr const char* kTestWords =
    "p: paired t test over seeds, adjusted for all rows (Holm); ranks p: Wilcoxon's signed ranks, not adjusted;\n"
    "effect: Cohen's d of the differences, from 0.2 small, 0.5 medium, 0.8 large\n";

}  // namespace berth::compare
