#include "sim/arrivals.h"

#include <algorithm>
#include <cmath>
#include <thread>

#include "model/job.h"

namespace berth::sim {
namespace {

std::int64_t to_ns(double ns) { return static_cast<std::int64_t>(std::llround(std::min(ns, kLatestNs))); }

void set_process_times(JobStream& stream, const ArrivalSpec& spec, std::uint64_t seed) {
  switch (spec.process) {
    case Process::backlog:
      for (JobArrival& arrival : stream.arrivals) arrival.due_ns = 0;
      return;
    case Process::fixed:
      for (std::size_t i = 0; i < stream.arrivals.size(); ++i)
        stream.arrivals[i].due_ns = to_ns(static_cast<double>(i) * 1e9 / spec.rate_per_s);
      return;
    case Process::poisson: {
      base::Random random(seed, "arrivals");
      double due_ns = 0;
      for (JobArrival& arrival : stream.arrivals)
        arrival.due_ns = to_ns(due_ns += random.exponential(1e9 / spec.rate_per_s));
      return;
    }
    case Process::trace: {
      std::sort(stream.arrivals.begin(), stream.arrivals.end(), [](const JobArrival& a, const JobArrival& b) {
        return a.due_ns != b.due_ns ? a.due_ns < b.due_ns : a.number < b.number;
      });
      const std::int64_t first = stream.arrivals.empty() ? 0 : stream.arrivals.front().due_ns;
      for (JobArrival& arrival : stream.arrivals) {
        arrival.due_ns = to_ns(static_cast<double>(arrival.due_ns - first) / spec.speed);
        if (arrival.run_time_ns != kNeverEnds)
          arrival.run_time_ns = to_ns(static_cast<double>(arrival.run_time_ns) / spec.speed);
      }
      return;
    }
  }
}

}  // namespace

void set_due_times(JobStream& stream, const ArrivalSpec& spec, std::uint64_t seed) {
  set_process_times(stream, spec, seed);
  if (stream.from_ns.empty()) return;
  for (JobArrival& arrival : stream.arrivals) {
    const std::int64_t due_ns = arrival.due_ns + stream.from_ns[stream.kind_of[arrival.template_index]];
    arrival.due_ns = std::min(due_ns, static_cast<std::int64_t>(kLatestNs));
  }
}

void order_arrivals(JobStream& stream) {
  std::stable_sort(stream.arrivals.begin(), stream.arrivals.end(), [&](const auto& a, const auto& b) {
    if (a.due_ns != b.due_ns) return a.due_ns < b.due_ns;
    return stream.templates[a.template_index]->priority > stream.templates[b.template_index]->priority;
  });
}

void RunClock::idle_until(std::int64_t due_ns, std::int64_t max_sleep_ns) {
  const std::int64_t gap = due_ns - now_ns();
  if (gap <= 0) return;
  if (kind_ == Clock::skip) {
    skipped_ns_ += gap;
  } else if (gap > 200'000) {
    // A sleeping thread wakes up about 60 us late, so the last 150 us are spent polling.
    std::this_thread::sleep_for(std::chrono::nanoseconds(std::min(gap - 150'000, max_sleep_ns)));
  }
}

}  // namespace berth::sim
