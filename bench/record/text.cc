#include "record/text.h"

#include <fmt/format.h>

#include "base/time.h"

namespace berth::record {
namespace {

std::string percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.2f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string score(const std::optional<double>& value) { return value ? fmt::format("{:.6f}", *value) : "-"; }

std::string settings_words(const OtherSettings& settings) {
  std::string out;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) out += (out.empty() ? "" : ", ") + name + " " + value;
  };
  add("algorithm", settings.algorithm), add("strategy", settings.strategy);
  for (const std::string& kind : settings.preemption) add("preemption", kind);
  return out;
}

struct TotalsRow {
  const char* name;
  std::uint64_t Totals::*value;
};
constexpr TotalsRow kRows[] = {{"placed", &Totals::placed},         {"nodes taken into use", &Totals::opened},
                               {"without a node", &Totals::failed}, {"evicted", &Totals::evicted},
                               {"stopped", &Totals::stopped},       {"updated in place", &Totals::updated},
                               {"left blocked", &Totals::blocked}};

std::string explanation_text(const Explanation& first) {
  std::size_t width = 4;
  for (const ScoredNode& node : first.nodes) width = std::max(width, node.name.size());
  std::string out = fmt::format("\nFirst placement that differs: {}\n  {:<{}}  Nomad's score  berth's score\n",
                                first.alloc, "node", width);
  for (const ScoredNode& node : first.nodes)
    out += fmt::format("  {:<{}}  {:<13}  {}\n", node.name, width, score(node.nomad),
                       node.reason.empty() ? score(node.berth) : node.reason);
  return out;
}

}  // namespace

std::string to_text(const Report& report, const OtherSettings& settings, bool verbose) {
  std::string out =
      fmt::format("recorded from {}, index {} to {}", report.address, report.first_index, report.last_index);
  if (report.first_ns > 0)
    out += fmt::format(", {} to {}", base::to_rfc3339({report.first_ns}), base::to_rfc3339({report.last_ns}));
  out += fmt::format("\n{} frames, {} gaps, {} objects skipped, {} left out\n\n", report.frames, report.gaps,
                     report.skipped, report.left_out);
  if (!settings.empty()) out += "Decided with " + settings_words(settings) + ", each on the recorded state\n";
  out += fmt::format("Evaluations    {} finished, {} compared\n", report.finished, report.compared);
  out += fmt::format("  equal        {} ({})\n", report.equal, percent(report.equal, report.compared));
  out += fmt::format("  different    {}\n", report.different.size());
  for (const auto& [reason, count] : report.not_comparable)
    out += fmt::format("  not compared {}: {}\n", count, reason);

  out += fmt::format("\n{:<22}{:>10}{:>10}\n", "Allocations", "Nomad", "berth");
  for (const TotalsRow& row : kRows)
    out += fmt::format("  {:<20}{:>10}{:>10}\n", row.name, report.nomad.*row.value, report.berth.*row.value);
  out += fmt::format("  {:<20}{:>10}{:>10}\n", "on another node", "", report.elsewhere);

  if (report.different.empty()) return out;
  out += "\nDifferent evaluations\n";
  std::size_t shown = 0;
  for (const DifferentEval& one : report.different) {
    if (!verbose && shown++ == kShown) {
      out += fmt::format("  and {} more; --verbose shows all\n", report.different.size() - kShown);
      break;
    }
    out += fmt::format("  {} of {} ({}) at index {}\n", one.id.substr(0, 8), one.job, one.trigger, one.index);
    for (std::size_t i = 0; i < one.differences.size(); ++i) {
      if (!verbose && i == kShown) {
        out += fmt::format("    and {} more\n", one.differences.size() - kShown);
        break;
      }
      out += "    " + one.differences[i] + "\n";
    }
  }
  if (report.first) out += explanation_text(*report.first);
  return out;
}

json::Value to_json(const Report& report) {
  json::Value out = json::Value::object();
  json::Value& recording = out.set("recording", json::Value::object());
  recording.set("address", report.address);
  recording.set("first_index", report.first_index), recording.set("last_index", report.last_index);
  recording.set("first_ns", report.first_ns), recording.set("last_ns", report.last_ns);
  recording.set("frames", report.frames), recording.set("states", report.states), recording.set("gaps", report.gaps);
  recording.set("skipped", report.skipped), recording.set("left_out", report.left_out);
  json::Value& evals = out.set("evaluations", json::Value::object());
  evals.set("finished", report.finished), evals.set("compared", report.compared), evals.set("equal", report.equal);
  evals.set("different", std::uint64_t{report.different.size()});
  json::Value& reasons = evals.set("not_compared", json::Value::object());
  for (const auto& [reason, count] : report.not_comparable) reasons.set(reason, count);
  for (const auto& [name, totals] : {std::pair{"nomad", &report.nomad}, std::pair{"berth", &report.berth}}) {
    json::Value& side = out.set(name, json::Value::object());
    side.set("placed", totals->placed), side.set("opened_nodes", totals->opened), side.set("failed", totals->failed);
    side.set("evicted", totals->evicted), side.set("stopped", totals->stopped), side.set("updated", totals->updated);
    side.set("blocked", totals->blocked);
  }
  out.set("on_another_node", report.elsewhere);
  json::Array different;
  for (const DifferentEval& one : report.different) {
    json::Value eval = json::Value::object(), lines = json::Value::array();
    for (const std::string& line : one.differences) lines.push(line);
    eval.set("id", one.id), eval.set("job", one.job), eval.set("trigger", one.trigger), eval.set("index", one.index);
    eval.set("differences", std::move(lines));
    different.push_back(std::move(eval));
  }
  out.set("different", json::Value(std::move(different)));
  if (report.first) {
    json::Value& first = out.set("first_placement", json::Value::object());
    first.set("allocation", report.first->alloc);
    json::Value& nodes = first.set("nodes", json::Value::array());
    for (const ScoredNode& node : report.first->nodes) {
      json::Value one = json::Value::object();
      one.set("node", node.name), one.set("reason", node.reason);
      one.set("nomad", node.nomad ? json::Value(*node.nomad) : json::Value());
      one.set("berth", node.berth ? json::Value(*node.berth) : json::Value());
      nodes.push(std::move(one));
    }
  }
  return out;
}

}  // namespace berth::record
