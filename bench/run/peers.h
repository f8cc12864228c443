// `berth run peers`: workloads in the shapes of other schedulers' benchmarks, next to the results published for these.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "berth/result.h"
#include "run/runner.h"

namespace berth::run {

struct PeerCase {
  std::string workload, label;
  std::size_t nodes = 0;
  std::uint64_t asked = 0, placed = 0, evicted = 0;
  sim::PeerFigure published;
  double berth = 0;  ///< in the unit of the published result

  /// How many times as fast as the published result; 0: nothing was measured.
  [[nodiscard]] double ratio() const;
};

/// Runs each label of the shipped workloads that has a [peer] once. Stops early at a signal.
[[nodiscard]] Result<std::vector<PeerCase>> run_peers(const RunOptions& options);

[[nodiscard]] std::string to_table(const std::vector<PeerCase>& cases);
[[nodiscard]] json::Value to_json(const std::vector<PeerCase>& cases);

}  // namespace berth::run
