#include "run/measures.h"

#include <limits>

namespace berth::run {
namespace {

constexpr Measure kMeasures[] = {
    {"throughput", "placements_per_second", "/s", 1, true, 1, true},
    {"evaluations", "evaluations_per_second", "/s", 1, true},
    {"placed", "placed_share", "%", 1, true, 100, true},
    {"failed", "failed", "", -1, true},
    {"placement p50", "latency_ns/p50", "ns", -1, false, 1, true},
    {"placement p99", "latency_ns/p99", "ns", -1, false, 1, true},
    {"placement p99.9", "latency_ns/p999", "ns", -1},
    {"placement max", "latency_ns/max", "ns", -1},
    {"schedule p50", "schedule_ns/p50", "ns", -1, false, 1, true},
    {"schedule p99", "schedule_ns/p99", "ns", -1},
    {"evaluation p50", "evaluation_latency_ns/p50", "ns", -1},
    {"evaluation p99", "evaluation_latency_ns/p99", "ns", -1},
    {"wait mean", "waiting/wait_s/mean", "s", -1, false, 1, true},
    {"wait p50", "waiting/wait_s/p50", "s", -1},
    {"wait p99", "waiting/wait_s/p99", "s", -1},
    {"never placed", "waiting/never_placed", "", -1},
    {"completion mean", "waiting/completion_s/mean", "s", -1},
    {"completion p50", "waiting/completion_s/p50", "s", -1},
    {"completion p99", "waiting/completion_s/p99", "s", -1},
    {"slowdown mean", "waiting/slowdown/mean", "x", -1},
    {"slowdown p50", "waiting/slowdown/p50", "x", -1},
    {"slowdown p99", "waiting/slowdown/p99", "x", -1},
    {"makespan", "waiting/makespan_s", "s", -1},
    {"fairness", "waiting/fairness", "", 1, false, 1, true},
    {"deadlines met", "waiting/deadlines_met_share", "%", 1, false, 100},
    {"cpu used", "packing/cpu_utilisation", "%", 0, false, 100},
    {"memory used", "packing/memory_utilisation", "%", 0, false, 100},
    {"devices used", "packing/device_utilisation", "%", 0, false, 100},
    {"fragmentation", "packing/fragmentation", "%", -1, false, 100, true},
    {"nodes used", "packing/nodes_used", "", 0},
    {"preempted", "work/preempted_allocs", "", -1, false, 1, true},
    {"conflicts", "workers/conflicts", "", -1},
    {"retries of plans", "workers/retries", "", -1},
    {"recovery p50", "life/recovery_ns/p50", "ns", -1},
    {"recovery p99", "life/recovery_ns/p99", "ns", -1, false, 1, true},
    {"batch work lost", "life/batch_work/lost_alloc_seconds", "s", -1},
    {"memory after 2 h", "life/memory_bytes_after_two_hours", "bytes", -1, false, 1, true},
    {"nodes evaluated", "work/nodes_evaluated", "", -1},
    {"allocations of memory", "work/allocations", "", -1},
    {"memory at most", "peak_rss_bytes", "bytes", -1, false, 1, true},
    {"faster than Nomad", "grid/ratio_geometric_mean", "x", 1, false, 1, true},
};

}  // namespace

std::span<const Measure> measures() { return kMeasures; }

double value_at(const json::Value& report, std::string_view path) {
  const json::Value* at = &report;
  while (at) {
    const std::size_t slash = path.find('/');
    at = at->find(path.substr(0, slash));
    if (slash == std::string_view::npos) break;
    path.remove_prefix(slash + 1);
  }
  return at && at->is_number() ? at->as_double() : std::numeric_limits<double>::quiet_NaN();
}

double value_of(const json::Value& report, const Measure& measure) {
  const bool of_arrivals = report["rate_set_by"].as_string() == "arrivals";
  return of_arrivals && measure.unit == std::string_view("/s") ? std::numeric_limits<double>::quiet_NaN()
                                                               : value_at(report, measure.path);
}

std::string name_of(const Measure& measure) {
  std::string out = measure.path;
  for (char& c : out)
    if (c == '/') c = '_';
  return out;
}

}  // namespace berth::run
