#include "compare/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/build_info.h"
#include "run/machine.h"

namespace berth::compare {
namespace {

std::size_t shown_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

std::string wrapped_text(const std::string& first, const std::string& text, std::size_t width) {
  std::string out = first;
  const std::size_t left = shown_width(first);
  const std::string indent(left, ' ');
  std::size_t column = left;
  for (std::size_t at = 0; at < text.size();) {
    const std::string word = text.substr(at, text.find(' ', at) - at);
    if (width > 0 && column > left && column + 1 + shown_width(word) > width) out += "\n" + indent, column = left;
    if (column > left) out += ' ', ++column;
    out += word, column += shown_width(word);
    at += word.size() + 1;
  }
  return out + "\n";
}

std::string text_table(const TableRows& rows, std::size_t width) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows)
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c >= widths.size()) widths.push_back(0);
      widths[c] = std::max(widths[c], shown_width(row[c]));
    }
  const auto cell = [&](const std::vector<std::string>& row, std::size_t c) {
    const std::string gap(widths[c] - shown_width(row[c]), ' ');
    return c == 0 ? fmt::format("  {}{}", row[c], gap) : fmt::format("  {}{}", gap, row[c]);
  };
  std::string out;
  const std::size_t first = widths.empty() ? 0 : 2 + widths[0];
  for (std::size_t begin = std::min<std::size_t>(1, widths.size()), end = begin;; begin = end) {
    for (std::size_t column = first; end < widths.size(); ++end) {
      column += 2 + widths[end];
      if (width > 0 && end > begin && column > width) break;
    }
    if (begin > 1) out += "\n";
    const bool wraps = width > 0 && end == begin + 1 && first + 2 + widths[begin] > width;  // one column, too wide
    for (const auto& row : rows) {
      if (wraps && begin < row.size() && !row[begin].empty()) {
        out += wrapped_text(cell(row, 0) + "  ", row[begin], width);
        continue;
      }
      std::string line = row.empty() ? "" : cell(row, 0);
      for (std::size_t c = begin; c < std::min(end, row.size()); ++c) line += cell(row, c);
      out += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
    }
    if (end >= widths.size()) return out;
  }
}

std::string markdown_table(const TableRows& rows) {
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    out += "|";
    for (const std::string& cell : rows[r]) out += fmt::format(" {} |", cell);
    out += "\n";
    if (r > 0) continue;
    out += "|";
    for (std::size_t c = 0; c < rows[0].size(); ++c) out += "---|";
    out += "\n";
  }
  return out;
}

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string plus_minus(const Summary& s, int digits, bool interval) {
  if (s.count == 0) return "-";
  if (s.count == 1) return fmt::format("{:.{}f}", s.mean, digits);
  std::string out = fmt::format("{:.{}f} ± {:.{}f}", s.mean, digits, s.deviation, digits);
  if (interval) out += fmt::format(" [{:.{}f}, {:.{}f}]", s.low, digits, s.high, digits);
  return out;
}

std::string p_words(double p) { return p < 1e-4 ? "<0.0001" : fmt::format("{:.4f}", p); }

const char* verdict_of(const PairedTest& test, int direction) {
  if (!test.shown) return "no difference shown";
  return direction == 0 ? "differs" : test.difference * direction > 0 ? "better" : "worse";
}

std::string test_words(const PairedTest& test, int direction, int digits) {
  if (test.pairs < 2) return "-";
  if (!test.shown) return verdict_of(test, direction);
  return fmt::format("{} by {:.{}f}, p {}", verdict_of(test, direction), std::abs(test.difference), digits,
                     p_words(test.p_adjusted));
}

json::Value report_head(const std::string& kind, const std::string& workload) {
  return json::Object{{"kind", kind},
                      {"version", 1},
                      {"commit", std::string(base::build_info().commit)},
                      {"build", run::build_json()},
                      {"machine", run::machine_json()},
                      {"workload", workload}};
}

json::Value test_json(const PairedTest& test, int direction) {
  return json::Object{{"difference", test.difference},
                      {"low95", test.low},
                      {"high95", test.high},
                      {"p", test.p},
                      {"p_adjusted", test.p_adjusted},
                      {"p_ranks", test.p_ranks},
                      {"effect", std::isfinite(test.effect) ? json::Value(test.effect) : json::Value()},
                      {"verdict", verdict_of(test, direction)}};
}

json::Value summary_json(const Summary& s) {
  const json::Value none;
  if (s.count == 0) return json::Object{{"mean", none}, {"deviation", none}, {"low95", none}, {"high95", none}};
  return json::Object{{"mean", s.mean}, {"deviation", s.deviation}, {"low95", s.low}, {"high95", s.high}};
}

}  // namespace berth::compare
