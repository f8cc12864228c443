// Results of `berth profile` and `berth load`: where evaluations spend their time, and the sustained rate.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "report/kinds.h"

namespace berth::report {
namespace {

void add_head(const Input& input, const std::string& what, Section& out) {
  const json::Value& value = input.value;
  out.title = fmt::format("{} ({}): {}", value["workload"].as_string(), value["label"].as_string(), what);
  out.file = input.path;
  if (value["partial"].as_bool()) out.verdict = Cell("partial: " + value["ended"].as_string(), "warn");
  const json::Value& settings = value["settings"];
  out.facts = {{"machine", machine_words(value)},
               {"build", build_words(value)},
               {"seed", std::to_string(settings["seed"].as_int())},
               {"settings", settings_words(settings)}};
}

std::string workers_words(std::int64_t workers) { return fmt::format("{} worker{}", workers, workers == 1 ? "" : "s"); }

std::string time_of(const json::Value& value, Unit unit) { return shown(value.as_double(kNone), unit); }

/// Total time per stage, one series per list of stages.
Chart stages_chart(const std::string& title) {
  Chart out{.kind = ChartKind::bars, .title = title};
  out.about = "Time of all evaluations in each stage of a placement";
  out.x = {"time", "s"};
  return out;
}

/// Adds a series of stages. `who`: label of the series; "" if it is the only one.
void add_stages(const json::Value& stages, const std::string& who, Chart& chart) {
  Series series{who.empty() ? "time" : who, {}};
  const json::Value* most = nullptr;
  for (const json::Value& stage : stages.items()) {
    const std::string& what = stage["stage"].as_string();
    const auto found = std::find(chart.categories.begin(), chart.categories.end(), what);
    const auto at = static_cast<double>(found - chart.categories.begin());
    if (found == chart.categories.end()) chart.categories.push_back(what);
    series.points.push_back({at, stage["seconds"].as_double(kNone)});
    if (!most || stage["share"].as_double() > (*most)["share"].as_double()) most = &stage;
  }
  if (most)
    chart.about += fmt::format("; {}{}most in {}, {:.0f} %", who, who.empty() ? "" : ": ", (*most)["stage"].as_string(),
                               100 * (*most)["share"].as_double());
  chart.series.push_back(std::move(series));
}

/// Time per unit of each stage, compared with the least time that this machine's memory allows for its accesses.
void add_against_memory(const json::Value& stages, Section& out) {
  Chart chart{.kind = ChartKind::bars, .title = "Stages against this machine's memory"};
  chart.about = "Time per unit, and the least that the memory allows for the bytes it touches; logarithmic";
  chart.x = {"per unit", "ns", true};
  chart.series = {{"measured", {}, false, 0}, {"memory allows", {}, false, 2}};
  for (const json::Value& stage : stages.items()) {
    const double measured = stage["ns_per_unit"].as_double(), least = stage["roofline_ns_per_unit"].as_double();
    if (!(measured > 0) || !(least > 0)) continue;
    const auto at = static_cast<double>(chart.categories.size());
    chart.categories.push_back(fmt::format("{}, per {}", stage["stage"].as_string(), stage["unit"].as_string()));
    chart.series[0].points.push_back({at, measured});
    chart.series[1].points.push_back({at, least});
    chart.about +=
        fmt::format("{} {} {} of it", at == 0 ? ":" : ",", stage["stage"].as_string(), shown(measured / least, "x"));
  }
  chart.about += ".";
  if (!chart.categories.empty()) out.charts.push_back(std::move(chart));
}

void add_roofline(const json::Value& points, Section& out) {
  if (points.size() < 2) return;
  Table table{.title = "Memory of this machine, one core",
              .head = {"wandered over", "read in order", "line at random", "line after line"},
              .rows = {},
              .note = "ns per line of 64 B; at random: addresses known beforehand; after: read from the line before",
              .folded = true};
  Chart chart{.title = "Memory of this machine, one core"};
  chart.about = "Time per line of 64 B, by how much memory is wandered over; both axes logarithmic";
  chart.x = {"memory", "bytes", true}, chart.y = {"per line", "ns", true};
  chart.series = {{"in order", {}}, {"at random", {}}, {"line after line", {}}};
  for (const json::Value& point : points.items()) {
    const double bytes = point["bytes"].as_double(), rate = point["read_gb_per_s"].as_double(),
                 random = point["random_line_ns"].as_double(), dependent = point["dependent_line_ns"].as_double();
    table.rows.push_back({shown(bytes, "bytes"), shown(rate, "GB/s"), fmt::format("{:.2f} ns", random),
                          fmt::format("{:.2f} ns", dependent)});
    const std::pair<double, std::size_t> kSeries[] = {{64 / rate, 0}, {random, 1}, {dependent, 2}};
    for (const auto& [ns, series] : kSeries)
      if (bytes > 0 && ns > 0 && std::isfinite(ns)) chart.series[series].points.push_back({bytes, ns});
    if (&point == &points.items().back())
      chart.about += fmt::format(": at {} {:.1f} in order, {:.1f} at random, {:.1f} line after line.",
                                 shown(bytes, "bytes"), 64 / rate, random, dependent);
  }
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
}

/// The series of that name; appended if there is none.
Series& series_of(Chart& chart, const std::string& name) {
  const auto found =
      std::find_if(chart.series.begin(), chart.series.end(), [&](const Series& series) { return series.name == name; });
  return found != chart.series.end() ? *found : chart.series.emplace_back(Series{name, {}});
}

/// Time by nested frames, as sampled by `berth profile`.
void add_flame(const json::Value& stacks, Section& out) {
  if (stacks["list"].size() == 0) return;
  out.flame.title = "Flame graph";
  out.flame.about = fmt::format("Time by nested frames, from {}, in {}; the width of a frame is its share.",
                                base::shown(stacks["from"].as_string()), base::shown(stacks["unit"].as_string()));
  for (const json::Value& stack : stacks["list"].items())
    out.flame.stacks.emplace_back(stack[0].as_string(), stack[1].as_double());
}

/// The slowest evaluations with the time of their stages.
void add_slowest(const json::Value& slowest, Section& out) {
  Table table{.title = "Slowest evaluations",
              .head = {"evaluation", "service", "queue", "placed", "most in", "why", "again"},
              .rows = {}};
  Chart chart{.kind = ChartKind::bars, .title = "Slowest evaluations by stage", .stacked = true};
  chart.about = "Time of each by stage, without the wait for its turn";
  chart.x = {"in berth", "ns"};
  for (const json::Value& one : slowest.items()) {
    const std::string& name = one["evaluation"].as_string();
    table.rows.push_back({name, time_of(one["service_ns"], "ns"), time_of(one["queue_ns"], "ns"),
                          time_of(one["placed"], ""), one["dominated_by"].as_string(), one["why"].as_string(),
                          one["reproduce"].as_string()});
    if (one["stages_ns"].members().empty() || chart.categories.size() == 20) continue;
    if (chart.categories.empty())
      chart.about += fmt::format(": {} at most, in {}.", time_of(one["service_ns"], "ns"), name);
    const auto at = static_cast<double>(chart.categories.size());
    chart.categories.push_back(name);
    for (const json::Member& stage : one["stages_ns"].members()) {
      series_of(chart, stage.key).points.push_back({at, stage.value.as_double()});
    }
  }
  out.tables.push_back(std::move(table));
  if (!chart.categories.empty()) out.charts.push_back(std::move(chart));
}

}  // namespace

Result<void> check_profile(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"label", 's'},
                {"settings/seed", 'n'},
                {"machine/cpu", 's'},
                {"stages", 'a'},
                {"stages/*/stage", 's'},
                {"stages/*/share", 'n'},
                {"stages/*/seconds", 'n'},
                {"stages/*/latency_ns", 'o'},
                {"slowest", 'l'},
                {"slowest/*/service_ns", 'n'}});
}

