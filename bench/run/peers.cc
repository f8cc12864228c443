#include "run/peers.h"

#include <fmt/format.h>

#include <set>

#include "base/text.h"
#include "run/interrupt.h"
#include "run/machine.h"
#include "run/report.h"
#include "sim/datasets.h"

namespace berth::run {

namespace {

std::string figure_text(const sim::PeerFigure& published, double value) {
  if (published.is_rate) return grouped(static_cast<std::uint64_t>(value)) + "/s";
  if (value < 1) return fmt::format("{:.0f} ms", value * 1e3);
  return fmt::format("{:.{}f} s", value, value < 10 ? 1 : 0);
}

std::string ratio_text(double ratio) {
  return ratio < 10 ? fmt::format("{:.1f}", ratio) : grouped(static_cast<std::uint64_t>(ratio + 0.5));
}

}  // namespace

double PeerCase::ratio() const {
  if (berth <= 0) return 0;
  return published.is_rate ? berth / published.value : published.value / berth;
}

Result<std::vector<PeerCase>> run_peers(const RunOptions& options) {
  std::vector<PeerCase> out;
  for (const std::string& path : sim::workload_files()) {
    auto first = sim::read_workload(path);
    if (!first) return tl::unexpected(first.error());
    for (const std::string& label : first->labels) {
      const auto workload = sim::read_workload(path, label);
      if (!workload) return tl::unexpected(workload.error());
      if (!workload->peer) continue;
      if (interrupted()) return out;
      const auto result = run_workload(*workload, options);
      if (!result) return tl::unexpected(result.error());
      if (interrupted()) return out;
      if (!result->unsupported_reasons.empty() || result->parallel.lost > 0)
        return tl::unexpected(InputError{workload->path, label, "some evaluations were not processed",
                                         "run `berth run " + workload->name + " --label " + label + "`"});
      out.push_back({workload->name, label, result->nodes, result->asked, result->placed, result->work.preempted_allocs,
                     *workload->peer, workload->peer->is_rate ? result->placements_per_second() : result->busy_s});
    }
  }
  return out;
}

std::string to_table(const std::vector<PeerCase>& cases) {
  std::string out = fmt::format("{:<28} {:>7} {:>8} {:>8} {:>8}  {:<22} {:>12} {:>12} {:>7}\n", "workload", "nodes",
                                "asked", "placed", "evicted", "peer", "published", "berth", "ratio");
  std::set<std::string> notes;
  std::string list;
  for (const PeerCase& c : cases) {
    out += fmt::format("{:<28} {:>7} {:>8} {:>8} {:>8}  {:<22} {:>12} {:>12} {:>7}\n", c.workload + " " + c.label,
                       grouped(c.nodes), grouped(c.asked), grouped(c.placed), grouped(c.evicted), c.published.system,
                       figure_text(c.published, c.published.value), figure_text(c.published, c.berth),
                       ratio_text(c.ratio()));
    if (notes.insert(c.published.system + c.published.source + c.published.note).second)
      list += fmt::format("{}: {}{}{}\n", c.published.system, c.published.source, c.published.note.empty() ? "" : "; ",
                          c.published.note);
  }
  return out + list +
         "Published results were measured on other machines, and these programs do more or less than berth besides "
         "deciding; the ratios only show the order of magnitude.\n";
}

json::Value to_json(const std::vector<PeerCase>& cases) {
  json::Value out = json::Value::object();
  out.set("format", "berth-peers");
  out.set("version", 1);
  out.set("build", build_json());
  out.set("machine", machine_json());
  json::Value& list = out.set("cases", json::Value::array());
  for (const PeerCase& c : cases) {
    json::Value entry = json::Value::object();
    entry.set("workload", c.workload), entry.set("label", c.label), entry.set("nodes", std::uint64_t{c.nodes});
    entry.set("asked", c.asked), entry.set("placed", c.placed), entry.set("evicted", c.evicted);
    entry.set("system", c.published.system), entry.set("source", c.published.source);
    entry.set("note", c.published.note), entry.set("unit", c.published.is_rate ? "placements/s" : "s");
    entry.set("published", c.published.value), entry.set("berth", c.berth), entry.set("ratio", c.ratio());
    list.push(std::move(entry));
  }
  return out;
}

}  // namespace berth::run
