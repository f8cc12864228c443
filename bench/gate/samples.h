// What was measured: per case and side the values of every metric, one per repetition, and a fingerprint of what ran
// where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/metrics.h"

namespace berth::gate {

/// A workload as it is measured.
struct Case {
  std::string workload, label;
  std::int64_t seed = -1;                  ///< -1: the workload's own
  [[nodiscard]] std::string name() const;  ///< "quickstart/smoke", "quickstart/smoke/seed 7"
  friend bool operator==(const Case&, const Case&) = default;
};

/// Fields in the order in which they are shown. Two sets of samples can be held against each other when all agree but
/// commit and dirty.
struct Fingerprint {
  std::vector<std::pair<std::string, std::string>> fields;
  [[nodiscard]] const std::string& get(std::string_view field) const;  ///< "" when absent
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
/// Names of all fields that a fingerprint has; those that only some have are not among them.
[[nodiscard]] const std::vector<std::string>& fingerprint_fields();
/// How and of which build instructions were counted; only where they were.
inline constexpr std::string_view kInstructionsOf = "instructions_of";
struct Difference {
  std::string field, base, head;
};
/// Fields that differ. `builds_may_differ`: of the settings only those of the input count (workload, data, seed), since
/// two builds or configurations run on one machine at one time; `allowed` lists further fields that may differ.
[[nodiscard]] std::vector<Difference> differences(const Fingerprint& base, const Fingerprint& head,
                                                  bool builds_may_differ, const std::vector<std::string>& allowed = {});

struct Samples {
  Fingerprint fingerprint;
  std::map<std::string, std::vector<double>, std::less<>> values;  ///< by metric name
  std::vector<std::string> digests;                                ///< of the decisions
  [[nodiscard]] std::size_t repetitions() const { return digests.size(); }
};

/// Adds a report of `berth run` as one repetition. `source` is named in errors: another format or version, a report
/// that is not whole (kUsage, naming the member), a run that ended early, or one whose settings differ from the
/// repetitions before. A whole report has every member that metrics and fingerprint are made of, each of its type.
[[nodiscard]] Outcome<void> add_report(const json::Value& report, const std::string& source, Samples& samples);
/// Fields of a fingerprint that say on what it ran; counters and quality do not depend on them.
[[nodiscard]] const std::vector<std::string>& machine_fields();
/// Why samples that were read are not whole, and of which metric: each required metric has one value per repetition.
/// Times are not required where the fingerprint names no machine (keep_counters).
[[nodiscard]] std::optional<BadMember> missing_in(const Samples& samples);
/// Leaves counters and quality, and of the fingerprint what they depend on: the same on every machine.
void keep_counters(Samples& samples);

/// Adds the repetitions of `more`.
void append(Samples& samples, const Samples& more);

struct CasePair {
  Case what;
  Samples base, head;
};

}  // namespace berth::gate
