// Samples in a text file: what `berth gate record` writes and every comparison off-line reads.
// bench/schema/berth-baseline.json is its JSON Schema.
#pragma once

#include "gate/samples.h"

namespace berth::gate {

inline constexpr int kBaselineVersion = 1;

struct Baseline {
  std::string recorded;  ///< UTC, "2026-11-22T12:00:00Z"
  std::string command;
  std::vector<std::pair<Case, Samples>> cases;
};

[[nodiscard]] std::string baseline_text(const Baseline& baseline);
/// Also takes a single report of `berth run` (one repetition). Errors (kUsage) name the file and what is wrong with it:
/// not there, truncated or otherwise no JSON, another format or version, values that are no numbers.
[[nodiscard]] Outcome<Baseline> read_baseline(const std::string& path);

/// Pairs the cases of two baselines by name. Errors: none in common (kUsage), fingerprints that differ (kInconclusive).
[[nodiscard]] Outcome<std::vector<CasePair>> pairs_of(const Baseline& base, const Baseline& head,
                                                      const std::vector<std::string>& allowed, bool builds_may_differ);

/// What `berth gate show` prints: fingerprint and median, minimum and noise of every metric per case.
[[nodiscard]] std::string baseline_table(const Baseline& baseline);

/// Now, UTC.
[[nodiscard]] std::string time_text();

}  // namespace berth::gate
