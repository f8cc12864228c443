// A fast source for a Select on a nearly full cluster, such as those of evaluations that wait for capacity. The table
// of the request (ask_table.h) was filled when a Select failed. It has, for every candidate, whether the candidate
// passes the checks and which dimension was exhausted.
//
// If no node has room, the Select fails. The metrics of a pass over all nodes are then known: the class verdicts give
// the filtered nodes, the counts of the table the exhausted ones. If fewer nodes have room than the limit of the
// Select, a walk would visit every node. So the best of them is the result, and the cursor returns to where it was.
//
// Groups with equal requests share a table, whatever their jobs, so a changed node is visited once for all waiting
// jobs. A group has a table for itself if the result also depends on the job: on distinct_*, volumes or other groups.
// That table also has the nodes that are filtered one by one: for their host volumes, for allocations of the job or for
// a distinct property. With distinct properties it is valid only while the job's allocations and the values of the
// nodes are unchanged.
//
// A pass that may evict has another table, shared by jobs of one priority that hold no allocation. What eviction
// achieves on a node depends only on that priority, on the request and on what the node holds. A node where eviction
// makes no room has none without eviction either, so this table answers both passes of a Select.
//
// Cost of a Select: O(changed nodes + classes); if several nodes have room, also one scan of the visiting order.
#pragma once

#include <span>
#include <vector>

#include "sched/source/columns.h"

namespace berth::sched {

class ByTable : Source {
 public:
  ByTable(SelectParts& parts, const Columns& columns) : Source(parts), columns_(columns) {}

  /// With these needs, the state decides which nodes are filtered or exhausted; the plan may place, but not stop or
  /// update allocations.
  static constexpr Needs kServes{Need::network,
                                 Need::dynamic_ports,
                                 Need::several_host_networks,
                                 Need::static_ports,
                                 Need::odd_ports,
                                 Need::devices,
                                 Need::device_ids,
                                 Need::cores,
                                 Need::host_volumes,
                                 Need::distinct_hosts,
                                 Need::distinct_property,
                                 Need::affinity,
                                 Need::spread,
                                 Need::secrets,
                                 Need::several_groups,
                                 Need::wide_amounts,
                                 Need::no_ask_number,
                                 Need::evict_follows,
                                 Need::host_networks,
                                 Need::metrics,
                                 Need::shuffled_order,
                                 Need::strategy_score,
                                 Need::mixed_profiles,
                                 Need::ports_or_cores_held,
                                 Need::invalid_nodes};
  /// The same for a job that may evict, for both passes of a Select.
  static constexpr Needs kServesEvicting{Need::network,        Need::dynamic_ports,  Need::several_host_networks,
                                         Need::static_ports,   Need::odd_ports,      Need::devices,
                                         Need::device_ids,     Need::cores,          Need::affinity,
                                         Need::spread,         Need::secrets,        Need::several_groups,
                                         Need::wide_amounts,   Need::no_ask_number,  Need::evict,
                                         Need::evict_follows,  Need::host_networks,  Need::metrics,
                                         Need::shuffled_order, Need::mixed_profiles, Need::ports_or_cores_held,
                                         Need::invalid_nodes};
  /// With these needs of a group and its job, the result on a node depends only on the group's request.
  static constexpr Needs kOfAnyJob{Need::network,      Need::dynamic_ports, Need::several_host_networks,
                                   Need::static_ports, Need::odd_ports,     Need::devices,
                                   Need::cores,        Need::affinity,      Need::spread,
                                   Need::secrets,      Need::wide_amounts};
  enum class Room : std::uint8_t { unknown, none, few };
  struct Decided {
    tables::NodeRow row;
    Cell cell;
    bool filtered = false;  ///< the node itself is filtered; cell.dimension is the reason
  };

  void start() { last_ = nullptr, fitting_.clear(); }
  /// Returns which nodes have room for the current Select. `none`: the Select fails, and its metrics are counted.
  /// `few`: exactly the nodes for select_fitting(), fewer than the limit; all others are counted. Call it only if this
  /// source answered every earlier Select of the attempt. `first_of_job`: this is the first Select of the attempt;
  /// `first`: the first one of the group.
  [[nodiscard]] Room look(GroupView& view, bool first_of_job, bool first);
  /// Returns the best of the nodes that look() found.
  [[nodiscard]] std::optional<Found> select_fitting();
  /// A node that the last Select ranked.
  [[nodiscard]] const Decided& ranked(std::uint32_t id) const { return fitting_[id]; }
  /// True if a pass that may evict fails, and the pass before it as well; its metrics are then counted. The pass before
  /// must have visited every node.
  [[nodiscard]] bool fails_evicting(GroupView& view);
  /// Fills the table after the columns visited every node and found none with room.
  void remember(const GroupView& view);
  /// Fills the table of the evicting pass after the general source found no node, not even with eviction.
  void remember_evicting(const GroupView& view);
  /// The table that the last Select of this attempt used or filled; null: none.
  [[nodiscard]] AskTable* last() const { return last_; }
  /// True if the table and amounts alone show that a Select which the table answers fails again. It is then counted as
  /// the last Select of an attempt with one placement. No Select need be under way. False: undecided.
  [[nodiscard]] bool fails_again(AskTable& table, const tables::CompiledJob& job);

 private:
  friend struct MemoryAccess;
  [[nodiscard]] AskKey key_of(const GroupView& view, bool evicts) const;
  [[nodiscard]] bool follow(AskTable& table, GroupView& view);
  [[nodiscard]] bool settle(AskTable& table, GroupView& view);
  [[nodiscard]] bool settle_by_amounts(AskTable& table, const tables::CompiledGroup& group);
  [[nodiscard]] bool decide_open(AskTable& table, tables::NodeRow row, GroupView& view);
  [[nodiscard]] bool is_short_by_amounts(AskTable& table, tables::NodeRow row, const tables::CompiledGroup& group);
  [[nodiscard]] bool is_current(const AskTable& table) const;
  [[nodiscard]] bool find_fitting(const AskTable& table, GroupView& view);
  void decide(tables::NodeRow row, GroupView& view, bool evicts, Decided& out);
  [[nodiscard]] AskTable& renew(const AskKey& key);
  void drop(AskTable& table);
  void list_filtered(AskTable& table, GroupView& view);
  void count(const AskTable& table, bool first_of_job, bool first);
  void count_failing(std::uint32_t node_class, std::uint32_t why, bool filtered, std::int32_t times);
  void put_in_order();

  const Columns& columns_;
  AskTable* last_ = nullptr;
  std::vector<const feasible::PropertySet*> properties_;  // of the current Select
  std::vector<Decided> fitting_,
      full_;  // of table.open: nodes with room; nodes without room after the plan's placements
};

}  // namespace berth::sched
