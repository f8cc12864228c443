// Results of `berth compare`: strategies compared with their spread, sizes of clusters, the published experiment.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compare/metrics.h"
#include "compare/tables.h"
#include "report/kinds.h"

namespace berth::report {
namespace {

/// The kind of comparison with most of these metrics. Files of earlier versions may lack some.
const compare::MetricSet& set_of(const json::Value& summary) {
  const auto known = [&](const compare::MetricSet* set) {
    return std::count_if(set->all.begin(), set->all.end(),
                         [&](const compare::Metric& metric) { return summary.has(metric.name); });
  };
  const compare::MetricSet* best = &compare::packing_metrics(compare::kAllGiven);
  for (const auto* set : {&compare::preemption_metrics(), &compare::rebalance_metrics()})
    if (known(set) > known(best)) best = set;
  return *best;
}

bool contains(const std::vector<std::size_t>& list, std::size_t index) {
  return std::find(list.begin(), list.end(), index) != list.end();
}

Unit unit_of(const compare::Metric& metric) {
  const std::string_view name = metric.name;
  if (name.ends_with("_ns")) return "ns";
  if (name.ends_with("_per_s")) return "/s";
  return name.ends_with("_percent") ? "%" : name.ends_with("_points") ? "points" : "";
}

std::string plus_minus(const json::Value& summary, int digits) {
  if (summary["mean"].is_null()) return "-";
  const double mean = summary["mean"].as_double(), deviation = summary["deviation"].as_double();
  return fmt::format("{:.{}f} ± {:.{}f}", mean, digits, deviation, digits);
}

const char* tone_of(const json::Value& test) {
  const std::string& verdict = test["verdict"].as_string();
  return verdict == "better" ? "good" : verdict == "worse" ? "bad" : "";
}

/// A bar per strategy with the 95 % interval of its mean.
Series bars_of(const std::string& name, const json::Value& strategies, const char* outer, std::string_view inner) {
  Series out{name, {}};
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const json::Value& all = strategies[s][outer];
    const json::Value& summary = inner.empty() ? all : all[inner];
    if (!summary["mean"].is_number()) continue;
    Point point{static_cast<double>(s), summary["mean"].as_double()};
    const double low = summary["low95"].as_double(kNone), high = summary["high95"].as_double(kNone);
    if (strategies[s]["runs"].size() > 1 && high > low) point.low = low, point.high = high;
    out.points.push_back(point);
  }
  return out;
}

/// Means over seeds by share of the arrivals; no chart if a curve is always 0 or missing.
void add_curve(const compare::Curve& curve, const json::Value& strategies, Section& section) {
  Chart chart{.title = curve.title};
  chart.x = {"arrivals", "%"}, chart.y = {"", curve.unit};
  chart.about = "Over the run, mean over seeds.";
  bool any = false;
  for (const json::Value& one : strategies.items()) {
    std::map<double, std::pair<double, double>> sums;  // by share of the arrivals: sum, count
    for (const json::Value& run : one["runs"].items()) {
      const json::Value &arrived = run["curves"]["arrived_percent"], &values = run["curves"][curve.name];
      for (std::size_t i = 0; i < std::min(arrived.size(), values.size()); ++i) {
        auto& [sum, count] = sums[arrived[i].as_double()];
        sum += values[i].as_double(), ++count;
        any |= values[i].as_double() != 0;
      }
    }
    Series& series = chart.series.emplace_back();
    series.name = one["strategy"].as_string();
    for (const auto& [at, sum] : sums) series.points.push_back({at, sum.first / sum.second});
  }
  if (any) section.charts.push_back(std::move(chart));
}

std::vector<std::string> names_of(const json::Value& strategies) {
  std::vector<std::string> out;
  for (const json::Value& one : strategies.items()) out.push_back(one["strategy"].as_string());
  return out;
}

std::string seeds_of(const json::Value& strategies) {
  std::vector<std::int64_t> seeds;
  for (const json::Value& one : strategies.items())
    for (const json::Value& run : one["runs"].items()) seeds.push_back(run["seed"].as_int());
  std::sort(seeds.begin(), seeds.end());
  seeds.erase(std::unique(seeds.begin(), seeds.end()), seeds.end());
  if (seeds.size() > 2 && seeds.back() - seeds.front() + 1 == static_cast<std::int64_t>(seeds.size()))
    return fmt::format("{} to {}", seeds.front(), seeds.back());
  return fmt::format("{}", fmt::join(seeds, ", "));
}

Section& begin(const Input& input, const std::string& what, const json::Value& strategies, Document& out) {
  Section& section = out.sections.emplace_back();
  const json::Value& value = input.value;
  section.title = fmt::format("{}{}: {}", value["workload"].as_string(),
                              value["label"].as_string().empty() ? "" : " (" + value["label"].as_string() + ")", what);
  section.file = input.path;
  if (value["partial"].as_bool()) section.verdict = Cell("partial: interrupted", "warn");
  section.facts = {{"machine", machine_words(value)}, {"build", build_words(value)}, {"seeds", seeds_of(strategies)}};
  return section;
}

}  // namespace

