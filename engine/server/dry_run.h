// The dry run: what would happen if a job were registered now (R-SCHED-194 to 196, R-PREEMPT-1001, R-CTRL-1111).
//
// A DryRun drives a server of its own, loaded from a state, with the job put in where it is new or changed. Answering
// is a decision that nobody writes, so one object answers for as many visiting orders as asked; what real registration
// would come to, refusals by the plan applier included, is rehearse()'s: there the server serves the evaluation. It
// comes last. Threads: one owner.
#pragma once

#include <set>

#include "model/registration/register_job.h"
#include "server/server.h"

namespace berth::server {

/// A node that would refuse its part of a plan.
struct Refusal {
  std::string node_id, node_name, reason;
};

struct DryRunAnswer {
  std::string error;  ///< R-SCHED-195, or what processing failed with; "" when there is an answer
  model::PlanAnnotations annotations;
  std::map<std::string, model::AllocMetric> failed;  ///< by group
  std::vector<model::Evaluation> created;            ///< blocked and follow-up ones
  std::uint64_t job_modify_index = 0;                ///< of the stored job; 0: new
  json::Value diff;                                  ///< annotated difference of stored and submitted job
  base::Time next_launch;                            ///< of a periodic job
  std::string warnings;                              ///< one text, as registration gives it
  model::Plan plan;                                  ///< what would be submitted
  std::vector<Refusal> refusals;                     ///< by the plan applier's check of that plan; ascending node ID

  /// R-SCHED-203: whether some allocation would be created or destroyed.
  [[nodiscard]] bool changes_allocs() const;
};

/// How the real evaluation would end, if nothing else happened meanwhile.
struct Rehearsal {
  enum class End : std::uint8_t { complete, failed, endless };
  End end = End::complete;
  std::string description;        ///< of a failed one
  std::uint32_t plans = 0;        ///< submitted, of which
  std::uint32_t refused = 0;      ///< lost at least one node
  std::uint32_t placed = 0;       ///< allocations that were committed
  std::uint32_t blocked = 0;      ///< blocked evaluations left behind
  std::set<std::string> failed;   ///< groups of which something found no node in the end
  std::vector<Refusal> refusals;  ///< of the last refused plan
};

class DryRun {
 public:
  /// `registration` must hold an accepted job; its options hold for everything asked. `now_ns`: the clock of the
  /// evaluation.
  DryRun(const model::ClusterState& state, const model::Registration& registration, std::int64_t now_ns);
  DryRun(const DryRun&) = delete;
  DryRun& operator=(const DryRun&) = delete;

  /// From now on the answers are about this form of the same job, on the same nodes: costs the job, not the cluster.
  /// Not after rehearse().
  void instead(const model::Registration& registration);

  /// From now on nothing is placed of these groups of the job; what they have stays as it is.
  void pass_over(const std::vector<std::string>& groups);

  /// From now on this ranking strategy stands in for the fit component (R-STRAT-007).
  void score_by(strategy::FitFunction function, std::vector<std::string> models);

  /// From now on with this configuration; null: the one that the state came with.
  void configure(const std::optional<model::SchedulerConfiguration>& config);

  /// `order` picks one of Nomad's random visiting orders.
  [[nodiscard]] DryRunAnswer answer(std::uint64_t order = 0);

  /// An answer without difference, warnings and launches: what the scheduler and the applier say.
  [[nodiscard]] DryRunAnswer decide(std::uint64_t order = 0);

  /// How the evaluation ends once the job is registered, on the state that the DryRun was made with; `endless` after
  /// kPlansMax plans. Costs as much as another DryRun.
  /// `after`, when given, becomes the state that it leaves: the job registered, what fits committed, blocked
  /// evaluations beside it.
  [[nodiscard]] Rehearsal rehearse(std::uint64_t order = 0, model::ClusterState* after = nullptr) const;
  static constexpr std::uint32_t kPlansMax = 64;

  /// All other nodes become ineligible, so that the answer tells of this one alone, until the next call; false when
  /// there is no such node.
  [[nodiscard]] bool restrict_to(std::string_view node_id);
  /// From now on the node counts as ready: up, eligible and not draining. Until unrestrict() or another node is left by
  /// restrict_to(); false when there is no such node.
  [[nodiscard]] bool suppose_ready(std::string_view node_id);
  /// All nodes are as the state has them, again.
  void unrestrict();

  [[nodiscard]] const tables::Snapshot& tables() const { return server_.store().current(); }
  [[nodiscard]] const std::shared_ptr<const model::Job>& job() const { return job_; }        ///< as it would be stored
  [[nodiscard]] const std::shared_ptr<const model::Job>& stored() const { return stored_; }  ///< null: new
  [[nodiscard]] bool changed() const { return changed_; }
  [[nodiscard]] const model::Options& options() const { return server_.lane().scratch.options; }

 private:
  class Recorder;
  [[nodiscard]] model::Evaluation evaluation(std::uint64_t order) const;
  void set_eligible(tables::NodeRow row, bool eligible);
  void forget_supposed();

  ManualClock clock_;
  Server server_;
  const model::ClusterState& state_;
  std::shared_ptr<const model::Job> submitted_, job_, stored_;
  bool changed_ = true;
  std::uint64_t index_ = 0;  // at which the job is put in; 0: it is not
  std::string warnings_;
  tables::SnapshotRef snapshot_;
  std::vector<tables::NodeRow> made_ineligible_;                    // by restrict_to
  tables::NodeRow only_node_ = tables::kNoRow;                      // that restrict_to left
  std::vector<std::pair<tables::NodeRow, std::uint8_t>> supposed_;  // ready, and their state bits before
  Rehearsal* rehearsal_ = nullptr;                                  // under way, with
  std::uint64_t order_ = 0;                                         // this order
};

}  // namespace berth::server
