// Results of `berth run`: runs of one workload in one section, with ratios to the first.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "base/text.h"
#include "report/kinds.h"
#include "run/measures.h"

namespace berth::report {
namespace {

using run::value_at;
using Runs = std::vector<const Input*>;

/// Values of a list; null becomes kNone.
std::vector<double> numbers_of(const json::Value& list) {
  std::vector<double> out;
  for (const json::Value& value : list.items()) out.push_back(value.is_number() ? value.as_double() : kNone);
  return out;
}

/// Distinct names for the runs of a group, from their file names.
std::vector<std::string> names_of(const Runs& runs) {
  std::map<std::string, int> seen;
  for (const Input* run : runs) ++seen[short_name(run->path)];
  std::vector<std::string> out;
  for (const Input* run : runs) {
    const std::string name = short_name(run->path);
    out.push_back(seen[name] > 1 ? run->path : name);
  }
  return out;
}

/// If most of a run was spent on retries of blocked evaluations: what unblocked them. Else "".
std::string retries_words(const json::Value& run) {
  const double retries = run["retries"].as_double(), evaluations = run["evaluations"].as_double();
  if (retries <= 100 || 2 * retries <= evaluations) return "";
  std::string out =
      fmt::format("{:.0f} % of the evaluations were retries of blocked ones, ", 100 * retries / evaluations);
  const json::Member* most = nullptr;
  for (const json::Member& cause : run["unblocked"].members())
    if (cause.value.as_double() > (most ? most->value.as_double() : 0)) most = &cause;
  if (most)
    out += fmt::format("most ({}) unblocked by {}; ", shown(most->value.as_double(), ""), base::shown(most->key));
  return out +
         fmt::format("{} found no room again: times and rates are theirs", shown(run["blocked_again"].as_double(), ""));
}

/// If the arrivals determined the rate of a run: to which extent. Else "".
std::string of_arrivals_words(const json::Value& run) {
  if (run["rate_set_by"].as_string() != "arrivals") return "";
  return fmt::format(
      "{}: set by the arrivals, not by the scheduler; {:.0f} % of the jobs came when nothing was under way",
      shown(run["placements_per_second"].as_double(), "/s"),
      100 * run["workers"]["arrivals_when_idle"].as_double() / std::max(1.0, run["jobs"].as_double()));
}

/// Adds workload, machine, build and settings. Values common to all runs become facts of the section, differing numbers
/// rows of the table, and differing long texts facts of their run.
void add_facts(const Runs& runs, const std::vector<std::string>& names, Section& out, Table& table) {
  const auto add = [&](const char* title, bool row, auto&& words) {
    std::vector<std::string> each;
    for (const Input* run : runs) each.push_back(words(run->value));
    if (std::all_of(each.begin(), each.end(), [&](const std::string& one) { return one == each.front(); })) {
      out.facts.emplace_back(title, each.front());
    } else if (row) {
      std::vector<Cell> cells(1, title);
      for (std::size_t i = 0; i < each.size(); ++i) {
        cells.emplace_back(each[i]);
        if (i > 0) cells.emplace_back("");
      }
      table.rows.push_back(std::move(cells));
    } else {
      for (std::size_t i = 0; i < runs.size(); ++i) out.facts.emplace_back(title, names[i] + ": " + each[i]);
    }
  };
  add("machine", false, machine_words);
  add("build", false, build_words);
  add("settings", false, [](const json::Value& v) { return settings_words(v["settings"]); });
  add("seed", true, [](const json::Value& v) { return std::to_string(v["settings"]["seed"].as_int()); });
  add("nodes", true, [](const json::Value& v) { return shown(v["nodes"].as_double(), ""); });
  add("preloaded", true, [](const json::Value& v) { return shown(v["load_allocs"].as_double(), "allocations"); });
  add("replayed", true, [](const json::Value& v) {
    return fmt::format("{} of {} {}{}", shown(v["jobs"].as_double(), ""), shown(v["jobs_total"].as_double(), ""),
                       v.has("cells") ? "cells" : "jobs",
                       v["partial"].as_bool() ? "; PARTIAL: " + v["ended"].as_string() : "");
  });
  if (std::any_of(runs.begin(), runs.end(), [](const Input* run) { return !retries_words(run->value).empty(); }))
    add("WARNING", false, [](const json::Value& v) { return retries_words(v); });
  if (std::any_of(runs.begin(), runs.end(), [](const Input* run) { return !of_arrivals_words(run->value).empty(); }))
    add("rate", false, of_arrivals_words);
  add("in all", true, [](const json::Value& v) { return shown(v["elapsed_seconds"].as_double(), "s"); });
  add("decisions", true, [](const json::Value& v) { return v["decisions_digest"].as_string(); });
}

Table table_of(const Runs& runs, const std::vector<std::string>& names, Section& section) {
  Table out;
  out.head.emplace_back("");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    out.head.push_back(names[i]);
    if (i > 0) out.head.emplace_back("ratio");
  }
  add_facts(runs, names, section, out);
  for (const run::Measure& row : run::measures()) {
    std::vector<double> values;
    for (const Input* run : runs) values.push_back(row.scale() * run::value_of(run->value, row));
    if (!std::any_of(values.begin(), values.end(),
                     [&](double v) { return std::isfinite(v) && (v != 0 || row.is_always_shown()); }))
      continue;
    std::vector<Cell> cells(1, row.title);
    for (std::size_t i = 0; i < values.size(); ++i) {
      cells.emplace_back(shown(values[i], row.unit));
      if (i == 0) continue;
      cells.emplace_back(shown(values[i] / values[0], "x"));  // no colour: a single run is no evidence
    }
    out.rows.push_back(std::move(cells));
  }
  if (runs.size() > 1)
    out.note =
        "ratio: to " + names[0] + "; one run each, so it may be noise: see berth gate, or berth run --repeat --vary";
  return out;
}

/// Throughput between the points of placed_over_seconds, in at most 60 steps of equal length.
std::vector<Point> rates_of(const json::Value& pairs) {
  constexpr std::size_t kSteps = 60;
  std::vector<Point> out;
  std::vector<std::pair<double, double>> points;
  for (const json::Value& pair : pairs.items()) points.emplace_back(pair[0].as_double(), pair[1].as_double());
  if (points.size() < 3 || points.back().first <= points.front().first) return out;
  const double begin = points.front().first, length = points.back().first - begin;
  const std::size_t steps = std::min(kSteps, points.size() - 1);
  const auto placed_at = [&](double seconds) {
    const auto after = std::lower_bound(points.begin(), points.end(), std::pair(seconds, -1.0));
    if (after == points.begin()) return after->second;
    if (after == points.end()) return points.back().second;
    const auto before = after - 1;
    const double part = (seconds - before->first) / (after->first - before->first);
    return before->second + part * (after->second - before->second);
  };
  for (std::size_t i = 0; i < steps; ++i) {
    const double from = begin + length * static_cast<double>(i) / static_cast<double>(steps);
    const double to = begin + length * static_cast<double>(i + 1) / static_cast<double>(steps);
    out.push_back({(from + to) / 2, (placed_at(to) - placed_at(from)) / (to - from)});
  }
  return out;
}

std::vector<Point> column_over(const json::Value& over_time, const char* column, double scale) {
  const auto seconds = numbers_of(over_time["workload_seconds"]), values = numbers_of(over_time[column]);
  std::vector<Point> out;
  for (std::size_t i = 0; i < std::min(seconds.size(), values.size()); ++i)
    out.push_back({seconds[i], scale * values[i]});
  return out;
}

bool anything(const std::vector<Point>& points) {
  return std::any_of(points.begin(), points.end(), [](const Point& p) { return std::isfinite(p.y) && p.y != 0; });
}

Series latency_curve(const json::Value& curves, const char* what, const std::string& name) {
  Series out{name, {}};
  const auto percents = numbers_of(curves["percent"]), values = numbers_of(curves[what]);
  for (std::size_t i = 0; i < std::min(percents.size(), values.size()); ++i)
    if (percents[i] < 100 && values[i] > 0) out.points.push_back({100 / (100 - percents[i]), values[i]});
  return out;
}

void add_latency(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  Chart chart{.title = "Latency by percentile"};
  chart.x = {"percentile", "", true, true};
  chart.y = {"latency", "ns", true};
  const json::Value& first = runs[0]->value;
  const bool grid = first.has("cells");
  if (runs.size() == 1 && !grid) {
    for (const char* stage : {"placement", "queue", "schedule", "commit"})
      chart.series.push_back(latency_curve(first["latency_curves_ns"], stage, stage));
    chart.about =
        fmt::format("From when a placement was due to its commit, and its parts: p50 {}, p99 {}, p99.9 {}.",
                    shown(value_at(first, "latency_ns/p50"), "ns"), shown(value_at(first, "latency_ns/p99"), "ns"),
                    shown(value_at(first, "latency_ns/p999"), "ns"));
  } else {
    for (std::size_t i = 0; i < runs.size(); ++i)
      chart.series.push_back(
          latency_curve(runs[i]->value["latency_curves_ns"], grid ? "evaluation" : "placement", names[i]));
    chart.about = grid ? "Of evaluations, from snapshot to plan." : "From when a placement was due to its commit.";
  }
  std::erase_if(chart.series, [](const Series& s) { return s.points.empty(); });
  if (!chart.series.empty()) out.charts.push_back(std::move(chart));
}

void add_throughput(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  const bool of_arrivals =
      std::any_of(runs.begin(), runs.end(), [](const Input* run) { return of_arrivals_words(run->value) != ""; });
  Chart chart{.title = of_arrivals ? "Placements over time" : "Throughput over time"};
  chart.x = {"busy time", "s"};
  chart.y = {"placements/s", ""};
  chart.about = "Placements per second of busy time";
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series series{names[i], rates_of(runs[i]->value["placed_over_seconds"])};
    if (series.points.empty()) continue;
    chart.about += fmt::format("{} {}", chart.series.empty() ? ": mean" : ",",
                               shown(value_at(runs[i]->value, "placements_per_second"), "/s"));
    chart.series.push_back(std::move(series));
  }
  chart.about += of_arrivals ? "; a rate that the arrivals set, not the scheduler." : ".";
  if (!chart.series.empty()) out.charts.push_back(std::move(chart));
}

