// `berth profile`: runs a workload with the stage sampler, and measures its overhead and the machine's memory.
#pragma once

#include <map>
#include <memory>

#include "profile/counters.h"
#include "profile/overhead.h"
#include "profile/roofline.h"
#include "profile/scaling.h"
#include "profile/stage_table.h"
#include "run/runner.h"

namespace berth::profile {

using Stacks = std::map<std::string, std::uint64_t>;  ///< frames from the root, joined by ';' -> weight

struct Options {
  bool quiet = false;
  std::uint32_t detail_every = 0;  ///< one in this many evaluations is detailed; 0: chosen automatically
  std::size_t slowest = 10;
  int overhead_rounds = 3;  ///< runs per side; 0: not measured
  bool roofline = false;
  bool scaling = false;  ///< runs with one and two free workers, and the model of more
  bool keep_samples = false;
  std::vector<std::string> counters = {};  ///< additional events, which must have passed check_events()
  bool flame = false;                      ///< with stacks, by perf if that can sample this process
  std::optional<std::pair<std::uint64_t, std::uint32_t>> only = std::nullopt;  ///< number and round of one evaluation
};

struct Profile {
  run::RunResult run;
  std::unique_ptr<const Recorder> recorder;
  std::optional<Roofline> roofline;
  StageTable stages;
  std::optional<Overhead> overhead;
  std::string no_overhead;  ///< why it was not measured
  /// The repeated slowest evaluations, by number and round: per stage and in total the least of kRepeats runs. Time
  /// that does not repeat was caused by the machine. Empty: not repeated (simulation, interrupted run, no overhead
  /// rounds).
  std::map<std::pair<std::uint64_t, std::uint32_t>, Sample> repeated;
  std::optional<Scaling> scaling;
  CounterValues counters;
  Stacks stacks;
  std::string stacks_from, stacks_unit;  ///< source of the stacks; unit of their weights
};

/// Errors come from the workload's data. The decisions are those of `berth run`.
[[nodiscard]] Result<Profile> profile_workload(const sim::Workload& workload, const Options& options);

inline constexpr int kRepeats = 2;

/// The repetition of a slow evaluation; null: not repeated.
[[nodiscard]] const Sample* repeated(const Profile& profile, const Sample& sample);
/// Why an evaluation took long, as text: the dominating stage, and what was unusual compared with all others. `again`:
/// its repetition, or null; with one, only repeating causes are named.
[[nodiscard]] std::string slow_words(const Sample& sample, const Recorder& recorder, const Sample* again = nullptr);
/// The stage that took most of the evaluation.
[[nodiscard]] base::Stage dominating(const Sample& sample);
/// The command that profiles this evaluation alone.
[[nodiscard]] std::string reproduce_words(const Sample& sample, const sim::Workload& workload);

}  // namespace berth::profile
