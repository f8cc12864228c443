// A plan as rows: the proposals of one attempt, in numbers (R-MODEL-190, R-SCHED-22).
//
//   allocs    new allocations                                       into NodeAllocation
//   updates   existing allocations listed again, still on their node  into NodeAllocation
//   stops     existing allocations ended by the server              into NodeUpdate, NodePreemptions
// Rare data (reschedule trackers, follow-up evaluations, deployments other than the plan's) is in separate lists that
// the rows refer to by position. Data without a column is stored as API objects (`given`). Conversion to text happens
// when the plan is read (sched/to_model.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/eval.h"
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
  std::shared_ptr<const tables::ResourceShape> shape;  ///< owner of `held`; null if it is the group's own shape
  std::uint32_t next_on_node = tables::kNoRow;         ///< next planned allocation on the same node
  tables::VersionRow job = tables::kNoRow;             ///< another version than the plan's (a downgrade); or kNoRow
  tables::AllocRow previous = tables::kNoRow;          ///< the one it replaces (R-SCHED-85)
  std::uint32_t tracker = tables::kNoRow;              ///< position in PlanRows::trackers
  std::uint32_t task_states = tables::kNoRow;          ///< position in PlanRows::task_states
  std::uint32_t given = tables::kNoRow;                ///< position in PlanRows::given; then only `id` and `node` count
  std::uint16_t deployment = 0;                        ///< position in PlanRows::deployment_ids
  bool first_on_node = false;                          ///< no earlier planned allocation is on its node
  bool canary = false;                                 ///< R-SCHED-86
  bool keeps_name = false;                             ///< keeps the name of `previous`, even an unusual one
};

/// One existing allocation that the plan lists again (R-SCHED-24, 25).
struct PlannedUpdate {
  enum class Kind : std::uint8_t {
    in_place,    ///< the plan's job version, resources as `held` (R-SCHED-114)
    unknown,     ///< its node is disconnected (R-RECON-31)
    reconnects,  ///< it came back (R-RECON-32)
    annotated,   ///< only the follow-up evaluation changes (R-RECON-30)
    not_placed,  ///< no node for its replacement: a note in its tracker (R-SCHED-96)
    given,       ///< as in the API object at `given`
  };
  tables::AllocRow alloc = tables::kNoRow;
  Kind kind = Kind::in_place;
  enum class Note : std::uint8_t { none, ok, no_placement };
  Note note = Note::none;      ///< for its tracker: was a replacement placed? (R-SCHED-94, 96)
  bool to_deployment = false;  ///< in place: joins deployment 0 of the plan, and its health is reset (R-SCHED-48)
  bool dropped = false;        ///< withdrawn
  bool came_back = false;      ///< in place, system jobs: it reconnected, and its alloc states record that
  std::uint32_t followup = tables::kNoRow;             ///< position in PlanRows::followups; kNoRow: unchanged
  std::uint32_t given = tables::kNoRow;                ///< position in PlanRows::given
  const tables::ResourceShape* held = nullptr;         ///< in place: what it holds; null: unchanged
  std::shared_ptr<const tables::ResourceShape> shape;  ///< owner of `held`; null if it is the group's own shape
  std::uint32_t next_on_node = tables::kNoRow;         ///< next planned update on the same node
  std::uint32_t older = tables::kNoRow;                ///< the update before of the same allocation
  /// In place on the system stack: metrics of the check, which replace those of the allocation (R-SCHED-118).
  std::optional<SelectMetrics> metrics;
};

/// One allocation that the plan stops or evicts.
struct PlannedStop {
  tables::AllocRow alloc = tables::kNoRow;
  bool evict = false;              ///< a preemption: desired `evict` instead of `stop`
  bool replaced = false;           ///< the entry is the stored allocation with a note in its tracker (R-SCHED-94)
  bool dropped = false;            ///< withdrawn (R-SCHED-27)
  bool came_back = false;          ///< as in PlannedUpdate
  bool keeps_description = false;  ///< `replaced`, but written with desired `stop` and its description (R-SEED-75)
  tables::Description description = tables::Description::none;
  std::optional<tables::Client> client;  ///< client status to write with it, as for lost allocations (R-CTRL-626)
  /// A preemption: position in `allocs` of the placement it makes room for. Preemptions ascend by it, then by order of
  /// choice; an allocation may appear twice (R-PREEMPT-516).
  std::uint32_t by = tables::kNoRow;
  std::uint32_t followup = tables::kNoRow;      ///< position in PlanRows::followups; kNoRow: unchanged
  std::uint32_t given = tables::kNoRow;         ///< position in PlanRows::given, which holds what is written
  std::uint32_t next_on_node = tables::kNoRow;  ///< next planned stop on the same node
  std::uint32_t older = tables::kNoRow;         ///< the stop before of the same allocation
};

/// A canary that was placed and trimmed again (R-SCHED-180). Its evictions stay in the plan (R-SCHED-181) and refer to
/// it: `by` is kDroppedBy + its position in PlanRows::dropped.
struct DroppedAlloc {
  base::Uuid id;
  std::uint32_t group = 0;
};
inline constexpr std::uint32_t kDroppedBy = 1U << 31;

/// A change of a deployment's status, written with the plan.
struct PlannedStatus {
  base::Uuid deployment;
  std::string_view status, description;  ///< texts must outlive the plan; those of the specification are static
};

struct PlanRows {
  tables::VersionRow job = tables::kNoRow;  ///< the job version of every planned allocation that does not set its own
  std::vector<PlannedAlloc> allocs;         ///< in plan order
  std::vector<PlannedUpdate> updates;       ///< in plan order; before all `allocs`, except those of kind not_placed
  std::vector<PlannedStop> stops;           ///< stops and preemptions, in plan order
  std::vector<DroppedAlloc> dropped;        ///< a system job's surplus canaries
  bool has_deployment = false;              ///< a deployment is written with the plan
  std::shared_ptr<const model::Deployment> deployment;  ///< written with the commit; null: written elsewhere, or none
  std::vector<PlannedStatus> deployment_updates;
  std::vector<base::Uuid> deployment_ids{1};       ///< first the one that placements and updates join; nil: none
  std::vector<base::Uuid> followups;               ///< evaluations that stops and updates refer to
  std::vector<model::RescheduleTracker> trackers;  ///< trackers of replacements
  /// Remote task states that replacements take over (R-SEED-15).
  std::vector<std::map<std::string, std::optional<model::TaskState>>> task_states;
  /// API objects of plans that come as such: new and changed allocations with their jobs, and the written form of stops
  /// (R-CTRL-626, 702). Schedulers leave it empty.
  std::vector<std::shared_ptr<const model::Allocation>> given;
  /// A per-node list of the plan was emptied again and still counts as content (R-SCHED-28).
  bool has_empty_list = false;

  /// R-SCHED-28: a plan with only preemptions is not submitted.
  [[nodiscard]] bool is_no_op() const {
    if (!allocs.empty() || has_deployment || !deployment_updates.empty() || has_empty_list) return false;
    for (const PlannedUpdate& update : updates)
      if (!update.dropped) return false;
    for (const PlannedStop& stop : stops)
      if (!stop.evict && !stop.dropped) return false;
    return true;
  }
  /// Removes withdrawn entries. Invalidates the chains by node.
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
