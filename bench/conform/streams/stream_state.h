// The evolving state of a recorded stream: as plain values for loading, and as changes of existing tables.
#pragma once

#include <string>
#include <vector>

#include "berth/result.h"
#include "conform/field.h"
#include "conform/streams/state_delta.h"
#include "model/codec/codec.h"
#include "tables/state.h"

namespace berth::conform {

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
  model::JobTable jobs_;
  model::ClusterState state_;
};

}  // namespace berth::conform