void add_packing(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  const Axis time{"workload time", "s"}, share{"share", "%", false, false, 100};
  if (runs.size() == 1) {
    const json::Value& over = runs[0]->value["over_time"];
    Chart chart{.title = "Use and fragmentation over time"};
    chart.about = fmt::format(
        "At the end cpu {}, memory {}, fragmentation {}; fragmentation: free capacity that a mean ask cannot use.",
        shown(100 * value_at(runs[0]->value, "packing/cpu_utilisation"), "%"),
        shown(100 * value_at(runs[0]->value, "packing/memory_utilisation"), "%"),
        shown(100 * value_at(runs[0]->value, "packing/fragmentation"), "%"));
    chart.x = time, chart.y = share;
    const std::pair<const char*, const char*> kColumns[] = {
        {"cpu", "cpu_utilisation"},         {"memory", "memory_utilisation"}, {"devices", "device_utilisation"},
        {"fragmentation", "fragmentation"}, {"disk", "disk_utilisation"},
    };
    for (const auto& [name, column] : kColumns) {
      Series series{name, column_over(over, column, 100), std::string_view(name) == "fragmentation"};
      if (anything(series.points)) chart.series.push_back(std::move(series));
    }
    if (!chart.series.empty()) out.charts.push_back(std::move(chart));
    return;
  }
  for (const auto& [title, column] :
       {std::pair("CPU used over time", "cpu_utilisation"), std::pair("Memory used over time", "memory_utilisation"),
        std::pair("Fragmentation over time", "fragmentation")}) {
    Chart chart{.title = title, .about = "Share of the ready nodes' capacity."};
    if (std::string_view(column) == "fragmentation") chart.about = "Free capacity that a mean ask cannot use.";
    chart.x = time, chart.y = share;
    for (std::size_t i = 0; i < runs.size(); ++i) {
      Series series{names[i], column_over(runs[i]->value["over_time"], column, 100)};
      if (anything(series.points)) chart.series.push_back(std::move(series));
    }
    if (!chart.series.empty()) out.charts.push_back(std::move(chart));
  }
}

