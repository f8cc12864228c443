// The plan applier: checks a plan against the newest state and commits what still fits (R-CTRL-601 ff.).
//
// Check and commit happen under one Commit, so no other change comes in between, and a snapshot shows the whole plan or
// nothing of it. Nodes are checked one by one: a plan made on an older snapshot is refused on nodes that have filled up
// or disappeared meanwhile. For most nodes the columns decide. They count at least what the rule counts (they include
// stopped allocations that still run, R-CTRL-612), so what fits by them fits. Ports, devices, cores, volume claims and
// nodes that look full go through rank::allocs_fit.
//
// Rows without an API object need none here either: links, descriptions and deployments are columns. Data without a
// column (trackers, alloc states, follow-up evaluations, lists of victims, unusual names) turns a row into an API
// object (see AllocTable). The evaluation and the metrics of a placement are stored only there. Plans that come as API
// objects bring them along (PlanRows::given): the general path through checks and writing, which recorded plans take.
//
// Job records (summaries, statuses, stable versions) are maintained only if requested: keep_records(). They change
// under the commit of the plan, from the rows that it wrote. The tracker of rejected nodes is optional, too:
// track_rejections().
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fsm/state_log.h"
#include "model/quirks.h"
#include "plan/early_check.h"
#include "plan/node_check.h"
#include "plan/plan_rows.h"
#include "plan/rejection_tracker.h"
#include "tables/commit.h"

namespace berth::plan {

/// The outcome of a recorded commit, for replay: no node is checked and no rejection tracked.
struct Decided {
  /// The plan's entries for this node are left out; kNoRow: those for nodes that are gone.
  std::optional<tables::NodeRow> without;
  std::vector<tables::NodeRow> ineligible;  ///< nodes that the commit marks (R-CTRL-631)
  std::vector<model::Evaluation> evals;     ///< written with it (R-CTRL-709)
};

/// Inputs of a commit besides the plan.
struct CommitFacts {
  std::uint64_t index = 0;
  bool all_at_once = false;
  /// Commit all or nothing. A refused plan has no effect: no rejection is tracked and no index used. The caller plans
  /// again.
  bool only_whole = false;
  std::int64_t now_ns = 0;  ///< time of what is written (R-CTRL-625); 0: times are not stored
  base::Uuid eval;          ///< the plan's evaluation; its row, which must exist, gets the index. nil: none is stored
  /// The deployment of a plan with has_deployment but without a deployment object.
  const model::Deployment* deployment = nullptr;
  /// Draws the IDs of the evaluations of preempted jobs, which are written with the plan (R-CTRL-627); with job records
  /// only. null: the caller creates these evaluations.
  const std::function<base::Uuid()>* draw_id = nullptr;
  /// The state that the nodes are checked on; null: the newest. Nomad's applier lags behind entries that are not plans
  /// (R-CTRL-601, 605).
  const tables::Snapshot* view = nullptr;
  const Decided* decided = nullptr;
  /// What is known of the plan's nodes already, brought up to the state that they are checked on; null: nothing.
  const EarlyCheck* early = nullptr;
  /// Converts a placement's metrics to text form, to be stored with it; null: they are not stored.
  const std::function<std::shared_ptr<const model::AllocMetric>(const SelectMetrics&)>* metrics = nullptr;
};

struct ApplyResult {
  std::uint64_t index = 0;                   ///< of the commit; 0 if nothing was committed (R-CTRL-621)
  std::uint64_t refresh_index = 0;           ///< of a partial plan: state the worker must see next (R-CTRL-617, 622)
  std::uint32_t committed = 0, refused = 0;  ///< planned allocations and updates
  std::uint32_t stopped = 0;                 ///< stops and preemptions written
  /// Ascending node ID. If a check failed the whole plan, its node is last (R-CTRL-614).
  std::vector<tables::NodeRow> rejected_nodes;
  std::vector<std::string> reasons;               ///< parallel to rejected_nodes, verbatim (R-CTRL-610, 613)
  std::vector<tables::NodeRow> ineligible_nodes;  ///< the rejected nodes that were marked ineligible (R-CTRL-630, 631)
  std::vector<tables::JobKeyRow> preempted_jobs;  ///< to be evaluated again, ascending (namespace, ID) (R-CTRL-627)
  fsm::Hooks hooks;                               ///< of the evaluations written with the plan
  std::string error;        ///< not empty: the whole plan failed and the evaluation is nacked (R-CTRL-614, 620)
  bool index_used = false;  ///< an entry was written: committed, or failed in state
  /// The job was purged or stopped meanwhile. Nomad drops its new allocations and counts them as committed
  /// (R-CTRL-712); without the quirk placement_of_stopped_vanishes they are refused, with their preemptions.
  bool placements_refused = false;
  [[nodiscard]] bool full() const { return refused == 0; }  ///< R-CTRL-624
  [[nodiscard]] bool partial() const { return error.empty() && (!rejected_nodes.empty() || placements_refused); }
};

struct NodeRefusal {
  tables::NodeRow node;
  std::string reason, error;  ///< as in NodeVerdict
};

class Applier {
 public:
  explicit Applier(tables::StateStore& store, const model::Quirks& quirks = {}) : store_(store), quirks_(quirks) {}
  /// From now on every plan is recorded in `log`, over the same store, under its commit.
  void keep_records(fsm::StateLog& log) { log_ = &log; }
  /// Nodes that are rejected too often become ineligible (R-CTRL-629 to 632).
  void track_rejections(const RejectionLimits& limits) { tracker_.emplace(limits); }

