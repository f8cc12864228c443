// The checks of a node, in order, with the reason of the first that fails (R-FEAS-303 to 305, 410): the job's
// constraints, the group's checks, volumes, distinct_*.
//
// Which verdict a node gets also depends on its computed class and on who was visited first (R-FEAS-409 to 415): the
// class verdicts are arrays by class code and are consulted at every visit. The checks themselves are functions of
// the node alone: first_failing(), which the fast ways ask once per class.
#pragma once

#include "feasible/class_cache.h"
#include "sched/node/distinct_check.h"
#include "sched/node/volume_check.h"

namespace berth::sched {

class NodeChecks {
 public:
  NodeChecks(Attempt& attempt, PlanEffects& effects, SelectCounts& counts)
      : distinct(attempt, effects, counts),
        volumes(attempt, effects, counts),
        attempt_(attempt),
        scratch_(attempt.scratch),
        counts_(counts) {}

  void start();
  /// `from`: the version before, or null. Class verdicts and property sets stay, by group name (R-FEAS-413, 1403,
  /// 1404); without the quirk each version has its own.
  void set_job(const tables::CompiledJob* from, bool given_before);
  /// What group `view` asks of networks; without a network it inherits the one before (R-FEAS-309).
  void begin_select(GroupView& view);

  /// Job, group and volumes by way of the class verdicts (R-FEAS-410); a node that fails is counted.
  bool passes(Position& position, GroupView& view, Cell& cell);
  /// Reason id of the first check of job and group that the node fails, or kReasonNone. `of_node`: whether it is one of
  /// those that a class does not decide (drivers, devices, network).
  std::uint32_t first_failing(tables::NodeRow row, GroupView& view, bool* of_node = nullptr);
  /// `class_passes`: what the class decides (constraints, secrets) was found to hold before.
  std::uint32_t first_failing_of_group(tables::NodeRow row, GroupView& view, bool class_passes = false,
                                       bool* of_node = nullptr);
  /// first_failing(), remembered for all evaluations per ask and kind of node where these are all that it reads.
  std::uint32_t first_failing_known(tables::NodeRow row, GroupView& view);
  /// Of a node of that class; without a look at the node where all of a class are of one kind.
  std::uint32_t first_failing_of_class(tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  /// What that remembers, by computed class: a reason id or KindVerdicts::kUnknown. Until somebody asks it.
  [[nodiscard]] std::span<const std::uint32_t> known_of_classes(const GroupView& view) const;
  /// Whether what a node fails of them is a matter of its kind, whatever becomes of the others of its class.
  [[nodiscard]] bool verdicts_last(const GroupView& view) const {
    return attempt_.snapshot->nodes.class_kinds_exact && kind_tells(view);
  }
  /// What first_failing_known() remembers of the node: the check that it fails, kReasonNone if none is known.
  [[nodiscard]] std::uint32_t known_failure(tables::NodeRow row, const GroupView& view);
  [[nodiscard]] bool job_holds(tables::NodeRow row) const;  ///< the job's constraints
  /// What a pass over all candidates leaves behind where the nodes of a class cannot be told apart: the verdicts of
  /// their classes (R-FEAS-410), from one node of each.
  void give_class_verdicts(const ReadyNodes& nodes, GroupView& view);

  /// Class verdicts merged over job and groups (R-FEAS-1701): code of the computed class column -> eligible.
  void class_map(std::vector<std::pair<std::uint32_t, bool>>& out) const;
  [[nodiscard]] bool has_escaped() const { return classes.has_escaped(); }  ///< R-FEAS-408

  DistinctCheck distinct;
  VolumeCheck volumes;
  feasible::ClassCache classes;
  feasible::NetworkAsk network_ask;  ///< of the last group that had a network (R-FEAS-309)

 private:
  bool job_checks(Position& position);
  bool group_checks(const Position& position, GroupView& view, Cell& cell, feasible::ClassStatus status);
  void change_version(const tables::CompiledJob& from);
  [[nodiscard]] bool kind_tells(const GroupView& view) const;
  /// Its object: where the checks of its kind are decided, nobody needs it.
  [[nodiscard]] const model::Node& node_of(tables::NodeRow row) const {
    return attempt_.snapshot->nodes.spec(row).node;
  }
  [[nodiscard]] bool has_driver(tables::NodeRow row, tables::Symbol profile, const tables::CompiledGroup& group,
                                std::size_t driver);
  std::uint32_t network_failure(tables::NodeRow row, tables::Symbol profile);

  /// Without verdicts_outlive_version: what the attempt knows of a version that was given before and is not now.
  struct OtherVersion {
    const tables::CompiledJob* job = nullptr;
    feasible::ClassCache classes;
    feasible::PropertySets properties;
  };
  Attempt& attempt_;
  Scratch& scratch_;
  SelectCounts& counts_;
  std::vector<OtherVersion> other_versions_;
};

}  // namespace berth::sched
