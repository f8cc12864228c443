// A plan as rows: what one attempt proposes, in numbers (R-MODEL-190, R-SCHED-22).
//
//   allocs    new allocations                                       into NodeAllocation
//   updates   existing allocations written anew, still on their node  into NodeAllocation
//   stops     existing allocations ended by the server              into NodeUpdate, NodePreemptions
// What is rare (trackers of reschedules, follow-up evaluations, deployments other than the plan's) stands in lists of
// its own that the rows refer to by position; so does what no column holds, as API objects (`given`). Words come when
// somebody reads them (sched/to_model.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "plan/metrics.h"

namespace berth::plan {

/// One new allocation. Its name is that of the allocation it replaces, or made of the job, its group and `name_index`.
struct PlannedAlloc {
  base::Uuid id;
  tables::NodeRow node = tables::kNoRow;
  std::uint32_t group = 0;  ///< position in the group list of its job version
  std::uint32_t name_index = 0;
  double score = 0;  ///< final score of the node when it was chosen
  SelectMetrics metrics;
  const tables::ResourceShape* held = nullptr;         ///< what it holds
  std::shared_ptr<const tables::ResourceShape> shape;  ///< owner of `held`; null where it is the group's own shape
  std::uint32_t next_on_node = tables::kNoRow;         ///< next planned allocation on the same node
  tables::VersionRow job = tables::kNoRow;             ///< another version than the plan's (a downgrade); kNoRow: none
  tables::AllocRow previous = tables::kNoRow;          ///< the one it replaces (R-SCHED-85)
  std::uint32_t tracker = tables::kNoRow;              ///< position in PlanRows::trackers
  std::uint32_t task_states = tables::kNoRow;          ///< position in PlanRows::task_states
  std::uint32_t given = tables::kNoRow;                ///< position in PlanRows::given; then only `id` and `node` count
  std::uint16_t deployment = 0;                        ///< position in PlanRows::deployment_ids
  bool first_on_node = false;                          ///< no earlier planned allocation is on its node
  bool canary = false;                                 ///< R-SCHED-86
  bool keeps_name = false;                             ///< the name of `previous`, whatever its form
};

/// One existing allocation that the plan lists anew (R-SCHED-24, 25).
struct PlannedUpdate {
  enum class Kind : std::uint8_t {
    in_place,    ///< the plan's job version, resources as `held` (R-SCHED-114)
    unknown,     ///< its node is disconnected (R-RECON-31)
    reconnects,  ///< it came back (R-RECON-32)
    annotated,   ///< only the follow-up evaluation changes (R-RECON-30)
    not_placed,  ///< no node for its replacement: a note in its tracker (R-SCHED-96)
    given,       ///< as the API object at `given` has it
  };
  tables::AllocRow alloc = tables::kNoRow;
  Kind kind = Kind::in_place;
  enum class Note : std::uint8_t { none, ok, no_placement };
  Note note = Note::none;      ///< in its tracker: whether a replacement was placed (R-SCHED-94, 96)
  bool to_deployment = false;  ///< in place: it joins deployment 0 of the plan, its health is forgotten (R-SCHED-48)
  bool dropped = false;        ///< taken back
  bool came_back = false;      ///< in place, system jobs: its node was disconnected; the return is noted in its states
  std::uint32_t followup = tables::kNoRow;             ///< position in PlanRows::followups; kNoRow: as it is
  std::uint32_t given = tables::kNoRow;                ///< position in PlanRows::given
  const tables::ResourceShape* held = nullptr;         ///< in place: what it holds; null: what it held before
  std::shared_ptr<const tables::ResourceShape> shape;  ///< owner of `held`; null where it is the group's own shape
  std::uint32_t next_on_node = tables::kNoRow;         ///< next planned update on the same node
  /// In place on the system stack: the check's metrics replace those of the allocation (R-SCHED-118).
  std::optional<SelectMetrics> metrics;
};

/// One allocation that the plan ends on the server's side.
struct PlannedStop {
  tables::AllocRow alloc = tables::kNoRow;
  bool evict = false;              ///< a preemption: desired `evict` instead of `stop`
  bool replaced = false;           ///< the entry is the stored allocation with a noted tracker (R-SCHED-94)
  bool dropped = false;            ///< taken back (R-SCHED-27)
  bool came_back = false;          ///< as in PlannedUpdate
  bool keeps_description = false;  ///< `replaced`, yet it says `stop` and why (R-SEED-75)
  tables::Description description = tables::Description::none;
  std::optional<tables::Client> client;  ///< client status written with it, as for lost allocations (R-CTRL-626)
  /// A preemption: position in `allocs` of the one it makes room for. Preemptions ascend by it, then stand in the order
  /// of the choice; an allocation may stand there twice (R-PREEMPT-516).
  std::uint32_t by = tables::kNoRow;
  std::uint32_t followup = tables::kNoRow;      ///< position in PlanRows::followups; kNoRow: as it is
  std::uint32_t given = tables::kNoRow;         ///< position in PlanRows::given; then what is written stands there
  std::uint32_t next_on_node = tables::kNoRow;  ///< next planned stop on the same node
};

/// A canary that was placed and trimmed again (R-SCHED-180). What it would have evicted stays in the plan (R-SCHED-181)
/// and names it: `by` is kDroppedBy + its position in PlanRows::dropped.
struct DroppedAlloc {
  base::Uuid id;
  std::uint32_t group = 0;
};
inline constexpr std::uint32_t kDroppedBy = 1U << 31;

/// A change of a deployment's status that goes with the plan.
struct PlannedStatus {
  base::Uuid deployment;
  std::string_view status, description;  ///< texts that outlive the plan: those of the specification are static
};

struct PlanRows {
  tables::VersionRow job = tables::kNoRow;  ///< the job version of every planned allocation that names no other
  std::vector<PlannedAlloc> allocs;         ///< in plan order
  std::vector<PlannedUpdate> updates;       ///< in plan order; before all `allocs`, but those of kind not_placed
  std::vector<PlannedStop> stops;           ///< stops and preemptions, in plan order
  std::vector<DroppedAlloc> dropped;        ///< of a system job's canaries, those too many
  bool has_deployment = false;              ///< a deployment goes with the plan
  std::shared_ptr<const model::Deployment> deployment;  ///< written with the commit; null: by somebody else, or none
  std::vector<PlannedStatus> deployment_updates;
  std::vector<base::Uuid> deployment_ids{1};       ///< first the one that placements and updates join, nil: none
  std::vector<base::Uuid> followups;               ///< evaluations that stops and updates refer to
  std::vector<model::RescheduleTracker> trackers;  ///< of replacements
  /// What replacements take over of remote tasks (R-SEED-15).
  std::vector<std::map<std::string, std::optional<model::TaskState>>> task_states;
  /// API objects of plans that come as such: new and changed allocations with their jobs, and of stops what is written
  /// (R-CTRL-626, 702). Schedulers leave it empty.
  std::vector<std::shared_ptr<const model::Allocation>> given;
  /// A per-node list of the plan was emptied again and still counts as content (R-SCHED-28).
  bool has_empty_list = false;

  /// R-SCHED-28: preemptions alone are nothing to submit.
  [[nodiscard]] bool is_no_op() const {
    if (!allocs.empty() || has_deployment || !deployment_updates.empty() || has_empty_list) return false;
    for (const PlannedUpdate& update : updates)
      if (!update.dropped) return false;
    for (const PlannedStop& stop : stops)
      if (!stop.evict && !stop.dropped) return false;
    return true;
  }
  /// Takes out what was taken back; the chains by node end here.
  void drop_taken_back() {
    std::erase_if(stops, [](const PlannedStop& stop) { return stop.dropped; });
    std::erase_if(updates, [](const PlannedUpdate& update) { return update.dropped; });
  }
  void clear() {
    job = tables::kNoRow;
    allocs.clear();
    updates.clear();
    stops.clear();
    dropped.clear();
    has_deployment = has_empty_list = false;
    deployment.reset();
    deployment_updates.clear();
    deployment_ids.assign(1, {});
    followups.clear();
    trackers.clear();
    task_states.clear();
    given.clear();
  }
};

}  // namespace berth::plan
