// What the runs of a sweep say about its factors: effects with intervals, interactions, best settings, Pareto front.
//
// A factor is whatever differs between runs: a key that was changed, the workload, the label. The seed and the
// repetition are none: runs that agree in them are pairs, so what a seed does to all settings alike cancels out. One
// replicate is one seed and repetition; within it, the effect of a level is the mean difference to the first level over
// all settings that are otherwise equal. Intervals and tests are over replicates: paired t, adjusted for all tests of
// the report (Holm).
#pragma once

#include <string>
#include <vector>

#include "compare/statistics.h"
#include "study/task.h"

namespace berth::study {

struct FactorLevels {
  std::string name;
  std::vector<std::string> levels;  ///< in the order in which they were met; numbers by size
};

/// Level `level` of `factor` against its first, in one measure. For an interaction, how the effect of that level
/// changes from the first level of `other` to `other_level`.
struct Effect {
  std::size_t measure = 0;  ///< index into measures()
  std::size_t factor = 0, level = 0;
  std::size_t other = 0, other_level = 0;  ///< of an interaction
  compare::PairedTest test;                ///< of means per replicate
  double mean_first = 0, mean_level = 0;   ///< of a main effect
};

struct SettingMeans {
  std::vector<std::size_t> levels;  ///< by factor
  std::size_t runs = 0;
  std::vector<compare::Summary> summaries;  ///< by measure of the analysis; over replicates
  bool front = false;                       ///< no other setting is better in one objective and not worse in another
};

struct Analysis {
  std::vector<FactorLevels> factors;
  std::vector<std::size_t> measures;    ///< tested ones that differ between runs; indices into measures()
  std::vector<std::size_t> objectives;  ///< of these, with a direction; positions in `measures`
  std::size_t runs = 0, left_out = 0, replicates = 0, tests = 0;
  std::vector<Effect> effects, interactions;
  std::vector<SettingMeans> settings;
};

/// Runs that failed or were cut short are left out.
[[nodiscard]] Analysis analyse(const std::vector<Record>& records);

/// Positions in `settings`, the best of an objective first.
[[nodiscard]] std::vector<std::size_t> ranking(const Analysis& analysis, std::size_t objective);

/// The analysis as values for reports: format "berth-results".
[[nodiscard]] json::Value to_json(const Analysis& analysis);

}  // namespace berth::study
