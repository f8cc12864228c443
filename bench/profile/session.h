// `berth profile`: runs a workload with the stage sampler, measures what that costs, and what the memory allows.
#pragma once

#include <map>
#include <memory>

#include "profile/counters.h"
#include "profile/overhead.h"
#include "profile/roofline.h"
#include "profile/stage_table.h"
#include "run/runner.h"

namespace berth::profile {

using Stacks = std::map<std::string, std::uint64_t>;  ///< frames from the root, joined by ';' -> weight

struct Options {
  bool quiet = false;
  std::uint32_t detail_every = 0;  ///< one evaluation in so many is detailed; 0: chosen by the number of evaluations
  std::size_t slowest = 10;
  int overhead_rounds = 3;  ///< runs per side; 0: not measured
  bool roofline = false;
  bool keep_samples = false;
  std::vector<std::string> counters = {};  ///< events beside the usual ones; check_events() found them fine
  bool flame = false;                      ///< with stacks, by perf where that can sample this process
  std::optional<std::pair<std::uint64_t, std::uint32_t>> only = std::nullopt;  ///< number and round of one evaluation
};

struct Profile {
  run::RunResult run;
  std::unique_ptr<const Recorder> recorder;
  std::optional<Roofline> roofline;
  StageTable stages;
  std::optional<Overhead> overhead;
  std::string no_overhead;  ///< why it was not measured
  /// The slowest evaluations once more, by number and round: per stage and in all the least of kRepeats runs. What does
  /// not repeat was the machine's. Empty: not repeated (a life, an interrupted run, no overhead rounds).
  std::map<std::pair<std::uint64_t, std::uint32_t>, Sample> repeated;
  CounterValues counters;
  Stacks stacks;
  std::string stacks_from, stacks_unit;  ///< who took them; what their weights are
};

/// Errors are those of the workload's data. The decisions are those of `berth run`.
[[nodiscard]] Result<Profile> profile_workload(const sim::Workload& workload, const Options& options);

inline constexpr int kRepeats = 2;

/// The repeated form of a slow evaluation; null: it was not repeated.
[[nodiscard]] const Sample* repeated(const Profile& profile, const Sample& sample);
/// Why an evaluation took long, in words: what dominated, and what was unusual about it beside all others. `again`: the
/// same one repeated, or null; then only what repeats is named.
[[nodiscard]] std::string slow_words(const Sample& sample, const Recorder& recorder, const Sample* again = nullptr);
/// The stage that took most of it.
[[nodiscard]] base::Stage dominating(const Sample& sample);
/// The command that profiles this evaluation alone.
[[nodiscard]] std::string reproduce_words(const Sample& sample, const sim::Workload& workload);

}  // namespace berth::profile