  /// The nodes that refuse the plan's entries for them on `state`, ascending node ID. Valid until the next call.
  [[nodiscard]] std::span<const NodeRefusal> check_nodes(const tables::Snapshot& state, const PlanRows& plan,
                                                         const EarlyCheck* early = nullptr);
  /// Commits the passing entries at `index`. A rejected node loses all its entries (R-CTRL-615); with `all_at_once` the
  /// first rejection empties the plan (R-CTRL-618). Cost: O(planned allocations and stops); no heap allocation in the
  /// steady state while the columns decide. Debug builds check the tables afterwards.
  void apply(const PlanRows& plan, const CommitFacts& facts, ApplyResult& result);
  void apply(const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result) {
    CommitFacts facts;
    facts.index = index;
    facts.all_at_once = all_at_once;
    apply(plan, facts, result);
  }

 private:
  /// State of a commit in progress.
  struct Writing {
    tables::Commit& commit;
    const PlanRows& plan;
    const CommitFacts& facts;
    ApplyResult& result;
    const tables::Snapshot& state;
  };
  /// Checks the node by the full rules (R-CTRL-609 to 614); `first` kNoRow: the plan only updates there.
  void check_exactly(const tables::Snapshot& state, const PlanRows& plan, tables::NodeRow node, std::uint32_t first);
  void check_updated(const tables::Snapshot& state, const PlanRows& plan);
  /// Checks all nodes; false: the plan fails as a whole, or an all-at-once plan lost a node.
  bool check_all(const tables::Snapshot& state, const PlanRows& plan, const CommitFacts& facts, ApplyResult& result);
  [[nodiscard]] std::span<const UpdateOnNode> updates_on(tables::NodeRow node) const;
  /// The node of a stored allocation. A node created after the allocation is found by ID.
  [[nodiscard]] tables::NodeRow node_of(tables::AllocRow alloc) const;
  void track_rejected(const CommitFacts& facts, ApplyResult& result);