void add_stages(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  if (!std::isfinite(value_at(runs[0]->value, "queue_ns/mean")) || runs[0]->value.has("cells")) return;
  Chart chart{.kind = ChartKind::bars, .title = "Where a placement's time goes", .stacked = true};
  chart.about = "Mean time of a placement in the queue, in scheduling and in committing.";
  chart.x = {"mean per placement", "ns"};
  chart.categories = names;
  for (const char* stage : {"queue", "schedule", "commit"}) {
    Series series{stage, {}};
    for (std::size_t i = 0; i < runs.size(); ++i)
      series.points.push_back({static_cast<double>(i), value_at(runs[i]->value, fmt::format("{}_ns/mean", stage))});
    chart.series.push_back(std::move(series));
  }
  out.charts.push_back(std::move(chart));
}

void add_conflicts(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  Chart chart{.kind = ChartKind::bars, .title = "Plans and conflicts"};
  chart.x = {"plans", ""};
  chart.about =
      "Of several workers: plans, those refused on some node, those committed in part, and attempts after that.";
  const std::pair<const char*, const char*> kCounts[] = {
      {"plans", "plans"},
      {"conflicts", "conflicts"},
      {"partial commits", "partial_commits"},
      {"retries", "retries"},
      {"gave up", "gave_up"},
      {"used as decided ahead", "ahead_used"},
      {"made again", "ahead_redone"},
      {"made in turn", "ahead_inline"},
  };
  const auto value = [&](const Input* run, const char* key) {
    return value_at(run->value, fmt::format("workers/{}", key));
  };
  for (const auto& [title, key] : kCounts)
    if (std::any_of(runs.begin(), runs.end(), [&](const Input* run) { return value(run, key) > 0; }))
      chart.categories.emplace_back(title);
  if (chart.categories.empty()) return;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    Series series{names[i], {}};
    double at = 0;
    for (const auto& [title, key] : kCounts)
      if (std::find(chart.categories.begin(), chart.categories.end(), title) != chart.categories.end())
        series.points.push_back({at++, value(runs[i], key)});
    chart.series.push_back(std::move(series));
  }
  out.charts.push_back(std::move(chart));
}

