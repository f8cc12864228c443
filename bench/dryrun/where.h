// The nodes of a plan's placements and evictions. Nomad's answer contains only their counts.
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
  std::optional<double> score;  ///< final, of that node; nullopt if the node was not newly chosen
  bool in_place = false;        ///< updated in place
  std::string replaces;         ///< ID of the replaced allocation; "": none
};
struct EvictedAlloc {
  std::string id, name, job_id, group, node_id, node_name;
};
struct Where {
  std::vector<PlacedAlloc> placed;    ///< by group, then by the number in the name
  std::vector<EvictedAlloc> evicted;  ///< by node, then by job
};

[[nodiscard]] Where where_of(const model::ClusterState& state, const model::Plan& plan);

/// Two tables, IDs cut to `id_length`; the first kRowsShown rows of each unless `all`. "" if nothing is placed.
[[nodiscard]] std::string to_text(const Where& where, std::size_t id_length, bool all);
inline constexpr std::size_t kRowsShown = 50;

/// Sets the lists `placements` and `evictions` in `into`.
void add_json(const Where& where, json::Value& into);

}  // namespace berth::dryrun
