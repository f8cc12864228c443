// The dry run: what would happen if a job were registered now (R-SCHED-194 to 196, R-PREEMPT-1001, R-CTRL-1111).
//
// A DryRun drives a server of its own, loaded from a state, with the job put in if it is new or changed. Answers are
// decisions that are not committed, so one object answers for any number of visiting orders. rehearse() shows what a
// real registration would lead to, refusals by the plan applier included: there the server serves the evaluation. Call
// it last.
//
// Threads: one owner.
#pragma once

#include <set>

#include "model/registration/register_job.h"
#include "server/server.h"
#include "server/surroundings.h"

namespace berth::server {

/// A node that would refuse its part of a plan.
struct Refusal {
  std::string node_id, node_name, reason;
};

struct DryRunAnswer {
  std::string error;  ///< R-SCHED-195, or why processing failed; "" if there is an answer
  model::PlanAnnotations annotations;
  std::map<std::string, model::AllocMetric> failed;  ///< by group
  std::vector<model::Evaluation> created;            ///< blocked and follow-up ones
  std::uint64_t job_modify_index = 0;                ///< of the stored job; 0: the job is new
  json::Retained diff;                               ///< annotated difference of stored and submitted job
  base::Time next_launch;                            ///< of a periodic job
  std::string warnings;                              ///< one text, as registration returns it
  model::Plan plan;                                  ///< what would be submitted
  std::vector<Refusal> refusals;                     ///< by the plan applier's check of that plan; ascending node ID

  /// R-SCHED-203: true if an allocation would be created or destroyed.
  [[nodiscard]] bool changes_allocs() const;
};

/// How the real evaluation would end, if nothing else happened meanwhile.
struct Rehearsal {
  enum class End : std::uint8_t { complete, failed, endless };
  End end = End::complete;
  std::string description;        ///< of the status, if the evaluation failed
  std::uint32_t plans = 0;        ///< plans submitted
  std::uint32_t refused = 0;      ///< of these, plans refused on at least one node
  std::uint32_t placed = 0;       ///< allocations that were committed
  std::uint32_t blocked = 0;      ///< blocked evaluations left behind
  std::set<std::string> failed;   ///< groups with an allocation that found no node in the end
  std::vector<Refusal> refusals;  ///< of the last refused plan
};

class DryRun {
 public:
  /// `registration` must hold an accepted job; its options hold for all answers. `now_ns`: the clock of the evaluation.
  /// `strategy`: see score_by(); null: Nomad's fit.
  DryRun(const model::ClusterState& state, const model::Registration& registration, std::int64_t now_ns,
         const ScoringStrategy* strategy = nullptr);
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  /// Further answers are about this version of the same job, on the same nodes. Costs as much as loading the job, not
  /// the cluster. Not after rehearse().
  void instead(const model::Registration& registration);

  /// Further answers place nothing of these groups of the job; their allocations stay unchanged.
  void pass_over(const std::vector<std::string>& groups);

  /// Further answers and rehearsals rank by this strategy in place of the fit component (R-STRAT-007). It must outlive
  /// this object.
  void score_by(const ScoringStrategy& strategy);

  /// Further answers use this configuration; null: the one of the state.
  void configure(const std::optional<model::SchedulerConfiguration>& config);

  /// `order` selects one of Nomad's random visiting orders.
  [[nodiscard]] DryRunAnswer answer(std::uint64_t order = 0);

  /// The answer of scheduler and applier only: without difference, warnings and launches.
  [[nodiscard]] DryRunAnswer decide(std::uint64_t order = 0);

  /// How the evaluation ends once the job is registered, on the state that the DryRun was made with; `endless` after
  /// kPlansMax plans. Costs as much as making another DryRun. `after`, if given, is set to the resulting state: the job
  /// registered, what fits committed, blocked evaluations added.
  [[nodiscard]] Rehearsal rehearse(std::uint64_t order = 0, model::ClusterState* after = nullptr) const;
  static constexpr std::uint32_t kPlansMax = 64;

  /// Makes all other nodes ineligible until the next call, so that the answer is about this node alone. False if there
  /// is no such node.
  [[nodiscard]] bool restrict_to(std::string_view node_id);
  /// Further answers treat the node as ready: up, eligible and not draining. Ends with unrestrict(), or when
  /// restrict_to() moves on to another node. False if there is no such node.
  [[nodiscard]] bool suppose_ready(std::string_view node_id);
  /// Restores all nodes to the state's values.
  void unrestrict();

  [[nodiscard]] const tables::Snapshot& tables() const { return server_.store().current(); }
  [[nodiscard]] const std::shared_ptr<const model::Job>& job() const { return job_; }        ///< as it would be stored
  [[nodiscard]] const std::shared_ptr<const model::Job>& stored() const { return stored_; }  ///< null: the job is new
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const model::Options& options() const;

 private:
  class Recorder;
  [[nodiscard]] model::Evaluation evaluation(std::uint64_t order) const;
  void set_eligible(tables::NodeRow row, bool eligible);
  void forget_supposed();

  ManualClock clock_;
  Server server_;
  const model::ClusterState& state_;
  const ScoringStrategy* strategy_ = nullptr;  // null: Nomad's fit
  std::shared_ptr<const model::Job> submitted_, job_, stored_;
  bool changed_ = true;
  std::uint64_t index_ = 0;  // index at which the job is put in; 0: it is not
  std::string warnings_;
  tables::SnapshotRef snapshot_;
  std::vector<tables::NodeRow> made_ineligible_;  // by restrict_to()
  tables::NodeRow only_node_ = tables::kNoRow;    // the node that restrict_to() left eligible
  // nodes treated as ready, with their state bits before
  std::vector<std::pair<tables::NodeRow, std::uint8_t>> supposed_;
  Rehearsal* rehearsal_ = nullptr;  // under way
  std::uint64_t order_ = 0;         // of the rehearsal
};

}  // namespace berth::server
