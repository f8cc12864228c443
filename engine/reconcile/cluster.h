// The reconciler for service and batch jobs. Input: one job, its allocations and its deployment. Output: the changes to
// make (R-RECON-1 to 217).
//
// Allocations are identified by row, their position in the span of AllocFacts; no allocation is copied or changed. All
// sets of the algorithm are bits of one 16-bit word per allocation, in order K (R-RECON-7), so a set operation is a
// pass over an array. Canonical orders (R-RECON-7 to 9, 12) make the result depend on the inputs alone. A
// ClusterReconciler keeps its scratch memory between runs and belongs to one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rows.h"
#include "model/eval.h"
#include "model/quirks.h"
#include "reconcile/alloc_facts.h"
#include "reconcile/name_index.h"

namespace berth::reconcile {

using base::kNoRow;
inline constexpr std::int32_t kNoFollowup = -1;

// Stop descriptions (R-MODEL-44, section 7 of part 05).
inline constexpr std::string_view kNotNeeded = "alloc not needed due to job update";
inline constexpr std::string_view kReconnected = "alloc not needed due to disconnected client reconnect";
inline constexpr std::string_view kMigrating = "alloc is being migrated";
inline constexpr std::string_view kUpdating = "alloc is being updated due to job update";
inline constexpr std::string_view kLostNode = "alloc is lost since its node is down";
inline constexpr std::string_view kRescheduled = "alloc was rescheduled because it failed";

/// What a changed job requires of a running allocation (R-RECON-21, section 9 of part 05).
enum class UpdateKind : std::uint8_t { ignore, inplace, destructive };

/// The update function, called once per group.
class UpdateJudge {
 public:
  virtual ~UpdateJudge() = default;
  /// Fills `kinds[i]` for the allocation of `rows[i]`.
  virtual void judge(std::span<const std::uint32_t> rows, std::span<UpdateKind> kinds) = 0;
};

/// Source of new identifiers (R-RECON-12).
class IdSource {
 public:
  virtual ~IdSource() = default;
  virtual std::string next_eval_id() = 0;
  virtual std::string next_deployment_id() = 0;
};

struct ClusterInput {
  const model::Job* job = nullptr;                ///< null = purged
  std::string_view job_id;                        ///< prefix of generated names, also without a job
  bool is_batch = false;                          ///< run by the batch scheduler (R-RECON-15)
  const model::Deployment* deployment = nullptr;  ///< the latest one; never for batch (R-RECON-16)
  std::span<const AllocFacts> allocs;             ///< all of the job, in any order
  std::span<const std::uint32_t> slots;           ///< AllocFacts::slot() of each: reads 4 bytes instead of 48
  std::span<const std::string> group_names;       ///< by AllocFacts::group
  std::string_view eval_id;
  std::int64_t eval_priority = 0;
  std::int64_t now = 0;            ///< ns
  bool disconnect_support = true;  ///< R-RECON-22, R-SEED-61
  model::Quirks quirks;
};

struct ClusterResult {
  struct Group {
    std::string name;
    model::DesiredUpdates updates;   ///< progress counters, not list lengths (R-RECON-37)
    std::optional<NameIndex> names;  ///< final state; absent when everything is stopped (R-RECON-35)
  };
  struct Stop {
    std::uint32_t row;
    model::ClientStatus client_status;  ///< `none` = unchanged
    std::string_view description;
    std::int32_t followup = kNoFollowup;
  };
  struct Place {
    std::uint32_t group;       ///< position in `groups`
    std::uint32_t name_index;  ///< the name is that of `previous`, or made from the index (R-RECON-39)
    std::uint32_t previous;    ///< row, or kNoRow
    bool canary = false, reschedule = false, lost = false, downgrade = false;
    bool previous_disconnects = false;  ///< the previous allocation is the copy of `disconnect_updates` (R-RECON-139)
    std::uint64_t min_job_version = 0;
  };
  struct Destructive {
    std::uint32_t group, row;
  };
  struct Update {
    std::uint32_t row;
    std::int32_t followup = kNoFollowup;  ///< kNoFollowup = unchanged
  };
  struct Followup {
    std::uint32_t group;
    model::Evaluation eval;
  };

  std::vector<Group> groups;  ///< in visiting order (R-RECON-9)
  std::vector<Place> place;
  std::vector<Destructive> destructive_update;  ///< description kUpdating
  std::vector<std::uint32_t> inplace_update;
  std::vector<Stop> stop;
  std::vector<Update> attribute_updates, disconnect_updates, reconnect_updates;
  std::vector<Update> followups_in_alloc;  ///< written into the allocation itself (R-RECON-154, trap 9)
  std::vector<Followup> followups;         ///< to create; the other lists refer to positions here
  std::optional<model::Deployment> deployment;
  std::vector<model::DeploymentStatusUpdate> deployment_updates;
  bool set_aside = false;  ///< the input's deployment is not the current one (R-RECON-69, 71, 72)
};

/// Name of a placement (R-RECON-39).
[[nodiscard]] std::string place_name(const ClusterInput& input, const ClusterResult& result,
                                     const ClusterResult::Place& place);

// The updated copies of two update lists (R-RECON-30, 31).
[[nodiscard]] model::Allocation with_followup(const ClusterInput& input, const ClusterResult& result,
                                              const ClusterResult::Update& update);
[[nodiscard]] model::Allocation disconnected(const ClusterInput& input, const ClusterResult& result,
                                             const ClusterResult::Update& update);

class ClusterReconciler {
 public:
  /// One run. The result refers only to the input's pointers and spans, which must outlive it.
  [[nodiscard]] ClusterResult run(const ClusterInput& input, UpdateJudge& updates, IdSource& ids);

 private:
  friend class GroupRun;
  std::vector<std::uint32_t> rows_;  // all rows, by group, each group in order K
  std::vector<std::uint64_t> sort_keys_;
  std::uint32_t counted_ = 0;              // rows_ begins with 0, 1, ... up to this number
  std::vector<std::uint16_t> sets_;        // per position of the current group: the sets it is in
  std::vector<std::int32_t> followup_of_;  // per position of the current group
  std::vector<std::uint8_t> stopped_;      // per position of the current group: it has a stop entry; unused with
                                           // double_stops
  std::vector<std::uint32_t> asked_;       // rows passed to the update function
  std::vector<UpdateKind> answers_;
  std::vector<std::uint32_t> indexes_, other_indexes_;
};

}  // namespace berth::reconcile