Result<void> check_grid(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"strategies", 'a'},
                {"strategies/*/strategy", 's'},
                {"strategies/*/summary", 'o'},
                {"strategies/*/runs", 'l'}});
}

void grid_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& strategies = input->value["strategies"];
    Section& section = begin(*input, fmt::format("{} strategies compared", strategies.size()), strategies, out);
    const std::string& how = input->value["how"].as_string();
    if (!how.empty()) section.facts.emplace_back("how", how);
    section.facts.emplace_back("cluster",
                               fmt::format("{} nodes, {} tasks", shown(input->value["nodes"].as_double(), ""),
                                           shown(input->value["asked"].as_double(), "")));
    section.facts.emplace_back("digest", input->value["digest"].as_string());

    const compare::MetricSet& set = set_of(strategies[0]["summary"]);
    std::vector<std::size_t> metrics;  // those that are not always 0
    for (std::size_t m = 0; m < set.all.size(); ++m)
      if (std::any_of(strategies.items().begin(), strategies.items().end(),
                      [&](const json::Value& one) { return one["summary"][set.all[m].name]["mean"].as_double() != 0; }))
        metrics.push_back(m);
    Table table{.title = "", .head = {"strategy"}, .rows = {}};
    for (const std::size_t m : metrics)
      if (contains(set.shown, m)) table.head.emplace_back(set.all[m].title);
    table.head.emplace_back("front");
    Table tests{.title = "Against " + strategies[0]["strategy"].as_string(),
                .head = {"strategy", "metric", "difference", "95 % interval", "p", "verdict"},
                .rows = {},
                .note = "paired t test over seeds, p adjusted for all rows (Holm)",
                .folded = true};
    for (const json::Value& one : strategies.items()) {
      std::vector<Cell> row(1, one["strategy"].as_string());
      for (const std::size_t m : metrics) {
        const compare::Metric* const metric = &set.all[m];
        const json::Value& summary = one["summary"][metric->name];
        if (contains(set.shown, m)) row.emplace_back(plus_minus(summary, metric->digits));
        const json::Value& test = summary["against_first"];
        if (!test.is_object()) continue;
        tests.rows.push_back({one["strategy"].as_string(), metric->title,
                              fmt::format("{:+.{}f}", test["difference"].as_double(), metric->digits + 1),
                              fmt::format("{:+.{}f} to {:+.{}f}", test["low95"].as_double(), metric->digits + 1,
                                          test["high95"].as_double(), metric->digits + 1),
                              compare::p_words(test["p_adjusted"].as_double()),
                              Cell(test["verdict"].as_string(), tone_of(test))});
      }
      row.emplace_back(one["pareto"].as_bool() ? "*" : "");
      table.rows.push_back(std::move(row));
    }
    table.note =
        "mean ± standard deviation over seeds; *: no other is as good in all metrics of the front and better in one";
    section.tables.push_back(std::move(table));
    section.tables.push_back(std::move(tests));

    for (const std::size_t m : metrics) {
      if (!contains(set.tested, m)) continue;
      const compare::Metric* const metric = &set.all[m];
      Chart chart{.kind = ChartKind::bars, .title = metric->title};
      chart.title[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(chart.title[0])));
      chart.about =
          fmt::format("Mean over seeds with its 95 % interval; {}.", metric->direction > 0   ? "more is better"
                                                                     : metric->direction < 0 ? "less is better"
                                                                                             : "neither is better");
      chart.x = {"", unit_of(*metric)};
      chart.categories = names_of(strategies);
      chart.series.push_back(bars_of(metric->title, strategies, "summary", metric->name));
      section.charts.push_back(std::move(chart));
    }
    for (const compare::Curve& curve : set.curves) add_curve(curve, strategies, section);
    if (strategies[0]["summary"].has("decisions_per_s")) {
      Chart chart{.kind = ChartKind::points, .title = "Quality and speed"};
      chart.about = "To the right and down is better: more decisions per second, less fragmentation.";
      chart.x = {"decisions per second", "/s", true}, chart.y = {"fragmented", "%"};
      for (const json::Value& one : strategies.items())
        chart.series.push_back({one["strategy"].as_string(),
                                {{one["summary"]["decisions_per_s"]["mean"].as_double(),
                                  one["summary"]["fragmentation_percent"]["mean"].as_double()}}});
      section.charts.push_back(std::move(chart));
    }
  }
}

