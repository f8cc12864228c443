// Detects from the columns of free amounts that no candidate has room. A pass without eviction then finds no node, and
// its only lasting effect would be the class verdicts.
#pragma once

#include "sched/stack/select_parts.h"

namespace berth::sched {

class FullCheck : Source {
 public:
  explicit FullCheck(SelectParts& parts) : Source(parts) {}

  /// With these needs, free amounts decide most requests that fail, and checks depend on the class alone.
  static constexpr Needs kServes{Need::network,        Need::dynamic_ports, Need::several_host_networks,
                                 Need::static_ports,   Need::odd_ports,     Need::task_network,
                                 Need::cores,          Need::affinity,      Need::spread,
                                 Need::odd_spread,     Need::secrets,       Need::no_ask_number,
                                 Need::evict_follows,  Need::plan_stops,    Need::plan_updates,
                                 Need::exhaustive,     Need::metrics,       Need::shuffled_order,
                                 Need::strategy_score, Need::mixed_kinds,   Need::ports_or_cores_held,
                                 Need::classes_by_node};

  /// True if no candidate has room. The needs of the Select must be in kServes. False: undecided.
  [[nodiscard]] bool holds(GroupView& view);

 private:
  [[nodiscard]] bool may_take(tables::NodeRow row, GroupView& view);
};

}  // namespace berth::sched
