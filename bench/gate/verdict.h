// From samples to findings: a pure function, so that every rule of README.md can be tested with made-up samples.
#pragma once

#include <string>
#include <vector>

#include "gate/metrics.h"
#include "gate/samples.h"

namespace berth::gate {

struct Rules {
  double effect = 0.05;           ///< of times: smaller changes do not matter
  double alpha = 0.01;            ///< chance of a false regression among all tests of one judgement
  Limits limits;                  ///< by metric, in place of the table's
  std::vector<std::string> only;  ///< names of the times to judge; empty: all
  std::uint64_t seed = 1;         ///< of the noise estimate
  bool counters_only = false;     ///< no times: what remains is the same on every machine
  bool stages = false;            ///< samples have times of stages
  bool instructions = false;      ///< samples have counts of instructions, and they are judged
};

enum class Judgement : std::uint8_t { pass, improved, inconclusive, regression };

struct Finding {
  std::string case_name;
  std::string metric;
  const Metric* about = nullptr;  ///< null: the decisions digest
  Judgement result = Judgement::pass;
  bool exact = false;               ///< judged without statistics
  double base = 0, got = 0;         ///< the value, or the median over repetitions
  double want = 0;                  ///< the worst value that passes
  double change = 0;                ///< relative, or a difference for absolute metrics; positive = worse
  double noise = 0;                 ///< in the unit of change
  std::size_t n = 0;                ///< repetitions of the side that has fewer
  double p = 1;                     ///< after Holm's correction
  std::string base_text, got_text;  ///< digests
  std::string note;                 ///< why, where the numbers do not say it
};

/// A stage with less of the engine's time is not judged: its own noise would decide, and nobody would feel it.
inline constexpr double kLeastStageShare = 0.05;

struct StageShare {
  std::string case_name, stage;
  double base_ns = 0, head_ns = 0;  ///< mean time of an evaluation; without stages in the samples of a placement
};

struct Verdict {
  Judgement result = Judgement::pass;  ///< the worst of the findings; improved only when nothing is worse
  std::vector<Finding> findings;       ///< of all metrics of all cases
  std::vector<StageShare> stages;
  std::vector<std::string> notes;  ///< what was not judged, and why

  [[nodiscard]] std::size_t count(Judgement result) const;
  [[nodiscard]] int exit_code() const;
};

/// Whether every metric that is judged is there on both sides, and each of `rules.only` in some case: what one side
/// lacks would pass unseen. Errors (kUsage) name the side, the case and the metric.
[[nodiscard]] Outcome<void> check_sides(const std::vector<CasePair>& cases, const Rules& rules,
                                        const std::string& base_name, const std::string& head_name);

/// Judges all cases together. A metric that only one side has is inconclusive.
[[nodiscard]] Verdict judge(const std::vector<CasePair>& cases, const Rules& rules);

/// Keeps a regression that statistics found only where the judgement of fresh samples found it as well; the others
/// become inconclusive. Cases that `fresh` does not have stay as they are.
[[nodiscard]] Verdict confirmed(Verdict verdict, const Verdict& fresh);

/// A time of the case regressed.
[[nodiscard]] bool got_slower(const Verdict& verdict, const std::string& case_name);

/// Of a case with a time that regressed: the stage that grew most, in words: "rank (+10.3 %)"; one whose own time is
/// found to regress goes before others. Samples without times of stages know "schedule" and "commit". "" for other
/// cases and when no stage grew.
[[nodiscard]] std::string slower_stage(const Verdict& verdict, const std::string& case_name);

/// The number of repetitions from which a test of one judgement can be significant at all.
[[nodiscard]] std::size_t repetitions_needed(std::size_t cases, const Rules& rules);

}  // namespace berth::gate
