#include "run/kind_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "run/report.h"

namespace berth::run {
namespace {

double per(std::int64_t ns, std::uint64_t count) {
  return static_cast<double>(ns) / static_cast<double>(std::max<std::uint64_t>(1, count));
}

double ratio_of(std::int64_t nomad_ns, std::int64_t berth_ns) {
  return static_cast<double>(nomad_ns) / static_cast<double>(std::max<std::int64_t>(1, berth_ns));
}

std::vector<NomadTimes::Kind> kinds_of(const NomadTimes& times) {
  std::vector<NomadTimes::Kind> out = times.kinds;
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  out.push_back(times.all());
  return out;
}

std::string whole(double ns) { return time_words(static_cast<std::int64_t>(ns)); }

/// Median evaluation time of a kind, relative to the first kind. Medians are least disturbed by a busy machine.
double beside_first(const KindTimes::Kind& kind, const KindTimes::Kind& first) {
  return ratio_of(kind.schedule.percentile(50), first.schedule.percentile(50));
}

}  // namespace

std::string nomad_table(const NomadTimes& times, const std::string& decisions_digest, bool paced) {
  if (!times.decided_alike(decisions_digest))
    return fmt::format("\n  compared with Nomad: its times were recorded with other decisions ({}): no ratio\n",
                       times.digest);
  std::string out = fmt::format("\n  {:<19} {:>11} {:>11} {:>11} {:>9} {:>14} {:>11} {:>9}\n", "compared with Nomad",
                                "evaluations", "schedule", "berth", "ratio", "check + apply", "berth", "ratio");
  for (const NomadTimes::Kind& kind : kinds_of(times)) {
    const NomadTimes::Sums &nomad = kind.nomad, &berth = kind.berth;
    out += fmt::format("  {:<19} {:>11} {:>11} {:>11} {:>8.1f}x {:>14} {:>11} {:>8.1f}x\n", kind.name,
                       grouped(nomad.evaluations), whole(per(nomad.schedule_ns, nomad.evaluations)),
                       whole(per(berth.schedule_ns, berth.evaluations)), ratio_of(nomad.schedule_ns, berth.schedule_ns),
                       whole(per(nomad.apply_ns, nomad.placed)), whole(per(berth.apply_ns, berth.placed)),
                       ratio_of(nomad.apply_ns, berth.apply_ns));
  }
  return out + fmt::format(
                   "  schedule per evaluation, check and apply per placement; the same decisions, to the bits of every "
                   "score\n"
                   "  Nomad: 2.0.6-dev, commit {}, back to back, recorded on another machine; the smaller of two runs\n"
                   "  berth: {}\n"
                   "  So a ratio of this table is a hint. README.md has both measured alternately on one machine.\n",
                   kNomadCommit,
                   paced ? "this run, waiting for the arrivals of the workload in real time, so with cold caches"
                         : "this run, back to back as well");
}

json::Value nomad_json(const NomadTimes& times) {
  json::Value kinds = json::Value::array();
  for (const NomadTimes::Kind& kind : kinds_of(times)) {
    const NomadTimes::Sums &nomad = kind.nomad, &berth = kind.berth;
    json::Value item = json::Value::object();
    item.set("kind", kind.name);
    item.set("evaluations", nomad.evaluations);
    item.set("placed", nomad.placed);
    item.set("nomad_schedule_ns", nomad.schedule_ns);
    item.set("berth_schedule_ns", berth.schedule_ns);
    item.set("schedule_ratio", ratio_of(nomad.schedule_ns, berth.schedule_ns));
    item.set("nomad_apply_ns", nomad.apply_ns);
    item.set("berth_apply_ns", berth.apply_ns);
    item.set("apply_ratio", ratio_of(nomad.apply_ns, berth.apply_ns));
    kinds.push(std::move(item));
  }
  return kinds;
}

std::string kinds_table(const std::vector<KindTimes::Kind>& kinds) {
  if (kinds.size() < 2) return "";
  std::string out = fmt::format("\n  {:<24} {:>11} {:>10} {:>11} {:>11} {:>9} {:>14}\n", "kinds of jobs", "evaluations",
                                "placed", "p50", "mean", "ratio", "check + apply");
  for (const KindTimes::Kind& kind : kinds)
    out += fmt::format("  {:<24} {:>11} {:>10} {:>11} {:>11} {:>8.2f}x {:>14}\n", kind.name,
                       grouped(kind.schedule.count()), grouped(kind.placed), time_words(kind.schedule.percentile(50)),
                       whole(kind.schedule.mean()), beside_first(kind, kinds.front()),
                       whole(per(kind.apply_ns, kind.placed)));
  return out + fmt::format("  schedule per evaluation, ratio of its p50 to that of {}; check and apply per placement\n",
                           kinds.front().name);
}

json::Value kinds_json(const std::vector<KindTimes::Kind>& kinds) {
  json::Value out = json::Value::array();
  for (const KindTimes::Kind& kind : kinds) {
    json::Value item = json::Value::object();
    item.set("kind", kind.name);
    item.set("evaluations", kind.schedule.count());
    item.set("placed", kind.placed);
    item.set("schedule_ns", percentiles(kind.schedule));
    item.set("apply_ns", kind.apply_ns);
    item.set("schedule_ratio", beside_first(kind, kinds.front()));
    out.push(std::move(item));
  }
  return out;
}

}  // namespace berth::run
