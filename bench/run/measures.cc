#include "run/measures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "run/result.h"

namespace berth::run {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using enum MeasureKind;
using enum In;

constexpr Gate kUse{0.002, replays};

constexpr Measure kMeasures[] = {
    // Work, rates, latency, packing and memory.
    {"evaluations", "evaluations", "evaluations processed", "", 0, counter},
    {"asked", "asked", "allocations requested", "", 0, counter, {}, 0, "outcome"},
    {"placements", "placed", "allocations placed", "", 1, counter, {0}, 0, "outcome"},
    {"failed", "failed", "failed", "", -1, counter, {}, kAlways, "outcome"},
    {"placements_per_second", "placements_per_second", "throughput", "/s", 1, time, {}, kAlways | kTested},
    {"evaluations_per_second", "evaluations_per_second", "evaluations", "/s", 1, time, {}, kAlways},
    {"latency_ns.p50", "latency_ns/p50", "placement p50", "ns", -1, time, {}, kTested},
    {"latency_ns.p90", "latency_ns/p90", "placement p90", "ns", -1, time},
    {"latency_ns.p99", "latency_ns/p99", "placement p99", "ns", -1, time, {}, kTested},
    {"latency_ns.p999", "latency_ns/p999", "placement p99.9", "ns", -1, time},
    {"latency_ns.max", "latency_ns/max", "placement max", "ns", -1, time},
    {"cpu_utilisation", "packing/cpu_utilisation", "cpu used", "%", 1, quality, kUse, 0, "resource=cpu"},
    {"memory_utilisation", "packing/memory_utilisation", "memory used", "%", 1, quality, kUse, 0, "resource=memory"},
    {"disk_utilisation", "packing/disk_utilisation", "disk used", "%", 1, quality, {}, 0, "resource=disk"},
    {"device_utilisation", "packing/device_utilisation", "devices used", "%", 1, quality, kUse, 0, "resource=devices"},
    {"fragmentation", "packing/fragmentation", "fragmentation", "%", -1, quality, {0.005, replays}, kTested},
    {"nodes_used", "packing/nodes_used", "nodes used", "", 0, quality},
    {"peak_rss_bytes", "peak_rss_bytes", "peak memory", "bytes", -1, time, {1}, kTested},
    {"placed_share", "placed_share", "placed", "%", 1, quality, {0.001}, kAlways | kTested},
    {"refused", "refused", "placements refused", "", -1, counter, {0}, 0, "outcome"},
    {"busy_seconds", "busy_seconds", "busy time", "s", -1, time, {1}},
    {"cpu_seconds", "cpu_seconds", "processor time", "s", -1, time, {1}},
    {"schedule_ns.mean", "schedule_ns/mean", "schedule mean", "ns", -1, time, {1, replays}},
    {"schedule_ns.p50", "schedule_ns/p50", "schedule p50", "ns", -1, time, {1, replays}, kTested},
    {"schedule_ns.p99", "schedule_ns/p99", "schedule p99", "ns", -1, time, {2, replays}},
    {"commit_ns.mean", "commit_ns/mean", "commit mean", "ns", -1, time, {1, replays}},
    {"commit_ns.p99", "commit_ns/p99", "commit p99", "ns", -1, time, {2, replays}},
    {"evaluation_latency_ns.p50", "evaluation_latency_ns/p50", "evaluation p50", "ns", -1, time, {1, replays}},
    {"evaluation_latency_ns.p99", "evaluation_latency_ns/p99", "evaluation p99", "ns", -1, time, {2, replays}},
    // Waits of jobs, in the workload's time.
    {"wait_s.mean", "waiting/wait_s/mean", "wait mean", "s", -1, quality, {}, kTested},
    {"wait_s.p50", "waiting/wait_s/p50", "wait p50", "s", -1, quality},
    {"wait_s.p99", "waiting/wait_s/p99", "wait p99", "s", -1, quality},
    {"wait_s.max", "waiting/wait_s/max", "longest wait", "s", -1, quality},
    {"never_placed", "waiting/never_placed", "never placed", "", -1, quality},
    {"completion_s.mean", "waiting/completion_s/mean", "completion mean", "s", -1, quality},
    {"completion_s.p50", "waiting/completion_s/p50", "completion p50", "s", -1, quality},
    {"completion_s.p99", "waiting/completion_s/p99", "completion p99", "s", -1, quality},
    {"slowdown.mean", "waiting/slowdown/mean", "slowdown mean", "x", -1, quality},
    {"slowdown.p50", "waiting/slowdown/p50", "slowdown p50", "x", -1, quality},
    {"slowdown.p99", "waiting/slowdown/p99", "slowdown p99", "x", -1, quality},
    {"makespan_s", "waiting/makespan_s", "makespan", "s", -1, quality},
    {"fairness", "waiting/fairness", "fairness", "", 1, quality, {}, kTested},
    {"finish_time_ratio.mean", "waiting/finish_time_ratio/mean", "finish-time ratio mean", "x", -1, quality},
    {"finish_time_ratio.max", "waiting/finish_time_ratio/max", "finish-time ratio max", "x", -1, quality},
    {"cpu_share", "waiting/cpu_share", "cpu in use over time", "%", 0, quality},
    {"memory_share", "waiting/memory_share", "memory in use over time", "%", 0, quality},
    {"lost_s", "waiting/lost_s", "evicted work lost", "s", -1, quality},
    {"deadlines_met_share", "waiting/deadlines_met_share", "deadlines met", "%", 1, quality},
    {"gangs_started", "waiting/gangs_started", "gangs started", "", 1, quality},
    {"gangs_given_up", "waiting/gangs_given_up", "gangs given up", "", -1, quality},
    {"gang_wait_s.mean", "waiting/gang_wait_s/mean", "gang wait mean", "s", -1, quality},
    // Counts of work: equal in every run of one build and workload with one worker.
    {"nodes_evaluated", "work/nodes_evaluated", "nodes evaluated", "", -1, counter, {}, 0, "kind"},
    {"nodes_scored", "work/nodes_scored", "nodes scored", "", -1, counter, {0}, 0, "kind"},
    {"nodes_filtered", "work/nodes_filtered", "nodes filtered", "", -1, counter, {0}, 0, "kind"},
    {"nodes_exhausted", "work/nodes_exhausted", "nodes exhausted", "", -1, counter, {0}, 0, "kind"},
    {"constraint_evaluations", "work/constraint_evaluations", "constraint checks", "", -1, counter, {0}, 0, "kind"},
    {"snapshots", "work/snapshots", "snapshots", "", -1, counter, {0}, 0, "kind"},
    {"conflicts", "workers/conflicts", "conflicts", "", -1, counter, {0, replays}, 0, "kind"},
    {"preempted_allocs", "work/preempted_allocs", "preempted", "", -1, quality, {0.01}, kTested, "kind"},
    {"preempted_memory_mb", "work/preempted_memory_mb", "preempted memory", "MiB", -1, quality, {0.01}},
    {"allocations", "work/allocations", "allocations of memory", "", -1, counter, {0.01, measured}},
    {"allocated_bytes", "work/allocated_bytes", "memory allocated", "bytes", -1, counter, {0.01, measured}},
    {"table_bytes", "table_bytes", "memory of tables", "bytes", -1, counter, {0.01}},
    {"instructions", "instructions", "instructions", "", -1, counter, {0.02, measured}},
    // Several workers.
    {"partial_commits", "workers/partial_commits", "partial commits", "", -1, counter},
    {"retries", "workers/retries", "retries of plans", "", -1, counter},
    {"ahead_used", "workers/ahead_used", "used as decided ahead", "", 1, counter},
    {"ahead_redone", "workers/ahead_redone", "decided again", "", -1, counter},
    {"applier_utilisation", "workers/applier_utilisation", "applier busy", "%", 0, time},
    // Simulated clusters.
    {"recovery_ns.p50", "life/recovery_ns/p50", "recovery p50", "ns", -1, quality},
    {"recovery_ns.p99", "life/recovery_ns/p99", "recovery p99", "ns", -1, quality, {}, kTested},
    {"lost_alloc_seconds", "life/batch_work/lost_alloc_seconds", "batch work lost", "s", -1, quality},
    {"memory_after_bytes", "life/memory_bytes_after_two_hours", "memory after 2 h", "bytes", -1, time, {}, kTested},
    // Nomad's grid.
    {"cells_equal", "grid/cells_equal", "cells decided as Nomad did", "", 1, counter, {0, grids}},
    {"ratio_geometric_mean", "grid/ratio_geometric_mean", "faster than Nomad", "x", 1, time, {}, kTested},
    {"cell_ns", "cells/*/berth_ns", "evaluation of a cell", "ns", -1, time, {1, grids}},
    {"cell_first_ns", "cells/*/berth_first_ns", "first evaluation of a cell", "ns", -1, time, {1, grids}},
    {"cell_new_worker_ns", "cells/*/berth_new_worker_ns", "evaluation by a new worker", "ns", -1, time, {1, grids}},
    // Stages (`berth run --stages`): mean time per evaluation.
    {"stage.dequeue", "stages_ns/dequeue", "stage dequeue", "ns", -1, time, {1, stages}},
    {"stage.snapshot", "stages_ns/snapshot", "stage snapshot", "ns", -1, time, {1, stages}},
    {"stage.compile", "stages_ns/compile", "stage compile", "ns", -1, time, {1, stages}},
    {"stage.reconcile", "stages_ns/reconcile", "stage reconcile", "ns", -1, time, {1, stages}},
    {"stage.order", "stages_ns/order", "stage order", "ns", -1, time, {1, stages}},
    {"stage.filter", "stages_ns/filter", "stage filter", "ns", -1, time, {1, stages}},
    {"stage.rank", "stages_ns/rank", "stage rank", "ns", -1, time, {1, stages}},
    {"stage.preempt", "stages_ns/preempt", "stage preempt", "ns", -1, time, {1, stages}},
    {"stage.plan", "stages_ns/plan", "stage plan", "ns", -1, time, {1, stages}},
    {"stage.check", "stages_ns/check", "stage check", "ns", -1, time, {1, stages}},
    {"stage.commit", "stages_ns/commit", "stage commit", "ns", -1, time, {1, stages}},
};

/// Prometheus' series of several measures, apart by a label, and help texts. Others have their measure's title.
struct Series {
  std::string_view name, label, help;
};
constexpr Series kSeries[] = {
    {"run_placements", "outcome", "Placements by what became of them."},
    {"run_work", "kind", "Counts of work: the same on every run of one build and workload with one worker."},
    {"run_utilisation", "resource", "Used / usable over the ready nodes at the end."},
    {"run_evaluations", "", "Evaluations processed, retries of blocked ones included."},
    {"run_placements_per_second", "", "Placements per second of busy time."},
    {"run_busy_seconds", "", "Time of the replay, waiting for arrivals left out."},
    {"run_cpu_seconds", "", "Processor time of all threads during the replay."},
    {"run_fragmentation", "", "Share of the free capacity that mean asks cannot use."},
    {"run_nodes_used", "", "Nodes with an allocation at the end."},
    {"run_peak_rss_bytes", "", "Memory of the process at its peak."},
    {"run_table_bytes", "", "Memory of the tables at the end."},
};

constexpr Distribution kDistributions[] = {
    {"latency_ns", "placement", "total", "latency", "placement_duration", false, true,
     [](const RunResult& r) -> const sim::Histogram& { return r.latency.total; }},
    {"queue_ns", "queue", "queue", "queue", "placement_queue_duration", true, true,
     [](const RunResult& r) -> const sim::Histogram& { return r.latency.queue; }},
    {"schedule_ns", "schedule", "schedule", "schedule", "placement_schedule_duration", true, true,
     [](const RunResult& r) -> const sim::Histogram& { return r.latency.schedule; }},
    {"commit_ns", "commit", "commit", "commit", "placement_commit_duration", true, true,
     [](const RunResult& r) -> const sim::Histogram& { return r.latency.commit; }},
    {"evaluation_latency_ns", "evaluation", "evaluation", "evaluation", "evaluation_duration", false, false,
     [](const RunResult& r) -> const sim::Histogram& { return r.evaluation_latency; }},
};

std::vector<Measure>& table() {
  static std::vector<Measure> all(std::begin(kMeasures), std::end(kMeasures));
  return all;
}

std::string with_underscores(std::string_view text, char instead_of) {
  std::string out(text);
  std::replace(out.begin(), out.end(), instead_of, '_');
  return out;
}

/// "12,345"; "2.5".
std::string grouped_text(double value) {
  if (value != std::floor(value)) return fmt::format("{:.1f}", value);
  std::string out = fmt::format("{:.0f}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t at = out.size(); at > first + 3;) out.insert(at -= 3, ",");
  return out;
}

}  // namespace

std::span<const Measure> measures() { return table(); }
void add_measure(const Measure& measure) { table().push_back(measure); }
std::span<const Distribution> distributions() { return kDistributions; }

Sample sample_of(const Measure& measure) {
  const std::size_t equals = measure.label.find('=');
  const std::string_view label = measure.label.substr(0, equals);
  const auto* const named = std::find_if(std::begin(kSeries), std::end(kSeries), [&](const Series& one) {
    return label.empty() ? one.name == "run_" + column_of(measure) : one.label == label;
  });
  Sample out{"run_" + column_of(measure), measure.title, ""};
  if (named == std::end(kSeries)) return out;
  out.series = named->name, out.help = named->help;
  if (!label.empty())
    out.label = fmt::format("{}=\"{}\"", label,
                            equals == std::string_view::npos ? measure.path.substr(measure.path.rfind('/') + 1)
                                                             : measure.label.substr(equals + 1));
  return out;
}

bool is_of_grid(const Measure& measure) {
  return measure.path.starts_with("grid/") || measure.path.starts_with("cells/");
}

bool is_of_distribution(const Measure& measure) {
  const std::string_view of = measure.path.substr(0, measure.path.rfind('/'));
  return std::any_of(std::begin(kDistributions), std::end(kDistributions),
                     [&](const Distribution& one) { return one.path == of; });
}

const json::Value* member_at(const json::Value& report, std::string_view path) {
  const json::Value* at = &report;
  for (const std::string_view part : base::split(path, '/')) {
    at = at->find(part);
    if (!at) return nullptr;
  }
  return at;
}

double value_at(const json::Value& report, std::string_view path) {
  constexpr std::string_view kCells = "cells/*/";
  if (path.starts_with(kCells)) {
    double logs = 0;
    const json::Array& cells = report["cells"].items();
    for (const json::Value& cell : cells) {
      const double value = value_at(cell, path.substr(kCells.size()));
      if (std::isnan(value)) return kNone;
      logs += std::log(std::max(1.0, value));
    }
    return cells.empty() ? kNone : std::exp(logs / static_cast<double>(cells.size()));
  }
  const json::Value* const at = member_at(report, path);
  return at && at->is_number() ? at->as_double() : kNone;
}

double value_of(const json::Value& report, const Measure& measure) {
  const bool of_arrivals = report["rate_set_by"].as_string() == "arrivals";
  return of_arrivals && measure.unit == std::string_view("/s") ? kNone : value_at(report, measure.path);
}

std::string name_of(const Measure& measure) {
  return measure.path.find('*') == std::string_view::npos ? with_underscores(measure.path, '/') : column_of(measure);
}

std::string column_of(const Measure& measure) {
  if (measure.path.find('/') == std::string_view::npos) return std::string(measure.path);
  const std::size_t dot = measure.name.rfind('.'), unit = measure.name.rfind('_', dot);
  if (dot == std::string_view::npos || unit == std::string_view::npos) return with_underscores(measure.name, '.');
  return fmt::format("{}_{}{}", measure.name.substr(0, unit), measure.name.substr(dot + 1),
                     measure.name.substr(unit, dot - unit));
}

std::string with_unit(double value, std::string_view unit) {
  const double size = std::abs(value);
  if (unit == "%") return fmt::format("{:.2f} %", 100 * value);
  if (unit == "s") return with_unit(value * 1e9, "ns");
  if (unit == "ns") {
    if (size < 1e3) return fmt::format("{:.0f} ns", value);
    if (size < 1e6) return fmt::format("{:.2f} us", value / 1e3);
    return size < 1e9 ? fmt::format("{:.2f} ms", value / 1e6) : fmt::format("{:.2f} s", value / 1e9);
  }
  if (unit == "bytes") {
    if (size < 1 << 10) return fmt::format("{:.0f} B", value);
    return size < 1 << 20 ? fmt::format("{:.1f} KiB", value / (1 << 10)) : fmt::format("{:.2f} MiB", value / (1 << 20));
  }
  return fmt::format("{}{}{}", grouped_text(value), unit.empty() || unit == "/s" || unit == "x" ? "" : " ", unit);
}

}  // namespace berth::run
