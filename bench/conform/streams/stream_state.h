// The evolving state of a recorded stream: as plain values for loading, and as changes of existing tables.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "conform/field.h"
#include "model/codec/codec.h"
#include "tables/state.h"

namespace berth::conform {

/// Changes since the previous line: complete objects, and removals.
struct StreamDelta {
  model::ClusterState objects;  ///< `Jobs` and `JobVersions`: new or changed ones
  struct Removed {
    std::string kind, id;  ///< "Nodes", its ID; "JobVersions", the index into the job table; "Jobs", namespace/ID
  };
  std::vector<Removed> gone;
};

class StreamState {
 public:
  /// Reads a delta in state form. Adds its `NewJobs` to the job table.
  [[nodiscard]] Result<StreamDelta> read(const Field& delta, const std::string& path, const std::string& place);
  /// Applies it to the plain values.
  void apply(const StreamDelta& delta);
  /// Applies it to tables with the state before it, in one commit, as the state machine would.
  void commit(const StreamDelta& delta, tables::StateStore& store) const;

  /// The stored object of the job's version, or null.
  [[nodiscard]] std::shared_ptr<const model::Job> version_of(const model::Job& job) const {
    return find_version(state_.job_versions, job);
  }
  [[nodiscard]] static std::shared_ptr<const model::Job> find_version(const model::JobTable& versions,
                                                                      const model::Job& job);
  [[nodiscard]] const model::ClusterState& state() const { return state_; }
  [[nodiscard]] const model::JobTable& jobs() const { return jobs_; }

 private:
  void commit_jobs(const StreamDelta& delta, tables::Commit& commit, const tables::StateStore& store) const;
  static void commit_nodes(const StreamDelta& delta, tables::Commit& commit, const tables::StateStore& store);

  model::JobTable jobs_;
  model::ClusterState state_;
};

}  // namespace berth::conform