Result<void> check_capacity(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"task", 's'},
                {"strategies", 'a'},
                {"strategies/*/strategy", 's'},
                {"strategies/*/more", 'o'},
                {"strategies/*/runs", 'l'}});
}

void capacity_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& strategies = input->value["strategies"];
    Section& section = begin(*input, "how many more tasks fit", strategies, out);
    section.facts.emplace_back("task", input->value["task"].as_string());
    section.facts.emplace_back("cluster", shown(input->value["nodes"].as_double(), "") + " nodes");
    Table table{.title = "",
                .head = {"strategy", "more tasks", "against the first"},
                .rows = {},
                .note = "mean ± standard deviation over seeds"};
    for (const json::Value& one : strategies.items()) {
      const json::Value& test = one["more"]["against_first"];
      table.rows.push_back(
          {one["strategy"].as_string(), plus_minus(one["more"], 1), Cell(test["verdict"].as_string(), tone_of(test))});
    }
    section.tables.push_back(std::move(table));
    Chart chart{.kind = ChartKind::bars, .title = "More tasks"};
    chart.about = "Tasks that fit after the workload, mean over seeds with its 95 % interval; more is better.";
    chart.x = {"tasks", ""};
    chart.categories = names_of(strategies);
    chart.series.push_back(bars_of("more tasks", strategies, "more", ""));
    section.charts.push_back(std::move(chart));
  }
}

Result<void> check_minimum(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"classes", 'a'},
                {"classes/*/class", 's'},
                {"classes/*/strategies", 'a'},
                {"classes/*/strategies/*/strategy", 's'},
                {"classes/*/strategies/*/nodes", 'o'},
                {"classes/*/strategies/*/runs", 'l'}});
}

