#include "sim/rate_series.h"

#include <algorithm>

namespace berth::sim {

void RateSeries::add(double seconds, std::uint64_t placed) {
  last_ = {seconds, placed};
  if (seen_++ % stride_ != 0) return;
  kept_.push_back(last_);
  if (kept_.size() < kPoints - 2) return;
  for (std::size_t i = 0; 2 * i < kept_.size(); ++i) kept_[i] = kept_[2 * i];
  kept_.resize((kept_.size() + 1) / 2);
  stride_ *= 2;
}

std::vector<RateSeries::Point> RateSeries::points() const {
  std::vector<Point> out{{}};
  out.insert(out.end(), kept_.begin(), kept_.end());
  if (seen_ > 0 && (last_.seconds != out.back().seconds || last_.placed != out.back().placed)) out.push_back(last_);
  return out;
}

double RateSeries::rate(double from, double to) const {
  const std::vector<Point> all = points();
  const auto time_of = [&](double share) {
    const double placed = share * static_cast<double>(last_.placed);
    const auto after = std::find_if(all.begin() + 1, all.end(),
                                    [&](const Point& p) { return static_cast<double>(p.placed) >= placed; });
    if (after == all.end()) return last_.seconds;
    const auto before = after - 1;
    const double step = static_cast<double>(after->placed) - static_cast<double>(before->placed);
    const double part = step > 0 ? (placed - static_cast<double>(before->placed)) / step : 0;
    return before->seconds + part * (after->seconds - before->seconds);
  };
  const double seconds = time_of(to) - time_of(from);
  return seconds > 0 ? (to - from) * static_cast<double>(last_.placed) / seconds : 0;
}

}  // namespace berth::sim
