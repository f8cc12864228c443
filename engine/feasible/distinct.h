// distinct_hosts and distinct_property (R-FEAS-1311 to 1315, 1401 to 1412).
//
// A PropertySet counts allocations per value of its target. Values are codes of the dictionary of the target's column;
// kNoValue stands for a node that is gone or does not resolve the target. The caller's scan decides which allocations
// count (R-FEAS-1405); this class decides what the counts mean.
//   array       index  bytes  meaning
//   existing_   code       4  allocations of the snapshot
//   proposed_   code       4  allocations of the plan
//   cleared_    code       4  stops of the plan
// Threads: owned by one worker.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "match/target.h"
#include "model/quirks.h"
#include "model/resources.h"

namespace berth::feasible {

/// The two levels of distinct_hosts for one task group.
struct DistinctHosts {
  bool job = false, group = false;

  /// True if a node is filtered, with reason `distinct_hosts`. `job_allocs` counts the node's proposed allocations
  /// (R-FEAS-1301) with the job's namespace and ID, `group_allocs` those among them in the current task group
  /// (R-FEAS-1313).
  [[nodiscard]] bool filters(std::uint32_t job_allocs, std::uint32_t group_allocs) const {
    return (job && job_allocs > 0) || (group && group_allocs > 0);
  }
};

class PropertySet {
 public:
  static constexpr std::uint32_t kNoValue = 0xFFFFFFFF;
  static constexpr std::uint32_t kWholeJob = 0xFFFFFFFF;

  /// `group` is the number of the task group whose allocations count, or kWholeJob (R-FEAS-1412). The allowed count is
  /// RTarget; if that is not a number, every node fails with error() (R-FEAS-1402).
  PropertySet(const model::Constraint& constraint, std::uint32_t group);
  /// A set that counts nothing: a node passes if its value is one of `codes`, the topology of a gang (model/gang.h).
  PropertySet(const std::string& ltarget, std::uint32_t column, std::span<const std::uint32_t> codes);

  [[nodiscard]] const match::Target& target() const { return target_; }
  [[nodiscard]] std::uint32_t group() const { return group_; }
  /// The column in which the caller looks up values of the target; stored here for the caller.
  [[nodiscard]] std::uint32_t column() const { return column_; }
  void set_column(std::uint32_t column) { column_ = column; }
  [[nodiscard]] bool counts_group(std::uint32_t group) const { return group_ == kWholeJob || group_ == group; }

  /// Adds one allocation of the job in the snapshot; only while the set is built (R-FEAS-1405).
  void add_existing(std::uint32_t code);
  /// At every Select: begin_plan(), then each plan allocation and each plan stop, then end_plan().
  void begin_plan();
  void add_proposed(std::uint32_t code);
  void add_cleared(std::uint32_t code);
  /// Applies the netting of R-FEAS-1407. With the quirk property_counts_skewed off there is no netting, and the caller
  /// must propose only new allocations and clear only existing ones.
  void end_plan(const model::Quirks& quirks = {});

  /// Number of allocations that use the value now (R-FEAS-1408).
  [[nodiscard]] std::uint64_t used(std::uint32_t code) const;
  /// True if a node with this value passes (R-FEAS-1410).
  [[nodiscard]] bool passes(std::uint32_t code) const {
    if (!members_.empty()) return code < members_.size() && members_[code] != 0;
    return error_.empty() && is_counted(code) && used(code) < allowed_;
  }
  /// Reason why a node that does not pass is filtered. `value` is the text of `code`.
  [[nodiscard]] std::string reason(std::uint32_t code, std::string_view value) const;

 private:
  /// False for an empty LTarget, which counts as unresolved here although it is a literal (R-FEAS-1406, 1410).
  [[nodiscard]] bool is_counted(std::uint32_t code) const { return code != kNoValue && !ltarget_.empty(); }
  void make_room(std::uint32_t code);

  std::string ltarget_;
  match::Target target_;
  std::uint32_t group_;
  std::uint32_t column_ = 0;
  std::uint64_t allowed_ = 1;
  std::string error_;
  std::vector<std::uint32_t> existing_, proposed_, cleared_;
  std::vector<std::uint8_t> members_;   // by code: of a gang's topology; empty: not one
  std::vector<std::uint32_t> in_plan_;  // codes with a proposed or cleared count, each once
};

/// The property sets of one attempt (R-FEAS-1403, 1404, 1411).
class PropertySets {
 public:
  void begin_attempt(std::uint32_t group_count);

  void add_groups(std::uint32_t group_count) { groups_.resize(std::max<std::size_t>(groups_.size(), group_count)); }

  /// Appends the sets of a job version; sets of earlier versions stay in force (R-FEAS-1403). Returns the new sets; the
  /// caller must fill in their existing counts.
  [[nodiscard]] std::span<PropertySet> add_job(std::span<const model::Constraint> constraints);
  /// Builds the sets of a task group, if it has such constraints and was never built (R-FEAS-1404). Returns the new
  /// ones.
  [[nodiscard]] std::span<PropertySet> add_group(std::uint32_t group, std::span<const model::Constraint> constraints);

  [[nodiscard]] bool empty() const { return set_count_ == 0; }
  template <class F>
  void for_each(F f) {
    for (PropertySet& set : job_) f(set);
    for (auto& sets : groups_)
      for (PropertySet& set : sets) f(set);
  }

  /// Visits the sets that nodes of a task group must pass, in list order: the job's, then the group's.
  template <class F>
  void each_of(std::uint32_t group, F f) const {
    for (const PropertySet& set : job_) f(set);
    for (const PropertySet& set : groups_[group]) f(set);
  }

  /// Returns the first set that a node fails for a task group: the job's sets, then the group's, in list order; null if
  /// it passes. `code_of(set)` is the node's code in the dictionary of the set's target.
  template <class CodeOf>
  [[nodiscard]] const PropertySet* first_failing(std::uint32_t group, CodeOf code_of) const {
    for (const PropertySet& set : job_)
      if (!set.passes(code_of(set))) return &set;
    for (const PropertySet& set : groups_[group])
      if (!set.passes(code_of(set))) return &set;
    return nullptr;
  }

 private:
  std::span<PropertySet> append(std::vector<PropertySet>& sets, std::span<const model::Constraint> constraints,
                                std::uint32_t group);

  std::vector<PropertySet> job_;
  std::vector<std::vector<PropertySet>> groups_;  // by group number
  std::size_t set_count_ = 0;
};

}  // namespace berth::feasible