/// Share of the placements submitted between two samples that the applier refused, because optimistic workers decided
/// on outdated state.
void add_conflicts_over_time(const Runs& runs, const std::vector<std::string>& names, Section& out) {
  Chart chart{.title = "Conflicts over time"};
  chart.about = "Placements that the applier refused, as a share of those handed in, between two samples";
  chart.x = {"workload time", "s"}, chart.y = {"refused", "%"};
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const json::Value& over = runs[i]->value["over_time"];
    const auto seconds = numbers_of(over["workload_seconds"]), placed = numbers_of(over["placed"]),
               refused = numbers_of(over["refused"]);
    if (refused.empty() || refused.back() <= 0 || placed.size() != refused.size() || seconds.size() != refused.size())
      continue;
    Series series{names[i], {}};
    for (std::size_t k = 1; k < refused.size(); ++k) {
      const double since = refused[k] - refused[k - 1], all = since + placed[k] - placed[k - 1];
      if (all > 0) series.points.push_back({seconds[k], 100 * since / all});
    }
    chart.about += fmt::format("{} {} of {}", chart.series.empty() ? ": in all" : ",", shown(refused.back(), ""),
                               shown(refused.back() + placed.back(), ""));
    chart.series.push_back(std::move(series));
  }
  chart.about += ".";
  if (!chart.series.empty()) out.charts.push_back(std::move(chart));
}

std::vector<std::vector<double>> rows_of(const json::Value& lists, double scale) {
  std::vector<std::vector<double>> out;
  for (const json::Value& list : lists.items()) {
    out.push_back(numbers_of(list));
    for (double& value : out.back()) value *= scale;
  }
  return out;
}

