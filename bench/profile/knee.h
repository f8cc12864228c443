// How much load is too much: the search for the highest rate that a server sustains, and the judging of one trial.
// Pure: the server is a function, so that the search is tested on models with known answers.
//
// A trial offers evaluations at times that do not depend on the server (open loop). It is sustained when the asked
// percentile of latency, counted from when each was due, is within its limit, the backlog does not grow, and enough of
// the placements asked for are made: a full cluster answers quickly. The search
// doubles the rate until a trial is not sustained (or halves it until one is), then halves the interval by its
// geometric middle. A rate is given up only when two trials in a row fail: noise makes trials slow, never fast.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace berth::profile {

/// When evaluations were due and done, in ns; in any order.
using Arrivals = std::vector<std::pair<std::int64_t, std::int64_t>>;

struct Backlog {
  double early = 0, late = 0;  ///< evaluations due and not done, mean over the second and the last quarter of arrivals
  std::size_t at_end = 0;      ///< when the last one was due
  bool grows = false;          ///< late is twice early and more than a twentieth of all, at least 10
};
[[nodiscard]] Backlog backlog_of(Arrivals arrivals);

struct Placements {
  std::uint64_t asked = 0, placed = 0;
  [[nodiscard]] double share() const {
    return asked == 0 ? 1 : static_cast<double>(placed) / static_cast<double>(asked);
  }
};

/// "" when sustained, else why not. `least_placed`: the share of the placements asked for that must be made.
[[nodiscard]] std::string judge(std::int64_t percentile_ns, std::int64_t limit_ns, const Backlog& backlog,
                                bool complete, const Placements& placements, double least_placed);

struct Attempt {
  double rate = 0;
  std::string why_not;  ///< "": sustained
};

struct SearchOptions {
  double first_rate = 1, highest_rate = 1e9, lowest_rate = 1e-3;
  double resolution = 0.05;  ///< ends when the interval is this narrow, as a share of its lower end
};

enum class SearchEnd : std::uint8_t { found, highest_sustained, lowest_not_sustained, out_of_time };
[[nodiscard]] const char* to_text(SearchEnd end);

struct SearchResult {
  SearchEnd end = SearchEnd::out_of_time;
  std::optional<double> sustained;      ///< the highest rate that was
  std::optional<double> not_sustained;  ///< the lowest above it that was not
  std::vector<Attempt> attempts;        ///< in their order
};

/// One trial at a rate; nothing: there is no time for one.
using Trial = std::function<std::optional<std::string>(double rate)>;

[[nodiscard]] SearchResult search_knee(const Trial& trial, const SearchOptions& options);

}  // namespace berth::profile
