// Decides in which order and how often both sides are measured, until the verdict is clear or the time is used up.
#pragma once

#include <functional>

#include "gate/verdict.h"

namespace berth::gate {

enum class Side : std::uint8_t { base, head };

struct SessionOptions {
  Rules rules;
  std::size_t repetitions = 0;       ///< initial number; 0: as many as the test needs
  std::size_t repetitions_max = 40;  ///< per side and case
  double seconds_max = 300;
  std::uint64_t seed = 1;  ///< of the order
};

/// Functions that a session needs; tests replace them by a simulation.
struct World {
  /// One repetition of a case on one side: a report of `berth run`.
  std::function<Outcome<json::Value>(const Case&, Side)> measure;
  std::function<double()> elapsed_seconds;
  std::function<void(const std::string&)> say;  ///< progress, one line; may be empty
};

struct Session {
  std::vector<CasePair> cases;
  Verdict verdict;
  double seconds = 0;
  bool out_of_time = false;  ///< ended by the budget, not by a clear verdict
  std::size_t batches = 0;
};

/// Measures and judges. First runs every side of every case once without measuring, which warms caches, finds errors
/// early and shows how long a repetition takes. Errors: those of a repetition; sides with different inputs
/// (kInconclusive, with the fields); a budget that is too small for the first batch (kUsage).
[[nodiscard]] Outcome<Session> run_session(const std::vector<Case>& cases, const SessionOptions& options,
                                           const World& world);

/// Measures one side only, in rounds through the cases, for a baseline.
[[nodiscard]] Outcome<std::vector<std::pair<Case, Samples>>> record_side(const std::vector<Case>& cases, Side side,
                                                                         std::size_t repetitions,
                                                                         const SessionOptions& options,
                                                                         const World& world);

/// Order of 2 n repetitions: blocks of A B B A or B A A B by the seed's coin.
[[nodiscard]] std::vector<Side> interleaved(std::size_t repetitions, std::uint64_t seed);

/// "cpu: 'A' against 'B'; flags: ..." as a Failure (kInconclusive).
[[nodiscard]] tl::unexpected<Failure> mismatch(const std::string& source, const std::vector<Difference>& differences);

}  // namespace berth::gate