void add_heat(const Input& run, const std::string& name, bool several, Section& out) {
  const std::string of = several ? ": " + name : "";
  const json::Value &over = run.value["over_time"], &map = run.value["node_map"];
  // Columns are samples, rows steps of usage; in percent of the ready nodes.
  const auto looks = rows_of(over["nodes_by_use"], 1);
  if (looks.size() > 1 && !looks[0].empty()) {
    Chart chart{.kind = ChartKind::heat, .title = "Nodes by their use over time" + of};
    chart.about = "How many nodes are how full, of cpu or memory, whichever is fuller, from the start to the end.";
    chart.heat.assign(looks[0].size(), std::vector<double>(looks.size(), 0));
    for (std::size_t look = 0; look < looks.size(); ++look) {
      double sum = 0;
      for (const double count : looks[look]) sum += count;
      for (std::size_t step = 0; step < std::min(chart.heat.size(), looks[look].size()); ++step)
        chart.heat[step][look] = sum == 0 ? kNone : 100 * looks[look][step] / sum;
    }
    chart.columns = numbers_of(over["workload_seconds"]);
    chart.heat_unit = "%", chart.heat_what = "of the nodes";
    chart.x = {"workload time", "s"}, chart.y = {"node full", "%"}, chart.y_range = {0, 100};
    if (!chart.columns.empty()) chart.x_range = {chart.columns.front(), chart.columns.back()};
    out.charts.push_back(std::move(chart));
  }
  const auto cells = numbers_of(map["use"]);
  if (!cells.empty()) {
    const double each = std::max(1.0, map["nodes_per_cell"].as_double());
    Chart chart{.kind = ChartKind::heat, .title = "Map of the nodes at the end" + of};
    const std::size_t width = cells.size() <= 32 ? cells.size() : 32, height = (cells.size() + width - 1) / width;
    chart.about = fmt::format(
        "{} in the order of the cluster, row by row from the bottom; colour: cpu or memory used, "
        "whichever is fuller.",
        each > 1 ? fmt::format("Groups of {:.0f} nodes", each) : "Every node");
    chart.heat.assign(height, std::vector<double>(width, kNone));
    for (std::size_t i = 0; i < cells.size(); ++i) chart.heat[i / width][i % width] = 100 * cells[i];
    chart.heat_unit = "%", chart.heat_what = "use";
    chart.x = {"node", ""}, chart.y = {"first node of the row", ""};
    chart.x_range = {0, each * static_cast<double>(width)};
    chart.y_range = {0, each * static_cast<double>(width * height)};
    out.charts.push_back(std::move(chart));
  }
  const auto both = rows_of(map["by_cpu_and_memory"], 1);  // [cpu][memory]
  if (!both.empty()) {
    Chart chart{.kind = ChartKind::heat, .title = "Nodes by cpu and memory at the end" + of};
    chart.about = "Off the diagonal one of the two is used up while the other is left: stranded.";
    chart.heat.assign(both.size(), std::vector<double>(both.size(), kNone));
    for (std::size_t cpu = 0; cpu < both.size(); ++cpu)
      for (std::size_t memory = 0; memory < std::min(both.size(), both[cpu].size()); ++memory)
        if (both[cpu][memory] > 0) chart.heat[memory][cpu] = both[cpu][memory];
    chart.heat_what = "nodes";
    chart.x = {"cpu used", "%"}, chart.y = {"memory used", "%"}, chart.x_range = chart.y_range = {0, 100};
    out.charts.push_back(std::move(chart));
  }
}

// ---------------------------------------------------------------- simulations

/// A column of a list of objects.
struct Column {
  const char *title, *path;
  Unit unit;  ///< null: a text
};
Table table_of_list(const char* title, const json::Value& list, const std::vector<Column>& columns) {
  Table out{.title = title, .head = {}, .rows = {}, .folded = list.size() > 20};
  for (const Column& column : columns) out.head.emplace_back(column.title);
  for (const json::Value& one : list.items()) {
    std::vector<Cell> row;
    for (const Column& column : columns)
      row.emplace_back(column.unit ? shown(value_at(one, column.path), column.unit) : one[column.path].as_string());
    out.rows.push_back(std::move(row));
  }
  return out;
}

