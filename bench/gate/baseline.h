// Baseline: samples in a text file, written by `berth gate record` and read by off-line comparisons. JSON Schema:
// bench/schema/berth-baseline.json.
#pragma once

#include "gate/samples.h"

namespace berth::gate {

inline constexpr int kBaselineVersion = 1;

struct Baseline {
  std::string recorded;  ///< UTC, "2026-11-22T12:00:00Z"
  std::string command;
  std::vector<std::pair<Case, Samples>> cases;
  bool report = false;  ///< a single report of `berth run`
};

[[nodiscard]] std::string baseline_text(const Baseline& baseline);
/// Also reads a single report of `berth run` (one repetition). Errors (kUsage) name the file and the problem: missing,
/// truncated or otherwise no JSON, another format or version, incomplete. A complete baseline has a fingerprint with
/// all its fields (those of the machine all or none), a digest per repetition, and a value per repetition of every
/// metric of such a workload. Unknown metrics are ignored.
[[nodiscard]] Outcome<Baseline> read_baseline(const std::string& path);

/// Names of both sides for errors: commands or files.
struct Names {
  std::string base, head;
};
/// Which cases must have a counterpart.
enum class Pairing : std::uint8_t {
  both,  ///< those of both sides
  head,  ///< those of the head; the base may have more
};
/// Pairs the cases of two baselines by name and seed. Errors: a case without its counterpart (kUsage), fingerprints
/// that differ (kInconclusive).
[[nodiscard]] Outcome<std::vector<CasePair>> pairs_of(const Baseline& base, const Baseline& head, Pairing pairing,
                                                      const std::vector<std::string>& allowed, const Names& names);

/// Output of `berth gate show`: fingerprint, and median, minimum and noise of every metric per case.
[[nodiscard]] std::string baseline_table(const Baseline& baseline);

/// The current time, UTC.
[[nodiscard]] std::string time_text();

}  // namespace berth::gate
