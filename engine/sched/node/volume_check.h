// Host and CSI volumes of a group over the tables (R-FEAS-305, 1101 to 1223). Only groups that ask for volumes pay.
#pragma once

#include <deque>
#include <optional>

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

  void start() { missing_resources.clear(); }
  void begin_select(const GroupView& view, const SelectOptions& options);
  /// Whether the node has what the group asks for; counted if it has not.
  bool passes(const Position& position);

  std::vector<std::string> missing_resources;  ///< R-FEAS-1203

 private:
  std::string_view keep(std::string text) { return kept_texts_.emplace_back(std::move(text)); }
  feasible::AllocView alloc_view(tables::AllocRow row);
  feasible::AllocView planned_view(const PlannedAlloc& planned);
  std::vector<feasible::AllocView> node_views(tables::NodeRow row, bool proposed_only);
  [[nodiscard]] const model::Job* current_job(std::string_view job_namespace, std::string_view id) const;
  [[nodiscard]] std::optional<feasible::AllocView> find_alloc(std::string_view id);

  Attempt& attempt_;
  PlanEffects& effects_;
  SelectCounts& counts_;
  feasible::VolumeState state_;
  std::optional<feasible::HostVolumeCheck> host_;
  std::optional<feasible::CsiVolumeCheck> csi_;
  std::deque<std::string> kept_texts_;  // what the views of this Select point to
};

}  // namespace berth::sched