void add_life(const json::Value& life, const std::string& of, Section& out) {
  std::vector<Mark> marks;
  for (const json::Value& fault : life["faults"].items())
    marks.push_back({fault["at_seconds"].as_double(), value_at(fault, "until_seconds"), fault["what"].as_string()});
  // Of many faults only those that hit most allocations are shown in full; a hundred bands would hide the curves.
  constexpr std::size_t kMainMarks = 8;
  const bool many = marks.size() > 2 * kMainMarks;
  if (many) {
    std::vector<std::size_t> order(marks.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto hit = [&](std::size_t i) { return life["faults"].items()[i]["hit"].as_double(); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return hit(a) > hit(b); });
    for (std::size_t i = kMainMarks; i < order.size(); ++i) marks[order[i]].main = false;
  }
  const std::string marked =
      marks.empty() ? "no faults"
      : many ? fmt::format("{} faults are ticks at the top, the {} that hit most are marked in full", marks.size(),
                           kMainMarks)
             : fmt::format("{} marked", marks.size() == 1 ? "1 fault is" : fmt::format("{} faults are", marks.size()));
  const json::Value& over = life["over_time"];
  const auto seconds = numbers_of(over["seconds"]);
  const double step = seconds.size() > 1 ? seconds[1] - seconds[0] : 1;
  const auto series = [&](const char* name, const char* column, double scale) {
    Series line{name, {}};
    const auto values = numbers_of(over[column]);
    for (std::size_t i = 0; i < std::min(seconds.size(), values.size()); ++i)
      line.points.push_back({seconds[i], scale * values[i]});
    return line;
  };
  const auto chart = [&](const std::string& title, const std::string& about, const char* y, std::vector<Series> lines) {
    Chart one{.title = title + of, .about = about};
    one.x = {"time", "s"}, one.y = {y, ""};
    one.series = std::move(lines), one.marks = marks;
    out.charts.push_back(std::move(one));
  };
  chart("Missing allocations, and the faults",
        fmt::format("Wanted and not running; {}. Recovery p50 {}, p99 {}, max {}.", marked,
                    shown(value_at(life, "recovery_ns/p50"), "ns"), shown(value_at(life, "recovery_ns/p99"), "ns"),
                    shown(value_at(life, "recovery_ns/max"), "ns")),
        "allocations", {series("missing", "missing", 1)});
  chart("Evaluations and placements over time",
        fmt::format("Per second; the median of times with any is {} evaluations/s; {} storms.",
                    shown(value_at(life, "base_evaluations_per_second"), ""), life["storms"].size()),
        "per second", {series("evaluations", "evaluations", 1 / step), series("placements", "placed", 1 / step)});
  if (Series memory = series("memory", "memory_bytes", 1 / 1048576.0); memory.points.size() > 1)
    chart("Memory over time", "Of the whole process, with what it keeps to report.", "MiB", {std::move(memory)});
  out.tables.push_back(table_of_list(("Faults" + of).c_str(), life["faults"],
                                     {{"fault", "what", nullptr},
                                      {"at", "at_seconds", "s"},
                                      {"nodes", "nodes", ""},
                                      {"hit", "hit", ""},
                                      {"recovered", "recovered", ""},
                                      {"away", "away", ""},
                                      {"recovery p50", "recovery_ns/p50", "ns"},
                                      {"p99", "recovery_ns/p99", "ns"},
                                      {"max", "recovery_ns/max", "ns"}}));
  const std::vector<Column> outages = {{"jobs", "name", nullptr},
                                       {"wanted", "wanted_alloc_seconds", "alloc s"},
                                       {"missing", "missing_alloc_seconds", "alloc s"},
                                       {"worst", "missing_worst", ""},
                                       {"at the end", "missing_at_end", ""}};
  out.tables.push_back(
      table_of_list(("Unavailability by kind of job" + of).c_str(), life["unavailability_by_kind"], outages));
  out.tables.push_back(
      table_of_list(("Jobs that missed most" + of).c_str(), life["unavailability_worst_jobs"], outages));
  out.tables.push_back(table_of_list(("Deployments" + of).c_str(), life["deployments"],
                                     {{"job", "job", nullptr},
                                      {"version", "version", ""},
                                      {"status", "status", nullptr},
                                      {"why", "description", nullptr},
                                      {"at", "at_seconds", "s"},
                                      {"took", "seconds", "s"}}));
  std::string story;
  for (const json::Value& line : life["story"].items())
    story += fmt::format("{:>10.1f} s  {}\n", line["at_seconds"].as_double(), line["what"].as_string());
  if (!story.empty()) out.texts.emplace_back("Events" + of, story);
}

