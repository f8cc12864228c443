// Turns a recording into one row per stage: time, share, counts, percentiles, bytes, and the machine's limit.
#pragma once

#include <string>
#include <vector>

#include "profile/recorder.h"
#include "profile/roofline.h"

namespace berth::profile {

/// Memory accesses per unit of a stage, computed from the sizes of table rows.
struct UnitCost {
  double bytes = 0;       ///< in sequence or in cache
  double lines = 0;       ///< additional cache lines of 64 B in random order
  double line_space = 0;  ///< bytes per node over which these lines are spread
  std::string from;       ///< how it was computed
  [[nodiscard]] double all_bytes() const { return bytes + 64 * lines; }
};

struct StageRow {
  base::Stage stage = base::Stage::idle;
  double ns = 0;                  ///< total
  double share = 0;               ///< of the engine's time
  bool estimated = false;         ///< from the detailed evaluations
  std::uint64_t evaluations = 0;  ///< in which it took any time; for an estimated stage only detailed ones
  std::uint64_t count = 0;
  std::string unit;  ///< name of the counted units
  std::optional<UnitCost> cost;
  double roofline_ns = 0;  ///< least time per unit that the memory allows; 0: not measured, or no accesses
  const sim::Histogram* latency = nullptr;  ///< ns per evaluation; belongs to the recorder
  [[nodiscard]] double ns_per_unit() const { return count == 0 ? 0 : ns / static_cast<double>(count); }
};

struct StageTable {
  std::vector<StageRow> rows;  ///< of the engine, in the order of an evaluation; without stages that took no time
  double engine_ns = 0;        ///< their sum
  double wait_ns = 0, idle_ns = 0, harness_ns = 0;
  double detail_ratio = 0;  ///< placing, ns per visited node: detailed / other evaluations; 0: not both exist
};

/// `jobs`: registered; `nodes`: of the cluster; `roofline` may be null.
[[nodiscard]] StageTable stage_table(const Recorder& recorder, std::uint64_t jobs, std::uint64_t nodes,
                                     const Roofline* roofline);

/// Short description of a stage.
[[nodiscard]] const char* stage_words(base::Stage stage);

}  // namespace berth::profile
