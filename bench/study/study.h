// The runs of `berth run --repeat` and `--vary`: their order and results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "stats/summary.h"
#include "study/factors.h"
#include "study/task.h"

namespace berth::study {

struct StudySpec {
  std::string command;   ///< for errors
  std::string workload;  ///< path of the file
  std::string label;
  std::vector<sim::Change> fixed;  ///< common to all settings
  std::vector<Factor> factors;     ///< settings are all combinations of their values
  std::int64_t repetitions = 1, warm_ups = 0;
};

struct Setting {
  std::vector<sim::Change> changes;  ///< a value of each factor
  std::vector<Record> records;       ///< by repetition; finished ones only
};

struct Study {
  StudySpec spec;
  std::string workload;  ///< its name
  std::vector<Setting> settings;
  bool interrupted = false;
  double seconds = 0;
};

/// Reads the workload in every setting, then runs them one at a time: all warm-ups, then round by round. Ctrl-C keeps
/// complete rounds and sets `interrupted`. Errors: a bad setting, before any run; the first failing run.
[[nodiscard]] Result<Study> run_study(const StudySpec& spec, const run::RunOptions& options);

/// Order of the settings in a round: forwards in even rounds, backwards in odd ones.
[[nodiscard]] std::vector<std::size_t> round_order(std::size_t settings, std::int64_t round);

/// A measure in a setting, and compared with the first setting.
struct Cell {
  stats::MedianInterval median;
  double minimum = 0, maximum = 0;
  double ratio = 1;                     ///< of the medians
  std::optional<double> p, p_adjusted;  ///< Mann-Whitney U, two-sided; Holm over all tests of the study
  [[nodiscard]] bool shown() const;     ///< significant at 5 %
};
/// cells[measure][setting], of the measures that the study has.
struct Comparison {
  std::vector<std::size_t> measures;  ///< indices into run::measures()
  std::vector<std::vector<Cell>> cells;
  std::size_t tests = 0;
  double smallest_p = 1;  ///< smallest possible p with this number of runs, adjusted for all tests
};
[[nodiscard]] Comparison compare_settings(const Study& study);

}  // namespace berth::study
