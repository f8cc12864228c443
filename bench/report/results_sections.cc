// Results of a sweep: effects of factors, their interactions, the best settings, the Pareto front.
#include <fmt/format.h>

#include <algorithm>

#include "report/kinds.h"
#include "study/measures.h"

namespace berth::report {
namespace {

constexpr std::size_t kShownOnTerminal = 20, kBest = 5, kPointsMax = 2'000;

const run::Measure* measure_of(const std::string& name) {
  for (const run::Measure& measure : study::measures())
    if (run::name_of(measure) == name) return &measure;
  return nullptr;
}

/// A number in the unit of its measure.
std::string words(const json::Value& value, const run::Measure& measure) {
  return shown(value.is_number() ? measure.scale() * value.as_double() : kNone, measure.unit);
}

std::string level_words(const std::string& factor, const std::string& level) {
  return fmt::format("{} {}", factor, level.empty() ? "(as in the file)" : level);
}

/// "better", "worse" or "differs"; empty if no difference is shown.
Cell verdict_of(const json::Value& test, const run::Measure& measure) {
  if (!test["shown"].as_bool()) return "";
  const double difference = test["difference"].as_double() * measure.direction;
  if (difference == 0) return "differs";
  return Cell(difference > 0 ? "better" : "worse", difference > 0 ? "good" : "bad");
}

std::vector<Cell> test_cells(const json::Value& test, const run::Measure& measure) {
  const bool interval = test["pairs"].as_int() > 1;
  return {words(test["difference"], measure), interval ? words(test["low"], measure) : "-",
          interval ? words(test["high"], measure) : "-",
          interval ? fmt::format("{:.4f}", test["p_adjusted"].as_double()) : "-", verdict_of(test, measure)};
}

/// Shows the first rows on the terminal and all rows on the page.
void add_table(Table all, Section& out) {
  if (all.rows.size() > kShownOnTerminal) {
    Table first = all;
    first.rows.resize(kShownOnTerminal);
    first.terminal_only = true;
    first.note = fmt::format("the first {} of {} rows; --html has all", kShownOnTerminal, all.rows.size());
    out.tables.push_back(std::move(first));
    all.page_only = true;
  }
  all.filter = true;
  out.tables.push_back(std::move(all));
}

void add_effects(const json::Value& results, Section& out) {
  Table table{.title = "Main effects", .head = {}, .rows = {}};
  table.head = {"measure", "factor", "level", "to", "difference", "low", "high", "p", "verdict"};
  for (const json::Value& effect : results["effects"].items()) {
    const run::Measure* const measure = measure_of(effect["measure"].as_string());
    if (!measure) continue;
    std::vector<Cell> row = {measure->title, effect["factor"].as_string(), effect["first"].as_string(),
                             effect["level"].as_string()};
    for (Cell& cell : test_cells(effect["test"], *measure)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  table.note = fmt::format(
      "difference: of the means of otherwise equal settings, with its 95 % interval over {} seeds and repetitions; p: "
      "paired t, adjusted "
      "for {} tests (Holm)",
      results["replicates"].as_int(), results["tests"].as_int());
  add_table(std::move(table), out);
}

void add_interactions(const json::Value& results, Section& out) {
  Table table{.title = "Interactions",
              .head = {"measure", "effect of", "changes with", "by", "low", "high", "p", "verdict"},
              .rows = {}};
  for (const json::Value& effect : results["interactions"].items()) {
    const run::Measure* const measure = measure_of(effect["measure"].as_string());
    if (!measure) continue;
    std::vector<Cell> row = {measure->title, level_words(effect["factor"].as_string(), effect["level"].as_string()),
                             level_words(effect["other"].as_string(), effect["other_level"].as_string())};
    for (Cell& cell : test_cells(effect["test"], *measure)) row.push_back(std::move(cell));
    table.rows.push_back(std::move(row));
  }
  // Significant interactions first: most pairs of factors have none.
  std::stable_partition(table.rows.begin(), table.rows.end(), [](const auto& row) { return !row.back().text.empty(); });
  table.note =
      "how much the effect of one level (against the first) differs where the other factor has another level than its "
      "first";
  if (!table.rows.empty()) add_table(std::move(table), out);
}

std::vector<Cell> levels_of(const json::Value& results, const json::Value& setting) {
  std::vector<Cell> out;
  for (const json::Value& factor : results["factors"].items())
    out.emplace_back(setting["levels"][factor["name"].as_string()].as_string());
  return out;
}

std::string mean_words(const json::Value& mean, const run::Measure& measure) {
  if (mean["low"] == mean["high"]) return words(mean["mean"], measure);
  return fmt::format("{} [{}, {}]", words(mean["mean"], measure), words(mean["low"], measure),
                     words(mean["high"], measure));
}

/// The first settings of every objective's ranking.
void add_best(const json::Value& results, Section& out) {
  Table table{.title = "Best settings", .head = {"objective", "rank"}, .rows = {}};
  for (const json::Value& factor : results["factors"].items()) table.head.push_back(factor["name"].as_string());
  table.head.emplace_back("mean [95 %]");
  for (const json::Value& best : results["best"].items()) {
    const run::Measure* const measure = measure_of(best["measure"].as_string());
    if (!measure) continue;
    for (std::size_t i = 0; i < std::min(kBest, best["settings"].size()); ++i) {
      const json::Value& setting = results["settings"][static_cast<std::size_t>(best["settings"][i].as_uint())];
      std::vector<Cell> row = {i == 0 ? measure->title : "", std::to_string(i + 1)};
      for (Cell& cell : levels_of(results, setting)) row.push_back(std::move(cell));
      row.emplace_back(mean_words(setting["means"][best["measure"].as_string()], *measure));
      table.rows.push_back(std::move(row));
    }
  }
  out.tables.push_back(std::move(table));
}

/// All settings with their means; marks those on the front.
void add_settings(const json::Value& results, Section& out) {
  Table table{.title = "Settings", .head = {"front"}, .rows = {}};
  for (const json::Value& factor : results["factors"].items()) table.head.push_back(factor["name"].as_string());
  std::vector<const run::Measure*> measures;
  for (const json::Value& one : results["measures"].items())
    if (const run::Measure* const measure = measure_of(one["name"].as_string()))
      measures.push_back(measure), table.head.emplace_back(measure->title);
  table.head.emplace_back("runs");
  for (const bool front : {true, false})
    for (const json::Value& setting : results["settings"].items()) {
      if (setting["front"].as_bool() != front) continue;
      std::vector<Cell> row = {Cell(front ? "*" : "", front ? "good" : "")};
      for (Cell& cell : levels_of(results, setting)) row.push_back(std::move(cell));
      for (const run::Measure* const measure : measures)
        row.emplace_back(words(setting["means"][run::name_of(*measure)]["mean"], *measure));
      row.emplace_back(shown(setting["runs"].as_double(), ""));
      table.rows.push_back(std::move(row));
    }
  table.note = "*: on the Pareto front: no other setting is better in one objective and not worse in another";
  add_table(std::move(table), out);
}

/// Chart of the first two objectives for all settings.
void add_front(const json::Value& results, Section& out) {
  const auto& best = results["best"].items();
  if (best.size() < 2) return;
  const run::Measure* const x = measure_of(best[0]["measure"].as_string());
  const run::Measure* const y = measure_of(best[1]["measure"].as_string());
  if (!x || !y) return;
  Chart chart{.kind = ChartKind::points, .title = "Settings by two objectives", .about = {}};
  chart.about = fmt::format("{} against {}; the front is over all {} objectives.", y->title, x->title, best.size());
  chart.x = {x->title, x->unit}, chart.y = {y->title, y->unit};
  chart.series = {{"on the front", {}, false, 2}, {"others", {}, false, 0}};
  std::size_t drawn = 0;
  for (const json::Value& setting : results["settings"].items()) {
    if (++drawn > kPointsMax) break;
    const json::Value &a = setting["means"][run::name_of(*x)]["mean"], &b = setting["means"][run::name_of(*y)]["mean"];
    chart.series[setting["front"].as_bool() ? 0 : 1].points.push_back(
        {x->scale() * a.as_double(), y->scale() * b.as_double()});
  }
  out.charts.push_back(std::move(chart));
}

/// Charts of the differences between a measure's levels, with intervals.
void add_effect_charts(const json::Value& results, Section& out) {
  for (const json::Value& one : results["measures"].items()) {
    const run::Measure* const measure = measure_of(one["name"].as_string());
    if (!measure) continue;
    Chart chart{.kind = ChartKind::bars, .title = fmt::format("Effects on {}", measure->title), .about = {}};
    chart.about = "Mean difference to the first level of each factor, with its 95 % interval.";
    chart.x = {"difference", measure->unit};
    Series series{"difference", {}};
    for (const json::Value& effect : results["effects"].items()) {
      if (effect["measure"].as_string() != run::name_of(*measure) || chart.categories.size() == 40) continue;
      const json::Value& test = effect["test"];
      const bool interval = test["pairs"].as_int() > 1;
      series.points.push_back({static_cast<double>(chart.categories.size()),
                               measure->scale() * test["difference"].as_double(),
                               interval ? measure->scale() * test["low"].as_double() : kNone,
                               interval ? measure->scale() * test["high"].as_double() : kNone});
      chart.categories.push_back(level_words(effect["factor"].as_string(), effect["level"].as_string()));
    }
    if (series.points.empty()) continue;
    chart.series.push_back(std::move(series));
    out.charts.push_back(std::move(chart));
  }
}

}  // namespace

Result<void> check_results(const Input& input) {
  return check(input.value, input.path,
               {{"runs", 'n'}, {"factors", 'l'}, {"measures", 'l'}, {"settings", 'l'}, {"effects", 'l'}});
}

void results_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& results = input->value;
    Section& section = out.sections.emplace_back();
    section.title = fmt::format("{} runs, {} settings", results["runs"].as_int(), results["settings"].size());
    section.file = input->path;
    if (results["left_out"].as_int() > 0)
      section.verdict =
          Cell(fmt::format("{} runs failed or were cut short, and are left out", results["left_out"].as_int()), "warn");
    for (const json::Value& factor : results["factors"].items()) {
      std::string levels;
      for (const json::Value& level : factor["levels"].items())
        levels += (levels.empty() ? "" : ", ") + (level.as_string().empty() ? "(as in the file)" : level.as_string());
      section.facts.emplace_back(factor["name"].as_string(), levels);
    }
    if (results["factors"].size() == 0) section.facts.emplace_back("factors", "none: all runs have the same setting");
    add_effects(results, section);
    add_interactions(results, section);
    add_best(results, section);
    add_settings(results, section);
    add_front(results, section);
    add_effect_charts(results, section);
  }
}

}  // namespace berth::report
