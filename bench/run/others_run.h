// The workload `nomad-others`: cases in which Nomad was timed besides its own benchmark. Preemption on full nodes,
// system jobs on all nodes, and a service job that is placed, evaluated unchanged, loses a node, and is replaced
// completely.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"

namespace berth::run {

struct OtherCase {
  std::string name;
  std::int64_t nomad_ns = 0, berth_ns = 0;  ///< of one evaluation, from its snapshot to the committed plan
  std::string answer;                       ///< the decision as text
  bool as_nomad = true;                     ///< with the same number of placements and plans as Nomad

  [[nodiscard]] double ratio() const { return static_cast<double>(nomad_ns) / static_cast<double>(berth_ns); }
};

/// Runs all cases, or with `smoke` those of 1,000 nodes and allocations. Nomad's times are recorded ones.
[[nodiscard]] std::vector<OtherCase> run_others(bool smoke);

[[nodiscard]] std::string to_table(const std::vector<OtherCase>& cases);
[[nodiscard]] json::Value to_json(const std::vector<OtherCase>& cases);

}  // namespace berth::run
