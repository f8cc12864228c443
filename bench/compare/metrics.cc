#include "compare/metrics.h"

#include <array>
#include <cmath>
#include <limits>

namespace berth::compare {
namespace {

using packing::PackingRun;
using packing::PreemptionRun;
using packing::RebalanceRun;
using strategy::kCpu;
using strategy::kDisk;
using strategy::kGpu;
using strategy::kMemory;

enum Use : unsigned { kShown = 1, kTested = 2, kFront = 4 };

template <class Run>
struct MetricOf {
  Metric metric;
  unsigned uses;
  double (*of)(const Run&);
  unsigned needs = 0;  ///< bits of Given
};
template <class Run, class Moment>
struct CurveOf {
  Curve curve;
  double (*of)(const Moment&);
  unsigned needs = 0;
};

double ratio_of(double part, double whole, double otherwise = 0) { return whole == 0 ? otherwise : part / whole; }
double percent_of(std::uint64_t part, std::uint64_t whole) {
  return 100 * ratio_of(static_cast<double>(part), static_cast<double>(whole), 1);
}

constexpr MetricOf<PackingRun> kPacking[] = {
    {{"placed_percent", "placed %", 1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return r.placed_percent(); }},
    {{"priority_placed_percent", "placed, weighted %", 1, false, 2},
     0,
     [](auto& r) { return r.priority_placed_percent; }},
    {{"cpu_percent", "cpu %", 0, false, 2}, kShown, [](auto& r) { return r.quality.used_percent[kCpu]; }},
    {{"memory_percent", "memory %", 0, false, 2}, kShown, [](auto& r) { return r.quality.used_percent[kMemory]; }},
    {{"disk_percent", "disk %", 0, false, 2}, 0, [](auto& r) { return r.quality.used_percent[kDisk]; }},
    {{"gpu_percent", "gpu %", 0, false, 2}, kShown, [](auto& r) { return r.quality.used_percent[kGpu]; }},
    {{"fragmentation_percent", "fragmented %", -1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return r.quality.fragmentation_percent; }},
    {{"gpu_fragment_percent", "gpu fragments %", -1, false, 2},
     kShown | kTested,
     [](auto& r) { return r.quality.gpu_fragment_percent; }},
    {{"stranded_cpu_percent", "stranded cpu %", -1, false, 2},
     0,
     [](auto& r) { return r.quality.stranded_percent[kCpu]; }},
    {{"stranded_memory_percent", "stranded memory %", -1, false, 2},
     0,
     [](auto& r) { return r.quality.stranded_percent[kMemory]; }},
    {{"nodes_used_percent", "nodes used %", 0, false, 2},
     kShown | kTested,
     [](auto& r) { return r.quality.nodes_used_percent; }},
    {{"balance_points", "balance", -1, false, 2}, kShown | kTested, [](auto& r) { return r.quality.balance; }},
    {{"empty_nodes_percent", "empty nodes %", 1, false, 2},
     kShown | kTested,
     [](auto& r) { return r.over_time.empty_nodes; }},
    {{"cpu_without_memory_percent", "cpu without memory %", -1, false, 2},
     kShown,
     [](auto& r) { return r.over_time.cpu_without_memory; }},
    {{"memory_without_cpu_percent", "memory without cpu %", -1, false, 2},
     kShown,
     [](auto& r) { return r.over_time.memory_without_cpu; }},
    {{"regret_mean", "regret", -1, false, 4},
     kShown,
     [](auto& r) { return ratio_of(r.regret.sum, double(r.regret.decisions), std::nan("")); }},
    {{"regret_p99", "regret p99", -1, false, 4},
     kShown,
     [](auto& r) { return r.regret.decisions == 0 ? std::nan("") : r.regret.billionths.percentile(99) / 1e9; }},
    {{"not_best_percent", "not the best %", -1, false, 2},
     kShown,
     [](auto& r) { return 100 * ratio_of(double(r.regret.not_best), double(r.regret.decisions), std::nan("")); }},
    {{"power_mean_kw", "power kW", -1, false, 2},
     kShown | kTested,
     [](auto& r) { return r.power.power_mean_kw; },
     kPower},
    {{"energy_kwh", "energy kWh", -1, false, 1}, kShown, [](auto& r) { return r.power.energy_kwh; }, kPower},
    {{"carbon_kg", "CO2 kg", -1, false, 1}, kShown | kTested, [](auto& r) { return r.power.carbon_kg; }, kCarbon},
    {{"price", "price", -1, false, 2}, kShown | kTested, [](auto& r) { return r.power.price; }, kPrice},
    {{"decisions_per_s", "decisions/s", 1, true, 0},
     kShown | kTested | kFront,
     [](auto& r) { return ratio_of(static_cast<double>(r.latency.count()), r.decide_s); }},
    {{"latency_p50_ns", "p50 ns", -1, true, 0}, 0, [](auto& r) { return double(r.latency.percentile(50)); }},
    {{"latency_p99_ns", "p99 ns", -1, true, 0}, kShown, [](auto& r) { return double(r.latency.percentile(99)); }},
    {{"latency_p999_ns", "p99.9 ns", -1, true, 0}, 0, [](auto& r) { return double(r.latency.percentile(99.9)); }}};

constexpr CurveOf<PackingRun, packing::PackingMoment> kPackingCurves[] = {
    {{"placed_percent", "Placed", "%"}, [](auto& m) { return m.placed_percent; }},
    {{"cpu_percent", "Cpu in use", "%"}, [](auto& m) { return m.quality.used_percent[kCpu]; }},
    {{"memory_percent", "Memory in use", "%"}, [](auto& m) { return m.quality.used_percent[kMemory]; }},
    {{"gpu_percent", "GPUs in use", "%"}, [](auto& m) { return m.quality.used_percent[kGpu]; }},
    {{"fragmentation_percent", "Fragmented", "%"}, [](auto& m) { return m.quality.fragmentation_percent; }},
    {{"gpu_fragment_percent", "GPU fragments", "%"}, [](auto& m) { return m.quality.gpu_fragment_percent; }},
    {{"nodes_used_percent", "Nodes used", "%"}, [](auto& m) { return m.quality.nodes_used_percent; }},
    {{"power_kw", "Power", "kW"}, [](auto& m) { return m.power_kw; }, kPower}};

constexpr MetricOf<PreemptionRun> kPreemption[] = {
    {{"running_percent", "running %", 1, false, 2}, 0, [](auto& r) { return percent_of(r.running, r.asked); }},
    {{"priority_running_percent", "running, weighted %", 1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return r.priority_running_percent; }},
    {{"preemptions", "preemptions", 0, false, 1}, kShown, [](auto& r) { return double(r.preemptions); }},
    {{"victims", "victims", -1, false, 1}, kShown | kTested | kFront, [](auto& r) { return double(r.victims); }},
    {{"victims_each", "each", -1, false, 2},
     0,
     [](auto& r) { return ratio_of(double(r.victims), double(r.preemptions)); }},
    {{"victim_priority_mean", "victim priority", -1, false, 1},
     kShown | kTested,
     [](auto& r) { return ratio_of(double(r.victim_priorities), double(r.victims)); }},
    {{"victim_priority_highest", "highest victim", -1, false, 1},
     kShown,
     [](auto& r) { return double(r.victim_priority_max); }},
    {{"lost_cpu_ghz_h", "cpu lost GHz h", -1, false, 1},
     kShown | kTested | kFront,
     [](auto& r) { return r.lost_cpu_ghz_h; }},
    {{"lost_memory_gib_h", "memory lost GiB h", -1, false, 1}, 0, [](auto& r) { return r.lost_memory_gib_h; }},
    {{"overshoot_percent", "over-freed %", -1, false, 1},
     kShown | kTested,
     [](auto& r) { return 100 * ratio_of(r.overshoot, double(r.preemptions)); }},
    {{"cascades", "cascades", -1, false, 1}, kShown, [](auto& r) { return double(r.cascades); }},
    {{"cascade_depth", "depth", -1, false, 0}, 0, [](auto& r) { return double(r.cascade_depth_max); }},
    {{"placed_again_percent", "re-placed %", 1, false, 1},
     kShown | kTested,
     [](auto& r) { return percent_of(r.placed_again, r.victims); }},
    {{"beyond_budget", "beyond budget", -1, false, 1},
     kShown | kTested,
     [](auto& r) { return double(r.beyond_budget); }},
    {{"unproven_percent", "unproven %", 0, false, 1},
     kShown,
     [](auto& r) { return 100 * ratio_of(double(r.unproven), double(r.looked_for)); }},
    {{"look_p50_ns", "p50 ns", -1, true, 0}, kShown | kFront, [](auto& r) { return double(r.latency.percentile(50)); }},
    {{"look_p99_ns", "p99 ns", -1, true, 0}, kShown, [](auto& r) { return double(r.latency.percentile(99)); }}};

constexpr CurveOf<PreemptionRun, packing::PreemptionMoment> kPreemptionCurves[] = {
    {{"priority_running_percent", "Running, by priority", "%"}, [](auto& m) { return m.priority_running_percent; }},
    {{"victims", "Victims so far", ""}, [](auto& m) { return double(m.victims); }},
    {{"lost_cpu_ghz_h", "GHz h lost so far", ""}, [](auto& m) { return m.lost_cpu_ghz_h; }}};

constexpr MetricOf<RebalanceRun> kRebalance[] = {
    {{"evicted", "evicted", 0, false, 1}, kShown, [](auto& r) { return double(r.evicted); }},
    {{"placed_again_percent", "re-placed %", 1, false, 2},
     kShown,
     [](auto& r) { return percent_of(r.again, r.evicted); }},
    {{"moved_percent", "moved %", 0, false, 2},
     kShown,
     [](auto& r) { return r.again == 0 ? 0 : percent_of(r.moved, r.again); }},
    {{"placed_percent", "placed %", 1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return percent_of(r.placed - r.evicted + r.again, r.asked); }},
    {{"gpu_fragment_before_percent", "gpu frag. %", 0, false, 2},
     kShown,
     [](auto& r) { return r.before.gpu_fragment_percent; }},
    {{"gpu_fragment_percent", "gpu frag. after", -1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return r.after.gpu_fragment_percent; }},
    {{"fragmentation_before_percent", "frag. %", 0, false, 2},
     kShown,
     [](auto& r) { return r.before.fragmentation_percent; }},
    {{"fragmentation_percent", "frag. after", -1, false, 2},
     kShown | kTested,
     [](auto& r) { return r.after.fragmentation_percent; }},
    {{"stranded_cpu_percent", "stranded cpu %", -1, false, 2},
     kShown | kTested,
     [](auto& r) { return r.after.stranded_percent[kCpu]; }},
    {{"nodes_used_before_percent", "used %", 0, false, 2}, 0, [](auto& r) { return r.before.nodes_used_percent; }},
    {{"nodes_used_percent", "used after", -1, false, 2}, kShown, [](auto& r) { return r.after.nodes_used_percent; }},
    {{"choose_us_each", "us each", -1, true, 1}, kShown | kFront, [](auto& r) { return r.choose_us_each; }}};

using run::RunResult;

double seconds_of(const sim::Histogram& ns, double percent) { return double(ns.percentile(percent)) / 1e9; }
double missing_of(const RunResult& r) {
  double out = 0;
  for (const run::Outage& kind : r.life->kinds) out += kind.missing_s;
  return out / 3600;
}
double away_of(const RunResult& r) {
  double out = 0;
  for (const run::FaultResult& fault : r.life->faults) out += double(fault.away);
  return out;
}

constexpr MetricOf<RunResult> kLife[] = {
    {{"recovery_p50_s", "recovery p50 s", -1, false, 2},
     kShown | kTested,
     [](auto& r) { return seconds_of(r.life->recovery_ns, 50); }},
    {{"recovery_p99_s", "p99 s", -1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return seconds_of(r.life->recovery_ns, 99); }},
    {{"recovery_max_s", "max s", -1, false, 1}, kShown, [](auto& r) { return seconds_of(r.life->recovery_ns, 100); }},
    {{"recovered", "recovered", 0, false, 1}, kShown, [](auto& r) { return double(r.life->recovery_ns.count()); }},
    {{"away", "away", -1, false, 1}, kShown | kTested, away_of},
    {{"missing_alloc_h", "missing alloc h", -1, false, 2}, kShown | kTested | kFront, missing_of},
    {{"lost_alloc_h", "lost alloc h", -1, false, 2}, kShown | kTested, [](auto& r) { return r.life->lost_s / 3600; }},
    {{"evicted", "evicted", -1, false, 1}, kShown, [](auto& r) { return double(r.life->evicted); }},
    {{"evaluations", "evaluations", -1, false, 0}, kShown, [](auto& r) { return double(r.evaluations); }},
    {{"storms", "storms", -1, false, 1}, kShown, [](auto& r) { return double(r.life->storms.size()); }},
    {{"cpu_percent", "cpu %", 0, false, 2}, 0, [](auto& r) { return 100 * r.packing.cpu_utilisation(); }},
    {{"fragmentation_percent", "fragmented %", -1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return 100 * r.packing.fragmentation; }},
    {{"schedule_p99_ns", "p99 ns", -1, true, 0}, kShown, [](auto& r) {
       return double(r.latency.schedule.percentile(99));
     }}};

/// What a queue policy changes. Times are those of the workload, not of the machine (bench/run/waits.h).
constexpr MetricOf<RunResult> kQueue[] = {
    {{"wait_mean_s", "wait mean s", -1, false, 2}, kShown | kTested, [](auto& r) { return r.waits->wait_s.mean; }},
    {{"wait_p50_s", "p50 s", -1, false, 2}, kShown, [](auto& r) { return r.waits->wait_s.p50; }},
    {{"wait_p99_s", "p99 s", -1, false, 2}, kShown | kTested | kFront, [](auto& r) { return r.waits->wait_s.p99; }},
    {{"never_placed", "never placed", -1, false, 1}, kShown, [](auto& r) { return double(r.waits->never_placed); }},
    {{"completion_mean_s", "completion s", -1, false, 2},
     kShown | kTested | kFront,
     [](auto& r) { return r.waits->completion_s.mean; }},
    {{"completion_p50_s", "completion p50 s", -1, false, 2}, 0, [](auto& r) { return r.waits->completion_s.p50; }},
    {{"completion_p99_s", "completion p99 s", -1, false, 2}, 0, [](auto& r) { return r.waits->completion_s.p99; }},
    {{"slowdown_mean", "slowdown", -1, false, 2}, kShown | kTested, [](auto& r) { return r.waits->slowdown.mean; }},
    {{"slowdown_p50", "slowdown p50", -1, false, 2}, 0, [](auto& r) { return r.waits->slowdown.p50; }},
    {{"slowdown_p99", "slowdown p99", -1, false, 2}, kShown, [](auto& r) { return r.waits->slowdown.p99; }},
    {{"makespan_s", "makespan s", -1, false, 1}, kShown | kTested, [](auto& r) { return r.waits->makespan_s; }},
    {{"fairness", "fairness", 1, false, 3}, kShown | kTested | kFront, [](auto& r) { return r.waits->fairness; }},
    {{"wait_max_s", "longest wait s", -1, false, 2}, 0, [](auto& r) { return r.waits->wait_s.max; }},
    {{"finish_time_ratio_mean", "finish-time ratio", -1, false, 3},
     0,
     [](auto& r) { return r.waits->finish_time_ratio.mean; }},
    {{"finish_time_ratio_max", "finish-time ratio max", -1, false, 3},
     0,
     [](auto& r) { return r.waits->finish_time_ratio.max; }},
    {{"cpu_over_time_percent", "cpu over time %", 1, false, 2}, 0, [](auto& r) { return 100 * r.waits->cpu_share; }},
    {{"lost_s", "lost s", -1, false, 1}, 0, [](auto& r) { return r.waits->lost_s; }},
    {{"deadlines_met_percent", "deadlines met %", 1, false, 1},
     0,
     [](auto& r) {
       return r.waits->with_deadline == 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : 100 * r.waits->deadlines_met_share();
     }},
    {{"gangs_started_percent", "gangs started %", 1, false, 1},
     0,
     [](auto& r) {
       return r.waits->gangs == 0
                  ? std::numeric_limits<double>::quiet_NaN()
                  : 100 * static_cast<double>(r.waits->gangs_started) / static_cast<double>(r.waits->gangs);
     }},
    {{"gang_wait_mean_s", "gang wait s", -1, false, 2},
     0,
     [](auto& r) {
       return r.waits->gangs_started == 0 ? std::numeric_limits<double>::quiet_NaN() : r.waits->gang_wait_s.mean;
     }},
    {{"evaluations", "evaluations", -1, false, 0}, 0, [](auto& r) { return double(r.evaluations); }},
    {{"cpu_seconds", "cpu s", -1, true, 3}, 0, [](auto& r) { return r.cpu_s; }}};

/// True if everything that the row needs is given.
template <class Row>
bool applies(const Row& row, unsigned given) {
  return (row.needs & ~given) == 0;
}

template <class Table>
MetricSet set_of(const Table& table, const char* front_words, unsigned given = 0) {
  MetricSet out{.front_words = front_words};
  for (const auto& row : table) {
    if (!applies(row, given)) continue;
    const std::size_t i = out.all.size();
    out.all.push_back(row.metric);
    if (row.uses & kShown) out.shown.push_back(i);
    if (row.uses & kTested) out.tested.push_back(i);
    if (row.uses & kFront) out.front.push_back(i);
  }
  return out;
}
template <class Table, class Curves>
MetricSet set_of(const Table& table, const char* front_words, const Curves& curves, unsigned given = 0) {
  MetricSet out = set_of(table, front_words, given);
  for (const auto& row : curves)
    if (applies(row, given)) out.curves.push_back(row.curve);
  return out;
}

template <class Run, class Table>
Measured values_of(const Run& run, const Table& table, unsigned given = 0) {
  Measured out;
  for (const auto& row : table)
    if (applies(row, given)) out.values.push_back(row.of(run));
  if constexpr (requires { run.digest; })
    out.digest = run.digest;
  else
    out.digest = run.decisions_digest;
  return out;
}
template <class Run, class Table, class Curves>
Measured values_of(const Run& run, const Table& table, const Curves& curves, unsigned given = 0) {
  Measured out = values_of(run, table, given);
  for (const auto& moment : run.moments) out.arrived_percent.push_back(moment.arrived_percent);
  for (const auto& row : curves) {
    if (!applies(row, given)) continue;
    auto& curve = out.curves.emplace_back();
    for (const auto& moment : run.moments) curve.push_back(row.of(moment));
  }
  return out;
}

}  // namespace

unsigned given_by(const sim::Workload& workload) {
  unsigned out = 0;
  if (sim::gives_power(workload)) out |= kPower;
  if (workload.carbon) out |= kCarbon;
  if (sim::gives_price(workload)) out |= kPrice;
  return out;
}

const MetricSet& packing_metrics(unsigned given) {
  static const auto kSets = [] {
    std::array<MetricSet, kAllGiven + 1> sets;
    for (unsigned set = 0; set < sets.size(); ++set)
      sets[set] = set_of(kPacking, "no strategy is as good in placed, fragmented and decisions/s and better in one",
                         kPackingCurves, set);
    return sets;
  }();
  return kSets[given & kAllGiven];
}
const MetricSet& preemption_metrics() {
  static const MetricSet kSet = set_of(
      kPreemption, "no rule is as good in victims, cpu lost GHz h, p50 ns and 'running, weighted %' and better in one",
      kPreemptionCurves);
  return kSet;
}
const MetricSet& rebalance_metrics() {
  static const MetricSet kSet =
      set_of(kRebalance, "no rule is as good in placed, gpu fragments and us each and better in one");
  return kSet;
}

const MetricSet& life_metrics() {
  static const MetricSet kSet =
      set_of(kLife, "no strategy is as good in recovery p99, missing alloc h and fragmented and better in one");
  return kSet;
}

const MetricSet& queue_metrics() {
  static const MetricSet kSet =
      set_of(kQueue, "no policy is as good in p99 of the wait, mean completion and fairness and better in one");
  return kSet;
}

Measured measured(const PackingRun& run, unsigned given) { return values_of(run, kPacking, kPackingCurves, given); }
Measured measured(const PreemptionRun& run) { return values_of(run, kPreemption, kPreemptionCurves); }
Measured measured(const RebalanceRun& run) { return values_of(run, kRebalance); }
Measured measured(const RunResult& run) { return values_of(run, kLife); }
Measured measured_queue(const RunResult& run) { return values_of(run, kQueue); }

}  // namespace berth::compare
