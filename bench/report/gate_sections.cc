// Verdicts of `berth gate`, its history with drifts, and its baselines.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "gate/baseline.h"
#include "gate/history.h"
#include "gate/metrics.h"
#include "report/kinds.h"

namespace berth::report {
namespace {

std::string value_words(const json::Value& value, const gate::Metric* metric) {
  if (value.is_string()) return value.as_string();
  if (!value.is_number()) return "-";
  return metric ? run::with_unit(value.as_double(), metric->unit) : shown(value.as_double(), "");
}

const char* tone_of(const std::string& result) {
  return result == "regression" ? "bad" : result == "inconclusive" ? "warn" : result == "improved" ? "good" : "";
}

std::string side_words(const std::string& command, const json::Value& print) {
  const std::string& commit = print["commit"].as_string();
  return fmt::format("{}, commit {}{}, {}", command, commit.substr(0, 12),
                     print["dirty"].as_string() == "yes" ? "-dirty" : "", print["compiler"].as_string());
}

}  // namespace

Result<void> check_gate(const Input& input) {
  return check(input.value, input.path,
               {{"result", 's'},
                {"base", 's'},
                {"head", 's'},
                {"seed", 'n'},
                {"cases", 'a'},
                {"cases/*/case", 's'},
                {"findings", 'a'},
                {"findings/*/case", 's'},
                {"findings/*/metric", 's'},
                {"findings/*/result", 's'}});
}

void gate_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const json::Value& value = input->value;
    Section& section = out.sections.emplace_back();
    section.title = "Gate";
    section.file = input->path;
    const std::string& result = value["result"].as_string();
    section.verdict = Cell(result, result == "pass" ? "good" : tone_of(result));
    const json::Value& print = value["cases"][0]["head_fingerprint"];
    section.facts = {{"machine", fmt::format("{}, {} cores", print["cpu"].as_string(), print["cores"].as_string())},
                     {"base", side_words(value["base"].as_string(), value["cases"][0]["base_fingerprint"])},
                     {"head", side_words(value["head"].as_string(), print)},
                     {"seed", std::to_string(value["seed"].as_int())},
                     {"judged by", fmt::format("effect {:g} %, alpha {:g}", 100 * value["effect"].as_double(),
                                               value["alpha"].as_double())}};

    Table findings{
        .title = "", .head = {"case", "metric", "verdict", "base", "head", "worse by", "noise", "n"}, .rows = {}};
    Table passed = findings;
    findings.title = "What did not simply pass", passed.title = "What passed", passed.folded = passed.page_only = true;
    for (const json::Value& f : value["findings"].items()) {
      const gate::Metric* metric = gate::find_metric(f["metric"].as_string());
      const std::string& verdict = f["result"].as_string();
      const auto percent = [](const json::Value& share) {
        return share.is_number() ? fmt::format("{:+.1f} %", 100 * share.as_double()) : std::string("-");
      };
      std::string metric_name = f["metric"].as_string();
      if (f["note"].is_string()) metric_name += " (" + f["note"].as_string() + ")";
      auto& rows = verdict == "pass" ? passed.rows : findings.rows;
      rows.push_back({f["case"].as_string(), metric_name, Cell(verdict, tone_of(verdict)),
                      value_words(f["base"], metric), value_words(f["got"], metric), percent(f["worse_by"]),
                      f["exact"].as_bool()     ? "exact"
                      : f["noise"].is_number() ? fmt::format("{:.1f} %", 100 * f["noise"].as_double())
                                               : "-",
                      std::to_string(f["n"].as_int())});
    }
    section.facts.emplace_back("findings",
                               fmt::format("{} passed, {} others", passed.rows.size(), findings.rows.size()));
    section.tables.push_back(std::move(findings));
    section.tables.push_back(std::move(passed));

    for (const json::Value& one : value["cases"].items()) {
      const std::string& name = one["case"].as_string();
      Chart changes{.kind = ChartKind::bars, .title = "Times against the base: " + name};
      changes.about = "Positive is worse; the line is what repetitions of one build differ by.";
      changes.x = {"worse by", "%"};
      changes.series = {{"worse by", {}}};
      for (const json::Value& f : value["findings"].items()) {
        if (f["case"].as_string() != name || f["exact"].as_bool() || !f["worse_by"].is_number()) continue;
        Point point{static_cast<double>(changes.categories.size()), 100 * f["worse_by"].as_double()};
        if (f["noise"].is_number())
          point.low = point.y - 100 * f["noise"].as_double(), point.high = point.y + 100 * f["noise"].as_double();
        changes.categories.push_back(f["metric"].as_string());
        changes.series[0].points.push_back(point);
      }
      if (!changes.categories.empty()) section.charts.push_back(std::move(changes));
      Chart stages{.kind = ChartKind::bars, .title = "Time per placement by stage: " + name};
      stages.about = "Mean time of a placement in each stage, base next to head";
      if (one["slower_stage"].is_string()) stages.about += "; the slower stage is " + one["slower_stage"].as_string();
      stages.about += ".";
      stages.x = {"mean per placement", "ns"};
      stages.series = {{"base", {}, false, 1}, {"head", {}, false, 0}};
      for (const json::Value& stage : one["stages"].items()) {
        const auto at = static_cast<double>(stages.categories.size());
        stages.categories.push_back(stage["stage"].as_string());
        stages.series[0].points.push_back({at, stage["base_ns"].as_double()});
        stages.series[1].points.push_back({at, stage["head_ns"].as_double()});
      }
      if (!stages.categories.empty()) section.charts.push_back(std::move(stages));
    }
    for (const json::Value& profile : value["profiles"].items())
      section.texts.emplace_back("Profile of the head: " + profile["case"].as_string(), profile["text"].as_string());
    std::string notes;
    for (const json::Value& note : value["notes"].items()) notes += note.as_string() + "\n";
    if (!notes.empty()) section.texts.emplace_back("Notes", notes);
  }
}