void profile_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& value = input->value;
    Section& section = out.sections.emplace_back();
    add_head(*input, "profile", section);
    section.facts.emplace_back("profiled",
                               fmt::format("{} evaluations, {} placements, {} busy", time_of(value["evaluations"], ""),
                                           time_of(value["placed"], ""), time_of(value["busy_seconds"], "s")));
    if (const json::Value& overhead = value["overhead"]; overhead["share"].is_number())
      section.facts.emplace_back("overhead",
                                 fmt::format("{:+.2f} % ± {:.2f} of processor time is the profile's own, as measured",
                                             100 * overhead["share"].as_double(), 100 * overhead["error"].as_double()));
    else if (value["no_overhead"].is_string())
      section.facts.emplace_back("overhead", "not measured: " + value["no_overhead"].as_string());
    section.facts.emplace_back("decisions", value["decisions_digest"].as_string());

    const json::Value& outside = value["outside"];
    if (outside.is_object())
      section.facts.emplace_back(
          "outside",
          fmt::format("{} waiting, {} idle, {} of benchmark bookkeeping", time_of(outside["wait_seconds"], "s"),
                      time_of(outside["idle_seconds"], "s"), time_of(outside["harness_seconds"], "s")));
    const json::Value& counters = value["counters"];
    std::string counted;
    for (const json::Member& counter : counters["values"].members())
      counted += fmt::format("{}{} {}", counted.empty() ? "" : ", ", counter.key, time_of(counter.value, ""));
    if (const std::string& missing = counters["missing"].as_string(); !missing.empty())
      counted += fmt::format("{}unavailable: {}", counted.empty() ? "" : "; ", missing);
    if (!counted.empty()) section.facts.emplace_back("counters", counted);

    const bool bounded = std::any_of(value["stages"].items().begin(), value["stages"].items().end(),
                                     [](const json::Value& s) { return s["roofline_ns_per_unit"].is_number(); });
    Table table{.title = "Stages",
                .head = {"stage", "share", "time", "p50", "p99", "max", "evaluations", "per unit", "unit", "touched"},
                .rows = {},
                .note =
                    "latency per evaluation; ~: estimated from the evaluations that were measured in detail; touched: "
                    "bytes per unit"};
    if (bounded) table.head.insert(table.head.end(), {"memory allows", "times"});
    table.head.emplace_back("what");
    Chart latency{.kind = ChartKind::bars, .title = "Latency by stage"};
    latency.about = "Of the evaluations that have the stage, median and 99th percentile; logarithmic";
    latency.x = {"per evaluation", "ns", true};
    latency.series = {{"p50", {}, false, 0}, {"p99", {}, false, 1}};
    for (const json::Value& stage : value["stages"].items()) {
      const json::Value& l = stage["latency_ns"];
      const auto latency_of = [&](const char* percentile) {  // jobs are compiled outside of evaluations
        return stage["evaluations"].as_int() == 0 ? "-" : time_of(l[percentile], "ns");
      };
      table.rows.push_back({stage["stage"].as_string(), fmt::format("{:.1f} %", 100 * stage["share"].as_double()),
                            (stage["estimated"].as_bool() ? "~" : "") + time_of(stage["seconds"], "s"),
                            latency_of("p50"), latency_of("p99"), latency_of("max"), time_of(stage["evaluations"], ""),
                            time_of(stage["ns_per_unit"], "ns"), stage["unit"].as_string(),
                            stage["bytes_per_unit"].is_number() ? time_of(stage["bytes_per_unit"], "B") : "-"});
      if (bounded) {
        const double least = stage["roofline_ns_per_unit"].as_double(kNone);
        table.rows.back().emplace_back(std::isfinite(least) ? fmt::format("{:.1f} ns", least) : "-");
        table.rows.back().emplace_back(shown(stage["ns_per_unit"].as_double() / least, "x"));
      }
      table.rows.back().emplace_back(stage["what"].as_string());
      if (l["p50"].as_double() <= 0) continue;
      const auto at = static_cast<double>(latency.categories.size());
      latency.about += fmt::format("{} {} {} and {}", at == 0 ? ":" : ",", stage["stage"].as_string(),
                                   time_of(l["p50"], "ns"), time_of(l["p99"], "ns"));
      latency.categories.push_back(stage["stage"].as_string());
      latency.series[0].points.push_back({at, l["p50"].as_double()});
      latency.series[1].points.push_back({at, l["p99"].as_double()});
    }
    section.tables.push_back(std::move(table));
    Chart stages = stages_chart("Where the time goes");
    add_stages(value["stages"], "", stages);
    stages.about += ".", latency.about += ".";
    section.charts.push_back(std::move(stages));
    if (!latency.categories.empty()) section.charts.push_back(std::move(latency));
    add_slowest(value["slowest"], section);
    add_flame(value["stacks"], section);
    add_against_memory(value["stages"], section);
    add_roofline(value["roofline"], section);
  }
}