void add_cells(const json::Value& run, Section& out) {
  Table table{.title = "Cells", .head = {}, .rows = {}, .note = {}, .folded = true};
  table.head = {"cell", "nodes", "racks", "allocs", "spread", "Nomad", "berth", "ratio", "decisions"};
  Chart chart{.kind = ChartKind::points, .title = "Nomad's grid, cell by cell"};
  chart.about = "Fastest repetition of one evaluation, by the number of nodes; both axes logarithmic.";
  chart.x = {"nodes", "", true}, chart.y = {"evaluation", "ns", true};
  chart.series = {{"Nomad", {}, false, 1}, {"berth", {}, false, 0}};
  for (const json::Value& cell : run["cells"].items()) {
    const bool equal = cell["decisions_equal"].as_bool();
    table.rows.push_back({std::to_string(cell["cell"].as_int()), shown(cell["nodes"].as_double(), ""),
                          shown(cell["racks"].as_double(), ""), shown(cell["allocs"].as_double(), ""),
                          cell["spread"].as_bool() ? "yes" : "no", shown(cell["nomad_ns"].as_double(), "ns"),
                          shown(cell["berth_ns"].as_double(), "ns"), shown(cell["ratio"].as_double(), "x"),
                          Cell(equal ? "equal" : "differ: " + cell["difference"].as_string(), equal ? "good" : "bad")});
    chart.series[0].points.push_back({cell["nodes"].as_double(), cell["nomad_ns"].as_double()});
    chart.series[1].points.push_back({cell["nodes"].as_double(), cell["berth_ns"].as_double()});
  }
  table.note = "Nomad's times were recorded on another machine: a ratio counts on machines of one kind";
  out.tables.push_back(std::move(table));
  out.charts.push_back(std::move(chart));
}

}  // namespace

Result<void> check_run(const Input& input) {
  auto fine = check(input.value, input.path,
                    {{"workload", 's'},
                     {"label", 's'},
                     {"partial", 'b'},
                     {"settings/seed", 'n'},
                     {"settings/workers", 'n'},
                     {"machine/cpu", 's'},
                     {"machine/cores", 'n'},
                     {"build/commit", 's'},
                     {"nodes", 'n'},
                     {"jobs", 'n'},
                     {"placed", 'n'},
                     {"placements_per_second", 'n'},
                     {"latency_ns/p50", 'n'},
                     {"schedule_ns/p50", 'n'},
                     {"evaluation_latency_ns/p50", 'n'},
                     {"decisions_digest", 's'}});
  if (fine && input.value.has("life"))
    fine = check(input.value, input.path, {{"life/over_time/seconds", 'a'}, {"life/unavailability_by_kind", 'a'}});
  if (fine && input.value["life"]["faults"].size() > 0)
    fine = check(input.value, input.path,
                 {{"life/faults", 'a'}, {"life/faults/*/what", 's'}, {"life/faults/*/at_seconds", 'n'}});
  if (fine) fine = check_columns(input.value, input.path, "over_time", "workload_seconds");
  if (fine) fine = check_columns(input.value, input.path, "life/over_time", "seconds");
  for (const char* times : {"latency_ns", "schedule_ns", "evaluation_latency_ns"})
    if (fine) fine = check_percentiles(input.value, input.path, times);
  if (!fine || !input.value.has("cells")) return fine;
  return check(input.value, input.path, {{"cells", 'a'}, {"cells/*/nomad_ns", 'n'}, {"cells/*/berth_ns", 'n'}});
}

