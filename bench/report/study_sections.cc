// Results of `berth run --repeat` and `--vary`: medians with intervals per setting.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/kinds.h"

namespace berth::report {
namespace {

constexpr std::size_t kSettingsDrawn = 40;

struct Measured {
  std::string name, title;
  std::string unit;
  double scale = 1;
  int direction = 0;
  bool tested = false;
};

std::vector<Measured> measures_of(const json::Value& study) {
  std::vector<Measured> out;
  for (const json::Value& one : study["measures"].items())
    out.push_back({one["name"].as_string(), one["title"].as_string(), one["unit"].as_string(),
                   one["scale"].as_double(1), static_cast<int>(one["direction"].as_int()), one["tested"].as_bool()});
  return out;
}

const json::Value& cell_of(const json::Value& setting, const Measured& m) { return setting["summary"][m.name]; }

double number(const json::Value& cell, const char* key, const Measured& m) {
  return cell[key].is_number() ? m.scale * cell[key].as_double() : kNone;
}
std::string words(const json::Value& cell, const char* key, const Measured& m) {
  return shown(number(cell, key, m), m.unit.c_str());
}

/// "better", "worse" or "differs"; empty if no difference was shown.
Cell verdict_of(const json::Value& cell, const Measured& m) {
  if (!cell["differs"].as_bool()) return "";
  const double ratio = cell["ratio"].as_double(1);
  if (m.direction == 0 || ratio == 1) return "differs";
  const bool better = (ratio > 1) == (m.direction > 0);
  return Cell(better ? "better" : "worse", better ? "good" : "bad");
}

std::string setting_name(const json::Value& setting) {
  std::string out;
  for (const json::Member& one : setting["parameters"].members())
    out += fmt::format("{}{}={}", out.empty() ? "" : ", ", one.key, one.value.as_string());
  return out.empty() ? "all runs" : out;
}

bool all_equal(const json::Value& study, const Measured& m) {
  const double first = number(cell_of(study["settings"][0], m), "median", m);
  for (const json::Value& setting : study["settings"].items())
    if (const json::Value& cell = cell_of(setting, m);
        number(cell, "minimum", m) != first || number(cell, "maximum", m) != first)
      return false;
  return true;
}

/// Table of one setting, one row per measure.
Table measures_table(const json::Value& study, const std::vector<Measured>& measures) {
  Table out;
  out.head = {"", "median", "from", "to", "least", "most"};
  const json::Value& setting = study["settings"][0];
  for (const Measured& m : measures) {
    const json::Value& cell = cell_of(setting, m);
    if (number(cell, "minimum", m) == number(cell, "maximum", m)) {
      out.rows.push_back({m.title, words(cell, "median", m), "", "", "", ""});
      continue;
    }
    out.rows.push_back({m.title, words(cell, "median", m), words(cell, "low", m), words(cell, "high", m),
                        words(cell, "minimum", m), words(cell, "maximum", m)});
  }
  return out;
}

std::vector<std::string> factor_keys(const json::Value& study) {
  std::vector<std::string> out;
  for (const json::Value& factor : study["factors"].items()) out.push_back(factor["key"].as_string());
  return out;
}

std::vector<Cell> parameter_cells(const json::Value& study, const json::Value& setting) {
  std::vector<Cell> out;
  for (const std::string& key : factor_keys(study)) out.emplace_back(setting["parameters"][key].as_string());
  return out;
}

/// Medians of the tested measures that differ, one row per setting.
Table overview_table(const json::Value& study, const std::vector<Measured>& measures) {
  Table out;
  out.title = "Medians";
  out.head = factor_keys(study);
  for (const Measured& m : measures) out.head.push_back(m.title);
  out.head.emplace_back("decisions");
  for (const json::Value& setting : study["settings"].items()) {
    std::vector<Cell> row = parameter_cells(study, setting);
    for (const Measured& m : measures) {
      const json::Value& cell = cell_of(setting, m);
      row.emplace_back(words(cell, "median", m), verdict_of(cell, m).tone);
    }
    const std::string& digest = setting["decisions_digest"].as_string();
    row.emplace_back(digest.empty() ? "not the same" : digest.substr(0, 8));
    out.rows.push_back(std::move(row));
  }
  return out;
}

/// Table of one measure: one row per setting with its interval and the test against the first.
Table measure_table(const json::Value& study, const Measured& m) {
  const bool tests = study["tests"].as_int() > 0;
  Table out;
  out.title = m.title;
  out.head = factor_keys(study);
  for (const char* head : {"median", "from", "to", "ratio"}) out.head.emplace_back(head);
  if (tests) out.head.insert(out.head.end(), {"p", ""});
  for (const json::Value& setting : study["settings"].items()) {
    const json::Value& cell = cell_of(setting, m);
    std::vector<Cell> row = parameter_cells(study, setting);
    for (const char* key : {"median", "low", "high"}) row.emplace_back(words(cell, key, m));
    row.emplace_back(shown(cell["ratio"].is_number() ? cell["ratio"].as_double() : kNone, "x"));
    if (tests) {
      row.emplace_back(cell["p_adjusted"].is_number() ? fmt::format("{:.4f}", cell["p_adjusted"].as_double()) : "");
      row.push_back(verdict_of(cell, m));
    }
    out.rows.push_back(std::move(row));
  }
  return out;
}

/// The first factor with more than two values, all numeric, for a line chart; -1 if there is none.
int numeric_factor(const json::Value& study) {
  int at = -1, found = -1;
  for (const json::Value& factor : study["factors"].items()) {
    ++at;
    const auto& values = factor["values"].items();
    if (found < 0 && values.size() > 2 && std::all_of(values.begin(), values.end(), [](const json::Value& v) {
          return base::parse_double(v.as_string()).has_value();
        }))
      found = at;
  }
  return found;
}

/// Line chart over the values of a numeric factor: a line per combination of the other factors.
Chart line_chart(const json::Value& study, const Measured& m, const std::string& key) {
  Chart out{.title = m.title, .about = fmt::format("Medians over {}.", key)};
  out.x = {key, ""}, out.y = {m.title, ""};
  // Only these unit texts are static; Unit is a pointer.
  for (const char* const unit : {"ns", "s", "bytes", "%", "/s", "x"})
    if (m.unit == unit) out.y.unit = unit;
  for (const json::Value& setting : study["settings"].items()) {
    std::string name;
    for (const json::Member& one : setting["parameters"].members())
      if (one.key != key) name += fmt::format("{}{}={}", name.empty() ? "" : ", ", one.key, one.value.as_string());
    if (name.empty()) name = m.title;
    auto series = std::find_if(out.series.begin(), out.series.end(), [&](const Series& s) { return s.name == name; });
    if (series == out.series.end()) series = out.series.insert(out.series.end(), Series{name, {}});
    const json::Value& cell = cell_of(setting, m);
    series->points.push_back({base::parse_double(setting["parameters"][key].as_string()).value_or(0),
                              number(cell, "median", m), number(cell, "low", m), number(cell, "high", m)});
  }
  for (Series& series : out.series)
    std::sort(series.points.begin(), series.points.end(), [](const Point& a, const Point& b) { return a.x < b.x; });
  return out;
}

Chart bar_chart(const json::Value& study, const Measured& m) {
  Chart out{.kind = ChartKind::bars, .title = m.title, .about = "Medians with their intervals."};
  out.x = {m.title, ""};
  for (const char* const unit : {"ns", "s", "bytes", "%", "/s", "x"})
    if (m.unit == unit) out.x.unit = unit;
  Series series{m.title, {}};
  for (const json::Value& setting : study["settings"].items()) {
    const json::Value& cell = cell_of(setting, m);
    series.points.push_back({static_cast<double>(out.categories.size()), number(cell, "median", m),
                             number(cell, "low", m), number(cell, "high", m)});
    out.categories.push_back(setting_name(setting));
  }
  out.series.push_back(std::move(series));
  return out;
}

std::string interval_words(const json::Value& study) {
  double coverage = 0;
  for (const json::Member& one : study["settings"][0]["summary"].members())
    coverage = std::max(coverage, one.value["coverage"].as_double());
  if (coverage == 0) return "one run each: no interval, and no difference can be told from noise";
  std::string out = fmt::format("from, to: interval of the median, {:.1f} %", 100 * coverage);
  if (coverage < 0.95) out += "; six runs or more give 95 %";
  const std::int64_t tests = study["tests"].as_int();
  if (tests == 0) return out;
  out += fmt::format("; p: Mann-Whitney U against the first row, for {} tests (Holm)", tests);
  if (study["smallest_p"].as_double() > 0.05) out += "; too few runs to show a difference";
  return out;
}

Section section_of(const Input& input) {
  const json::Value& study = input.value;
  Section out;
  out.title =
      fmt::format("{} ({}), {} setting{}, {} run{} each", study["workload"].as_string(), study["label"].as_string(),
                  study["settings"].size(), study["settings"].size() == 1 ? "" : "s",
                  study["settings"][0]["runs"].size(), study["settings"][0]["runs"].size() == 1 ? "" : "s");
  out.file = input.path;
  if (study["partial"].as_bool()) out.verdict = Cell("partial", "warn");
  out.facts = {{"machine", machine_words(study)}, {"build", build_words(study)}};
  std::string fixed;
  for (const json::Member& one : study["fixed"].members())
    fixed += fmt::format("{}{}={}", fixed.empty() ? "" : ", ", one.key, one.value.as_string());
  if (!fixed.empty()) out.facts.emplace_back("settings", fixed);
  out.facts.emplace_back("order", fmt::format("interleaved, {} warm-up run{} of each setting not counted",
                                              study["warm_ups"].as_int(), study["warm_ups"].as_int() == 1 ? "" : "s"));
  const std::vector<Measured> all = measures_of(study);
  if (study["settings"].size() == 1) {
    const std::string& digest = study["settings"][0]["decisions_digest"].as_string();
    out.facts.emplace_back("decisions", digest.empty() ? "not the same in all runs" : digest);
    Table table = measures_table(study, all);
    table.note = interval_words(study);
    out.tables.push_back(std::move(table));
    return out;
  }
  std::vector<Measured> tested;
  for (const Measured& m : all)
    if (m.tested && !all_equal(study, m)) tested.push_back(m);
  out.tables.push_back(overview_table(study, tested));
  out.tables.back().note = interval_words(study);
  const int numeric = numeric_factor(study);
  for (const Measured& m : all) {
    if (all_equal(study, m)) continue;
    Table table = measure_table(study, m);
    table.page_only = !m.tested, table.folded = true;
    out.tables.push_back(std::move(table));
    if (!m.tested) continue;
    if (numeric >= 0)
      out.charts.push_back(line_chart(study, m, factor_keys(study)[static_cast<std::size_t>(numeric)]));
    else if (study["settings"].size() <= kSettingsDrawn)
      out.charts.push_back(bar_chart(study, m));
  }
  return out;
}

}  // namespace

Result<void> check_study(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"label", 's'},
                {"partial", 'b'},
                {"warm_ups", 'n'},
                {"factors", 'l'},
                {"factors/*/key", 's'},
                {"factors/*/values", 'a'},
                {"measures", 'l'},
                {"measures/*/name", 's'},
                {"measures/*/unit", 's'},
                {"settings", 'a'},
                {"settings/*/parameters", 'o'},
                {"settings/*/summary", 'o'},
                {"settings/*/runs", 'l'}});
}

void study_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) out.sections.push_back(section_of(*input));
}

}  // namespace berth::report