void minimum_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& classes = input->value["classes"];
    Section& section = begin(*input, "fewest nodes", classes[0]["strategies"], out);
    section.facts.emplace_back("order", input->value["order"].as_string());
    Table table{.title = "",
                .head = {"class", "strategy", "nodes", "lower bound", "against the first"},
                .rows = {},
                .note = "mean ± standard deviation over seeds; no strategy needs less than the bound"};
    for (const json::Value& one : classes.items()) {
      const json::Value& strategies = one["strategies"];
      Series bounds{"lower bound", {}, false, 1};
      for (std::size_t s = 0; s < strategies.size(); ++s) {
        double sum = 0, count = 0;
        std::string impossible;
        for (const json::Value& run : strategies[s]["runs"].items()) {
          if (run["bound"].is_number()) sum += run["bound"].as_double(), ++count;
          if (run["impossible"].is_string()) impossible = run["impossible"].as_string();
        }
        if (count > 0) bounds.points.push_back({static_cast<double>(s), sum / count});
        const json::Value& test = strategies[s]["nodes"]["against_first"];
        table.rows.push_back({one["class"].as_string(), strategies[s]["strategy"].as_string(),
                              count > 0 ? plus_minus(strategies[s]["nodes"], 1) : "impossible: " + impossible,
                              count > 0 ? fmt::format("{:.1f}", sum / count) : "-",
                              count == 0 ? Cell("") : Cell(test["verdict"].as_string(), tone_of(test))});
      }
      if (bounds.points.empty()) continue;
      Chart chart{.kind = ChartKind::bars, .title = "Nodes needed: " + one["class"].as_string()};
      chart.about =
          "Smallest cluster that holds the workload, compared with a lower bound for all strategies; less is better.";
      chart.x = {"nodes", ""};
      chart.categories = names_of(strategies);
      chart.series = {bars_of("nodes", strategies, "nodes", ""), std::move(bounds)};
      section.charts.push_back(std::move(chart));
    }
    section.tables.push_back(std::move(table));
  }
}

Result<void> check_experiment(const Input& input) {
  return check(input.value, input.path,
               {{"experiment", 's'},
                {"results", 'a'},
                {"results/*/list", 's'},
                {"results/*/runs", 'a'},
                {"results/*/runs/*/strategy", 's'},
                {"results/*/runs/*/allocation_percent", 'a'},
                {"results/*/runs/*/fragment_ratio_percent", 'a'}});
}

namespace {

/// Agreement of each strategy's runs with the published rows. Sets the section's verdict.
Table agreement_table(const std::vector<const json::Value*>& published, Section& section) {
  Table out{.title = "Agreement with the published rows",
            .head = {"strategy", "rows equal", "columns equal", "digests equal", "verdict"},
            .rows = {},
            .note = "random is held against the published means, the others against every column"};
  bool holds = true, any = false;
  for (const json::Value* one : published) {
    const auto of = [&](const char* equal, const char* all) {
      return fmt::format("{} of {}", (*one)[equal].as_int(), (*one)[all].as_int());
    };
    const bool rows = (*one)["rows"].as_int() > 0, agrees = (*one)["holds"].as_bool();
    holds &= agrees, any |= rows;
    out.rows.push_back({(*one)["strategy"].as_string(), of("rows_equal", "rows"), of("columns_equal", "columns"),
                        of("digests_equal", "digests"),
                        !rows    ? Cell("no published rows")
                        : agrees ? Cell("holds", "good")
                                 : Cell("differs", "bad")});
  }
  if (any)
    section.verdict =
        holds ? Cell("agrees with the published rows", "good") : Cell("differs from the published rows", "bad");
  return out;
}

/// Means over the seeds of a strategy.
std::vector<Cell> means_row(const json::Value& runs, const std::string& strategy) {
  double allocated = 0, end = 0, fragments = 0, rate = 0, p50 = 0, p99 = 0, count = 0;
  for (const json::Value& run : runs.items()) {
    if (run["strategy"].as_string() != strategy) continue;
    ++count;
    const json::Value &allocation = run["allocation_percent"], &ratio = run["fragment_ratio_percent"];
    allocated += allocation[std::min<std::size_t>(100, allocation.size() - 1)].as_double();
    end += allocation[allocation.size() - 1].as_double();
    fragments += ratio[std::min<std::size_t>(50, ratio.size() - 1)].as_double();
    rate += run["decisions_per_s"].as_double();
    p50 += run["latency_ns"]["p50"].as_double(), p99 += run["latency_ns"]["p99"].as_double();
  }
  return {strategy,
          fmt::format("{:.2f}", allocated / count),
          fmt::format("{:.2f}", end / count),
          fmt::format("{:.2f}", fragments / count),
          shown(rate / count, ""),
          shown(p50 / count, "ns"),
          shown(p99 / count, "ns")};
}

struct ExperimentCurve {
  const char *title, *key, *about, *unit;
  bool published;
};

/// Means over seeds by requested percent, with the published ones dashed.
Chart experiment_chart(const ExperimentCurve& curve, const std::vector<std::string>& strategies,
                       const json::Value& runs, const std::vector<const json::Value*>& published) {
  Chart out{.title = curve.title};
  out.x = {"GPUs requested, of all", "%"}, out.y = {"", curve.unit};
  out.about = std::string(curve.about) + "; means over seeds";
  bool dashed = false;
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    std::vector<double> sum, count;
    for (const json::Value& run : runs.items()) {
      if (run["strategy"].as_string() != strategies[s]) continue;
      const json::Value& values = run[curve.key];
      sum.resize(std::max(sum.size(), values.size()), 0), count.resize(sum.size(), 0);
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].is_number()) sum[i] += values[i].as_double(), ++count[i];
    }
    Series& means = out.series.emplace_back(Series{strategies[s], {}, false, static_cast<int>(s)});
    for (std::size_t i = 0; i < sum.size(); ++i)
      if (count[i] > 0) means.points.push_back({static_cast<double>(i), sum[i] / count[i]});
    for (const json::Value* one : published) {
      if (!curve.published || (*one)["strategy"].as_string() != strategies[s]) continue;
      Series known{strategies[s] + ", published", {}, true, static_cast<int>(s)};
      const json::Value& values = (*one)[curve.key];
      for (std::size_t i = 0; i < values.size(); ++i)
        if (values[i].is_number()) known.points.push_back({static_cast<double>(i), values[i].as_double()});
      dashed |= !known.points.empty();
      if (!known.points.empty()) out.series.push_back(std::move(known));
    }
  }
  out.about += dashed ? "; dashed: as published." : ".";
  return out;
}

