// Past: the tables of a recorded cluster, at one index after another. Frames are applied as recorded objects: nothing
// is decided or derived here, and the scheduler's caches are kept from evaluation to evaluation.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "io/event_frame.h"
#include "server/server.h"

namespace berth::record {

using JobPtr = std::shared_ptr<const model::Job>;

class Past {
 public:
  /// Starts with a state of the recording, which is complete once all frames up to its index are applied.
  Past(const model::ClusterState& state, const model::Options& options);
  Past(const Past&) = delete;
  Past& operator=(const Past&) = delete;

  /// Applies a frame. Events of allocations lack the version of their job: `job_of` returns it for an allocation
  /// without one that a plan placed or updated; null: the current version.
  void apply(io::EventFrame frame, const std::function<JobPtr(const model::Allocation&)>& job_of);
  void set_config(const model::SchedulerConfiguration& config, std::uint64_t index);
  /// Sets the latest index. Entries without events raise it too, and it seeds the visiting order (R-RANK-302).
  void raise_index(std::uint64_t index);

  [[nodiscard]] server::Server& server() { return server_; }
  [[nodiscard]] const tables::Snapshot& state() const { return server_.store().current(); }
  [[nodiscard]] server::ManualClock& clock() { return clock_; }
  [[nodiscard]] std::uint64_t index() const { return server_.store().index(); }
  /// Index of the first state.
  [[nodiscard]] std::uint64_t begin_index() const { return begin_index_; }
  /// The stored version of a job by number; null: not stored.
  [[nodiscard]] JobPtr version(const std::string& name_space, const std::string& id, std::uint64_t number);
  /// The node's name, or its ID if the node is not in the state.
  [[nodiscard]] std::string node_name(const std::string& id) const;
  /// Number of omitted objects: allocations whose job is not in the recording, and objects with another node or job
  /// than before, which valid recordings do not contain.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  void note_version(const model::Job& job, tables::VersionRow row);
  void drop_older(io::EventFrame& frame) const;
  void drop_contradictions(io::EventFrame& frame);
  void put_jobs(const model::JobTable& jobs, tables::Commit& commit);
  void find_jobs(io::EventFrame& frame, const std::function<JobPtr(const model::Allocation&)>& job_of);

  server::ManualClock clock_;
  server::Server server_;
  std::uint64_t begin_index_ = 0, left_out_ = 0;
  // Topic/ID -> ModifyIndex in the first state, until a frame reaches it.
  std::unordered_map<std::string, std::uint64_t> begun_;
  std::map<std::pair<tables::JobKeyRow, std::uint64_t>, tables::VersionRow> versions_;  // of the latest registration
};

}  // namespace berth::record
