#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "compare/tables.h"

namespace berth::report {
namespace {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return (value < 0 && digits != "0" ? "-" : "") + digits;
}

/// Three digits that count, of a number below 1,000 or so.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return size >= 999.5                ? grouped(value)
         : size >= 99.95 || size == 0 ? fmt::format("{:.0f}", value)
         : size >= 9.995              ? fmt::format("{:.1f}", value)
         : size >= 0.0995             ? fmt::format("{:.2f}", value)
                                      : fmt::format("{:.3g}", value);
}

/// Text of a file may hold anything: what is not printable would move the terminal's cursor.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

json::Value number(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(); }

json::Value cell_json(const Cell& cell) {
  if (cell.tone.empty()) return cell.text;
  json::Value out = json::Value::array();
  out.push(cell.text), out.push(cell.tone);
  return out;
}

json::Value texts_json(const std::vector<std::string>& texts) {
  json::Value out = json::Value::array();
  for (const std::string& text : texts) out.push(text);
  return out;
}

json::Value pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  json::Value out = json::Value::array();
  for (const auto& [name, value] : pairs) {
    json::Value pair = json::Value::array();
    pair.push(name), pair.push(value);
    out.push(std::move(pair));
  }
  return out;
}

json::Value table_json(const Table& table) {
  json::Value out = json::Value::object();
  out.set("title", table.title);
  out.set("head", texts_json(table.head));
  json::Value rows = json::Value::array();
  for (const auto& row : table.rows) {
    json::Value cells = json::Value::array();
    for (const Cell& cell : row) cells.push(cell_json(cell));
    rows.push(std::move(cells));
  }
  out.set("rows", std::move(rows));
  out.set("note", table.note);
  out.set("folded", table.folded);
  return out;
}

json::Value axis_json(const Axis& axis) {
  json::Value out = json::Value::object();
  out.set("title", axis.title);
  out.set("unit", axis.unit);
  out.set("log", axis.log);
  out.set("percentile", axis.percentile);
  out.set("max", number(axis.max));
  return out;
}

json::Value numbers_json(const std::vector<double>& values) {
  json::Value out = json::Value::array();
  for (const double value : values) out.push(number(value));
  return out;
}

json::Value chart_json(const Chart& chart) {
  static const char* const kKinds[] = {"line", "points", "bars", "heat"};
  json::Value out = json::Value::object();
  out.set("kind", kKinds[static_cast<std::size_t>(chart.kind)]);
  out.set("title", chart.title);
  out.set("about", chart.about);
  out.set("x", axis_json(chart.x));
  out.set("y", axis_json(chart.y));
  if (chart.kind == ChartKind::heat) {
    json::Value rows = json::Value::array();
    for (const auto& row : chart.heat) rows.push(numbers_json(row));
    out.set("heat", std::move(rows));
    out.set("heat_unit", chart.heat_unit);
    out.set("heat_what", chart.heat_what);
    out.set("x_range", numbers_json({chart.x_range.first, chart.x_range.second}));
    out.set("y_range", numbers_json({chart.y_range.first, chart.y_range.second}));
    out.set("columns", numbers_json(chart.columns));
    return out;
  }
  out.set("stacked", chart.stacked);
  out.set("categories", texts_json(chart.categories));
  json::Value all = json::Value::array();
  for (const Series& series : chart.series) {
    json::Value one = json::Value::object();
    one.set("name", series.name);
    one.set("dashed", series.dashed);
    one.set("color", series.color);
    json::Value points = json::Value::array();
    for (const Point& p : series.points)
      points.push(std::isnan(p.low) ? numbers_json({p.x, p.y}) : numbers_json({p.x, p.y, p.low, p.high}));
    one.set("points", std::move(points));
    all.push(std::move(one));
  }
  out.set("series", std::move(all));
  json::Value marks = json::Value::array();
  for (const Mark& mark : chart.marks) {
    json::Value one = json::Value::array();
    one.push(number(mark.x)), one.push(number(mark.until)), one.push(mark.name);
    marks.push(std::move(one));
  }
  out.set("marks", std::move(marks));
  return out;
}

}  // namespace

std::string shown(double value, Unit unit) {
  if (!std::isfinite(value)) return "-";
  const std::string_view u = unit;
  const double size = std::abs(value);
  if (u == "ns") {
    if (size < 999.5) return fmt::format("{:.0f} ns", value);
    if (size < 999.5e3) return three_digits(value / 1e3) + " us";
    if (size < 999.5e6) return three_digits(value / 1e6) + " ms";
    return three_digits(value / 1e9) + " s";
  }
  if (u == "s") return size > 0 && size < 0.9995 ? shown(value * 1e9, "ns") : three_digits(value) + " s";
  if (u == "bytes") {
    if (size < 1 << 20) return three_digits(value / 1024) + " KiB";
    return size < 1 << 30 ? three_digits(value / (1 << 20)) + " MiB" : three_digits(value / (1 << 30)) + " GiB";
  }
  if (u == "%") return fmt::format("{:.2f} %", value);
  if (u == "/s") return three_digits(value) + "/s";
  if (u == "x") return fmt::format("{:.2f}x", value);
  std::string out = std::floor(value) == value ? grouped(value) : three_digits(value);
  return u.empty() ? out : out + " " + std::string(u);
}

json::Value to_json(const Document& document) {
  json::Value out = json::Value::object();
  out.set("title", document.title);
  json::Value sections = json::Value::array();
  for (const Section& section : document.sections) {
    json::Value one = json::Value::object();
    one.set("title", section.title);
    one.set("file", section.file);
    one.set("verdict", cell_json(section.verdict));
    one.set("facts", pairs_json(section.facts));
    json::Value tables = json::Value::array(), charts = json::Value::array();
    for (const Table& table : section.tables) tables.push(table_json(table));
    for (const Chart& chart : section.charts) charts.push(chart_json(chart));
    one.set("tables", std::move(tables));
    one.set("charts", std::move(charts));
    one.set("texts", pairs_json(section.texts));
    sections.push(std::move(one));
  }
  out.set("sections", std::move(sections));
  return out;
}

std::string to_terminal(const Document& document) {
  std::string out;
  for (const Section& section : document.sections) {
    if (!out.empty()) out += "\n";
    out += printable(section.title);
    if (!section.verdict.text.empty()) out += ": " + printable(section.verdict.text);
    out += "\n";
    for (const auto& [name, value] : section.facts)
      out += fmt::format("  {:<12}{}\n", printable(name), printable(value));
    for (const Table& table : section.tables) {
      if (table.page_only || table.rows.empty()) continue;
      out += "\n";
      if (!table.title.empty()) out += "  " + printable(table.title) + "\n";
      compare::TableRows rows(1, table.head);
      for (const auto& row : table.rows) {
        auto& texts = rows.emplace_back();
        for (const Cell& cell : row) texts.push_back(printable(cell.text));
      }
      for (std::string& head : rows[0]) head = printable(head);
      out += compare::text_table(rows);
      if (!table.note.empty()) out += "  " + printable(table.note) + "\n";
    }
  }
  return out;
}

}  // namespace berth::report
