#include "report/kinds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

namespace berth::report {
namespace {

// In the order of a report.
constexpr Kind kKinds[] = {{"berth-run", check_run, run_sections},
                           {"berth-study", check_study, study_sections},
                           {"berth-results", check_results, results_sections},
                           {"berth-others", check_others, others_sections},
                           {"berth-profile", check_profile, profile_sections},
                           {"berth-load", check_load, load_sections},
                           {"berth-compare", check_grid, grid_sections},
                           {"berth-compare-capacity", check_capacity, capacity_sections},
                           {"berth-compare-minimum-nodes", check_minimum, minimum_sections},
                           {"berth-compare-experiment", check_experiment, experiment_sections},
                           {"berth-plan", check_plan, plan_sections, 3},
                           {"berth-gate", check_gate, gate_sections},
                           {"berth-history", check_history, history_sections},
                           {"berth-baseline", check_baseline, baseline_sections}};

}  // namespace

const Kind* find_kind(std::string_view name) {
  for (const Kind& kind : kKinds)
    if (kind.name == name) return &kind;
  return nullptr;
}

std::string machine_words(const json::Value& value) {
  const json::Value& machine = value["machine"];
  if (!machine.is_object()) return "not recorded";
  std::string out = fmt::format("{}, {} cores, {}", machine["cpu"].as_string(), machine["cores"].as_int(),
                                shown(machine["memory_bytes"].as_double(), "bytes"));
  if (const std::string& path = value["build"]["isa_path"].as_string(); !path.empty()) out += ", ISA path " + path;
  return out;
}

std::string build_words(const json::Value& value) {
  const json::Value& build = value["build"];
  const std::string& commit = build.is_object() ? build["commit"].as_string() : value["commit"].as_string();
  std::string out = "commit " + commit.substr(0, 12) + (commit.ends_with("-dirty") ? "-dirty" : "");
  if (!build.is_object()) return out;
  out += fmt::format(", {} {}", build["compiler"].as_string(), build["build_type"].as_string());
  if (build["build_type"].as_string() == "Debug" || !build["sanitize"].as_string().empty())
    out += ": a debug or sanitizer build, its times say nothing";
  return out;
}

std::string settings_words(const json::Value& s) {
  const std::int64_t workers = s["workers"].as_int();
  const std::string& strategy = s["strategy"].as_string();
  std::string out =
      fmt::format("{} mode, strategy {}", s["mode"].as_string(),
                  strategy.empty() || strategy == "nomad" ? "nomad, " + s["algorithm"].as_string() : strategy);
  if (s["order"].is_string()) out += ", order " + s["order"].as_string();
  out += fmt::format(", {} worker{}, {} commits", workers, workers == 1 ? "" : "s", s["commits"].as_string());
  for (const json::Member& option : s["options"].members())
    if (option.value.is_string() && option.value.as_string() != "nomad")
      out += fmt::format(", {}={}", option.key, option.value.as_string());
  return out;
}

std::string short_name(const std::string& path) {
  const std::filesystem::path file(path);
  return file.extension() == ".json" ? file.stem().string() : file.filename().string();
}

namespace {

/// True if a chart shows more than an empty area: a line has two points that differ in x, bars and cells are not all 0.
bool shows_something(const Chart& chart) {
  const auto of_series = [&](auto&& test) { return std::any_of(chart.series.begin(), chart.series.end(), test); };
  const auto counts = [](double value) { return std::isfinite(value) && value != 0; };
  switch (chart.kind) {
    case ChartKind::line:
      return of_series([](const Series& series) {
        return !series.dashed && series.points.size() > 1 && series.points.front().x != series.points.back().x;
      });
    case ChartKind::points:
      return of_series([](const Series& series) { return !series.points.empty(); });
    case ChartKind::bars:
      return of_series([&](const Series& series) {
        return std::any_of(series.points.begin(), series.points.end(), [&](const Point& p) { return counts(p.y); });
      });
    case ChartKind::heat:
      return std::any_of(chart.heat.begin(), chart.heat.end(),
                         [&](const auto& row) { return std::any_of(row.begin(), row.end(), counts); });
  }
  return true;
}

}  // namespace

Document make_document(const std::vector<Input>& inputs) {
  Document out;
  for (const Kind& kind : kKinds) {
    std::vector<const Input*> of;
    for (const Input& input : inputs)
      if (input.kind == kind.name) of.push_back(&input);
    if (!of.empty()) kind.sections(of, out);
  }
  // E.g. a run of three placements has no curve; its tables show everything.
  for (Section& section : out.sections)
    std::erase_if(section.charts, [](const Chart& chart) { return !shows_something(chart); });
  out.title = out.sections.size() == 1 ? out.sections.front().title : fmt::format("{} results", out.sections.size());
  return out;
}

}  // namespace berth::report
