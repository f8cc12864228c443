// Judges samples: a pure function, so that every rule of README.md can be tested with made-up samples.
#pragma once

#include <string>
#include <vector>

#include "gate/metrics.h"
#include "gate/samples.h"

namespace berth::gate {

struct Rules {
  double effect = 0.05;           ///< smaller changes of times do not matter
  double alpha = 0.01;            ///< chance of a false regression among all tests of one judgement
  Limits limits;                  ///< by metric; replace those of the table
  std::vector<std::string> only;  ///< names of the times to judge; empty: all
  std::uint64_t seed = 1;         ///< of the noise estimate
  bool counters_only = false;     ///< judge no times; all other metrics are the same on every machine
  bool stages = false;            ///< samples have times of stages
  bool instructions = false;      ///< samples have instruction counts, which are judged
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
  std::size_t n = 0;                ///< repetitions of the side with fewer
  double p = 1;                     ///< after Holm's correction
  std::string base_text, got_text;  ///< digests
  std::string note;                 ///< reason, if not clear from the numbers
};

/// A stage with a smaller share of the engine's time is not judged: it is mostly noise and has no noticeable effect.
inline constexpr double kLeastStageShare = 0.05;

struct StageShare {
  std::string case_name, stage;
  double base_ns = 0, head_ns = 0;  ///< mean time per evaluation; per placement if the samples have no stages
};

struct Verdict {
  Judgement result = Judgement::pass;  ///< the worst of the findings; improved only if none is worse
  std::vector<Finding> findings;       ///< of all metrics of all cases
  std::vector<StageShare> stages;
  std::vector<std::string> notes;  ///< metrics that were not judged, with reasons

  [[nodiscard]] std::size_t count(Judgement result) const;
  [[nodiscard]] int exit_code() const;
};

/// Checks that both sides have every judged metric, and some case each of `rules.only`; a missing one would pass
/// unnoticed. Errors (kUsage) name the side, the case and the metric.
[[nodiscard]] Outcome<void> check_sides(const std::vector<CasePair>& cases, const Rules& rules,
                                        const std::string& base_name, const std::string& head_name);

/// Judges all cases together. A metric of only one side is inconclusive.
[[nodiscard]] Verdict judge(const std::vector<CasePair>& cases, const Rules& rules);

/// Keeps a statistical regression only if the judgement of fresh samples found it too; others become inconclusive.
/// Cases that are not in `fresh` are unchanged.
[[nodiscard]] Verdict confirmed(Verdict verdict, const Verdict& fresh);

/// True if a time of the case regressed.
[[nodiscard]] bool got_slower(const Verdict& verdict, const std::string& case_name);

/// For a case with a regressed time: the stage that grew most, as text: "rank (+10.3 %)". Stages with a regression of
/// their own come first. Samples without stages have only "schedule" and "commit". "" for other cases and if no stage
/// grew.
[[nodiscard]] std::string slower_stage(const Verdict& verdict, const std::string& case_name);

/// The least number of repetitions with which a test of one judgement can be significant.
[[nodiscard]] std::size_t repetitions_needed(std::size_t cases, const Rules& rules);

}  // namespace berth::gate
