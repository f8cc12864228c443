#include "record/text.h"

#include <fmt/format.h>

#include "base/text_table.h"
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

/// "3 d 04:05:06" or "04:05:06.789".
std::string clock_text(double seconds) {
  const auto ms = static_cast<std::int64_t>(seconds * 1000 + 0.5);
  const std::int64_t whole = ms / 1000, days = whole / 86'400;
  std::string out = days > 0 ? fmt::format("{} d ", days) : "";
  out += fmt::format("{:02}:{:02}:{:02}", whole / 3600 % 24, whole / 60 % 60, whole % 60);
  if (whole < 3600) out += fmt::format(".{:03}", ms % 1000);
  return out;
}

json::Value fill_json(const Fill& fill) {
  json::Value out = json::Value::object();
  out.set("nodes", fill.nodes), out.set("used_nodes", fill.used_nodes), out.set("allocations", fill.allocs);
  out.set("blocked", fill.blocked), out.set("cpu", fill.cpu), out.set("memory", fill.memory);
  return out;
}

/// The recording's source and length, with which both reports begin. `times`: what its two times are.
template <typename AnyReport>
std::string recording_text(const AnyReport& report, const char* times) {
  std::string out =
      fmt::format("recorded from {}, index {} to {}", report.address, report.first_index, report.last_index);
  if (report.first_ns > 0)
    out += fmt::format(", {} {} to {}", times, base::to_rfc3339({report.first_ns}), base::to_rfc3339({report.last_ns}));
  return out + fmt::format("\n{} frames, {} gaps, {} objects skipped, {} left out\n\n", report.frames, report.gaps,
                           report.skipped, report.left_out);
}

template <typename AnyReport>
json::Value recording_json(const AnyReport& report) {
  json::Value out = json::Value::object();
  out.set("address", report.address);
  out.set("first_index", report.first_index), out.set("last_index", report.last_index);
  out.set("first_ns", report.first_ns), out.set("last_ns", report.last_ns);
  out.set("frames", report.frames), out.set("gaps", report.gaps);
  out.set("skipped", report.skipped), out.set("left_out", report.left_out);
  return out;
}

}  // namespace

std::string to_text(const LifeReport& report, const OtherSettings& settings) {
  std::string out = recording_text(report, "events of");
  out += fmt::format("Simulated with {}, by berth's own decisions\n",
                     settings.empty() ? "the recorded settings" : settings_words(settings));
  out += "From outside:";
  bool first = true;
  for (const auto& [kind, count] : report.happened)
    out += fmt::format("{} {} {}", std::exchange(first, false) ? "" : ",", count, kind);
  out += report.happened.empty() ? " nothing\n" : "\n";
  if (report.refused > 0) out += fmt::format("  {} of them had no effect in berth's cluster\n", report.refused);
  for (const std::string& line : report.refusals) out += "    " + line + "\n";
  out += fmt::format("\n{:<22}{:>10}{:>10}\n", "Allocations", "Nomad", "berth");
  out += fmt::format("  {:<20}{:>10}{:>10}\n", "placed", report.nomad.placed, report.berth.placed);
  out += fmt::format("  {:<20}{:>10}{:>10}\n", "evicted", report.nomad.evicted, report.berth.evicted);

  out += "\nOver time: Nomad's cluster / berth's\n";
  std::vector<std::vector<std::string>> rows = {{"after", "live allocations", "nodes used", "cpu %", "memory %",
                                                 "blocked", "same node", "elsewhere", "only one has"}};
  for (const Moment& moment : report.moments) {
    const auto both = [&](const auto& of) {
      return (moment.nomad ? of(*moment.nomad) : std::string("?")) + " / " + of(moment.berth);
    };
    const auto number = [](std::uint64_t Fill::*member) {
      return [member](const Fill& fill) { return std::to_string(fill.*member); };
    };
    const auto share = [](double Fill::*member) {
      return [member](const Fill& fill) { return fmt::format("{:.1f}", 100 * fill.*member); };
    };
    rows.push_back({clock_text(moment.after_s), both(number(&Fill::allocs)), both(number(&Fill::used_nodes)),
                    both(share(&Fill::cpu)), both(share(&Fill::memory)), both(number(&Fill::blocked)),
                    moment.nomad ? std::to_string(moment.same) : "?",
                    moment.nomad ? std::to_string(moment.elsewhere) : "?",
                    moment.nomad ? fmt::format("{} / {}", moment.only_nomad, moment.only_berth) : "?"});
  }
  return out + base::table_text(rows);
}

json::Value to_json(const LifeReport& report) {
  json::Value out = json::Value::object();
  out.set("recording", recording_json(report));
  json::Value& happened = out.set("happened", json::Value::object());
  for (const auto& [kind, count] : report.happened) happened.set(kind, count);
  out.set("without_effect", report.refused);
  for (const auto& [name, decided] : {std::pair{"nomad", &report.nomad}, std::pair{"berth", &report.berth}}) {
    json::Value& side = out.set(name, json::Value::object());
    side.set("placed", decided->placed), side.set("evicted", decided->evicted);
  }
  json::Value& moments = out.set("moments", json::Value::array());
  for (const Moment& moment : report.moments) {
    json::Value one = json::Value::object();
    one.set("after_s", moment.after_s);
    one.set("nomad", moment.nomad ? fill_json(*moment.nomad) : json::Value());
    one.set("berth", fill_json(moment.berth));
    one.set("same_node", moment.same), one.set("elsewhere", moment.elsewhere);
    one.set("only_nomad", moment.only_nomad), one.set("only_berth", moment.only_berth);
    moments.push(std::move(one));
  }
  return out;
}

std::string to_text(const Report& report, const OtherSettings& settings, bool verbose) {
  std::string out = recording_text(report, "received");
  if (!settings.empty()) out += "Decided with " + settings_words(settings) + ", each on the recorded state\n";
  return out + decisions_text(report, verbose);
}

std::string decisions_text(const Report& report, bool verbose) {
  std::string out = fmt::format("Evaluations    {} finished, {} compared\n", report.finished, report.compared);
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
  out.set("recording", recording_json(report)).set("states", report.states);
  add_decisions(report, out);
  return out;
}

void add_decisions(const Report& report, json::Value& out) {
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
}

}  // namespace berth::record
