// Nomad's own benchmark with Nomad's decisions: 120 cells of one evaluation each (datasets/README.md).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "berth/result.h"

namespace berth::sim {

struct GridCell {
  int cell = 0;
  std::uint32_t nodes = 0, racks = 0;
  std::int64_t allocs = 0;
  bool spread = false;
  std::string job, eval;
  std::uint64_t state_index = 0;         ///< with the evaluation ID, the seed of the visiting order (R-FEAS-202)
  std::int64_t nomad_ns = 0;             ///< the fastest of Nomad's repetitions
  std::vector<std::int32_t> placements;  ///< node number of allocation k, -1 = not placed
  std::vector<double> scores;            ///< final score of that node, 0 if not placed
  bool free_runs_equal = false;          ///< Nomad's runs in map order gave the same placements
};

/// Reads the cells of datasets/nomad-grid.jsonl.gz; errors name the line and the problem.
[[nodiscard]] Result<std::vector<GridCell>> read_grid(const std::string& path);

}  // namespace berth::sim
