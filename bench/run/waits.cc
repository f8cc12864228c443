#include "run/waits.h"

#include <algorithm>
#include <cmath>
#include <map>

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
  return {sum / static_cast<double>(values.size()), rank(50), rank(99)};
}

}  // namespace

WaitResult measure_waits(std::span<const JobTimes> jobs) {
  WaitResult out;
  std::vector<double> waits, completions, slowdowns;
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
  if (out.completed > 0) out.makespan_s = in_seconds(last_ns - first_ns);
  double sum = 0, squares = 0;
  for (const auto& [space, progress] : by_namespace) {
    const double mean = progress.sum / static_cast<double>(progress.jobs);
    sum += mean, squares += mean * mean;
  }
  if (squares > 0) out.fairness = sum * sum / (static_cast<double>(by_namespace.size()) * squares);
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
    out.deadline_ns = after_ns > INT64_MAX - arrival.due_ns ? INT64_MAX : arrival.due_ns + after_ns;
  out.space = state.jobs.keys[job].job_namespace;
  out.counts = std::any_of(what.groups.begin(), what.groups.end(), [](const auto& group) { return group.count > 0; });
}

}  // namespace berth::run