  // write.cc, write_allocs.cc, write_deployments.cc
  [[nodiscard]] std::string missing_alloc(const tables::Snapshot& view, const PlanRows& plan) const;
  /// The node ID that an allocation names, even if there is no such node.
  [[nodiscard]] static base::Uuid home_of(const tables::Snapshot& state, tables::AllocRow row);
  [[nodiscard]] bool nothing_left(const PlanRows& plan) const;
  [[nodiscard]] std::string why_not(const tables::Snapshot& state, const PlanRows& plan, const CommitFacts& facts);
  void choose_evictions(Writing& w);
  void write(Writing& w);
  void write_content(Writing& w);
  void write_updates(Writing& w);
  void mark_ineligible(Writing& w, tables::NodeRow row);
  void store_deployment(Writing& w, model::Deployment deployment);
  void write_deployment(Writing& w, model::Deployment deployment);
  void write_statuses(Writing& w);
  void write_stop(Writing& w, const PlannedStop& stop);
  void write_update(Writing& w, const PlannedUpdate& update);
  void keep_unknown(Writing& w, const PlannedUpdate& update);
  void write_placements(Writing& w);
  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::uint32_t>> victims_of(std::uint32_t position) const;
  tables::AllocRow write_alloc(Writing& w, const PlannedAlloc& planned);
  tables::AllocRow write_given(Writing& w, const model::Allocation& given, tables::AllocRow row);
  /// Records the live allocations that the plan stops or updates, for the volume claims of its placements.
  void note_live_claimants(Writing& w);
  /// Claims the sticky host volumes of the node for the new allocation (R-FEAS-1114).
  void claim_volumes(Writing& w, tables::AllocRow row, const model::TaskGroup& group);
  void write_preemption_evals(Writing& w);
  void note_change(const fsm::WrittenAlloc& written) {
    if (log_) changes_.allocs.push_back(written);
  }
  void written(const tables::Snapshot& state, tables::AllocRow row);
  void link_previous(Writing& w);
  [[nodiscard]] bool overwritten(const PlanRows& plan, std::uint32_t update) const;
  void write_eviction(Writing& w, const PlannedStop& stop);
  void write_counts(Writing& w);
  void count_placed(tables::DeploymentRow deployment, tables::Symbol group, tables::AllocRow canary);
  [[nodiscard]] bool refuses(tables::NodeRow node) const;
  [[nodiscard]] bool refuses(const PlannedAlloc& alloc) const { return placements_refused_ || refuses(alloc.node); }

  tables::StateStore& store_;
  model::Quirks quirks_;
  fsm::StateLog* log_ = nullptr;
  std::optional<RejectionTracker> tracker_;
  fsm::PlanCommit changes_;                      // for the log
  std::vector<fsm::WrittenAlloc> stop_changes_;  // the same for stops
  bool placements_refused_ = false;
  tables::StoredEvalRow eval_ = tables::kNoRow;  // the plan's evaluation
  ColumnCheck columns_;
  NodeCheck node_check_;
  std::vector<NodeRefusal> failures_;
  std::vector<NodeEntry> entries_;
  std::vector<base::Uuid> leaving_;
  std::vector<UpdateOnNode> updates_;       // ascending
  std::vector<tables::NodeRow> placed_on_;  // nodes of planned allocations, ascending
  const std::vector<tables::NodeRow>* rejected_ = nullptr;
  std::vector<tables::AllocRow> written_;         // rows with a predecessor, of one list of the plan
  std::vector<tables::AllocRow> live_claimants_;  // live rows that the plan changes; only for plans that claim volumes
  std::vector<tables::AllocRow> stopped_;         // rows with a stop, ascending; only for plans that update as well
  /// Updated rows with the positions of their updates, ascending.
  std::vector<std::pair<tables::AllocRow, std::uint32_t>> rows_updated_;
  std::vector<std::uint32_t> evictions_;    // positions of the stops that evict
  std::vector<model::Allocation> twice_;    // as before the plan: allocations that it evicts and also changes
  std::vector<tables::AllocRow> inserted_;  // by planned allocation; only for plans that evict
  /// Planned allocations with the stops that evict for them, ascending: as the scheduler chose, even if they stay.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> victims_;
  std::vector<tables::DeploymentRow> deployments_;  // rows, by position in PlanRows::deployment_ids
  struct Placed {
    tables::DeploymentRow deployment;
    tables::Symbol group;
    std::int64_t count;
    std::vector<tables::AllocRow> canaries;
  };
  std::vector<Placed> placed_;
};

/// One plan, without keeping an Applier's memory.
void apply(tables::StateStore& store, const PlanRows& plan, std::uint64_t index, bool all_at_once, ApplyResult& result,
           const model::Quirks& quirks = {});

}  // namespace berth::plan
