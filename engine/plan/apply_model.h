// Applies plans that are given as API objects: whatever a plan may hold, with every effect on the state (R-CTRL-406,
// 503, 601 to 631). The short way for plans of plain placements is apply.h; the checks of a node are the same.
//
// The view for checks is one snapshot, renewed as R-CTRL-601 says, so it may lag behind entries that are no plan
// commits. Threads: the writer's only.
#pragma once

#include <functional>
#include <map>
#include <set>

#include "log/state_log.h"
#include "plan/node_check.h"
#include "plan/rejection_tracker.h"

namespace berth::plan {

/// Verdict on one node, for reports.
struct NamedVerdict {
  std::string node_id;
  NodeVerdict verdict;
};

struct ModelApplyResult {
  std::string error;  ///< not empty: the plan failed and nothing was committed
  model::PlanResult result;
  std::vector<NamedVerdict> nodes;  ///< ascending node ID; ends where checking ended
  bool committed = false;
  bool placements_refused = false;  ///< as ApplyResult's
  log::PlanEntry entry;             ///< what was committed
  log::Hooks hooks;
};

class ModelApplier {
 public:
  /// The quirks are the log's (StateLog::quirks).
  /// `next_id` gives the IDs of preemption evaluations. `limits` switches the tracker of rejected nodes on
  /// (R-CTRL-629).
  ModelApplier(log::StateLog& log, std::function<std::string()> next_id, std::optional<RejectionLimits> limits = {});

  /// Takes a plan as a scheduler made it: normalises, resolves its job, checks and commits. `now` in unix ns.
  [[nodiscard]] ModelApplyResult apply(model::Plan plan, std::int64_t now);
  /// The same, but the caller decides instead of the checks: everything is accepted but what the plan has for node
  /// `refused` (R-CTRL-615), "" for none. For replays of recorded refusals.
  [[nodiscard]] ModelApplyResult apply_without(model::Plan plan, const std::string& refused, std::int64_t now);

 private:
  [[nodiscard]] bool resolve_job(model::Plan& plan, ModelApplyResult& out) const;
  [[nodiscard]] std::string verify(const model::Plan& plan, std::int64_t now, ModelApplyResult& out);
  void refuse_placements(ModelApplyResult& out);
  void commit(const model::Plan& plan, std::int64_t now, ModelApplyResult& out);
  void renew(std::uint64_t snapshot_index);
  /// Row of an allocation that the view already holds; kNoRow otherwise.
  [[nodiscard]] tables::AllocRow row_in_view(std::string_view id);

  log::StateLog& log_;
  std::function<std::string()> next_id_;
  std::optional<RejectionTracker> tracker_;
  NodeCheck check_;
  tables::SnapshotRef view_;
  bool committed_since_ = false;
  std::uint64_t last_commit_ = 0;
};

}  // namespace berth::plan
