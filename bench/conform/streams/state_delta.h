// A change of a state as whole objects, and its commit to tables: for recordings of a state that goes from one
// evaluation to the next.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/codec/codec.h"
#include "tables/state.h"

namespace berth::conform {

/// Complete objects that are new or changed, and removals.
struct StreamDelta {
  model::ClusterState objects;  ///< `Jobs` and `JobVersions`: new or changed ones
  struct Removed {
    std::string kind, id;  ///< "Nodes", its ID; "JobVersions", the index into the job table; "Jobs", namespace/ID
  };
  std::vector<Removed> gone;
};

/// The two parts of "namespace/ID". Only job IDs may have slashes.
[[nodiscard]] std::pair<std::string_view, std::string_view> split_object_id(std::string_view id);

/// Applies the change to tables with the state before it, in one commit, as the state machine would. `jobs`: the table
/// to which removed versions refer.
void commit_delta(const StreamDelta& delta, const model::JobTable& jobs, tables::StateStore& store);

}  // namespace berth::conform
