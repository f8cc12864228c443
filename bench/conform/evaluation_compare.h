// Compares all results of an evaluation with recorded ones: unordered lists, fresh IDs, dynamic ports (FORMAT-evals.md,
// sections 4 and 5).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "conform/vector.h"
#include "model/codec/codec.h"

namespace berth::conform {

/// The calls of the planner, as API objects.
struct Recording {
  struct Attempt {
    model::Plan plan;
    bool full = true, refused = false;
    std::vector<std::string> refused_nodes;
    std::string error;  ///< error of the plan's submission
  };
  std::vector<Attempt> attempts;
  std::vector<model::Evaluation> created, updated, reblocked;
  std::size_t port_collision_events = 0;
  std::string error;
  std::set<std::string> fresh_ids;                 ///< IDs generated while processing
  std::map<std::string, std::string> recorded_as;  ///< recorded IDs of these, for objects stored under them since
};

/// `tokens`: `expect` has tokens for fresh IDs and dynamic ports; else IDs and numbers, with fresh IDs
/// `recorded_fresh`.
[[nodiscard]] std::vector<Difference> compare_recording(const json::Value& expect, const Recording& recording,
                                                        const model::JobTable& jobs,
                                                        const std::set<std::string>& recorded_fresh = {},
                                                        bool tokens = true);

}  // namespace berth::conform
