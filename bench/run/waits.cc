#include "run/waits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <queue>

#include "model/job.h"
#include "sim/load_store.h"

namespace berth::run {
namespace {

double in_seconds(std::int64_t ns) { return static_cast<double>(ns) / 1e9; }

Spread spread_of(std::vector<double>& values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto rank = [&](double percent) {
    const auto at = static_cast<std::size_t>(std::ceil(percent / 100 * static_cast<double>(values.size())));
    return values[std::max<std::size_t>(at, 1) - 1];
  };
  double sum = 0;
  for (const double value : values) sum += value;
  return {sum / static_cast<double>(values.size()), rank(50), rank(99), values.back()};
}

/// Seconds from the arrival to the end of each job, by its position in `jobs`, if one namespace had `share` of the
/// cluster to itself.
std::map<std::size_t, double> alone(std::span<const JobTimes> jobs, const std::vector<std::size_t>& of_namespace,
                                    double share) {
  using End = std::pair<double, double>;  // time, demand
  std::priority_queue<End, std::vector<End>, std::greater<>> running;
  std::map<std::size_t, double> out;
  double now_s = 0, used = 0;
  const auto end_next = [&] {
    now_s = std::max(now_s, running.top().first), used -= running.top().second;
    running.pop();
    if (running.empty()) used = 0;  // of sums of fractions, the rest is rounding
  };
  for (const std::size_t i : of_namespace) {
    const JobTimes& job = jobs[i];
    now_s = std::max(now_s, in_seconds(job.arrived_ns));
    while (!running.empty() && running.top().first <= now_s) end_next();
    const double demand = std::min(job.demand, share);
    while (!running.empty() && used + demand > share * (1 + 1e-12)) end_next();
    const double end_s = now_s + in_seconds(job.run_time_ns) * std::max(1.0, job.demand / share);
    running.emplace(end_s, demand), used += demand;
    out[i] = end_s - in_seconds(job.arrived_ns);
  }
  return out;
}

std::vector<double> finish_time_ratios(std::span<const JobTimes> jobs) {
  std::map<std::uint32_t, std::vector<std::size_t>> spaces;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].counts && jobs[i].run_time_ns >= 0) spaces[jobs[i].space].push_back(i);
  std::vector<double> out;
  for (auto& [space, of] : spaces) {
    std::stable_sort(of.begin(), of.end(),
                     [&](std::size_t a, std::size_t b) { return jobs[a].arrived_ns < jobs[b].arrived_ns; });
    for (const auto& [i, alone_s] : alone(jobs, of, 1 / static_cast<double>(spaces.size())))
      if (jobs[i].placed_ns >= 0 && !jobs[i].evicted && alone_s > 0)
        out.push_back(in_seconds(jobs[i].end_ns - jobs[i].arrived_ns) / alone_s);
  }
  return out;
}

double dominant_share(const sim::Amounts& part, const sim::Amounts& whole) {
  return std::max({sim::Packing::share(part.cpu_mhz, whole.cpu_mhz),
                   sim::Packing::share(part.memory_mb, whole.memory_mb),
                   sim::Packing::share(part.disk_mb, whole.disk_mb), sim::Packing::share(part.devices, whole.devices)});
}

}  // namespace

sim::Amounts demand_of(const tables::CompiledJob& job) {
  sim::Amounts out;
  for (std::size_t i = 0; i < job.groups.size(); ++i) {
    const tables::CompiledGroup& group = job.groups[i];
    out.cpu_mhz += group.count * group.shape->cpu_mhz, out.memory_mb += group.count * group.shape->memory_mb;
    out.disk_mb += group.count * group.shape->disk_mb;
    for (const model::Task& task : job.spec->task_groups[i].tasks)
      if (task.resources)
        for (const model::RequestedDevice& device : task.resources->devices)
          out.devices += group.count * static_cast<std::int64_t>(device.count);
  }
  return out;
}