Result<void> check_load(const Input& input) {
  return check(input.value, input.path,
               {{"workload", 's'},
                {"label", 's'},
                {"settings/seed", 'n'},
                {"machine/cpu", 's'},
                {"limit_ns", 'n'},
                {"trials", 'l'},
                {"trials/*/workers", 'n'},
                {"trials/*/rate_per_s", 'n'},
                {"trials/*/sustained", 'b'},
                {"trials/*/latency_ns", 'o'},
                {"knees", 'l'},
                {"knees/*/workers", 'n'},
                {"knees/*/ended", 's'}});
}

namespace {

/// The highest sustained rate per number of workers, with the time of its stages.
void add_knees(const json::Value& all, Section& section, std::vector<Chart>& charts) {
  Table table{.title = "Highest rate sustained",
              .head = {"workers", "jobs/s sustained", "jobs/s not", "placements/s", "ended"},
              .rows = {}};
  Chart stages = stages_chart("Where the time goes at the knee");
  Chart rates{.kind = ChartKind::bars, .title = "Highest rate sustained"};
  rates.about =
      "Jobs offered per second, by the number of workers: the highest sustained, the lowest above it that was not";
  rates.x = {"jobs offered per second", "/s"};
  rates.series = {{"sustained", {}, false, 0}, {"not sustained", {}, false, 1}};
  for (const json::Value& knee : all.items()) {
    const json::Value &sustained = knee["sustained_rate_per_s"], &not_sustained = knee["not_sustained_rate_per_s"];
    table.rows.push_back({std::to_string(knee["workers"].as_int()), time_of(sustained, ""), time_of(not_sustained, ""),
                          time_of(knee["sustained_placements_per_s"], ""), knee["ended"].as_string()});
    const std::string workers = workers_words(knee["workers"].as_int());
    if (knee["stages"].size() > 0) add_stages(knee["stages"], workers, stages);
    const auto at = static_cast<double>(rates.categories.size());
    rates.categories.push_back(workers);
    rates.about += fmt::format("{} {} {}", at == 0 ? ":" : ",", workers,
                               sustained.is_number() ? time_of(sustained, "/s") : "none");
    if (sustained.is_number()) rates.series[0].points.push_back({at, sustained.as_double()});
    if (not_sustained.is_number()) rates.series[1].points.push_back({at, not_sustained.as_double()});
  }
  stages.about += ".", rates.about += ".";
  section.tables.push_back(std::move(table));
  if (!rates.categories.empty()) charts.push_back(std::move(rates));
  if (!stages.series.empty()) charts.push_back(std::move(stages));
}

/// Keeps the fastest trial at each rate: noise makes trials slower, never faster.
void keep_fastest(Series& series) {
  std::sort(series.points.begin(), series.points.end(),
            [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
  const auto same = [](const Point& a, const Point& b) { return a.x == b.x; };
  series.points.erase(std::unique(series.points.begin(), series.points.end(), same), series.points.end());
}

/// All trials, and the latency of placements by offered rate.
void add_trials(const json::Value& all, double limit, Section& section) {
  Table table{.title = "Trials",
              .head = {"workers", "jobs/s", "p50", "p99", "p99.9", "busy", "backlog at the end", "placed", "verdict"},
              .rows = {},
              .note = {},
              .folded = true};
  Chart curve{.title = "Latency against load"};
  curve.about =
      fmt::format("Placement latency at each offered rate, of its faster trial; the dashed line is the limit, {}",
                  shown(limit, "ns"));
  curve.x = {"jobs offered per second", "/s"}, curve.y = {"latency", "ns", true};
  double lowest = kNone, highest = kNone;
  for (const json::Value& trial : all.items()) {
    const json::Value& l = trial["latency_ns"];
    const double rate = trial["rate_per_s"].as_double();
    lowest = std::fmin(lowest, rate), highest = std::fmax(highest, rate);
    const bool sustained = trial["sustained"].as_bool();
    table.rows.push_back({std::to_string(trial["workers"].as_int()), shown(rate, ""), time_of(l["p50"], "ns"),
                          time_of(l["p99"], "ns"), time_of(l["p999"], "ns"),
                          fmt::format("{:.0f} %", 100 * trial["busy_share"].as_double()),
                          time_of(trial["backlog_at_end"], ""),
                          trial["asked"].as_double() > 0
                              ? fmt::format("{:.1f} %", 100 * trial["placed"].as_double() / trial["asked"].as_double())
                              : "-",
                          Cell(sustained ? "sustained" : trial["why_not"].as_string(), sustained ? "good" : "bad")});
    for (const char* percentile : {"p50", "p99"}) {
      Series& series = series_of(curve, workers_words(trial["workers"].as_int()) + ", " + percentile);
      if (l[percentile].as_double() > 0) series.points.push_back({rate, l[percentile].as_double()});
    }
  }
  for (Series& series : curve.series) {
    keep_fastest(series);
    if (series.points.empty()) continue;
    const Point &first = series.points.front(), &last = series.points.back();
    curve.about += fmt::format("; {}: {} at {}, {} at {}", series.name, shown(first.y, "ns"), shown(first.x, "/s"),
                               shown(last.y, "ns"), shown(last.x, "/s"));
  }
  curve.about += ".";
  if (limit > 0 && lowest < highest) curve.series.push_back({"limit", {{lowest, limit}, {highest, limit}}, true, 3});
  section.tables.push_back(std::move(table));
  if (!all.items().empty()) section.charts.push_back(std::move(curve));
}

}  // namespace

void load_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& value = input->value;
    Section& section = out.sections.emplace_back();
    add_head(*input, "load", section);
    const double limit = value["limit_ns"].as_double();
    section.facts.emplace_back(
        "sustained", fmt::format("p{} of a placement at most {}, no growing backlog{}", value["percentile"].as_int(99),
                                 shown(limit, "ns"),
                                 value["least_placed_share"].is_number()
                                     ? fmt::format(", {:g} % placed", 100 * value["least_placed_share"].as_double())
                                     : ""));
    std::vector<Chart> of_knees;  // shown after the curve
    add_knees(value["knees"], section, of_knees);
    add_trials(value["trials"], limit, section);
    std::move(of_knees.begin(), of_knees.end(), std::back_inserter(section.charts));
  }
}

}  // namespace berth::report
