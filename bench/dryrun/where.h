// Where a plan puts what it places, and where it evicts: Nomad's answer counts both and names no node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/cluster.h"
#include "model/eval.h"

namespace berth::dryrun {

struct PlacedAlloc {
  std::string id, name, group, node_id, node_name;
  std::optional<double> score;  ///< final, of that node; none where the node was not chosen anew
  bool in_place = false;        ///< stays where it is and is updated there
  std::string replaces;         ///< ID of the allocation whose place it takes; "": none
};
struct EvictedAlloc {
  std::string id, name, job_id, group, node_id, node_name;
};
struct Where {
  std::vector<PlacedAlloc> placed;    ///< by group, then by the number in the name
  std::vector<EvictedAlloc> evicted;  ///< by node, then by job
};

[[nodiscard]] Where where_of(const model::ClusterState& state, const model::Plan& plan);

/// Two tables, IDs cut to `id_length`; the first kRowsShown rows of each unless `all`. "" where nothing is placed.
[[nodiscard]] std::string to_text(const Where& where, std::size_t id_length, bool all);
inline constexpr std::size_t kRowsShown = 50;

/// Lists `placements` and `evictions`, set in `into`.
void add_json(const Where& where, json::Value& into);

}  // namespace berth::dryrun
