// distinct_hosts and distinct_property (R-FEAS-1301 to 1314, 1401 to 1410). Each property has a count of the job's
// allocations by value. It is set up at the first Select of a group and updated to the plan before each Select. The
// topology of a gang (model/gang.h) is one more property, which counts nothing.
#pragma once

#include <optional>
#include <utility>

#include "feasible/distinct.h"
#include "sched/source/candidates.h"
#include "sched/stack/plan_effects.h"
#include "sched/stack/select_counts.h"

namespace berth::sched {

/// Code of the node's value in the dictionary of the target, or PropertySet::kNoValue.
[[nodiscard]] std::uint32_t value_code(const tables::NodeTable& nodes, const match::Target& target,
                                       tables::ColumnId column, tables::NodeRow row);

class DistinctCheck {
 public:
  DistinctCheck(Attempt& attempt, PlanEffects& effects, SelectCounts& counts)
      : attempt_(attempt), effects_(effects), counts_(counts) {}

  void start() {
    properties_.begin_attempt(0);
    domain_.reset();
    counted_ = 0;
  }
  /// From now on in this attempt, nodes must pass the set.
  void keep_to(feasible::PropertySet domain) { domain_ = std::move(domain); }
  [[nodiscard]] bool has_domain() const { return domain_.has_value(); }
  /// `counts`: add the version's job-level sets.
  void set_job(bool first, bool counts);
  /// Swaps the sets in use with those of another version.
  void exchange(feasible::PropertySets& other) {
    std::swap(other, properties_);
    counted_ = 0;
  }

  void begin_select(GroupView& view);
  /// True if any node is checked in this Select.
  [[nodiscard]] bool asks(const GroupView& view) const { return asks_hosts(view) || has_properties(); }
  [[nodiscard]] bool has_properties() const { return !properties_.empty() || domain_; }
  [[nodiscard]] bool asks_hosts(const GroupView& view) const {
    return attempt_.job->distinct_hosts || view.group->distinct_hosts;
  }
  /// True if the node holds an allocation that distinct_hosts separates from the group.
  [[nodiscard]] bool shares_host(tables::NodeRow row, const GroupView& view) const;
  /// True if the node passes; otherwise its failure is counted.
  bool passes(const Position& position, const GroupView& view);

  /// Returns the property sets that the group's nodes have to pass, in the order of the check. Valid until the next
  /// set_job() or change of the group.
  void properties(const GroupView& view, std::vector<const feasible::PropertySet*>& out) const;
  /// Code of the node's value in the dictionary of the set's target, or kNoValue.
  [[nodiscard]] std::uint32_t code_of(const feasible::PropertySet& set, tables::NodeRow row) const;
  /// Id of the reason why the node fails the set.
  [[nodiscard]] std::uint32_t reason_of(const feasible::PropertySet& failing, tables::NodeRow row) const;

 private:
  /// Counts the job's allocations in new sets, which are those of the compiled list or none.
  void count_existing(std::span<feasible::PropertySet> sets,
                      const std::vector<tables::CompiledDistinctProperty>& compiled);
  void count_existing(feasible::PropertySet& set);

  Attempt& attempt_;
  PlanEffects& effects_;
  SelectCounts& counts_;
  feasible::PropertySets properties_;
  std::optional<feasible::PropertySet> domain_;
  std::size_t counted_ = 0;  // placements of the plan counted so far, while the plan has no other changes
};

}  // namespace berth::sched
