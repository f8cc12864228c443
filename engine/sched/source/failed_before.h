// A fast source for an evaluation that is tried again, as those that wait for capacity are: nobody had room when its
// Select failed, and what changed since is looked at.
//
// A memo says of each candidate that passes the checks which figure was short. It follows the state by the node feed.
// As long as no node that changed has room, the Select fails again and counts what a pass over all nodes would: who is
// filtered follows from the verdicts of the classes, who is exhausted is kept as counts. Where fewer nodes have room
// than a Select may return, it goes round once and looks at these alone (few_with_room.h).
//
// Groups that request the same share a memo, whatever their jobs, so a changed node is looked at once for all that
// wait. Where more of a job counts, its distinct_*, volumes or other groups, its group has a memo of its own.
//
// Nodes that are filtered for what they hold themselves, host volumes or allocations of the job, or for a distinct
// property, are kept likewise; where properties are to be distinct, as long as the job's allocations and the values of
// nodes are what they were.
//
// A pass that may evict has a memo of its own, shared by jobs of one priority that hold nothing: what eviction can do
// on a node is a function of these, of the request and of what the node holds. Where it makes no room, there is none
// without it either, so that memo answers both passes of a Select.
//
//   shorts     1 B per node row: position in `counts`, 0: not among those that pass, kRoomy: among `roomy`
//   counts     12 B per (node class, dimension)
// Memos of a worker take 32 MiB at most, or are four; the oldest goes. O(changed nodes + classes) a Select.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "sched/source/columns.h"

namespace berth::sched {

class FailedBefore : Source {
 public:
  FailedBefore(SelectParts& parts, const Columns& columns) : Source(parts), columns_(columns) {}

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

  void start() { last_ = nullptr; }
  /// Who has room for the Select under way. Nobody: it fails for certain, and is counted. Few: these and nobody else,
  /// fewer than the Select may return; the others are counted. Asked in an attempt of whose Selects it answered all:
  /// `first_of_job`, of the attempt; `first`, of the group.
  [[nodiscard]] Room look(GroupView& view, bool first_of_job, bool first);
  /// Of look(): those with room, in no order.
  [[nodiscard]] std::span<Few> few() { return few_; }
  /// Whether a pass that may evict fails for certain, and so does the one before it; then it is counted. It comes after
  /// one that visited every node.
  [[nodiscard]] bool fails_evicting(GroupView& view);
  /// The columns found no node; they hold on to why.
  void remember(const GroupView& view);
  /// The general source found no node, and none where eviction makes room.
  void remember_evicting(const GroupView& view);
  /// The memo that the last Select of this attempt used or left; null: none.
  [[nodiscard]] FailureMemo* last() const { return last_; }
  /// Whether a Select that the memo answers fails again as the memo and figures tell; then it is counted, as the last
  /// one of the only placement of an attempt. No Select need be under way. False says nothing.
  [[nodiscard]] bool holds_by_figures(FailureMemo& memo, const tables::CompiledJob& job);

 private:
  friend struct MemoryAccess;
  bool read_changes(const FailureMemo& memo);
  bool follow(FailureMemo& memo, GroupView& view);
  [[nodiscard]] bool is_current(const FailureMemo& memo) const;
  bool find_few(const FailureMemo& memo, GroupView& view);
  void decide(tables::NodeRow row, GroupView& view, bool evicts, Few& out);
  [[nodiscard]] FailureKey key_of(const GroupView& view, bool evicts) const;
  [[nodiscard]] FailureMemo& renew(const FailureKey& key);
  void drop(FailureMemo& memo);
  void count_failing(std::uint32_t node_class, std::uint32_t why, bool filtered, std::int32_t times);
  void add_nodes_of_job();
  [[nodiscard]] bool follow_by_figures(FailureMemo& memo, const tables::CompiledJob& job);
  [[nodiscard]] bool are_short_as_before(FailureMemo& memo, const NodeFeed::Changes& changes,
                                         const tables::CompiledGroup& group);
  [[nodiscard]] bool is_short_by_figures(FailureMemo& memo, tables::NodeRow row, const tables::CompiledGroup& group);
  void list_filtered(FailureMemo& memo, GroupView& view);
  void count(const FailureMemo& memo, bool first_of_job, bool first);

  const Columns& columns_;
  std::vector<std::uint32_t> crossing_;  // positions of changes
  std::vector<tables::NodeRow> changed_;
  std::size_t used_ = 0;  // so many of them by their use, then those whose state or registration changed
  FailureMemo* last_ = nullptr;
  const FailureMemo* next_ = nullptr;                     // soon to be tried
  std::vector<const feasible::PropertySet*> properties_;  // of the Select under way
  std::vector<Few> few_, full_;  // of memo.roomy: who has room, and who has none after what the plan placed
};

}  // namespace berth::sched