WaitResult measure_waits(std::span<const JobTimes> jobs) {
  WaitResult out;
  std::vector<double> waits, completions, slowdowns, gang_waits;
  struct MeanProgress {
    double sum = 0;
    std::uint64_t jobs = 0;
  };
  std::map<std::uint32_t, MeanProgress> by_namespace;
  std::int64_t first_ns = INT64_MAX, last_ns = INT64_MIN;
  for (const JobTimes& job : jobs) {
    if (!job.counts) continue;
    ++out.jobs;
    first_ns = std::min(first_ns, job.arrived_ns);
    const bool placed = job.placed_ns >= 0;
    if (placed)
      waits.push_back(in_seconds(job.placed_ns - job.arrived_ns));
    else
      ++out.never_placed;
    out.gangs += job.gang, out.gangs_given_up += job.given_up;
    if (job.gang && placed) gang_waits.push_back(waits.back());
    if (job.run_time_ns < 0) continue;
    MeanProgress& progress = by_namespace[job.space];
    ++progress.jobs;
    out.with_deadline += job.deadline_ns >= 0;
    if (!placed || job.evicted) continue;
    ++out.completed;
    const std::int64_t completion_ns = job.end_ns - job.arrived_ns;
    last_ns = std::max(last_ns, job.end_ns);
    out.deadlines_met += job.end_ns <= job.deadline_ns;
    completions.push_back(in_seconds(completion_ns));
    if (job.run_time_ns > 0)
      slowdowns.push_back(static_cast<double>(completion_ns) / static_cast<double>(job.run_time_ns));
    progress.sum += completion_ns == 0 ? 1 : static_cast<double>(job.run_time_ns) / static_cast<double>(completion_ns);
  }
  out.wait_s = spread_of(waits), out.completion_s = spread_of(completions), out.slowdown = spread_of(slowdowns);
  out.gangs_started = gang_waits.size(), out.gang_wait_s = spread_of(gang_waits);
  if (out.completed > 0) out.makespan_s = in_seconds(last_ns - first_ns);
  std::vector<double> ratios = finish_time_ratios(jobs);
  out.finish_time_ratio = spread_of(ratios);
  double sum = 0, squares = 0;
  for (const auto& [space, progress] : by_namespace) {
    const double mean = progress.sum / static_cast<double>(progress.jobs);
    sum += mean, squares += mean * mean;
  }
  if (squares > 0) out.fairness = sum * sum / (static_cast<double>(by_namespace.size()) * squares);
  return out;
}

void JobWaits::start(const tables::Snapshot& state) {
  const sim::Packing packing = sim::measure_packing(state, {});
  capacity_ = packing.usable, used_ = packing.used;
}

/// Adds the use since the last change.
void JobWaits::use_until(std::int64_t at_ns) {
  const double seconds = in_seconds(at_ns - at_ns_);
  cpu_mhz_s_ += seconds * static_cast<double>(used_.cpu_mhz);
  memory_mb_s_ += seconds * static_cast<double>(used_.memory_mb);
  at_ns_ = at_ns;
}

void JobWaits::started(const tables::Snapshot& state, tables::AllocRow first, std::uint32_t count, std::int64_t at_ns) {
  if (count == 0) return;
  use_until(at_ns);
  if (first + count > started_ns_.size()) started_ns_.resize(first + count, -1);
  for (tables::AllocRow row = first; row < first + count; ++row) {
    const tables::ResourceShape& held = state.allocs.shape_of(row);
    used_.cpu_mhz += held.cpu_mhz, used_.memory_mb += held.memory_mb;
    started_ns_[row] = at_ns;
  }
}

void JobWaits::ended(const tables::Snapshot& state, tables::AllocRow alloc, std::int64_t at_ns) {
  use_until(at_ns);
  const tables::ResourceShape& held = state.allocs.shape_of(alloc);
  used_.cpu_mhz -= held.cpu_mhz, used_.memory_mb -= held.memory_mb;
}

void JobWaits::evicted(tables::JobKeyRow job, tables::AllocRow alloc, std::int64_t at_ns) {
  if (JobTimes* const times = of(job)) times->evicted = true;
  lost_ns_ += at_ns - (alloc < started_ns_.size() && started_ns_[alloc] >= 0 ? started_ns_[alloc] : 0);
}

WaitResult JobWaits::result() const {
  WaitResult out = measure_waits(jobs_);
  out.lost_s = in_seconds(lost_ns_);
  const auto mean = [&](double sum, std::int64_t capacity) {
    return at_ns_ <= 0 || capacity <= 0 ? 0 : sum / in_seconds(at_ns_) / static_cast<double>(capacity);
  };
  out.cpu_share = mean(cpu_mhz_s_, capacity_.cpu_mhz), out.memory_share = mean(memory_mb_s_, capacity_.memory_mb);
  return out;
}

void JobWaits::arrived(const tables::Snapshot& state, tables::JobKeyRow job, const sim::JobStream& jobs,
                       std::size_t number) {
  const sim::JobArrival& arrival = jobs.arrivals[number];
  const tables::CompiledJob& what = *state.jobs.versions[state.jobs.keys[job].current];
  if (what.type == model::JobType::system || what.type == model::JobType::sysbatch) return;
  if (arrival.version > 0) {
    JobTimes* const times = of(job);
    if (times && times->placed_ns < 0)
      times->run_time_ns = arrival.run_time_ns, times->end_ns = -1;  // all are replaced
    return;
  }
  if (job >= number_of_.size()) number_of_.resize(job + std::size_t{1}, UINT32_MAX);
  number_of_[job] = static_cast<std::uint32_t>(number);
  JobTimes& out = jobs_[number];
  out.arrived_ns = arrival.due_ns, out.run_time_ns = arrival.run_time_ns;
  if (const std::int64_t after_ns = jobs.deadline_of(arrival); after_ns > 0)
    out.deadline_ns = sim::deadline_at(arrival.due_ns, after_ns);
  out.demand = dominant_share(demand_of(what), capacity_);
  out.space = state.jobs.keys[job].job_namespace;
  out.gang = static_cast<bool>(what.gang);
  out.counts = std::any_of(what.groups.begin(), what.groups.end(), [](const auto& group) { return group.count > 0; });
}

}  // namespace berth::run
