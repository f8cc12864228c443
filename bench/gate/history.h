// History: one line of JSON per case and run, over months, and the points at which a metric changed its level. It
// informs and never fails a gate.
#pragma once

#include "gate/baseline.h"

namespace berth::gate {

/// Checks before the measurement that lines can be appended: the file is a history or does not exist. Errors (kUsage)
/// name what it is instead.
[[nodiscard]] Outcome<void> check_history(const std::string& path);

/// Appends one line per case: time, commit, environment, medians. One write call, so that lines of two gates do not
/// mix.
[[nodiscard]] Outcome<void> append_history(const std::string& path, const std::vector<std::pair<Case, Samples>>& cases);

struct DriftOptions {
  double least_change = 0.02;
  double alpha = 0.01;
};
/// Reads a history and describes the change points of every metric and case per kind of machine and build:
/// "quickstart/smoke schedule_ns.mean: 141.20 us -> 155.90 us (+10.4 %) from commit 1a2b3c4 on (2026-11-20T..Z, run
/// 37)". Errors (kUsage): no such file, a line that is not a history line.
[[nodiscard]] Outcome<std::string> drift_text(const std::string& path, const DriftOptions& options);

}  // namespace berth::gate
