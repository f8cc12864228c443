// Searches for the highest rate that a server sustains, and judges trials. Pure functions: the server is a parameter,
// so that the search is tested on models with known answers.
//
// A trial offers evaluations at times that do not depend on the server (open loop). It is sustained if the given
// percentile of latency, counted from the due times, is within its limit, the backlog does not grow, and enough of the
// requested placements are made (a full cluster answers quickly). The search doubles the rate until a trial is not
// sustained (or halves it until one is), then halves the interval at its geometric mean. A rate counts as not sustained
// only if two trials in a row fail, because noise makes trials slower, never faster.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::profile {

/// Due and done times of evaluations, in ns, in any order.
using Arrivals = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Backlog {
  double early = 0, late = 0;  ///< evaluations due but not done: mean over the second and the last quarter of arrivals
  std::size_t at_end = 0;      ///< the same at the last due time
  bool grows = false;          ///< late is twice early and more than a twentieth of all, at least 10
};
[[nodiscard]] Backlog backlog_of(Arrivals arrivals);

struct Placements {
  std::uint64_t asked = 0, placed = 0;
  [[nodiscard]] double share() const {
    return asked == 0 ? 1 : static_cast<double>(placed) / static_cast<double>(asked);
  }
};

/// "" if sustained, else the reason. `least_placed`: the share of the requested placements that must be made.
[[nodiscard]] std::string judge(std::int64_t percentile_ns, std::int64_t limit_ns, const Backlog& backlog,
                                bool complete, const Placements& placements, double least_placed);

struct Attempt {
  double rate = 0;
  std::string why_not;  ///< "": sustained
};

struct SearchOptions {
  double first_rate = 1, highest_rate = 1e9, lowest_rate = 1e-3;
  double resolution = 0.05;  ///< final width of the interval, as a share of its lower end
};

enum class SearchEnd : std::uint8_t { found, highest_sustained, lowest_not_sustained, out_of_time };
[[nodiscard]] const char* to_text(SearchEnd end);

struct SearchResult {
  SearchEnd end = SearchEnd::out_of_time;
  std::optional<double> sustained;      ///< highest sustained rate
  std::optional<double> not_sustained;  ///< lowest rate above it that was not sustained
  std::vector<Attempt> attempts;        ///< in order
};

/// Runs a trial at a rate; returns judge()'s text, or nullopt if no time is left.
using Trial = std::function<std::optional<std::string>(double rate)>;

[[nodiscard]] SearchResult search_knee(const Trial& trial, const SearchOptions& options);

}  // namespace berth::profile