void run_sections(const std::vector<const Input*>& inputs, Document& out) {
  std::vector<std::pair<std::string, Runs>> groups;
  for (const Input* input : inputs) {
    const std::string name =
        fmt::format("{} ({})", input->value["workload"].as_string(), input->value["label"].as_string());
    const auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == name; });
    if (found == groups.end())
      groups.push_back({name, {input}});
    else
      found->second.push_back(input);
  }
  for (const auto& [name, runs] : groups) {
    Section& section = out.sections.emplace_back();
    const auto names = names_of(runs);
    section.title = runs.size() == 1 ? name : fmt::format("{}, {} runs", name, runs.size());
    if (runs.size() == 1) section.file = runs[0]->path;
    if (std::any_of(runs.begin(), runs.end(), [](const Input* run) { return run->value["partial"].as_bool(); }))
      section.verdict = Cell("partial", "warn");
    section.tables.push_back(table_of(runs, names, section));
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const json::Object& reasons = runs[i]->value["failed_reasons"].members();
      if (reasons.empty()) continue;
      Table table{.title = "Why placements failed" + (runs.size() > 1 ? ": " + names[i] : ""),
                  .head = {"reason", "placements"},
                  .rows = {}};
      for (const json::Member& reason : reasons)
        table.rows.push_back({reason.key, shown(reason.value.as_double(), "")});
      section.tables.push_back(std::move(table));
    }
    if (runs.size() == 1) add_run_tables(runs[0]->value, section);
    if (runs.size() == 1 && runs[0]->value.has("cells")) add_cells(runs[0]->value, section);
    for (std::size_t i = 0; i < std::min<std::size_t>(4, runs.size()); ++i)
      if (runs[i]->value.has("life")) add_life(runs[i]->value["life"], runs.size() > 1 ? ": " + names[i] : "", section);
    add_latency(runs, names, section);
    add_throughput(runs, names, section);
    add_packing(runs, names, section);
    add_stages(runs, names, section);
    add_conflicts(runs, names, section);
    add_conflicts_over_time(runs, names, section);
    for (std::size_t i = 0; i < std::min<std::size_t>(4, runs.size()); ++i)
      add_heat(*runs[i], names[i], runs.size() > 1, section);
  }
}

Result<void> check_others(const Input& input) {
  return check(input.value, input.path,
               {{"cases", 'a'}, {"cases/*/name", 's'}, {"cases/*/nomad_ns", 'n'}, {"cases/*/berth_ns", 'n'}});
}

void others_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    Section& section = out.sections.emplace_back();
    section.title = "nomad-others", section.file = input->path;
    section.facts = {{"machine", machine_words(input->value)}, {"build", build_words(input->value)}};
    Table table;
    table.head = {"case", "Nomad", "berth", "ratio", "decisions"};
    Chart chart{.kind = ChartKind::bars, .title = "Times compared with Nomad's"};
    chart.about = "One evaluation each; Nomad's times were recorded on another machine. Logarithmic.";
    chart.x = {"evaluation", "ns", true};
    chart.series = {{"Nomad", {}, false, 1}, {"berth", {}, false, 0}};
    for (const json::Value& one : input->value["cases"].items()) {
      const bool equal = one["as_nomad"].as_bool();
      table.rows.push_back({one["name"].as_string(), shown(one["nomad_ns"].as_double(), "ns"),
                            shown(one["berth_ns"].as_double(), "ns"), shown(one["ratio"].as_double(), "x"),
                            Cell(equal ? "as Nomad" : "differ", equal ? "good" : "bad")});
      const auto at = static_cast<double>(chart.categories.size());
      chart.categories.push_back(one["name"].as_string());
      chart.series[0].points.push_back({at, one["nomad_ns"].as_double()});
      chart.series[1].points.push_back({at, one["berth_ns"].as_double()});
    }
    section.tables.push_back(std::move(table));
    section.charts.push_back(std::move(chart));
  }
}

}  // namespace berth::report
