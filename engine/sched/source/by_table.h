// A fast source for a Select on a nearly full cluster, as those of evaluations that wait for capacity are: the table of
// what it requests (ask_table.h), filled when a Select failed, says of every candidate whether it passes the checks and
// what was short.
//
// Where no node has room, the Select fails, and what a pass over all nodes would count is known: who is filtered
// follows from the verdicts of the classes, who is exhausted is kept as counts. Where fewer nodes have room than the
// Select may return, it would look at every node: the best of the few is the best, and the cursor comes round to where
// it was.
//
// Groups that request the same share a table, whatever their jobs, so a changed node is looked at once for all that
// wait. Where more of a job counts, its distinct_*, volumes or other groups, its group has a table of its own. There,
// nodes that are filtered for what they hold themselves, host volumes or allocations of the job, or for a distinct
// property, are kept likewise; where properties are to be distinct, as long as the job's allocations and the values of
// nodes are what they were.
//
// A pass that may evict has a table of its own, shared by jobs of one priority that hold nothing: what eviction can do
// on a node is a function of these, of the request and of what the node holds. Where it makes no room, there is none
// without it either, so that table answers both passes of a Select.
//
// O(changed nodes + classes) a Select; where several have room, a look along the visiting order.
#pragma once

#include <span>
#include <vector>

#include "sched/source/columns.h"

namespace berth::sched {

class ByTable : Source {
 public:
  ByTable(SelectParts& parts, const Columns& columns) : Source(parts), columns_(columns) {}

  /// Classes decide which nodes are filtered, and amounts of the state which are exhausted; the plan places only.
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
  /// The same where eviction is allowed, in either pass.
  static constexpr Needs kServesEvicting{Need::network,        Need::dynamic_ports,  Need::several_host_networks,
                                         Need::static_ports,   Need::odd_ports,      Need::devices,
                                         Need::device_ids,     Need::cores,          Need::affinity,
                                         Need::spread,         Need::secrets,        Need::several_groups,
                                         Need::wide_amounts,   Need::no_ask_number,  Need::evict,
                                         Need::evict_follows,  Need::host_networks,  Need::metrics,
                                         Need::shuffled_order, Need::mixed_profiles, Need::ports_or_cores_held,
                                         Need::invalid_nodes};
  /// Of a group and its job, where all else that counts is what the group requests of a node.
  static constexpr Needs kOfAnyJob{Need::network,      Need::dynamic_ports, Need::several_host_networks,
                                   Need::static_ports, Need::odd_ports,     Need::devices,
                                   Need::cores,        Need::affinity,      Need::spread,
                                   Need::secrets,      Need::wide_amounts};
  enum class Room : std::uint8_t { unknown, nobody, few };
  struct Few {
    tables::NodeRow row;
    Cell cell;
    bool filtered = false;  ///< it does not do, for what it holds itself
  };

  void start() { last_ = nullptr, few_.clear(); }
  /// Who has room for the Select under way. Nobody: it fails for certain, and is counted. Few: these and nobody else,
  /// fewer than the Select may return; the others are counted. Asked in an attempt of whose Selects it answered all:
  /// `first_of_job`, of the attempt; `first`, of the group.
  [[nodiscard]] Room look(GroupView& view, bool first_of_job, bool first);
  /// The best of the few that look() found.
  [[nodiscard]] std::optional<Found> select_of_few();
  /// A node that the last Select ranked.
  [[nodiscard]] const Few& ranked(std::uint32_t id) const { return few_[id]; }
  /// Whether a pass that may evict fails for certain, and so does the one before it; then it is counted. It comes after
  /// one that visited every node.
  [[nodiscard]] bool fails_evicting(GroupView& view);
  /// The columns looked at every node and found none with room.
  void remember(const GroupView& view);
  /// The general source found no node, and none where eviction makes room.
  void remember_evicting(const GroupView& view);
  /// The table that the last Select of this attempt used or filled; null: none.
  [[nodiscard]] AskTable* last() const { return last_; }
  /// Whether a Select that the table answers fails again as the table and amounts tell; then it is counted, as the last
  /// one of the only placement of an attempt. No Select need be under way. False says nothing.
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
  [[nodiscard]] bool find_few(const AskTable& table, GroupView& view);
  void decide(tables::NodeRow row, GroupView& view, bool evicts, Few& out);
  [[nodiscard]] AskTable& renew(const AskKey& key);
  void drop(AskTable& table);
  void list_filtered(AskTable& table, GroupView& view);
  void count(const AskTable& table, bool first_of_job, bool first);
  void count_failing(std::uint32_t node_class, std::uint32_t why, bool filtered, std::int32_t times);
  void put_in_order();

  const Columns& columns_;
  AskTable* last_ = nullptr;
  std::vector<const feasible::PropertySet*> properties_;  // of the Select under way
  std::vector<Few> few_, full_;  // of table.open: who has room, and who has none after what the plan placed
};

}  // namespace berth::sched
