#include "profile/overhead.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace berth::profile {
namespace {

std::int64_t thread_cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace

void OverheadMeter::next_run() {
  recorder_.emplace(calibration_, options_);
  ++runs_;
  event_ = 0;
}

bool OverheadMeter::begin() {
  marked_ = (event_ + static_cast<std::size_t>(runs_)) % 2 == 0;
  began_ns_ = thread_cpu_ns();
  return marked_;
}

void OverheadMeter::end() { add(event_++, marked_, thread_cpu_ns() - began_ns_); }

void OverheadMeter::add(std::size_t event, bool marked, std::int64_t ns) {
  if (event >= least_ns_.size()) least_ns_.resize(event + 1, {-1, -1});
  std::int64_t& least = least_ns_[event][marked];
  least = least < 0 ? ns : std::min(least, ns);
}

Overhead OverheadMeter::result() const {
  Overhead out;
  out.rounds = runs_ / 2;
  double sums[2] = {0, 0}, squares = 0;
  for (const auto& [unmarked, marked] : least_ns_) {
    if (unmarked < 0 || marked < 0) continue;
    ++out.events;
    sums[0] += static_cast<double>(unmarked), sums[1] += static_cast<double>(marked);
  }
  out.unmarked_s = sums[0] / 1e9, out.marked_s = sums[1] / 1e9;
  if (out.events < 2 || sums[0] <= 0) return out;
  out.share = (sums[1] - sums[0]) / sums[0];
  // Standard error of a ratio of sums, from the residuals marked - (1 + share) * unmarked.
  for (const auto& [unmarked, marked] : least_ns_) {
    if (unmarked < 0 || marked < 0) continue;
    const double residual = static_cast<double>(marked) - (1 + out.share) * static_cast<double>(unmarked);
    squares += residual * residual;
  }
  const auto n = static_cast<double>(out.events);
  out.error = std::sqrt(squares * n / (n - 1)) / sums[0];
  return out;
}

}  // namespace berth::profile
