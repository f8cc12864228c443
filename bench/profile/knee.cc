#include "profile/knee.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "run/report.h"

namespace berth::profile {

Backlog backlog_of(Arrivals arrivals) {
  Backlog out;
  if (arrivals.empty()) return out;
  std::sort(arrivals.begin(), arrivals.end());
  std::vector<std::int64_t> done;
  for (const auto& [due, end] : arrivals) done.push_back(end);
  std::sort(done.begin(), done.end());
  const std::size_t n = arrivals.size();
  double sums[4] = {0, 0, 0, 0};
  std::size_t counts[4] = {0, 0, 0, 0}, over = 0;
  for (std::size_t i = 0; i < n; ++i) {
    while (over < n && done[over] <= arrivals[i].first) ++over;
    const std::size_t waiting = i + 1 - std::min(over, i + 1), quarter = 4 * i / n;
    sums[quarter] += static_cast<double>(waiting), ++counts[quarter];
    out.at_end = waiting;
  }
  if (counts[1] > 0) out.early = sums[1] / static_cast<double>(counts[1]);
  if (counts[3] > 0) out.late = sums[3] / static_cast<double>(counts[3]);
  out.grows = out.late > 2 * out.early && out.late > std::max(10.0, static_cast<double>(n) / 20);
  return out;
}

std::string judge(std::int64_t percentile_ns, std::int64_t limit_ns, const Backlog& backlog, bool complete,
                  const Placements& placements, double least_placed) {
  if (!complete) return "the trial did not end in time";
  if (percentile_ns > limit_ns) return fmt::format("p99 {}", run::time_words(percentile_ns));
  if (backlog.grows) return fmt::format("backlog grows: {:.0f} to {:.0f}", backlog.early, backlog.late);
  if (placements.share() < least_placed) return fmt::format("only {:.1f} % placed", 100 * placements.share());
  return "";
}

const char* to_text(SearchEnd end) {
  static constexpr const char* kWords[] = {"found", "highest rate sustained", "no rate sustained", "out of time"};
  return kWords[static_cast<std::size_t>(end)];
}

SearchResult search_knee(const Trial& trial, const SearchOptions& options) {
  SearchResult out;
  const auto sustains = [&](double rate) -> std::optional<bool> {  // nullopt: no time left
    for (int again = 0; again < 2; ++again) {
      const std::optional<std::string> why_not = trial(rate);
      if (!why_not) return std::nullopt;
      out.attempts.push_back({rate, *why_not});
      if (why_not->empty()) return true;
    }
    return false;
  };
  const auto end_with = [&](SearchEnd end) {
    out.end = end;
    return out;
  };
  double rate = std::clamp(options.first_rate, options.lowest_rate, options.highest_rate);
  while (true) {  // double or halve, until the knee is between two rates
    const std::optional<bool> fine = sustains(rate);
    if (!fine) return end_with(SearchEnd::out_of_time);
    (*fine ? out.sustained : out.not_sustained) = rate;
    if (out.sustained && out.not_sustained) break;
    if (*fine && rate >= options.highest_rate) return end_with(SearchEnd::highest_sustained);
    if (!*fine && rate <= options.lowest_rate) return end_with(SearchEnd::lowest_not_sustained);
    rate = std::clamp(*fine ? 2 * rate : rate / 2, options.lowest_rate, options.highest_rate);
  }
  while (*out.not_sustained > *out.sustained * (1 + options.resolution)) {
    const double middle = std::sqrt(*out.sustained * *out.not_sustained);
    const std::optional<bool> fine = sustains(middle);
    if (!fine) return end_with(SearchEnd::out_of_time);
    (*fine ? out.sustained : out.not_sustained) = middle;
  }
  return end_with(SearchEnd::found);
}

}  // namespace berth::profile
