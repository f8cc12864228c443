// A report on any subject: sections of facts, tables and charts as plain values. The terminal prints facts and tables,
// the page (page.js) shows everything.
#pragma once

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "compare/tables.h"

namespace berth::report {

/// Format of a number: "ns" 1.23 ms, "s", "bytes", "%" (a share times 100), "/s", "x" (a ratio), "" (a count).
using Unit = const char*;
/// "1.23 ms", "12,345", "3.4 %"; "-" if not a number.
[[nodiscard]] std::string shown(double value, Unit unit);

/// `tone` colours a cell or a verdict: "good", "bad", "warn" or "".
struct Cell {
  Cell(std::string text_, std::string tone_ = "") : text(std::move(text_)), tone(std::move(tone_)) {}  // NOLINT
  Cell(const char* text_) : text(text_) {}                                                             // NOLINT
  std::string text, tone;
};
struct Table {
  std::string title;
  std::vector<std::string> head;
  std::vector<std::vector<Cell>> rows;
  std::string note = {};   ///< below the table
  bool folded = false;     ///< the page shows it on demand, below the charts
  bool page_only = false;  ///< the terminal does not show it
  bool terminal_only = false;
  bool filter = false;  ///< the page has a text field that filters the rows
};

inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
struct Point {
  double x = 0, y = 0;
  double low = kNone, high = kNone;  ///< of an error bar
};
struct Series {
  std::string name;
  std::vector<Point> points;  ///< of a bar chart: x is the index of the category
  bool dashed = false;        ///< a reference
  int color = -1;             ///< index into the palette; -1 = by position
};
struct Axis {
  std::string title;
  Unit unit = "";
  bool log = false;
  bool percentile = false;  ///< values are 1 / (1 - p)
  double max = kNone;       ///< smallest end of the axis
};
/// An event on the x axis of a line chart; with `until` a period.
struct Mark {
  double x = 0, until = kNone;
  std::string name;
  bool main = true;  ///< shown in full; else as a tick at the upper edge
};
enum class ChartKind { line, points, bars, heat };
struct Chart {
  ChartKind kind = ChartKind::line;
  std::string title;
  std::string about;  ///< text alternative for screen readers: content and main numbers
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  std::vector<std::string> categories = {};  ///< of a bar chart: names of the bars, from top to bottom
  bool stacked = false;
  std::vector<Mark> marks = {};
  // Heat map: value[row][column], rows from the bottom; unit of the values, labels of the axes' edges.
  std::vector<std::vector<double>> heat = {};
  Unit heat_unit = "";
  std::string heat_what = {};
  std::pair<double, double> x_range = {0, 1}, y_range = {0, 1};
  std::vector<double> columns = {};  ///< x of each column if not evenly spaced
};

/// Nested frames with their weight (flame graph); only on the page.
struct Flame {
  std::string title, about;
  std::vector<std::pair<std::string, double>> stacks;  ///< frames from the root, joined by ';'
};

struct Section {
  std::string title, file;
  Cell verdict = "";
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<Table> tables;
  std::vector<Chart> charts;
  std::vector<std::pair<std::string, std::string>> texts;  ///< titles with preformatted text, folded
  Flame flame = {};
};
struct Document {
  std::string title;
  std::vector<Section> sections;
};

/// The input of page.js.
[[nodiscard]] json::Value to_json(const Document& document);
/// Facts and tables for the terminal, at most `width` columns wide (0: unlimited). Wider tables are broken, see
/// compare::text_table().
[[nodiscard]] std::string to_terminal(const Document& document, std::size_t width = compare::kTerminalWidth);

}  // namespace berth::report
