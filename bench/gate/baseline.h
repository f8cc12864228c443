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
  bool report = false;  ///< a single report of `berth run`
};

[[nodiscard]] std::string baseline_text(const Baseline& baseline);
/// Also takes a single report of `berth run` (one repetition). Errors (kUsage) name the file and what is wrong with it:
/// not there, truncated or otherwise no JSON, another format or version, not whole. Whole are: a fingerprint with all
/// its fields (those of the machine together or not at all), a digest per repetition, and of every metric that such a
/// workload has a value per repetition. Metrics that this berth does not know are left out.
[[nodiscard]] Outcome<Baseline> read_baseline(const std::string& path);

/// Names of both sides, for errors: commands, or files.
struct Names {
  std::string base, head;
};
/// Which cases must have a counterpart.
enum class Pairing : std::uint8_t {
  both,  ///< all of both sides
  head,  ///< all of the head, which was measured for less than the base has
};
/// Pairs the cases of two baselines by name and seed. Errors: a case without its counterpart (kUsage), fingerprints
/// that differ (kInconclusive).
[[nodiscard]] Outcome<std::vector<CasePair>> pairs_of(const Baseline& base, const Baseline& head, Pairing pairing,
                                                      const std::vector<std::string>& allowed, const Names& names);

/// What `berth gate show` prints: fingerprint and median, minimum and noise of every metric per case.
[[nodiscard]] std::string baseline_table(const Baseline& baseline);

/// Now, UTC.
[[nodiscard]] std::string time_text();

}  // namespace berth::gate