void add_experiment(const Input& input, const json::Value& result, Section& section) {
  static constexpr ExperimentCurve kCurves[] = {
      {"GPUs allocated", "allocation_percent", "Share of all GPUs that is allocated, against the requested share", "%",
       true},
      {"Idle GPU that no task can use", "fragment_ratio_percent",
       "Share of the idle GPUs that a typical task cannot use", "%", true},
      {"Fragmented GPUs", "fragment_amount_percent", "The same in percent of all GPUs", "%", false}};
  section.title = fmt::format("{}: {}", input.value["experiment"].as_string(), result["list"].as_string());
  section.file = input.path;
  const json::Value& runs = result["runs"];
  section.facts = {
      {"machine", machine_words(input.value)},
      {"build", build_words(input.value)},
      {"seeds", seeds_of(json::Array{json::Object{{"runs", runs}}})},  // in the form that seeds_of() reads
      {"cluster", fmt::format("{} nodes, {} GPUs, {} tasks", shown(result["nodes"].as_double(), ""),
                              shown(result["gpus"].as_double(), ""), shown(result["tasks"].as_double(), ""))}};
  std::vector<std::string> strategies;
  for (const json::Value& run : runs.items())
    if (std::find(strategies.begin(), strategies.end(), run["strategy"].as_string()) == strategies.end())
      strategies.push_back(run["strategy"].as_string());
  std::vector<const json::Value*> published;  // of this list
  for (const json::Value& one : input.value["published"].items())
    if (one["list"].as_string() == result["list"].as_string()) published.push_back(&one);

  Table table{
      .title = "",
      .head = {"strategy", "allocated at 100 %", "at the end", "fragments at 50 %", "decisions/s", "p50", "p99"},
      .rows = {},
      .note = "means over seeds; allocated: % of all GPUs, fragments: % of the idle GPUs"};
  for (const std::string& strategy : strategies) table.rows.push_back(means_row(runs, strategy));
  section.tables.push_back(std::move(table));
  section.tables.push_back(agreement_table(published, section));
  if (result["partial"].as_bool()) section.verdict = Cell("partial: interrupted", "warn");
  for (const ExperimentCurve& curve : kCurves)
    section.charts.push_back(experiment_chart(curve, strategies, runs, published));
}

}  // namespace

void experiment_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs)
    for (const json::Value& result : input->value["results"].items())
      add_experiment(*input, result, out.sections.emplace_back());
}

}  // namespace berth::report
