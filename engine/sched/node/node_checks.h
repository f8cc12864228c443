// The checks of a node, in order, with the reason of the first that fails (R-FEAS-303 to 305, 410): the job's
// constraints, the group's checks, volumes, distinct_*.
//
// Which verdict a node gets also depends on its computed class and on the nodes visited before (R-FEAS-409 to 415): the
// class verdicts are arrays by class code and are consulted at every visit (class_ledger.h). The checks themselves are
// functions of the node alone: first_failing(), which the fast sources ask once per class.
#pragma once

#include "sched/node/class_ledger.h"
#include "sched/node/distinct_check.h"
#include "sched/node/volume_check.h"

namespace berth::sched {

class NodeChecks {
 public:
  NodeChecks(Attempt& attempt, PlanEffects& effects, SelectCounts& counts, Candidates& candidates)
      : distinct(attempt, effects, counts),
        volumes(attempt, effects, counts),
        attempt_(attempt),
        scratch_(attempt.scratch),
        counts_(counts),
        candidates_(candidates) {}

  void start();
  /// `from`: the version before, or null. Class verdicts and property sets stay, by group name (R-FEAS-413, 1403,
  /// 1404); without the quirk each version has its own.
  void set_job(const tables::CompiledJob* from, bool given_before);
  /// Puts the group's network parameters in force; without a network it inherits those before (R-FEAS-309).
  void begin_select(GroupView& view);
  /// The network parameters in force; at first those of a group without a network.
  [[nodiscard]] const feasible::NetworkAsk& network() const { return networks_[network_]; }

  // What Selects leave behind for those that follow.
  /// The verdicts of all Selects so far.
  feasible::ClassCache& class_verdicts() {
    if (ledger_.has_unread()) write_unread_verdicts();
    return ledger_.classes;
  }
  [[nodiscard]] const ClassLedger& ledger() const { return ledger_; }
  /// A Select begins that visits nodes by passes(), which writes their verdicts.
  void begin_general() {
    class_verdicts();
    ledger_.note_general();
  }
  /// A Select of the group ended that visited `count` places of the visiting order, from `first` on.
  void note_places(const GroupView& view, std::uint32_t first, std::uint32_t count) {
    ledger_.note_places(position_of(view), network_, first, count, candidates_.size);
  }
  /// A Select of the group ended that visited every candidate.
  void note_all(const GroupView& view) { ledger_.note_all(position_of(view), network_); }
  /// Appends the rows of the nodes at all places that Selects visited, unless one visited every candidate.
  void rows_visited(std::vector<tables::NodeRow>& out) const {
    for (std::uint32_t place = 0, end = std::max(candidates_.frontier, ledger_.reached()); place < end; ++place)
      out.push_back(candidates_.nodes->candidates[candidates_.order.at(place)].row);
  }
  /// Whether the group had such a Select.
  [[nodiscard]] bool noted_all(const GroupView& view) const { return ledger_.visited_all(position_of(view)); }

  /// Job, group and volumes by way of the class verdicts (R-FEAS-410); a node that fails is counted. Between
  /// begin_general() and the end of the Select.
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
  /// What first_failing_known() remembers of the node: the check that it fails, kReasonNone if none is known.
  [[nodiscard]] std::uint32_t known_failure(tables::NodeRow row, const GroupView& view);
  [[nodiscard]] bool job_holds(tables::NodeRow row) const;  ///< the job's constraints

  /// Class verdicts merged over job and groups (R-FEAS-1701): code of the computed class column -> eligible.
  void class_map(std::vector<std::pair<std::uint32_t, bool>>& out);
  [[nodiscard]] bool has_escaped() const { return ledger_.classes.has_escaped(); }  ///< R-FEAS-408

  DistinctCheck distinct;
  VolumeCheck volumes;

 private:
  bool job_checks(Position& position);
  bool group_checks(const Position& position, GroupView& view, Cell& cell, feasible::ClassStatus status);
  [[nodiscard]] std::uint32_t number_of(const feasible::NetworkAsk& network);
  void write_unread_verdicts();
  void write_verdict(tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  [[nodiscard]] std::uint32_t position_of(const GroupView& view) const {
    return static_cast<std::uint32_t>(&view - candidates_.views.data());
  }
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
  Candidates& candidates_;
  ClassLedger ledger_;
  std::vector<ClassLedger::Visit> reading_;     // those whose verdicts are being written
  std::vector<feasible::NetworkAsk> networks_;  // of the attempt's groups; the first one is the default
  std::uint32_t network_ = 0;                   // position of those in force
  std::vector<OtherVersion> other_versions_;
};

}  // namespace berth::sched
