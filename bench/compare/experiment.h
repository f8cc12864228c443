// `berth compare --experiment openb-atc23`: strategies x seeds of the published experiment on all cores, compared with
// the published rows.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "packing/openb_experiment.h"

namespace berth::compare {

struct ExperimentOptions {
  std::vector<strategy::StrategySpec> strategies;
  std::vector<std::int64_t> seeds;
  std::int64_t tune_milli = 1300;
  std::size_t threads = 0;  ///< 0 = all cores
  bool quiet = false;
};

/// One list's runs, strategy by strategy, seed by seed.
struct ExperimentResult {
  std::string list;  ///< e.g. "openb_pod_list_default"
  std::size_t nodes = 0, tasks = 0;
  std::int64_t gpus = 0;
  std::vector<std::string> strategies;
  std::vector<std::int64_t> seeds;
  std::vector<packing::OpenbRun> runs;  ///< strategies x seeds
  double elapsed_s = 0;
  bool partial = false;  ///< interrupted: missing runs have no digest

  [[nodiscard]] const packing::OpenbRun& run(std::size_t strategy, std::size_t seed) const {
    return runs[strategy * seeds.size() + seed];
  }
};

/// Runs all of them with oneTBB; the result does not depend on the number of threads.
[[nodiscard]] Result<ExperimentResult> run_experiment(const packing::OpenbInput& input, std::string list,
                                                      const ExperimentOptions& options);

/// A published row: per (list, policy, seed) the columns 0..130.
struct PublishedRow {
  std::string list, policy;
  std::int64_t seed = 0;
  std::vector<double> columns;
};
[[nodiscard]] Result<std::vector<PublishedRow>> parse_published(std::string_view text, const std::string& path);

/// Name of a policy in the published files, e.g. "06-FGD"; "" for other strategies.
[[nodiscard]] std::string published_name(const std::string& strategy);
/// The strategy of a published name ("06-FGD", "FGD", in any case); else the text itself.
[[nodiscard]] std::string from_published_name(const std::string& text);

/// Agreement of a policy's runs with the published rows.
struct Agreement {
  std::string list, strategy;
  bool deterministic = true;  ///< rows must be equal to the last digit (R-STRAT-612), else means (R-STRAT-610)
  std::size_t rows = 0, rows_equal = 0;  ///< seeds with a published row; with all columns of both files equal
  std::size_t columns = 0, columns_equal = 0;
  double allocation_gap = 0, ratio_gap = 0;  ///< largest differences
  double mean_100 = 0, mean_100_published = 0, mean_final = 0, mean_final_published = 0;
  std::vector<std::string> digests_wrong;  ///< seeds whose placements digest differs from R-STRAT-608
  std::size_t digests = 0;                 ///< compared digests
  std::vector<double> allocation_published, ratio_published;  ///< mean of the rows per percentage; empty: no rows

  [[nodiscard]] bool holds() const;
};
/// Checks only the six published policies. The file of ratios may be empty (not read).
[[nodiscard]] std::vector<Agreement> check_published(const ExperimentResult& result,
                                                     const std::vector<PublishedRow>& allocation,
                                                     const std::vector<PublishedRow>& ratio);

[[nodiscard]] std::string experiment_table(const ExperimentResult& result, std::size_t width = 0);
[[nodiscard]] std::string agreement_table(const std::vector<Agreement>& agreement, std::size_t width = 0);
/// "list strategy seed digest" lines.
[[nodiscard]] std::string digest_lines(const ExperimentResult& result);
[[nodiscard]] json::Value experiment_json(const ExperimentResult& result);
/// A list of numbers; NaN becomes null.
[[nodiscard]] json::Value curve_json(const std::vector<double>& values);
/// One line per strategy, seed and percentage: the curves.
[[nodiscard]] std::string curves_csv(const ExperimentResult& result);
/// One line per run, as a table for a pull request.
[[nodiscard]] std::string experiment_markdown(const ExperimentResult& result, const std::vector<Agreement>& agreement);

}  // namespace berth::compare