Result<void> check_history(const Input&) { return {}; }  // checked when read

void history_sections(const std::vector<const Input*>& inputs, Document& out) {
  static constexpr const char* kDrawn[] = {"cpu_seconds", "schedule_ns.p50", "schedule_ns.p99", "commit_ns.p99",
                                           "busy_seconds"};
  for (const Input* input : inputs) {
    const auto history = gate::read_history(input->path);
    if (!history) continue;  // checked before, but removed since
    Section& section = out.sections.emplace_back();
    section.title = "History", section.file = input->path;
    Table table{.title = "", .head = {"case", "machine", "runs", "from", "to", "last commit"}, .rows = {}};
    std::size_t runs = 0;
    for (const gate::Series& series : *history) {
      const auto &first = series.points.front(), &last = series.points.back();
      runs += series.points.size();
      table.rows.push_back({series.case_name, series.cpu, std::to_string(series.points.size()), first.time, last.time,
                            last.commit.substr(0, 12)});
      Chart chart{.title = "Medians over runs: " + series.case_name};
      chart.about = fmt::format("In percent of the first run; {} ({})", series.cpu, series.environment);
      chart.x = {"run", ""}, chart.y = {"of the first run", "%"};
      for (const char* metric : kDrawn) {
        const auto base = first.medians.find(metric);
        if (base == first.medians.end() || base->second <= 0) continue;
        berth::report::Series line{metric, {}};
        for (std::size_t i = 0; i < series.points.size(); ++i)
          if (const auto now = series.points[i].medians.find(metric); now != series.points[i].medians.end())
            line.points.push_back({static_cast<double>(i + 1), 100 * now->second / base->second});
        chart.series.push_back(std::move(line));
      }
      if (!chart.series.empty()) section.charts.push_back(std::move(chart));
    }
    section.facts = {{"runs", fmt::format("{} of {} series", runs, history->size())}};
    section.tables.push_back(std::move(table));
    if (const auto drift = gate::drift_text(input->path, {})) {
      Table changes{.title = "Where a level changed", .head = {"change point"}, .rows = {}};
      for (const std::string_view line : base::split(*drift, '\n'))
        if (!line.empty()) changes.rows.push_back({std::string(line)});
      section.tables.push_back(std::move(changes));
    }
  }
}

Result<void> check_baseline(const Input& input) {
  if (const auto read = gate::read_baseline(input.path); !read) return tl::unexpected(read.error().error);
  return {};
}

void baseline_sections(const std::vector<const Input*>& inputs, Document& out) {
  for (const Input* input : inputs) {
    const auto baseline = gate::read_baseline(input->path);
    if (!baseline) continue;  // checked before, but removed since
    Section& section = out.sections.emplace_back();
    section.title = "Baseline", section.file = input->path;
    section.facts = {{"recorded", baseline->recorded}, {"by", baseline->command}};
    for (const auto& [what, samples] : baseline->cases) {
      section.facts.emplace_back(
          what.name(),
          fmt::format("{} repetitions, {}, seed {}, commit {}", samples.repetitions(),
                      samples.fingerprint.get("cpu").empty() ? "any machine" : samples.fingerprint.get("cpu"),
                      samples.fingerprint.get("seed"), samples.fingerprint.get("commit").substr(0, 12)));
      Table table{.title = what.name(), .head = {"metric", "median", "least", "most"}, .rows = {}};
      for (const gate::Metric& metric : gate::metrics()) {
        const auto found = samples.values.find(metric.name);
        if (found == samples.values.end() || found->second.empty()) continue;
        auto sorted = found->second;
        std::sort(sorted.begin(), sorted.end());
        const auto words = [&](double value) { return run::with_unit(value, metric.unit); };
        const double median = (sorted[(sorted.size() - 1) / 2] + sorted[sorted.size() / 2]) / 2;
        table.rows.push_back({std::string(metric.name), words(median), words(sorted.front()), words(sorted.back())});
      }
      section.tables.push_back(std::move(table));
    }
  }
}

}  // namespace berth::report
