// Between: two states of a cluster as a recording of what happened between them, as far as they show it.
//
// A state has the indexes of the first and the last change of each object, not of those between. What is read from
// them:
//
//   allocation   placed at CreateIndex; health at that of its deployment status; the server's last change at
//                AllocModifyIndex; its later evaluation when that was created; migrated, rescheduled or stopped when
//                the evaluation for that was created; its end when the evaluation for its failure was created, else at
//                the first change after its tasks ended, or at ModifyIndex if that time is not known
//   evaluation   created at CreateIndex, finished at ModifyIndex
//   job          each stored version at its JobModifyIndex
//   deployment   running from CreateIndex on, promoted when its canaries changed with an evaluation, its end at
//                ModifyIndex
//   node         as in the first state until ModifyIndex; a new one ready from CreateIndex on. Evaluations name
//                changes between: from such a change to the last one, the state is unknown
//   volume       at ModifyIndex; scheduler configuration at its own
//   purged job   leaves with its allocations when the evaluation for that was created
//
// Other objects that were removed before the second state stay. Time and memory are linear in the objects of both
// states, apart from sorting and, per job, deployments times evaluations of the deployment watcher.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "record/recording.h"

namespace berth::record {

class Between final : public Source {
 public:
  /// Both states must outlive it.
  Between(const model::ClusterState& before, const model::ClusterState& after);

  [[nodiscard]] Result<void> read(Reader& reader) override;
  /// A later change of the same allocation hides an update in place, or a node had an unknown state.
  [[nodiscard]] const char* why_unknown(const std::string& eval_id) const override;

 private:
  using JobName = std::pair<std::string_view, std::string_view>;  // namespace, ID
  /// An allocation of the second state, and the indexes of its changes.
  struct Alloc {
    const model::Allocation* object = nullptr;
    const model::Allocation* before = nullptr;  // in the first state; null: placed later
    std::uint64_t changed = 0;                  // by the server
    std::uint64_t ended = 0, healthy = 0, transition = 0;
    std::uint64_t delayed = 0;  // a plan gave it a later evaluation; 0: none, or by the last change
  };
  using Evals = std::vector<const model::Evaluation*>;  // by CreateIndex
  struct JobHistory {
    Evals evals;
    std::map<std::string_view, Evals> by_trigger;
    std::vector<std::uint64_t> versions;  // JobModifyIndex of each version, ascending
  };
  /// The changes of one index.
  struct Changes {
    std::vector<const Alloc*> allocs;
    Evals created, finished;
    std::vector<std::shared_ptr<const model::Job>> jobs;
    std::vector<const model::Node*> joined, nodes;
    std::vector<const model::NodePool*> pools;
    std::vector<const model::Deployment*> begun, promoted, deployments;
    std::vector<JobName> purged;
    std::vector<const model::HostVolume*> host_volumes;
    std::vector<const model::HostVolumeClaim*> claims;
  };

  void take_times();
  void take_jobs_and_evals();
  void take_purged_jobs();
  void take_nodes();
  void take_deployments();
  void take_volumes();
  void take_allocs();
  void find_hidden_updates();
  void find_hidden_delays();
  [[nodiscard]] const JobHistory* history(const Alloc& alloc) const;
  [[nodiscard]] std::uint64_t index_at(std::int64_t ns) const;
  [[nodiscard]] std::uint64_t ended_at(const Alloc& alloc) const;
  [[nodiscard]] std::uint64_t transition_at(const Alloc& alloc) const;
  [[nodiscard]] std::uint64_t delayed_at(const Alloc& alloc) const;
  [[nodiscard]] const model::Evaluation* planned_by(const Changes& changes, std::uint64_t index) const;
  [[nodiscard]] model::Allocation alloc_at(const Alloc& alloc, std::uint64_t index) const;
  [[nodiscard]] bool is_later(std::uint64_t index) const { return index > before_.index && index <= after_.index; }

  const model::ClusterState& before_;
  const model::ClusterState& after_;
  std::vector<std::pair<std::int64_t, std::uint64_t>> times_;  // of changes, unix ns, and their indexes, ascending
  std::vector<Alloc> allocs_;
  std::map<JobName, JobHistory> jobs_;
  std::unordered_map<std::string_view, const model::Evaluation*> evals_;  // by ID
  std::map<std::uint64_t, Changes> changes_;
  std::unordered_map<std::string_view, const model::Allocation*> allocs_by_id_;  // of the second state
  std::set<std::string_view> canaries_;                                          // IDs of allocations
  std::set<std::string_view> hidden_;                                            // IDs of evaluations
  std::map<std::uint64_t, std::uint64_t> unknown_nodes_;                         // ranges of indexes: first -> last + 1
};

}  // namespace berth::record
