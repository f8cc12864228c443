// Whether it is plain to see that no candidate has room, from the columns of what is free. A pass without eviction then
// finds nothing, and all that it leaves behind are the verdicts of classes.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class FullCheck : Source {
 public:
  explicit FullCheck(SelectParts& parts) : Source(parts) {}

  /// What a node has free decides for most requests that fail, and classes decide all that checks read.
  static constexpr Needs kServes{Need::network,        Need::dynamic_ports, Need::several_host_networks,
                                 Need::static_ports,   Need::odd_ports,     Need::task_network,
                                 Need::cores,          Need::affinity,      Need::spread,
                                 Need::odd_spread,     Need::secrets,       Need::no_ask_number,
                                 Need::evict_follows,  Need::plan_stops,    Need::plan_updates,
                                 Need::exhaustive,     Need::metrics,       Need::shuffled_order,
                                 Need::strategy_score, Need::mixed_kinds,   Need::ports_or_cores_held,
                                 Need::classes_by_node};

  /// Of a Select with such needs. False says nothing.
  [[nodiscard]] bool holds(GroupView& view);

 private:
  [[nodiscard]] bool may_take(tables::NodeRow row, GroupView& view);
};

}  // namespace berth::sched
