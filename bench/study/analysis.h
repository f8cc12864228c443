// Analyses the runs of a sweep by factor: effects with intervals, interactions, best settings, Pareto front.
//
// A factor is anything that differs between runs: a changed key, the workload, the label. Seed and repetition are not
// factors: runs that agree in them are pairs, so that common effects of a seed cancel out. A replicate is one seed and
// repetition. Within it, the effect of a level is the mean difference to the first level over all otherwise equal
// settings. Intervals and tests are over replicates: paired t, adjusted for all tests of the report (Holm).
#pragma once

#include <string>
#include <vector>

#include "compare/statistics.h"
#include "study/task.h"

namespace berth::study {

struct FactorLevels {
  std::string name;
  std::vector<std::string> levels;  ///< in order of first occurrence; numbers by size
};

/// Level `level` of `factor` compared with its first, in one measure. For an interaction: the change of that effect
/// from the first level of `other` to `other_level`.
struct Effect {
  std::size_t measure = 0;  ///< index into measures()
  std::size_t factor = 0, level = 0;
  std::size_t other = 0, other_level = 0;  ///< for an interaction
  compare::PairedTest test;                ///< of the means per replicate
  double mean_first = 0, mean_level = 0;   ///< for a main effect
};

struct SettingMeans {
  std::vector<std::size_t> levels;  ///< by factor
  std::size_t runs = 0;
  std::vector<compare::Summary> summaries;  ///< by measure of the analysis; over replicates
  bool front = false;                       ///< on the Pareto front of the objectives
};

struct Analysis {
  std::vector<FactorLevels> factors;
  std::vector<std::size_t> measures;    ///< tested ones that differ between runs; indices into measures()
  std::vector<std::size_t> objectives;  ///< those with a direction; positions in `measures`
  std::size_t runs = 0, left_out = 0, replicates = 0, tests = 0;
  std::vector<Effect> effects, interactions;
  std::vector<SettingMeans> settings;
};

/// Ignores runs that failed or were cut short.
[[nodiscard]] Analysis analyse(const std::vector<Record>& records);

/// Positions in `settings`, the best of an objective first.
[[nodiscard]] std::vector<std::size_t> ranking(const Analysis& analysis, std::size_t objective);

/// The analysis as JSON for reports: format "berth-results".
[[nodiscard]] json::Value to_json(const Analysis& analysis);

}  // namespace berth::study
