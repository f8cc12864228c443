#include "run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/build_info.h"
#include "base/digest.h"
#include "run/kind_report.h"
#include "run/life_report.h"
#include "run/machine.h"
#include "run/measures.h"
#include "run/progress.h"

namespace berth::run {

/// Texts by server::Cause.
constexpr const char* kCauseWords[server::kCauses] = {"",
                                                      "a node class",
                                                      "their node",
                                                      "a quota",
                                                      "a volume",
                                                      "a state that was out of date",
                                                      "the timer of refused plans"};

std::string time_words(std::int64_t ns) {
  const auto value = static_cast<double>(ns);
  if (ns < 1'000) return fmt::format("{} ns", ns);
  if (ns < 1'000'000) return fmt::format("{:.2f} us", value / 1e3);
  if (ns < 1'000'000'000) return fmt::format("{:.2f} ms", value / 1e6);
  return fmt::format("{:.2f} s", value / 1e9);
}

std::string grouped(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

json::Value percentiles(const sim::Histogram& histogram) {
  json::Value out = json::Value::object();
  out.set("p50", histogram.percentile(50));
  out.set("p90", histogram.percentile(90));
  out.set("p99", histogram.percentile(99));
  out.set("p999", histogram.percentile(99.9));
  out.set("max", histogram.max());
  out.set("mean", histogram.mean());
  return out;
}

namespace {

std::string bytes_words(std::uint64_t bytes) {
  return bytes < (1ULL << 30) ? fmt::format("{:.0f} MiB", static_cast<double>(bytes) / (1 << 20))
                              : fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1ULL << 30));
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

struct GridSummary {
  double ratio_geometric_mean = 0, ratio_min = 0, ratio_max = 0;
  std::int64_t nomad_ns = 0, berth_ns = 0;
  std::size_t equal = 0;
};

double ratio_of(const CellResult& cell) {
  return static_cast<double>(cell.nomad_ns) / static_cast<double>(std::max<std::int64_t>(1, cell.berth_ns));
}

GridSummary summary_of(const std::vector<CellResult>& cells) {
  GridSummary out;
  double logs = 0;
  for (const CellResult& cell : cells) {
    const double ratio = ratio_of(cell);
    logs += std::log(ratio);
    if (out.ratio_min == 0 || ratio < out.ratio_min) out.ratio_min = ratio;
    out.ratio_max = std::max(out.ratio_max, ratio);
    out.nomad_ns += cell.nomad_ns, out.berth_ns += cell.berth_ns;
    out.equal += cell.decisions_equal;
  }
  if (!cells.empty()) out.ratio_geometric_mean = std::exp(logs / static_cast<double>(cells.size()));
  return out;
}

/// Percentages at which latency is plotted: denser towards the end.
constexpr double kPercents[] = {0,    10, 20,   30, 40, 50,   60,   70,   75,    80,    85,     90,
                                92.5, 95, 97.5, 98, 99, 99.5, 99.8, 99.9, 99.95, 99.99, 99.995, 99.999};

json::Value latency_curves(const RunResult& r) {
  json::Value out = json::Value::object();
  json::Value percents = json::Value::array();
  const bool grid = !r.cells.empty();
  const sim::Histogram& most = grid ? r.evaluation_latency : r.latency.total;
  const double resolved = most.count() == 0 ? 0 : 100 - 100 / static_cast<double>(most.count());
  std::vector<double> at;
  for (const double percent : kPercents)
    if (percent <= resolved || percent == 0) at.push_back(percent), percents.push(percent);
  out.set("percent", std::move(percents));
  const auto curve = [&](const char* name, const sim::Histogram& histogram) {
    json::Value values = json::Value::array();
    for (const double percent : at) values.push(histogram.percentile(percent));
    out.set(name, std::move(values));
  };
  for (const Distribution& one : distributions())
    if (!grid || !one.of_placements) curve(one.curve, one.of(r));
  return out;
}

/// Four decimals, enough for plots.
double rounded(double share) { return std::round(share * 1e4) / 1e4; }

json::Value over_time(const RunResult& r) {
  json::Value out = json::Value::object();
  const auto column = [&](const char* name, auto&& value) {
    json::Value values = json::Value::array();
    for (const ClusterSample& sample : r.over_time) values.push(value(sample));
    out.set(name, std::move(values));
  };
  column("seconds", [](const ClusterSample& s) { return s.seconds; });
  column("workload_seconds", [](const ClusterSample& s) { return s.workload_seconds; });
  column("placed", [](const ClusterSample& s) { return s.placed; });
  column("refused", [](const ClusterSample& s) { return s.refused; });
  column("cpu_utilisation", [](const ClusterSample& s) { return rounded(s.cpu); });
  column("memory_utilisation", [](const ClusterSample& s) { return rounded(s.memory); });
  column("disk_utilisation", [](const ClusterSample& s) { return rounded(s.disk); });
  column("device_utilisation", [](const ClusterSample& s) { return rounded(s.devices); });
  column("fragmentation", [](const ClusterSample& s) { return rounded(s.fragmentation); });
  column("nodes_used", [](const ClusterSample& s) { return s.nodes_used; });
  column("nodes_by_use", [](const ClusterSample& s) {
    json::Value bins = json::Value::array();
    for (const std::uint32_t count : s.nodes_by_use) bins.push(static_cast<std::int64_t>(count));
    return bins;
  });
  return out;
}

json::Value node_map(const RunResult& r) {
  json::Value out = json::Value::object();
  out.set("nodes_per_cell", static_cast<std::uint64_t>(r.map.nodes_per_cell));
  json::Value use = json::Value::array();
  for (const double share : r.map.use) use.push(rounded(share));
  out.set("use", std::move(use));
  json::Value rows = json::Value::array();
  for (const auto& row : r.map.by_cpu_and_memory) {
    json::Value bins = json::Value::array();
    for (const std::uint32_t count : row) bins.push(static_cast<std::int64_t>(count));
    rows.push(std::move(bins));
  }
  out.set("by_cpu_and_memory", std::move(rows));
  return out;
}

json::Value counts(const std::map<std::string, std::uint64_t>& from) {
  json::Value out = json::Value::object();
  for (const auto& [reason, count] : from) out.set(reason, count);
  return out;
}

json::Value amounts(const sim::Amounts& from) {
  json::Value out = json::Value::object();
  out.set("cpu_mhz", from.cpu_mhz);
  out.set("memory_mb", from.memory_mb);
  out.set("disk_mb", from.disk_mb);
  out.set("devices", from.devices);
  return out;
}

void latency_line(std::string& out, const std::string& name, const sim::Histogram& histogram) {
  out += fmt::format("  {:<11} {:>11} {:>11} {:>11} {:>11} {:>11}\n", name, time_words(histogram.percentile(50)),
                     time_words(histogram.percentile(90)), time_words(histogram.percentile(99)),
                     time_words(histogram.percentile(99.9)), time_words(histogram.max()));
}

double utilisation(std::int64_t busy_ns, const RunResult& r) {
  return r.busy_s <= 0 ? 0 : static_cast<double>(busy_ns) / 1e9 / r.busy_s;
}

void workers_table(std::string& out, const RunResult& r) {
  const ParallelResult& p = r.parallel;
  out += "\n  workers     utilisation";
  for (const std::int64_t busy_ns : p.busy_ns) out += fmt::format(" {:.0f} %", 100 * utilisation(busy_ns, r));
  if (r.workload.commits == sim::CommitOrder::deterministic) {
    out += fmt::format("\n  ahead       {} decisions used, {} made again, {} made in their turn\n",
                       grouped(p.ahead_used), grouped(p.ahead_redone), grouped(p.ahead_inline));
    return;
  }
  out += fmt::format("; applier {:.0f} %, state held {:.0f} %\n", 100 * utilisation(p.apply_ns, r),
                     100 * utilisation(p.turn_ns, r));
  out +=
      fmt::format("  plans       {}: {} conflicts, {} partial commits, {} retries, {} evaluations gave up\n",
                  grouped(p.plans), grouped(p.conflicts), grouped(p.partial), grouped(p.retries), grouped(p.gave_up));
  out += fmt::format("  snapshots   behind by p50 {}, p99 {}, at most {} state indexes; applied after p50 {}, p99 {}\n",
                     p.snapshot_age.percentile(50), p.snapshot_age.percentile(99), p.snapshot_age.max(),
                     time_words(p.submit_wait.percentile(50)), time_words(p.submit_wait.percentile(99)));
  if (p.exceptions + p.plan_errors + p.failed > 0)
    out += fmt::format("  FAULTS      {} exceptions, {} failed plans, {} evaluations at their delivery limit\n",
                       grouped(p.exceptions), grouped(p.plan_errors), grouped(p.failed));
  if (p.left > 0) out += fmt::format("  LEFT        {} evaluations are still queued\n", grouped(p.left));
  if (p.lost != 0) out += fmt::format("  LOST        {} evaluations: a defect of berth\n", p.lost);
}

void grid_table(std::string& out, const RunResult& result) {
  out += fmt::format("\n  {:>4} {:>6} {:>5} {:>6} {:>6} {:>11} {:>11} {:>11} {:>11} {:>9}  {}\n", "cell", "nodes",
                     "racks", "allocs", "spread", "Nomad", "berth", "new worker", "first", "ratio", "decisions");
  for (const CellResult& cell : result.cells)
    out += fmt::format("  {:>4} {:>6} {:>5} {:>6} {:>6} {:>11} {:>11} {:>11} {:>11} {:>8.1f}x  {}\n", cell.cell,
                       cell.nodes, cell.racks, cell.allocs, cell.spread ? "yes" : "no", time_words(cell.nomad_ns),
                       time_words(cell.berth_ns), time_words(cell.berth_new_worker_ns), time_words(cell.berth_first_ns),
                       ratio_of(cell), cell.decisions_equal ? "equal" : "DIFFER: " + cell.difference);
  const GridSummary summary = summary_of(result.cells);
  out += fmt::format(
      "\n  {} of {} cells decide as Nomad did, to the last score bit\n"
      "  Nomad / berth: geometric mean {:.1f}x, least {:.1f}x, most {:.1f}x; all cells {} / {}\n"
      "  Nomad's times were recorded on 2 vCPU of an AMD EPYC (Zen 5): a ratio counts on machines of one kind\n",
      summary.equal, result.cells.size(), summary.ratio_geometric_mean, summary.ratio_min, summary.ratio_max,
      time_words(summary.nomad_ns), time_words(summary.berth_ns));
}

std::string waits_lines(const WaitResult& waits) {
  const auto line = [](const char* name, const Spread& of, auto&& words) {
    return fmt::format("  {:<11} mean {}, p50 {}, p99 {}", name, words(of.mean), words(of.p50), words(of.p99));
  };
  const auto seconds = [](double s) { return fmt::format("{:.2f} s", s); };
  const auto factor = [](double x) { return fmt::format("{:.3f}", x); };
  std::string out = line("wait", waits.wait_s, seconds);
  out += waits.never_placed > 0 ? fmt::format("; {} of {} jobs were never placed whole\n", grouped(waits.never_placed),
                                              grouped(waits.jobs))
                                : "\n";
  if (waits.with_deadline > 0)
    out += fmt::format("              {} of {} deadlines were met\n", grouped(waits.deadlines_met),
                       grouped(waits.with_deadline));
  if (waits.gangs > 0)
    out += fmt::format("              {} of {} gangs started, after {} on average, {} at most; {} were given up\n",
                       grouped(waits.gangs_started), grouped(waits.gangs), seconds(waits.gang_wait_s.mean),
                       seconds(waits.gang_wait_s.max), grouped(waits.gangs_given_up));
  if (waits.completed == 0) return out;
  out += line("completion", waits.completion_s, seconds) + "\n" + line("slowdown", waits.slowdown, factor) +
         fmt::format("\n              makespan {}; fairness over namespaces {:.3f}\n", seconds(waits.makespan_s),
                     waits.fairness);
  out += fmt::format("              longest wait {}; finish-time ratio mean {:.3f}, max {:.3f}\n",
                     seconds(waits.wait_s.max), waits.finish_time_ratio.mean, waits.finish_time_ratio.max);
  out += fmt::format("              in use over time: cpu {:.1f} %, memory {:.1f} %", 100 * waits.cpu_share,
                     100 * waits.memory_share);
  out += waits.lost_s > 0 ? fmt::format("; {} of evicted work lost\n", seconds(waits.lost_s)) : "\n";
  return out;
}

json::Value waits_json(const WaitResult& waits) {
  const auto spread = [](const Spread& of) {
    return json::Value(json::Object{{"mean", of.mean}, {"p50", of.p50}, {"p99", of.p99}, {"max", of.max}});
  };
  json::Value out = json::Object{{"jobs", waits.jobs},           {"never_placed", waits.never_placed},
                                 {"completed", waits.completed}, {"wait_s", spread(waits.wait_s)},
                                 {"cpu_share", waits.cpu_share}, {"memory_share", waits.memory_share},
                                 {"lost_s", waits.lost_s}};
  if (waits.with_deadline > 0) {
    out.set("with_deadline", waits.with_deadline);
    out.set("deadlines_met_share", waits.deadlines_met_share());
  }
  if (waits.gangs > 0) {
    out.set("gangs", waits.gangs);
    out.set("gangs_started", waits.gangs_started);
    out.set("gangs_given_up", waits.gangs_given_up);
    out.set("gang_wait_s", spread(waits.gang_wait_s));
  }
  if (waits.completed == 0) return out;
  out.set("completion_s", spread(waits.completion_s));
  out.set("slowdown", spread(waits.slowdown));
  out.set("finish_time_ratio", spread(waits.finish_time_ratio));
  out.set("makespan_s", waits.makespan_s);
  out.set("fairness", waits.fairness);
  return out;
}

/// Causes that unblocked evaluations; with a warning if most of the run was spent on retries.
std::string unblocked_lines(const RunResult& r) {
  std::string causes;
  for (std::size_t c = 1; c < server::kCauses; ++c)
    if (const std::uint64_t count = r.blocked.unblocked[c]; count > 0)
      causes += fmt::format("{}{} by {}", causes.empty() ? "" : ", ", grouped(count), kCauseWords[c]);
  std::string out;
  if (!causes.empty())
    out += fmt::format("  unblocked   {}; {} blocked again, {} batches of reports\n", causes,
                       grouped(r.blocked.reblocked), grouped(r.blocked.batches));
  if (r.retries > 100 && 2 * r.retries > r.evaluations)
    out += fmt::format(
        "  WARNING     {:.0f} % of the evaluations were retries of blocked ones; {} found no room again:\n"
        "              times and rates are theirs\n",
        100 * share(r.retries, r.evaluations), grouped(r.blocked.reblocked));
  return out;
}

}  // namespace

std::string head_lines(const RunResult& r) {
  const sim::Workload& w = r.workload;
  const Machine here = machine();
  const base::BuildInfo& build = base::build_info();
  std::string out;
  if (r.partial) out += fmt::format("PARTIAL: {}; the numbers are of what was done until then\n", r.ended);
  out += fmt::format("{} ({}), seed {}\n", w.name, w.label, w.seed);
  out += fmt::format("  machine     {}, {} cores, {}; ISA path {}\n", here.cpu, here.cores,
                     bytes_words(here.memory_bytes), base::isa_path_used());
  out += fmt::format("  build       {} {}, commit {}{}\n", build.compiler, build.build_type, build.commit.substr(0, 12),
                     build.commit.ends_with("-dirty") ? "-dirty" : "");
  if (build.build_type == "Debug" || !build.sanitize.empty())
    out += "  WARNING     a debug or sanitizer build: its times say nothing\n";
  out += fmt::format("  settings    {} mode, strategy {}, order {}, {} worker{}, {} commits\n", sim::to_text(w.mode),
                     w.strategy == "nomad" ? fmt::format("nomad, {}", sim::to_text(w.algorithm)) : w.strategy,
                     sim::to_text(w.order), w.workers, w.workers == 1 ? "" : "s", sim::to_text(w.commits));
  if (w.queue != "priority") out += fmt::format("  queue       {}\n", w.queue);
  std::string changed;
  for (const auto& [name, value] : model::changed_options(w.options)) changed += fmt::format(" {}={}", name, value);
  if (!changed.empty()) out += "  options    " + changed + "\n";
  if (!(w.sources == sched::EnabledSources())) out += "  sources     " + w.sources.text() + "\n";
  out += fmt::format("  cluster     {} nodes, {} allocations at the start\n", grouped(r.nodes), grouped(r.load_allocs));
  for (const std::string& difference : w.approximate) out += fmt::format("  approximate {}\n", difference);
  for (const std::string& estimate : r.estimates) out += fmt::format("  estimated   {}\n", estimate);
  return out;
}

std::string to_table(const RunResult& r) {
  const sim::Workload& w = r.workload;
  std::string out = head_lines(r);
  const bool grid = !r.cells.empty();
  out += fmt::format("  replayed    {} of {} {}, {} evaluations in {} ({} busy, set-up {})\n", grouped(r.jobs),
                     grouped(r.arrivals), grid ? "cells" : "jobs", grouped(r.evaluations), duration_words(r.elapsed_s),
                     duration_words(r.busy_s), duration_words(r.setup_s));
  out += fmt::format("\n  {:<10}  {} placements/s, {} evaluations/s\n", r.arrivals_set_rate() ? "rate" : "throughput",
                     grouped(static_cast<std::uint64_t>(r.placements_per_second())),
                     grouped(static_cast<std::uint64_t>(r.evaluations_per_second())));
  if (r.arrivals_set_rate())
    out += fmt::format(
        "              set by the arrivals, not by the scheduler: {:.0f} % of the jobs came when nothing was under "
        "way, so\n"
        "              this is how fast threads wake; --vary arrivals.rate_per_s=1000000 keeps a backlog\n",
        100 * share(r.parallel.arrivals_when_idle, r.jobs));
  if (const double first = r.rate.rate(0, 0.1), last = r.rate.rate(0.9, 1); first > 0 && last > 0)
    out += fmt::format("              {}/s for the first tenth of the placements, {}/s for the last, ratio {:.2f}\n",
                       grouped(static_cast<std::uint64_t>(first)), grouped(static_cast<std::uint64_t>(last)),
                       last / first);
  if (!r.life)
    out += fmt::format("  placed      {} of {} ({:.2f} %), failed {}\n", grouped(r.placed), grouped(r.asked),
                       100 * share(r.placed, r.asked), grouped(r.failed));
  if (r.replaced > 0)
    out += fmt::format("              and {} of job versions that a newer one replaced before they were placed\n",
                       grouped(r.replaced));
  if (!grid) {
    out += fmt::format("  blocked     {} evaluations, {} retries, {} at the end; {} allocations departed{}\n",
                       grouped(r.blocked_evaluations), grouped(r.retries), grouped(r.blocked_at_end),
                       grouped(r.departed), r.joined > 0 ? fmt::format(", {} nodes joined", grouped(r.joined)) : "");
    out += unblocked_lines(r);
    if (r.waits && r.waits->jobs > 0) out += waits_lines(*r.waits);
  }
  if (r.refused > 0) out += fmt::format("  REFUSED     {} placements by the plan applier\n", grouped(r.refused));
  // Why placements have no node at the end; the counts add up to the failed ones.
  for (const auto& [reason, count] : r.failed_reasons) out += fmt::format("    {:>9} {}\n", grouped(count), reason);
  for (const auto& [reason, count] : r.unsupported_reasons)
    out += fmt::format("  NOT DONE    {} evaluations: this build lacks {}\n", grouped(count), reason);

  out += fmt::format("\n  {:<11} {:>11} {:>11} {:>11} {:>11} {:>11}\n", "latency", "p50", "p90", "p99", "p99.9", "max");
  for (const Distribution& one : distributions())
    if (!grid || !one.of_placements)
      latency_line(out, fmt::format("{}{}", one.is_part ? "  " : "", one.curve), one.of(r));
  if (!grid && (w.workers > 1 || w.commits == sim::CommitOrder::free)) workers_table(out, r);

  if (!grid) {
    const sim::Packing& p = r.packing;
    out += fmt::format("\n  packing     cpu {:.1f} %, memory {:.1f} %, disk {:.1f} %, devices {:.1f} %\n",
                       100 * p.cpu_utilisation(), 100 * p.memory_utilisation(), 100 * p.disk_utilisation(),
                       100 * p.device_utilisation());
    out += fmt::format(
        "              {} of {} nodes used, fragmentation {:.1f} %, stranded cpu {:.1f} %, memory {:.1f} %\n",
        grouped(p.nodes_used), grouped(p.nodes), 100 * p.fragmentation,
        100 * sim::Packing::share(p.stranded.cpu_mhz, p.usable.cpu_mhz),
        100 * sim::Packing::share(p.stranded.memory_mb, p.usable.memory_mb));
  }
  const std::uint64_t settled = r.life ? r.life->memory_when_settled() : 0;
  out += fmt::format("  memory      {}peak {}, tables {}\n",
                     settled > 0 ? bytes_words(settled) + " after two hours, " : std::string(),
                     bytes_words(r.peak_rss_bytes), bytes_words(r.table_bytes));
  for (const Measure& measure : measures())
    if (const auto found = r.further.find(std::string(measure.path)); found != r.further.end())
      out += fmt::format("  {:<11} {}\n", measure.title, with_unit(found->second, measure.unit));
  out += fmt::format("  decisions   {} (digest)\n", r.decisions_digest);
  if (grid) grid_table(out, r);
  out += r.nomad ? nomad_table(*r.nomad, r.decisions_digest, r.workload.arrivals.clock == sim::Clock::wait)
                 : kinds_table(r.kinds.kinds());
  if (r.life) out += life_text(*r.life);
  return out;
}

json::Value report_head(const RunResult& r, const std::string& format, int version) {
  const sim::Workload& w = r.workload;
  json::Value out = json::Value::object();
  out.set("format", format);
  out.set("version", version);
  out.set("workload", w.name);
  out.set("label", w.label);
  out.set("partial", r.partial);
  out.set("ended", r.ended);

  json::Value settings = json::Value::object();
  settings.set("seed", w.seed);
  settings.set("mode", sim::to_text(w.mode));
  settings.set("strategy", w.strategy);
  settings.set("algorithm", sim::to_text(w.algorithm));
  settings.set("order", sim::to_text(w.order));
  settings.set("queue", w.queue);
  settings.set("workers", w.workers);
  settings.set("commits", sim::to_text(w.commits));
  settings.set("cluster", sim::to_text(w.cluster.source));
  settings.set("jobs", sim::to_text(w.jobs.source));
  settings.set("process", sim::to_text(w.arrivals.process));
  settings.set("clock", sim::to_text(w.arrivals.clock));
  json::Value& options = settings.set("options", json::Value::object());
  options.set("compat", "nomad");
  for (const auto& [name, value] : model::changed_options(w.options)) options.set(name, value);
  settings.set("workload_sha256", r.workload_sha256);
  settings.set("data_sha256", r.data_sha256);
  out.set("settings", std::move(settings));

  out.set("build", build_json());
  out.set("machine", machine_json());

  return out;
}

namespace {

void set_counts(const RunResult& r, json::Value& out) {
  out.set("nodes", static_cast<std::uint64_t>(r.nodes));
  out.set("load_allocs", static_cast<std::uint64_t>(r.load_allocs));
  if (!r.workload.approximate.empty()) {
    json::Value& differences = out.set("approximate", json::Value::array());
    for (const std::string& difference : r.workload.approximate) differences.push(difference);
  }
  if (!r.estimates.empty()) {
    json::Value& estimates = out.set("estimates", json::Value::array());
    for (const std::string& estimate : r.estimates) estimates.push(estimate);
  }
  out.set("jobs_total", static_cast<std::uint64_t>(r.arrivals));
  out.set("jobs", r.jobs);
  out.set("evaluations", r.evaluations);
  out.set("retries", r.retries);
  out.set("blocked_evaluations", r.blocked_evaluations);
  out.set("blocked_at_end", r.blocked_at_end);
  json::Value& unblocked = out.set("unblocked", json::Value::object());
  for (std::size_t c = 1; c < server::kCauses; ++c) unblocked.set(server::kCauseNames[c], r.blocked.unblocked[c]);
  out.set("blocked_again", r.blocked.reblocked);
  out.set("blocked_duplicates", r.blocked.duplicates);
  out.set("report_batches", r.blocked.batches);
  out.set("departed", r.departed);
  out.set("nodes_joined", r.joined);
  out.set("asked", r.asked);
  out.set("replaced", r.replaced);
  out.set("placed", r.placed);
  out.set("failed", r.failed);
  out.set("refused", r.refused);
  out.set("placed_share", share(r.placed, r.asked));
  if (r.waits && r.waits->jobs > 0) out.set("waiting", waits_json(*r.waits));
  out.set("failed_reasons", counts(r.failed_reasons));
  out.set("unsupported", counts(r.unsupported_reasons));
}

void set_times(const RunResult& r, json::Value& out) {
  out.set("setup_seconds", r.setup_s);
  out.set("elapsed_seconds", r.elapsed_s);
  out.set("busy_seconds", r.busy_s);
  out.set("cpu_seconds", r.cpu_s);
  out.set("virtual_seconds", r.virtual_s);
  out.set("rate_set_by", r.arrivals_set_rate() ? "arrivals" : "scheduler");
  out.set("placements_per_second", r.placements_per_second());
  out.set("evaluations_per_second", r.evaluations_per_second());
  if (r.cells.empty()) {
    json::Value rate = json::Value::array();
    for (const sim::RateSeries::Point& point : r.rate.points()) {
      json::Value pair = json::Value::array();
      pair.push(point.seconds), pair.push(point.placed);
      rate.push(std::move(pair));
    }
    out.set("placed_over_seconds", std::move(rate));
  }
  for (const Distribution& one : distributions()) out.set(one.path, percentiles(one.of(r)));
  out.set("latency_curves_ns", latency_curves(r));
}

/// Sets the member at a path, in objects that are added if they are not there.
void set_at(json::Value& report, std::string_view path, double value) {
  const std::size_t slash = path.find('/');
  const std::string name(path.substr(0, slash));
  if (slash != std::string_view::npos) {
    json::Value* const part = report.find(name);
    return set_at(part ? *part : report.set(name, json::Value::object()), path.substr(slash + 1), value);
  }
  const bool whole = value == std::floor(value) && std::abs(value) < 1e15;
  report.set(name, whole ? json::Value(static_cast<std::int64_t>(value)) : json::Value(value));
}

json::Value work_json(const RunResult& r) {
  json::Value work = json::Value::object();
  work.set("nodes_evaluated", r.work.nodes_evaluated);
  work.set("nodes_filtered", r.work.nodes_filtered);
  work.set("nodes_exhausted", r.work.nodes_exhausted);
  work.set("nodes_scored", r.work.nodes_scored);
  work.set("constraint_evaluations", r.work.constraint_evaluations);
  work.set("snapshots", r.work.snapshots);
  work.set("preempted_allocs", r.work.preempted_allocs);
  work.set("preempted_cpu_mhz", r.work.preempted_cpu_mhz);
  work.set("preempted_memory_mb", r.work.preempted_memory_mb);
  if (r.allocations) {
    work.set("allocations", r.allocations->count);
    work.set("allocated_bytes", r.allocations->bytes);
  }
  return work;
}

json::Value workers_json(const RunResult& r) {
  const ParallelResult& parallel = r.parallel;
  json::Value workers = json::Value::object();
  json::Value busy = json::Value::array();
  for (const std::int64_t busy_ns : parallel.busy_ns) busy.push(utilisation(busy_ns, r));
  workers.set("utilisation", std::move(busy));
  workers.set("applier_utilisation", utilisation(parallel.apply_ns, r));
  workers.set("plans", parallel.plans);
  workers.set("conflicts", parallel.conflicts);
  workers.set("partial_commits", parallel.partial);
  workers.set("retries", parallel.retries);
  workers.set("gave_up", parallel.gave_up);
  workers.set("exceptions", parallel.exceptions);
  workers.set("plan_errors", parallel.plan_errors);
  workers.set("failed", parallel.failed);
  workers.set("left", parallel.left);
  workers.set("lost", parallel.lost);
  workers.set("ahead_used", parallel.ahead_used);
  workers.set("ahead_redone", parallel.ahead_redone);
  workers.set("ahead_inline", parallel.ahead_inline);
  workers.set("arrivals_when_idle", parallel.arrivals_when_idle);
  workers.set("turn_utilisation", utilisation(parallel.turn_ns, r));
  workers.set("turns", parallel.turns);
  workers.set("turn_waits", parallel.turn_waits);
  workers.set("context_switches", parallel.switches);
  workers.set("chunks_copied", parallel.chunks_copied);
  workers.set("view_rows_copied", parallel.view_rows);
  workers.set("view_columns_copied", parallel.view_columns);
  workers.set("snapshot_age", percentiles(parallel.snapshot_age));
  workers.set("submit_to_applied_ns", percentiles(parallel.submit_wait));
  return workers;
}

json::Value packing_json(const sim::Packing& p) {
  json::Value packing = json::Value::object();
  packing.set("cpu_utilisation", p.cpu_utilisation());
  packing.set("memory_utilisation", p.memory_utilisation());
  packing.set("disk_utilisation", p.disk_utilisation());
  packing.set("device_utilisation", p.device_utilisation());
  packing.set("nodes_used", p.nodes_used);
  packing.set("fragmentation", p.fragmentation);
  packing.set("usable", amounts(p.usable));
  packing.set("used", amounts(p.used));
  packing.set("stranded", amounts(p.stranded));
  packing.set("reference_ask", amounts(p.reference));
  return packing;
}

void set_grid(const RunResult& r, json::Value& out) {
  json::Value cells = json::Value::array();
  for (const CellResult& cell : r.cells) {
    json::Value item = json::Value::object();
    item.set("cell", cell.cell);
    item.set("nodes", static_cast<std::int64_t>(cell.nodes));
    item.set("racks", static_cast<std::int64_t>(cell.racks));
    item.set("allocs", cell.allocs);
    item.set("spread", cell.spread);
    item.set("placed", cell.placed);
    item.set("nomad_ns", cell.nomad_ns);
    item.set("berth_ns", cell.berth_ns);
    item.set("berth_first_ns", cell.berth_first_ns);
    item.set("berth_new_worker_ns", cell.berth_new_worker_ns);
    item.set("ratio", ratio_of(cell));
    item.set("decisions_equal", cell.decisions_equal);
    item.set("difference", cell.difference.empty() ? json::Value() : json::Value(cell.difference));
    cells.push(std::move(item));
  }
  out.set("cells", std::move(cells));
  const GridSummary summary = summary_of(r.cells);
  json::Value grid = json::Value::object();
  grid.set("cells_equal", static_cast<std::uint64_t>(summary.equal));
  grid.set("ratio_geometric_mean", summary.ratio_geometric_mean);
  grid.set("ratio_min", summary.ratio_min);
  grid.set("ratio_max", summary.ratio_max);
  out.set("grid", std::move(grid));
}

}  // namespace

json::Value to_json(const RunResult& r) {
  json::Value out = report_head(r, "berth-run", kReportVersion);
  set_counts(r, out);
  set_times(r, out);
  out.set("work", work_json(r));
  if (r.cells.empty()) {
    out.set("workers", workers_json(r));
    out.set("packing", packing_json(r.packing));
    out.set("over_time", over_time(r));
    out.set("node_map", node_map(r));
  }
  out.set("peak_rss_bytes", r.peak_rss_bytes);
  out.set("table_bytes", r.table_bytes);
  out.set("decisions_digest", r.decisions_digest);
  out.set("decisions_digest_version", base::DecisionDigest::kVersion);
  if (r.life) out.set("life", life_json(*r.life));
  if (r.nomad && r.nomad->decided_alike(r.decisions_digest)) {
    out.set("nomad", nomad_json(*r.nomad));
    out.set("nomad_driven",
            json::Object{{"nomad", "back to back"},
                         {"nomad_commit", kNomadCommit},
                         {"berth", r.workload.arrivals.clock == sim::Clock::wait ? "arrivals" : "back to back"},
                         {"same_machine", false}});
  }
  if (const auto kinds = r.kinds.kinds(); kinds.size() > 1) out.set("kinds", kinds_json(kinds));
  if (!r.cells.empty()) set_grid(r, out);
  for (const auto& [path, value] : r.further) set_at(out, path, value);
  return out;
}

namespace {

/// A field of the CSV file; "" if the report does not have the measure.
std::string field_of(const json::Value& report, const Measure& measure) {
  const double value = value_at(report, measure.path);
  if (std::isnan(value)) return "";
  if (value == std::floor(value) && !measure.is_share()) return fmt::format("{:.0f}", value);
  return measure.unit == std::string_view("/s") ? fmt::format("{:.1f}", value) : fmt::format("{:.6f}", value);
}

}  // namespace

std::string to_csv(const RunResult& r) {
  // One line per run; for nomad-grid one line per cell.
  if (!r.cells.empty()) {
    std::string out =
        "cell,nodes,racks,allocs,spread,placed,nomad_ns,berth_ns,berth_first_ns,berth_new_worker_ns,ratio,"
        "decisions_equal\n";
    for (const CellResult& cell : r.cells)
      out += fmt::format("{},{},{},{},{},{},{},{},{},{},{:.3f},{}\n", cell.cell, cell.nodes, cell.racks, cell.allocs,
                         cell.spread, cell.placed, cell.nomad_ns, cell.berth_ns, cell.berth_first_ns,
                         cell.berth_new_worker_ns, ratio_of(cell), cell.decisions_equal);
    return out;
  }
  std::string head = "workload,label,seed,commit,isa_path,partial,nodes,jobs";
  std::string line = fmt::format("{},{},{},{},{},{},{},{}", r.workload.name, r.workload.label, r.workload.seed,
                                 base::build_info().commit, base::isa_path_used(), r.partial, r.nodes, r.jobs);
  const json::Value report = to_json(r);
  for (const Measure& measure : measures())
    if (!is_of_grid(measure)) head += "," + column_of(measure), line += "," + field_of(report, measure);
  return fmt::format("{},decisions_digest,workers,commits\n{},{},{},{}\n", head, line, r.decisions_digest,
                     r.workload.workers, sim::to_text(r.workload.commits));
}

std::string to_hdr(const RunResult& r) { return r.latency.total.percentile_text(); }

}  // namespace berth::run
