// Results of `berth profile` and `berth load`: where the time of evaluations goes, and what rate is sustained.
#include <fmt/format.h>

#include <algorithm>

#include "report/kinds.h"

namespace berth::report {
namespace {

void add_head(const Input& input, const std::string& what, Section& out) {
  const json::Value& value = input.value;
  out.title = fmt::format("{} ({}): {}", value["workload"].as_string(), value["label"].as_string(), what);
  out.file = input.path;
  if (value["partial"].as_bool()) out.verdict = Cell("partial: " + value["ended"].as_string(), "warn");
  const json::Value& settings = value["settings"];
  out.facts = {
      {"machine", machine_words(value)},
      {"build", build_words(value)},
      {"seed", std::to_string(settings["seed"].as_int())},
      {"settings", fmt::format("{} mode, {}, {} worker{}, {} commits", settings["mode"].as_string(),
                               settings["algorithm"].as_string(), settings["workers"].as_int(),
                               settings["workers"].as_int() == 1 ? "" : "s", settings["commits"].as_string())}};
}

std::string time_of(const json::Value& value, Unit unit) { return shown(value.as_double(kNone), unit); }

/// Total time per stage, one series per list of stages.
Chart stages_chart(const std::string& title) {
  Chart out{.kind = ChartKind::bars, .title = title};
  out.about = "Time of all evaluations in each stage of a placement.";
  out.x = {"time", "s"};
  return out;
}

void add_stages(const json::Value& stages, const std::string& name, Chart& chart) {
  Series series{name, {}};
  for (const json::Value& stage : stages.items()) {
    const std::string& what = stage["stage"].as_string();
    const auto found = std::find(chart.categories.begin(), chart.categories.end(), what);
    const auto at = static_cast<double>(found - chart.categories.begin());
    if (found == chart.categories.end()) chart.categories.push_back(what);
    series.points.push_back({at, stage["seconds"].as_double(kNone)});
  }
  chart.series.push_back(std::move(series));
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
    if (const json::Value& share = value["overhead"]["share"]; share.is_number())
      section.facts.emplace_back("overhead", fmt::format("{:.1f} % of the time is the profile's own, as measured",
                                                         std::max(0.0, 100 * share.as_double())));
    section.facts.emplace_back("decisions", value["decisions_digest"].as_string());

    Table table{.title = "Stages",
                .head = {"stage", "share", "time", "p50", "p99", "max", "evaluations", "per unit", "unit", "what"},
                .rows = {},
                .note = "latency per evaluation; ~: estimated from the evaluations that were looked at in detail"};
    Chart latency{.kind = ChartKind::bars, .title = "Latency by stage"};
    latency.about = "Of evaluations, median and 99th percentile; logarithmic.";
    latency.x = {"per evaluation", "ns", true};
    latency.series = {{"p50", {}, false, 0}, {"p99", {}, false, 1}};
    for (const json::Value& stage : value["stages"].items()) {
      const json::Value& l = stage["latency_ns"];
      table.rows.push_back({stage["stage"].as_string(), fmt::format("{:.1f} %", 100 * stage["share"].as_double()),
                            (stage["estimated"].as_bool() ? "~" : "") + time_of(stage["seconds"], "s"),
                            time_of(l["p50"], "ns"), time_of(l["p99"], "ns"), time_of(l["max"], "ns"),
                            time_of(stage["evaluations"], ""), time_of(stage["ns_per_unit"], "ns"),
                            stage["unit"].as_string(), stage["what"].as_string()});
      if (l["p50"].as_double() <= 0) continue;
      const auto at = static_cast<double>(latency.categories.size());
      latency.categories.push_back(stage["stage"].as_string());
      latency.series[0].points.push_back({at, l["p50"].as_double()});
      latency.series[1].points.push_back({at, l["p99"].as_double()});
    }
    section.tables.push_back(std::move(table));
    Table slowest{.title = "Slowest evaluations",
                  .head = {"evaluation", "service", "queue", "placed", "most in", "why", "again"},
                  .rows = {}};
    for (const json::Value& one : value["slowest"].items())
      slowest.rows.push_back({one["evaluation"].as_string(), time_of(one["service_ns"], "ns"),
                              time_of(one["queue_ns"], "ns"), time_of(one["placed"], ""),
                              one["dominated_by"].as_string(), one["why"].as_string(), one["reproduce"].as_string()});
    section.tables.push_back(std::move(slowest));
    Chart stages = stages_chart("Where the time goes");
    add_stages(value["stages"], "time", stages);
    section.charts.push_back(std::move(stages));
    if (!latency.categories.empty()) section.charts.push_back(std::move(latency));
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

void load_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& value = input->value;
    Section& section = out.sections.emplace_back();
    add_head(*input, "load", section);
    const double limit = value["limit_ns"].as_double();
    section.facts.emplace_back(
        "limit", fmt::format("p{} of a placement at most {}", value["percentile"].as_int(99), shown(limit, "ns")));

    Table knees{.title = "Highest rate sustained",
                .head = {"workers", "jobs/s sustained", "jobs/s not", "placements/s", "ended"},
                .rows = {}};
    Chart stages = stages_chart("Where the time goes at the knee");
    for (const json::Value& knee : value["knees"].items()) {
      knees.rows.push_back({std::to_string(knee["workers"].as_int()), time_of(knee["sustained_rate_per_s"], ""),
                            time_of(knee["not_sustained_rate_per_s"], ""),
                            time_of(knee["sustained_placements_per_s"], ""), knee["ended"].as_string()});
      if (knee["stages"].size() > 0)
        add_stages(knee["stages"], fmt::format("{} workers", knee["workers"].as_int()), stages);
    }
    section.tables.push_back(std::move(knees));
    Table trials{.title = "Trials",
                 .head = {"workers", "jobs/s", "p50", "p99", "p99.9", "busy", "backlog at the end", "verdict"},
                 .rows = {},
                 .note = {},
                 .folded = true};
    Chart curve{.title = "Latency against load"};
    curve.about = "Placement latency at each offered rate; the dashed line is the limit.";
    curve.x = {"jobs offered per second", "/s"}, curve.y = {"latency", "ns", true};
    double lowest = kNone, highest = kNone;
    for (const json::Value& trial : value["trials"].items()) {
      const json::Value& l = trial["latency_ns"];
      const double rate = trial["rate_per_s"].as_double();
      lowest = std::fmin(lowest, rate), highest = std::fmax(highest, rate);
      const bool sustained = trial["sustained"].as_bool();
      trials.rows.push_back({std::to_string(trial["workers"].as_int()), shown(rate, ""), time_of(l["p50"], "ns"),
                             time_of(l["p99"], "ns"), time_of(l["p999"], "ns"),
                             fmt::format("{:.0f} %", 100 * trial["busy_share"].as_double()),
                             time_of(trial["backlog_at_end"], ""),
                             Cell(sustained ? "sustained" : trial["why_not"].as_string(), sustained ? "good" : "bad")});
      for (const char* percentile : {"p50", "p99"}) {
        const std::string name = fmt::format("{} worker{}, {}", trial["workers"].as_int(),
                                             trial["workers"].as_int() == 1 ? "" : "s", percentile);
        auto found =
            std::find_if(curve.series.begin(), curve.series.end(), [&](const Series& s) { return s.name == name; });
        if (found == curve.series.end()) found = curve.series.insert(found, {name, {}});
        if (l[percentile].as_double() > 0) found->points.push_back({rate, l[percentile].as_double()});
      }
    }
    for (Series& series : curve.series)
      std::sort(series.points.begin(), series.points.end(),
                [](const Point& a, const Point& b) { return a.x != b.x ? a.x < b.x : a.y < b.y; });
    if (limit > 0 && lowest < highest) curve.series.push_back({"limit", {{lowest, limit}, {highest, limit}}, true, 3});
    section.tables.push_back(std::move(trials));
    if (!value["trials"].items().empty()) section.charts.push_back(std::move(curve));
    if (!stages.series.empty()) section.charts.push_back(std::move(stages));
  }
}

}  // namespace berth::report
