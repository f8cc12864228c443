// History: a record per case and run in a store of runs, over months, and the points at which a metric changed its
// level. It informs and never fails a gate.
#pragma once

#include <map>

#include "gate/baseline.h"

namespace berth::gate {

/// Checks before the measurement that records can be added: the file is a store of runs or does not exist. Errors
/// (kUsage) name what it is instead.
[[nodiscard]] Outcome<void> check_history(const std::string& path);

/// Adds a record per case: time, commit, fingerprint, medians.
[[nodiscard]] Outcome<void> append_history(const std::string& path, const std::vector<std::pair<Case, Samples>>& cases);

/// The runs of a case on one kind of machine and build, in the order of adding.
struct Series {
  std::string case_name, cpu;
  std::string environment;  ///< digest of the fingerprint's fields that must agree within a series
  struct Point {
    std::string time, commit;
    std::map<std::string, double, std::less<>> medians;  ///< by metric
  };
  std::vector<Point> points;
};
/// Errors (kUsage): no such file, no store of runs, or a value that no metric can have.
[[nodiscard]] Outcome<std::vector<Series>> read_history(const std::string& path);

struct DriftOptions {
  double least_change = 0.02;
  double alpha = 0.01;
};
/// Reads a history and describes the change points of every metric and case per kind of machine and build:
/// "quickstart/smoke schedule_ns.mean: 141.20 us -> 155.90 us (+10.4 %) from commit 1a2b3c4 on (2026-11-20T..Z, run
/// 37)". Errors: those of read_history().
[[nodiscard]] Outcome<std::string> drift_text(const std::string& path, const DriftOptions& options);

}  // namespace berth::gate
