// The checks of a node, in order, with the reason of the first that fails (R-FEAS-303 to 305, 410): the job's
// constraints, the group's checks, volumes, distinct_*.
//
// The verdict of a node also depends on its computed class and on the nodes visited before (R-FEAS-409 to 415): the
// class verdicts are arrays by class code and are read at every visit (class_ledger.h). The checks themselves depend on
// the node alone: first_failing(), which the fast sources call once per class.
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
  /// `from`: the previous version, or null. Class verdicts and property sets are carried over by group name
  /// (R-FEAS-413, 1403, 1404); without the quirk each version has its own.
  void set_job(const tables::CompiledJob* from, bool given_before);
  /// Sets the network parameters to the group's; a group without a network inherits the previous ones (R-FEAS-309).
  void begin_select(GroupView& view);
  /// The current network parameters; at first those of a group without a network.
  [[nodiscard]] const feasible::NetworkAsk& network() const { return networks_[network_]; }

  // State that Selects leave for later Selects.
  /// The verdicts of all Selects so far.
  feasible::ClassCache& class_verdicts() {
    if (ledger_.has_unread()) write_unread_verdicts();
    return ledger_.classes;
  }
  [[nodiscard]] const ClassLedger& ledger() const { return ledger_; }
  /// Starts a Select that visits nodes by passes(), which writes their verdicts.
  void begin_general() {
    class_verdicts();
    ledger_.note_general();
  }
  /// Records a Select of the group that visited `count` places of the visiting order, from `first` on.
  void note_places(const GroupView& view, std::uint32_t first, std::uint32_t count) {
    ledger_.note_places(position_of(view), network_, first, count, candidates_.size);
  }
  /// Records a Select of the group that visited every candidate.
  void note_all(const GroupView& view) { ledger_.note_all(position_of(view), network_); }
  /// Appends the rows of the nodes at all visited places, unless a Select visited every candidate.
  void rows_visited(std::vector<tables::NodeRow>& out) const {
    for (std::uint32_t place = 0, end = std::max(candidates_.frontier, ledger_.reached()); place < end; ++place)
      out.push_back(candidates_.nodes->candidates[candidates_.order.at(place)].row);
  }
  /// True if the group had a Select that visited every candidate.
  [[nodiscard]] bool noted_all(const GroupView& view) const { return ledger_.visited_all(position_of(view)); }

  /// Checks job, group and volumes, using the class verdicts (R-FEAS-410); counts a node that fails. Call between
  /// begin_general() and the end of the Select.
  bool passes(Position& position, GroupView& view, Cell& cell);
  /// Reason id of the first check of job and group that the node fails, or kReasonNone. `of_node`: set to true if that
  /// check is not decided by the class (drivers, devices, network).
  std::uint32_t first_failing(tables::NodeRow row, GroupView& view, bool* of_node = nullptr);
  /// `class_passes`: the checks decided by the class (constraints, secrets) are known to pass.
  std::uint32_t first_failing_of_group(tables::NodeRow row, GroupView& view, bool class_passes = false,
                                       bool* of_node = nullptr);
  /// first_failing(), cached for all evaluations by request and kind of node if the checks read nothing else.
  std::uint32_t first_failing_known(tables::NodeRow row, GroupView& view);
  /// The same for a node of that class; does not read the node if all nodes of each class are of one kind.
  std::uint32_t first_failing_of_class(tables::NodeRow row, std::uint32_t computed_class, GroupView& view);
  /// The cached answers by computed class: a reason id or KindVerdicts::kUnknown. Valid until the next lookup.
  [[nodiscard]] std::span<const std::uint32_t> known_of_classes(const GroupView& view) const;
  /// The cached answer for the node: the check that it fails; kReasonNone if it passes or is not cached.
  [[nodiscard]] std::uint32_t known_failure(tables::NodeRow row, const GroupView& view);
  [[nodiscard]] bool job_holds(tables::NodeRow row) const;  ///< true if the job's constraints pass

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
  /// The node's API object; not needed where the checks of the node's kind are cached.
  [[nodiscard]] const model::Node& node_of(tables::NodeRow row) const {
    return attempt_.snapshot->nodes.spec(row).node;
  }
  std::uint32_t network_failure(tables::NodeRow row);

  /// Without verdicts_outlive_version: state of a version that was used before and is not the current one.
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
  std::vector<ClassLedger::Visit> reading_;     // visits whose verdicts are being written
  std::vector<feasible::NetworkAsk> networks_;  // of the attempt's groups; the first is the default
  std::uint32_t network_ = 0;                   // position of the current one
  std::vector<OtherVersion> other_versions_;
};

}  // namespace berth::sched
