#include "report/document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "compare/tables.h"

namespace berth::report {
namespace {

std::string grouped(double value) {
  std::string digits = fmt::format("{:.0f}", std::abs(value));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return (value < 0 && digits != "0" ? "-" : "") + digits;
}

/// Three significant digits of a number below about 1,000.
std::string three_digits(double value) {
  const double size = std::abs(value);
  return size >= 999.5                ? grouped(value)
         : size >= 99.95 || size == 0 ? fmt::format("{:.0f}", value)
         : size >= 9.995              ? fmt::format("{:.1f}", value)
         : size >= 0.0995             ? fmt::format("{:.2f}", value)
                                      : fmt::format("{:.3g}", value);
}

/// Replaces unprintable characters: text from a file could otherwise move the terminal's cursor.
std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return out;
}

/// `to_json` of each item, as a list.
template <class List, class ToJson>
json::Value list_json(const List& list, ToJson to_json) {
  json::Array out;
  for (const auto& one : list) out.push_back(to_json(one));
  return out;
}

json::Value number(double value) { return std::isfinite(value) ? json::Value(value) : json::Value(); }
json::Value numbers_json(const std::vector<double>& values) { return list_json(values, number); }
json::Value texts_json(const std::vector<std::string>& texts) { return json::Array(texts.begin(), texts.end()); }
json::Value pairs_json(const std::vector<std::pair<std::string, std::string>>& pairs) {
  return list_json(pairs, [](const auto& pair) { return json::Array{pair.first, pair.second}; });
}
json::Value cell_json(const Cell& cell) {
  return cell.tone.empty() ? json::Value(cell.text) : json::Value(json::Array{cell.text, cell.tone});
}

json::Value table_json(const Table& table) {
  return json::Object{{"title", table.title},
                      {"head", texts_json(table.head)},
                      {"rows", list_json(table.rows, [](const auto& row) { return list_json(row, cell_json); })},
                      {"note", table.note},
                      {"folded", table.folded},
                      {"filter", table.filter}};
}

json::Value flame_json(const Flame& flame) {
  return json::Object{
      {"title", flame.title}, {"about", flame.about}, {"stacks", list_json(flame.stacks, [](const auto& stack) {
                                                         return json::Array{stack.first, number(stack.second)};
                                                       })}};
}

json::Value axis_json(const Axis& axis) {
  return json::Object{{"title", axis.title},
                      {"unit", axis.unit},
                      {"log", axis.log},
                      {"percentile", axis.percentile},
                      {"max", number(axis.max)}};
}

json::Value chart_json(const Chart& chart) {
  static const char* const kKinds[] = {"line", "points", "bars", "heat"};
  json::Value out = json::Object{{"kind", kKinds[static_cast<std::size_t>(chart.kind)]},
                                 {"title", chart.title},
                                 {"about", chart.about},
                                 {"x", axis_json(chart.x)},
                                 {"y", axis_json(chart.y)}};
  if (chart.kind == ChartKind::heat) {
    out.set("heat", list_json(chart.heat, numbers_json));
    out.set("heat_unit", chart.heat_unit);
    out.set("heat_what", chart.heat_what);
    out.set("x_range", numbers_json({chart.x_range.first, chart.x_range.second}));
    out.set("y_range", numbers_json({chart.y_range.first, chart.y_range.second}));
    out.set("columns", numbers_json(chart.columns));
    return out;
  }
  out.set("stacked", chart.stacked);
  out.set("categories", texts_json(chart.categories));
  const auto point_json = [](const Point& p) {
    return std::isnan(p.low) ? numbers_json({p.x, p.y}) : numbers_json({p.x, p.y, p.low, p.high});
  };
  out.set("series", list_json(chart.series, [&](const Series& series) {
            return json::Object{{"name", series.name},
                                {"dashed", series.dashed},
                                {"color", series.color},
                                {"points", list_json(series.points, point_json)}};
          }));
  out.set("marks", list_json(chart.marks, [](const Mark& mark) {
            return json::Array{number(mark.x), number(mark.until), mark.name, mark.main};
          }));
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
  const auto section_json = [](const Section& section) {
    std::vector<Table> tables;
    std::copy_if(section.tables.begin(), section.tables.end(), std::back_inserter(tables),
                 [](const Table& table) { return !table.terminal_only; });
    return json::Object{{"title", section.title},
                        {"file", section.file},
                        {"verdict", cell_json(section.verdict)},
                        {"facts", pairs_json(section.facts)},
                        {"tables", list_json(tables, table_json)},
                        {"charts", list_json(section.charts, chart_json)},
                        {"texts", pairs_json(section.texts)},
                        {"flame", flame_json(section.flame)}};
  };
  return json::Object{{"title", document.title}, {"sections", list_json(document.sections, section_json)}};
}

std::string to_terminal(const Document& document, std::size_t width) {
  std::string out;
  for (const Section& section : document.sections) {
    if (!out.empty()) out += "\n";
    out += printable(section.title);
    if (!section.verdict.text.empty()) out += ": " + printable(section.verdict.text);
    out += "\n";
    for (const auto& [name, value] : section.facts)
      out += compare::wrapped_text(fmt::format("  {:<11} ", printable(name)), printable(value), width);
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
      out += compare::text_table(rows, width);
      if (!table.note.empty()) out += compare::wrapped_text("  ", printable(table.note), width);
    }
  }
  return out;
}

}  // namespace berth::report
