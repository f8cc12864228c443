// One line of JSON per case and run, to look at over months; and where a metric changed its level. Informs, never
// gates.
#pragma once

#include "gate/baseline.h"

namespace berth::gate {

/// Before the work: whether lines can be added to the file, which is there and a history, or is not there. Errors
/// (kUsage) name what it is instead.
[[nodiscard]] Outcome<void> check_history(const std::string& path);

/// Appends one line per case: time, commit, environment, medians. One write call, so lines of two gates do not mix.
[[nodiscard]] Outcome<void> append_history(const std::string& path, const std::vector<std::pair<Case, Samples>>& cases);

struct DriftOptions {
  double least_change = 0.02;
  double alpha = 0.01;
};
/// Reads a history and describes the change points of every metric of every case on one kind of machine and build:
/// "quickstart/smoke schedule_ns.mean: 141.20 us -> 155.90 us (+10.4 %) from commit 1a2b3c4 on (2026-11-20T..Z, run
/// 37)". Errors (kUsage): not there, a line that is no history line, naming it.
[[nodiscard]] Outcome<std::string> drift_text(const std::string& path, const DriftOptions& options);

}  // namespace berth::gate
