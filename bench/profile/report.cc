#include "profile/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "profile/flame.h"
#include "run/progress.h"
#include "run/report.h"

namespace berth::profile {

using base::Stage;
using run::grouped;
using run::time_words;

namespace {

std::string ns_words(double ns) { return time_words(static_cast<std::int64_t>(std::llround(ns))); }

/// "12.3", three significant digits.
std::string short_number(double value) {
  return value >= 100  ? fmt::format("{:.0f}", value)
         : value >= 10 ? fmt::format("{:.1f}", value)
                       : fmt::format("{:.2f}", value);
}

void slow_lines(std::string& out, const Profile& p) {
  if (p.recorder->slowest().empty()) return;
  out += fmt::format(
      "\n  slowest evaluations, by their time in berth (without the wait for their turn)\n  {:>10} {:>11} {:>11} "
      "{:>7}  why\n",
      "evaluation", "in berth", "waited", "placed");
  for (const Sample& s : p.recorder->slowest())
    out += fmt::format("  {:>10} {:>11} {:>11} {:>7}  {}\n", fmt::format("{}.{}", s.number, s.round),
                       time_words(s.service_ns()), time_words(s.started_ns - s.due_ns), s.placed,
                       slow_words(s, *p.recorder, repeated(p, s)));
  out += fmt::format("  again: {}\n", reproduce_words(p.recorder->slowest().front(), p.run.workload));
}

json::Value sample_json(const Sample& s, const Profile& p) {
  json::Value out = json::Object{{"evaluation", fmt::format("{}.{}", s.number, s.round)},
                                 {"number", static_cast<std::uint64_t>(s.number)},
                                 {"round", static_cast<std::uint64_t>(s.round)},
                                 {"worker", static_cast<std::uint64_t>(s.lane)},
                                 {"service_ns", s.service_ns()},
                                 {"queue_ns", s.started_ns - s.due_ns},
                                 {"latency_ns", s.done_ns - s.due_ns},
                                 {"placed", static_cast<std::uint64_t>(s.placed)},
                                 {"failed", static_cast<std::uint64_t>(s.failed)},
                                 {"refused", static_cast<std::uint64_t>(s.refused)},
                                 {"evicted", static_cast<std::uint64_t>(s.evicted)},
                                 {"attempts", static_cast<std::uint64_t>(s.attempts)},
                                 {"candidates", static_cast<std::uint64_t>(s.candidates)},
                                 {"nodes_evaluated", static_cast<std::uint64_t>(s.evaluated)},
                                 {"nodes_filtered", static_cast<std::uint64_t>(s.filtered)},
                                 {"nodes_exhausted", static_cast<std::uint64_t>(s.exhausted)},
                                 {"constraint_evaluations", static_cast<std::uint64_t>(s.constraint_evaluations)},
                                 {"first_of_worker", s.first_of_lane},
                                 {"detailed", s.detailed},
                                 {"dominated_by", base::to_text(dominating(repeated(p, s) ? *repeated(p, s) : s))},
                                 {"why", slow_words(s, *p.recorder, repeated(p, s))}};
  if (const Sample* again = repeated(p, s)) out.set("repeated_service_ns", again->service_ns());
  json::Value stages = json::Value::object();
  for (std::size_t i = 0; i < base::kStages; ++i)
    if (s.stage_ns[i] > 0) stages.set(base::to_text(static_cast<Stage>(i)), static_cast<double>(s.stage_ns[i]));
  out.set("stages_ns", std::move(stages));
  out.set("reproduce", reproduce_words(s, p.run.workload));
  return out;
}

}  // namespace

std::string stage_lines(const StageTable& table, bool is_life) {
  bool roofline = false;
  for (const StageRow& row : table.rows) roofline |= row.roofline_ns > 0;
  std::string out =
      fmt::format("  {:<10} {:>7} {:>10} {:>10} {:>10} {:>10} {:>10} {:>13} {:>9} {:<11} {:>8} {:>7}", "stage", "share",
                  "time", "p50", "p90", "p99", "evals", "count", "ns per", "unit", "B per", "GB/s");
  out += roofline ? fmt::format(" {:>9} {:>7}\n", "roofline", "times") : "\n";
  for (const StageRow& row : table.rows) {
    const auto latency = [&](double percent) {  // jobs are compiled outside of evaluations
      return row.evaluations == 0 ? "-" : time_words(row.latency->percentile(percent));
    };
    out += fmt::format("  {:<10} {:>5.1f} % {:>10} {:>10} {:>10} {:>10} {:>10} {:>13} {:>9} {:<11}",
                       base::to_text(row.stage), 100 * row.share, (row.estimated ? "~" : "") + ns_words(row.ns),
                       latency(50), latency(90), latency(99), grouped(row.evaluations), grouped(row.count),
                       short_number(row.ns_per_unit()), row.unit);
    if (row.cost && row.count > 0)
      out += fmt::format(" {:>8} {:>7}", short_number(row.cost->all_bytes()),
                         short_number(row.cost->all_bytes() / row.ns_per_unit()));
    else
      out += fmt::format(" {:>8} {:>7}", "-", "-");
    if (roofline && row.roofline_ns > 0 && row.count > 0)
      out += fmt::format(" {:>6.1f} ns {:>7}", row.roofline_ns, short_number(row.ns_per_unit() / row.roofline_ns));
    out += "\n";
  }
  out += fmt::format(
      "  {:<10} {:>7} {:>10}   not included: {} waiting, {} idle, {} of {}\n", "all", "100 %",
      ns_words(table.engine_ns), ns_words(table.wait_ns), ns_words(table.idle_ns), ns_words(table.harness_ns),
      is_life ? "clients, their reports, the leader and benchmark bookkeeping" : "benchmark bookkeeping");
  return out;
}

std::string roofline_lines(const Roofline& roofline) {
  std::string out = fmt::format("  memory of this machine, one core   {:>14} {:>18} {:>18}\n", "read in order",
                                "line at random", "line after line");
  for (const Roofline::Point& p : roofline.points) {
    const std::string size =
        p.bytes >= (1U << 20) ? fmt::format("{} MiB", p.bytes >> 20) : fmt::format("{} KiB", p.bytes >> 10);
    out += fmt::format("    {:>8}                         {:>9.1f} GB/s {:>15.2f} ns {:>15.2f} ns\n", size,
                       p.read_gb_per_s, p.line_ns, p.latency_ns);
  }
  return out;
}

/// Number of Selects per source of candidates, and the needs that no fast source supports.
std::string source_lines(const sched::SourceCounts& counts) {
  const std::uint64_t all = std::accumulate(counts.selects.begin(), counts.selects.end(), std::uint64_t{0});
  if (all == 0) return "";
  const auto list = [&](const auto& numbers, const auto& name_of) {
    std::string out;
    for (std::size_t i = 0; i < numbers.size(); ++i)
      if (numbers[i] > 0)
        out += fmt::format("{}{} {:.2f} %", out.empty() ? "" : ", ", name_of(i),
                           100 * static_cast<double>(numbers[i]) / static_cast<double>(all));
    return out;
  };
  std::string out = fmt::format("\n  selects     {}: {}\n", grouped(all),
                                list(counts.selects, [](std::size_t i) { return sched::kSourceNames[i]; }));
  if (const std::string unmet = list(counts.unmet, sched::unmet_name); !unmet.empty())
    out += fmt::format("    general for {}\n", unmet);
  if (counts.options > 0) out += fmt::format("    {} nodes were visited step by step\n", grouped(counts.options));
  if (counts.known > 0) out += fmt::format("    {} nodes were known from before\n", grouped(counts.known));
  return out;
}

json::Value sources_json(const sched::SourceCounts& counts) {
  json::Value selects = json::Value::object(), unmet = json::Value::object();
  for (std::size_t i = 0; i < sched::kSourceNames.size(); ++i) selects.set(sched::kSourceNames[i], counts.selects[i]);
  for (std::size_t i = 0; i < counts.unmet.size(); ++i)
    if (i < tables::kNeedNames.size() || counts.unmet[i] > 0) unmet.set(sched::unmet_name(i), counts.unmet[i]);
  return json::Object{{"by_source", std::move(selects)}, {"general_because", std::move(unmet)}};
}

std::string to_table(const Profile& p) {
  std::string out = run::head_lines(p.run);
  const Recorder::Sums& sums = p.recorder->sums();
  out += fmt::format(
      "  profiled    {} evaluations in {} ({} busy), 1 in {} in detail: {}; a time stamp costs {:.1f} ns, which is "
      "subtracted\n",
      grouped(sums.evaluations), run::duration_words(p.run.elapsed_s), run::duration_words(p.run.busy_s),
      p.recorder->options().detail_every, grouped(sums.detailed), p.recorder->calibration().mark_ns);
  if (p.overhead)
    out += fmt::format(
        "  overhead    {:+.2f} % ± {:.2f} of processor time (target 2 %), {} events, each {} times with and without\n",
        100 * p.overhead->share, 100 * p.overhead->error, grouped(p.overhead->events), p.overhead->rounds);
  else
    out += fmt::format("  overhead    not measured: {}\n", p.no_overhead);
  if (p.stages.detail_ratio > 0)
    out += fmt::format("  detail      time per node in detailed evaluations: {:.2f} times that of the others\n",
                       p.stages.detail_ratio);
  if (!p.stacks_from.empty()) out += fmt::format("  flame       stacks from {}\n", p.stacks_from);
  out += fmt::format("  decisions   {} (digest)\n\n", p.run.decisions_digest);
  out += stage_lines(p.stages, p.run.life.has_value());
  out += "  p50 to p99: per evaluation that has the stage; ~: divided as in the detailed evaluations\n";
  bool bytes = false;
  for (const StageRow& row : p.stages.rows) {
    if (!row.cost) continue;
    if (!bytes) out += "\n  bytes, from the sizes of table rows:\n";
    bytes = true;
    out += fmt::format("    {:<8} {}\n", base::to_text(row.stage), row.cost->from);
  }
  out += source_lines(p.run.work.sources);
  if (p.scaling) out += scaling_lines(*p.scaling);
  if (p.roofline) out += "\n" + roofline_lines(*p.roofline);
  out += "\n  counters   ";
  for (const auto& [name, value] : p.counters.values) out += fmt::format(" {} {}", name, grouped(value));
  if (!p.counters.missing.empty()) out += fmt::format("\n    unavailable: {}", p.counters.missing);
  out += fmt::format("\n    events as {} names them\n", p.counters.named_by);
  slow_lines(out, p);
  return out;
}

json::Value stages_json(const StageTable& table) {
  json::Value out = json::Value::array();
  for (const StageRow& row : table.rows) {
    out.push(
        json::Object{{"stage", base::to_text(row.stage)},
                     {"what", stage_words(row.stage)},
                     {"share", row.share},
                     {"seconds", row.ns / 1e9},
                     {"estimated", row.estimated},
                     {"evaluations", row.evaluations},
                     {"latency_ns", run::percentiles(*row.latency)},
                     {"count", row.count},
                     {"unit", row.unit},
                     {"ns_per_unit", row.ns_per_unit()},
                     {"bytes_per_unit", row.cost ? json::Value(row.cost->all_bytes()) : json::Value()},
                     {"bytes_from", row.cost ? json::Value(row.cost->from) : json::Value()},
                     {"roofline_ns_per_unit", row.roofline_ns > 0 ? json::Value(row.roofline_ns) : json::Value()}});
  }
  return out;
}

/// The heaviest stacks: sampled ones, else the stages.
static json::Value stacks_json(const Profile& p) {
  constexpr std::size_t kStacksMax = 1000;
  const bool sampled = !p.stacks.empty();
  const Stacks stages = sampled ? Stacks{} : collapse_stages(p);
  std::vector<std::pair<std::uint64_t, std::string>> heaviest;
  for (const auto& [stack, weight] : sampled ? p.stacks : stages) heaviest.emplace_back(weight, stack);
  std::sort(heaviest.rbegin(), heaviest.rend());
  if (heaviest.size() > kStacksMax) heaviest.resize(kStacksMax);
  json::Array list;
  for (const auto& [weight, stack] : heaviest) list.push_back(json::Array{stack, weight});
  return json::Object{{"from", sampled ? p.stacks_from : "the stages of the profile"},
                      {"unit", sampled ? p.stacks_unit : "us"},
                      {"list", std::move(list)}};
}

json::Value to_json(const Profile& p) {
  json::Value out = run::report_head(p.run, "berth-profile", kProfileVersion);
  const Recorder::Sums& sums = p.recorder->sums();
  out.set("nodes", static_cast<std::uint64_t>(p.run.nodes));
  out.set("evaluations", sums.evaluations);
  out.set("placed", p.run.placed);
  out.set("elapsed_seconds", p.run.elapsed_s);
  out.set("busy_seconds", p.run.busy_s);
  out.set("cpu_seconds", p.run.cpu_s);
  out.set("decisions_digest", p.run.decisions_digest);
  out.set("sampler",
          json::Object{{"detail_every", static_cast<std::uint64_t>(p.recorder->options().detail_every)},
                       {"detailed_evaluations", sums.detailed},
                       {"detail_ratio", p.stages.detail_ratio > 0 ? json::Value(p.stages.detail_ratio) : json::Value()},
                       {"ns_per_tick", p.recorder->calibration().ns_per_tick},
                       {"mark_ns", p.recorder->calibration().mark_ns}});
  if (p.overhead) {
    json::Value overhead = json::Value::object();
    overhead.set("share", p.overhead->share);
    overhead.set("error", p.overhead->error);
    overhead.set("marked_cpu_seconds", p.overhead->marked_s);
    overhead.set("unmarked_cpu_seconds", p.overhead->unmarked_s);
    overhead.set("events", static_cast<std::uint64_t>(p.overhead->events));
    overhead.set("rounds", p.overhead->rounds);
    out.set("overhead", std::move(overhead));
  } else {
    out.set("overhead", json::Value());
    out.set("no_overhead", p.no_overhead);
  }
  out.set("stacks", stacks_json(p));
  out.set("engine_seconds", p.stages.engine_ns / 1e9);
  out.set("stages", stages_json(p.stages));
  out.set("outside", json::Object{{"wait_seconds", p.stages.wait_ns / 1e9},
                                  {"idle_seconds", p.stages.idle_ns / 1e9},
                                  {"harness_seconds", p.stages.harness_ns / 1e9}});
  out.set("selects", sources_json(p.run.work.sources));
  out.set("service_ns", run::percentiles(p.recorder->service()));
  json::Value slowest = json::Value::array();
  for (const Sample& s : p.recorder->slowest()) slowest.push(sample_json(s, p));
  out.set("slowest", std::move(slowest));
  if (p.roofline) {
    json::Value points = json::Value::array();
    for (const Roofline::Point& point : p.roofline->points) {
      points.push(json::Object{{"bytes", point.bytes},
                               {"read_gb_per_s", point.read_gb_per_s},
                               {"random_line_ns", point.line_ns},
                               {"dependent_line_ns", point.latency_ns}});
    }
    out.set("roofline", std::move(points));
  } else {
    out.set("roofline", json::Value());
  }
  out.set("scaling", p.scaling ? to_json(*p.scaling) : json::Value());
  json::Value counters = json::Value::object();
  json::Value values = json::Value::object();
  for (const auto& [name, value] : p.counters.values) values.set(name, value);
  counters.set("values", std::move(values));
  counters.set("missing", p.counters.missing);
  counters.set("named_by", p.counters.named_by);
  out.set("counters", std::move(counters));
  return out;
}

}  // namespace berth::profile
