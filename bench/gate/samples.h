// Samples: per case and side the values of every metric, one per repetition, and a fingerprint of program and machine.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "gate/metrics.h"

namespace berth::gate {

/// A workload to be measured.
struct Case {
  std::string workload, label;
  std::int64_t seed = -1;                  ///< -1: the workload's own
  [[nodiscard]] std::string name() const;  ///< "quickstart/smoke", "quickstart/smoke/seed 7"
  friend bool operator==(const Case&, const Case&) = default;
};

/// Fields in display order. Two sets of samples are comparable if all fields agree except commit and dirty.
struct Fingerprint {
  std::vector<std::pair<std::string, std::string>> fields;
  [[nodiscard]] const std::string& get(std::string_view field) const;  ///< "" if absent
  friend bool operator==(const Fingerprint&, const Fingerprint&) = default;
};
/// Names of the fields that every fingerprint has.
[[nodiscard]] const std::vector<std::string>& fingerprint_fields();
/// Optional field: method and build of the instruction count.
inline constexpr std::string_view kInstructionsOf = "instructions_of";
struct Difference {
  std::string field, base, head;
};
/// Fields that differ. `builds_may_differ`: only settings of the input must agree (workload, data, seed), because two
/// builds or configurations ran on one machine at one time. `allowed`: further fields that may differ.
[[nodiscard]] std::vector<Difference> differences(const Fingerprint& base, const Fingerprint& head,
                                                  bool builds_may_differ, const std::vector<std::string>& allowed = {});

struct Samples {
  Fingerprint fingerprint;
  std::map<std::string, std::vector<double>, std::less<>> values;  ///< by metric name
  std::vector<std::string> digests;                                ///< of the decisions
  [[nodiscard]] std::size_t repetitions() const { return digests.size(); }
};

/// Adds a report of `berth run` as one repetition. Errors contain `source`: another format or version, an incomplete
/// report (kUsage, with the member), a run that ended early, or settings other than in earlier repetitions. A complete
/// report has every member used by metrics and fingerprint, each of its type.
[[nodiscard]] Outcome<void> add_report(const json::Value& report, const std::string& source, Samples& samples);
/// Fields of a fingerprint that describe the machine; counters and quality do not depend on them.
[[nodiscard]] const std::vector<std::string>& machine_fields();
/// Why samples are incomplete, with the metric: each required metric must have one value per repetition. Times are not
/// required if the fingerprint has no machine (keep_counters).
[[nodiscard]] std::optional<BadMember> missing_in(const Samples& samples);
/// Keeps only counters and quality, which are the same on every machine, and the fingerprint's fields that they depend
/// on.
void keep_counters(Samples& samples);

/// Adds the repetitions of `more`.
void append(Samples& samples, const Samples& more);

struct CasePair {
  Case what;
  Samples base, head;
};

}  // namespace berth::gate
