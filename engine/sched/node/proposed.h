// The proposed allocations of one node (R-RANK-501 to 504) as a list, for checks that need more than sums: ports,
// devices, cores, victims. Those that the plan places come after the running ones.
//
//   rows     of the snapshot's allocations, ascending by ID where the order matters
//   shapes   what they hold once the plan is committed; then those of finished allocations and placements of the plan
#pragma once

#include <optional>
#include <vector>

#include "sched/stack/plan_effects.h"

namespace berth::sched {

class Proposed {
 public:
  Proposed(Attempt& attempt, PlanEffects& effects) : attempt_(attempt), effects_(effects), scratch_(attempt.scratch) {}

  void collect(tables::NodeRow row);
  /// Collects only holders of ports, devices or cores; the columns have the sums of the others. Holders of ports and
  /// cores in the snapshot are also left out if the node's columns list what they hold. `Devices`: whether to collect
  /// holders of devices: none, by column (as for ports), or each.
  enum class Devices : std::uint8_t { none, by_column, each };
  void collect_special(tables::NodeRow row, Devices devices);
  /// Removes victims from the list (R-PREEMPT-303).
  void remove(std::span<const tables::AllocRow> victims);

  /// Adds the ports of the node and of the allocations to Scratch::network_index; true if two collide. `clear`: they
  /// are known not to collide, which saves the check. `like`: as in NetworkIndex::start().
  bool enter_ports(const network::NodePorts& ports, const network::NodePorts& like, bool clear);
  bool enter_ports(const network::NodePorts& ports) { return enter_ports(ports, ports, false); }
  /// Starts `accounter` with the node's devices and the allocations' use of them.
  void enter_devices(tables::NodeRow row);
  /// Writes their cores, and those of finished allocations that the plan lists again, to `cores`, which must be empty.
  void merge_cores(tables::NodeRow row, std::vector<std::uint16_t>& cores) const;
  /// The cores of the snapshot's allocations that were left out; null: none were.
  [[nodiscard]] const tables::HeldCores* held_cores() const { return held_cores_; }
  /// Prefetches what choosing victims reads of an allocation.
  void prefetch(tables::AllocRow alloc) const;

  std::vector<tables::AllocRow> rows;
  std::vector<const tables::ResourceShape*> shapes;
  std::optional<rank::DeviceAccounter> accounter;

 private:
  bool collect_gaining(const NodeOverlay& overlay, Devices devices);

  Attempt& attempt_;
  PlanEffects& effects_;
  Scratch& scratch_;
  // What the omitted allocations of the snapshot hold.
  const tables::HeldPorts* held_ports_ = nullptr;
  const tables::HeldCores* held_cores_ = nullptr;
  const tables::HeldDevices* held_devices_ = nullptr;
  std::vector<std::pair<base::Uuid, tables::AllocRow>> ordered_;
};

}  // namespace berth::sched
