// Host and CSI volumes of a group over the tables (R-FEAS-305, 1101 to 1223). Costs nothing for groups without volumes.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "feasible/csi_volumes.h"
#include "feasible/host_volumes.h"
#include "sched/source/candidates.h"
#include "sched/stack/plan_effects.h"
#include "sched/stack/select_counts.h"

namespace berth::sched {

class VolumeCheck {
 public:
  VolumeCheck(Attempt& attempt, PlanEffects& effects, SelectCounts& counts)
      : attempt_(attempt), effects_(effects), counts_(counts) {}

  void start() {
    missing_resources.clear();
    view_ = nullptr;
    begun_for_ = nullptr;
    bound_ = false;
    own_rows_.clear(), all_rows_.clear();
    scans_ = 0;
  }
  /// `view` and `options` must outlive the Select.
  void begin_select(const GroupView& view, const SelectOptions& options);
  /// True if the node has the volumes that the group requests; otherwise the failure is counted.
  bool passes(const Position& position);

  /// True if the node has the host volumes; not counted, and cached for all evaluations. For a group without
  /// Need::own_volumes and Need::registered_volumes.
  [[nodiscard]] bool node_has(tables::NodeRow row);

  /// The requested host volumes as text: groups with equal texts get equal answers.
  [[nodiscard]] static std::string requested(const tables::CompiledGroup& group);

  std::vector<std::string> missing_resources;  ///< R-FEAS-1203

 private:
  void begin_checks();
  [[nodiscard]] std::uint32_t csi_reason(tables::NodeRow row);
  std::string_view keep(std::string text) { return kept_texts_.emplace_back(std::move(text)); }
  [[nodiscard]] feasible::AllocView bare_view(tables::AllocRow row, const model::TaskGroup* group) const;
  feasible::AllocView alloc_view(tables::AllocRow row);
  feasible::AllocView planned_view(const PlannedAlloc& planned);
  std::vector<feasible::AllocView> proposed_views(tables::NodeRow row);
  std::span<const feasible::AllocView> csi_views(tables::NodeRow row);
  [[nodiscard]] const model::TaskGroup* csi_group(tables::AllocRow row) const;
  void sort_by_id(std::vector<tables::AllocRow>& rows) const;
  [[nodiscard]] const model::Job* current_job(std::string_view job_namespace, std::string_view id) const;
  void bind_state();
  [[nodiscard]] std::optional<feasible::AllocView> find_alloc(std::string_view id);
  [[nodiscard]] tables::AllocRow find_row(base::Uuid id);

  Attempt& attempt_;
  PlanEffects& effects_;
  SelectCounts& counts_;
  const GroupView* view_ = nullptr;  // of the current Select, if it requests volumes; see begin_checks()
  const SelectOptions* options_ = nullptr;
  const tables::CompiledGroup* begun_for_ = nullptr;  // its checks hold for every Select of the attempt
  bool follows_known_ = false;                        // the scratch's answers are for this Select's group
  feasible::VolumeState state_;
  bool bound_ = false;  // bind_state() was called in this attempt
  // By ID, in this attempt: the job's allocations from the first lookup on; all allocations after many single scans.
  using Rows = std::unordered_map<base::Uuid, tables::AllocRow, base::UuidHash>;
  Rows own_rows_, all_rows_;
  std::uint32_t scans_ = 0;
  std::optional<feasible::HostVolumeCheck> host_;
  std::optional<feasible::CsiVolumeCheck> csi_;
  std::uint32_t csi_missing_ = kReasonNone;  // reason id if volumes are missing, set at the first node
  std::deque<std::string> kept_texts_;       // referred to by the views of this Select
  std::map<std::pair<std::string_view, std::string_view>, tables::JobKeyRow> keys_;  // by namespace and job ID, of the
                                                                                     // last proposed_views()
  std::vector<tables::AllocRow> csi_rows_;
  std::vector<feasible::AllocView> csi_views_;  // of the last node checked
};

}  // namespace berth::sched
